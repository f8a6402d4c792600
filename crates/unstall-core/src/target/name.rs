//! Host names and zone names: what they may consist of, and their one spelling.

use super::error::{ParseTargetError, ParseTargetErrorKind, quoted};
use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// A host name: ASCII, lower case, never an address; a trailing dot is kept.
///
/// It derefs to `str`, and is made by parsing: `"bücher.example".parse::<Name>()`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Box<str>);

/// The name of a network interface, as the zone of an IPv6 address.
///
/// It derefs to `str`. Letters, digits and `- . _ ~ !` and other marks that mean nothing in a target; not all
/// digits (that would be an index) and not beginning with 25 (as `%25` is how URLs write `%`): name such an
/// interface by its index.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ZoneName(Box<str>);

/// The longest label and the longest name, without a trailing dot, in bytes (RFC 1035 section 2.3.4; 255 with
/// the length bytes make 253 in text).
const LONGEST_LABEL: usize = 63;
const LONGEST_NAME: usize = 253;

/// Longer interface names exist nowhere: Linux and the BSDs allow 15 bytes, Windows 256 characters.
const LONGEST_ZONE: usize = 256;

impl Name {
    /// `localhost`.
    pub fn localhost() -> Self {
        Self("localhost".into())
    }

    /// The name in `text`, which starts at byte `at` of the input. Errors: as [`ParseTargetError`] says.
    pub(super) fn parse(text: &str, at: usize) -> Result<Self, ParseTargetError> {
        check_characters(text, at)?;
        let ascii = to_ascii(text, at)?;
        check_labels(&ascii, text, at)?;
        Ok(Self(ascii.into()))
    }
}

impl ZoneName {
    pub(super) fn parse(text: &str, at: usize) -> Result<Self, ParseTargetError> {
        let error = |what: String, advice: &str| {
            Err(ParseTargetError::new(ParseTargetErrorKind::Zone, at, what, advice))
        };
        if text.is_empty() {
            return error(
                "the zone is empty".into(),
                "write the interface's name or index after %, as in %eth0",
            );
        }
        if text.len() > LONGEST_ZONE
            || text.starts_with("25")
            || text.bytes().all(|byte| byte.is_ascii_digit())
        {
            return error(
                format!("{} is not an interface's name", quoted(text)),
                "write its index, as in %2",
            );
        }
        if let Some((index, character)) = text.char_indices().find(|(_, c)| !zone_character(*c)) {
            let what = format!("{character:?} cannot be in a zone");
            let advice = "write the interface's index instead, as in %2";
            return Err(ParseTargetError::new(ParseTargetErrorKind::Zone, at + index, what, advice));
        }
        Ok(Self(text.into()))
    }
}

/// Marks that end or divide a target, and what a person cannot see, are left out.
fn zone_character(character: char) -> bool {
    character.is_ascii_graphic() && !"/:?#@[]\\%".contains(character)
}

/// ASCII characters are judged one by one, so that the message can point at the one that is wrong.
fn check_characters(text: &str, at: usize) -> Result<(), ParseTargetError> {
    let wrong = text.char_indices().find(|(index, character)| match character {
        '-' => *index == 0,
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' => false,
        other => other.is_ascii() || other.is_control() || other.is_whitespace(),
    });
    let Some((index, character)) = wrong else { return Ok(()) };
    let (what, advice) = match character {
        '-' => ("a host name cannot begin with '-'".into(), "write HOST:PORT, for example localhost:4200"),
        ',' | ';' => (
            format!("{character:?} cannot be in a host name"),
            "give every target as an argument of its own, for example localhost:4200",
        ),
        _ => (
            format!("{character:?} cannot be in a host name"),
            "letters, digits, '-', '_' and '.' can, for example localhost:4200",
        ),
    };
    Err(ParseTargetError::new(ParseTargetErrorKind::Name, at + index, what, advice))
}

/// Lower case and, where the name is international, ASCII by UTS 46. A label `xn--...` must be what that
/// gives.
fn to_ascii(text: &str, at: usize) -> Result<Cow<'_, str>, ParseTargetError> {
    if text.is_ascii() && !has_punycode(text) {
        let upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
        return Ok(if upper { text.to_ascii_lowercase().into() } else { text.into() });
    }
    Uts46::new()
        .to_ascii(text.as_bytes(), AsciiDenyList::URL, Hyphens::Allow, DnsLength::Ignore)
        .map_err(|_| invalid(text, at, "is not a valid international name"))
}

fn has_punycode(text: &str) -> bool {
    text.split('.').any(|label| label.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--")))
}

/// The lengths, and that it cannot be taken for an address. `text` is what was typed, for the message.
fn check_labels(ascii: &str, text: &str, at: usize) -> Result<(), ParseTargetError> {
    let name = ascii.strip_suffix('.').unwrap_or(ascii);
    if name.len() > LONGEST_NAME {
        return Err(invalid(text, at, "is too long for a host name, which has at most 253 characters"));
    }
    // What was typed and what it became are label by label at the same place while both are ASCII.
    let mut offset = 0;
    for label in name.split('.') {
        let here = if text.is_ascii() { at + offset } else { at };
        if label.is_empty() {
            return Err(invalid(text, here, "has an empty part between its dots"));
        }
        if label.len() > LONGEST_LABEL {
            return Err(invalid(
                label,
                here,
                "is too long for one part of a host name, which has at most 63",
            ));
        }
        offset += label.len() + 1;
    }
    // Conversion maps other scripts' full stops and digits: the result must hold by itself.
    if let Some(character) = ascii.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '.' | '_' | '-')) {
        return Err(invalid(text, at, &format!("would have {character:?} as a host name")));
    }
    if ascii.starts_with('-') {
        return Err(invalid(text, at, "would begin with '-' as a host name"));
    }
    if ends_in_number(name) {
        let what = format!("{} is neither a name nor a full IPv4 address", quoted(text));
        let advice = "write four numbers from 0 to 255, for example 127.0.0.1:4200";
        return Err(ParseTargetError::new(ParseTargetErrorKind::Address, at, what, advice));
    }
    Ok(())
}

/// The WHATWG URL Standard's "ends in a number": resolvers take such names for addresses in octal, in hex, or
/// with parts left out.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let hex = last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hex || last.bytes().all(|byte| byte.is_ascii_digit())
}

fn invalid(part: &str, at: usize, what: &str) -> ParseTargetError {
    let what = format!("{} {what}", quoted(part));
    ParseTargetError::new(ParseTargetErrorKind::Name, at, what, "check the host's spelling")
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Deref for ZoneName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ZoneName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for ZoneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for Name {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Self, ParseTargetError> {
        if text.is_empty() {
            return Err(ParseTargetError::new(
                ParseTargetErrorKind::Empty,
                0,
                "the host name is empty",
                "write a name, for example localhost",
            ));
        }
        Self::parse(text, 0).map_err(|error| error.within(text))
    }
}

impl FromStr for ZoneName {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Self, ParseTargetError> {
        Self::parse(text, 0).map_err(|error| error.within(text))
    }
}
