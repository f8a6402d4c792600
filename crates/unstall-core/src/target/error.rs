//! Why a text is not a target: one line that says what is wrong, where, and what to write instead.

use std::fmt;

/// What is wrong with a text that should have been a [`Target`](super::Target).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseTargetErrorKind {
    /// There is nothing.
    Empty,
    /// A host, but neither a port nor a scheme that tells it.
    MissingPort,
    /// A port, but no host, where one has to be.
    MissingHost,
    /// The port is not a number from 1 to 65535.
    Port,
    /// The host name has a character, a label or a length that no name can have.
    Name,
    /// The host looks like an address but is none.
    Address,
    /// Brackets that are not closed, or around something else than an IPv6 address.
    Brackets,
    /// An IPv6 address without brackets, so that the port cannot be told from the address.
    Ambiguous,
    /// The zone after `%` is empty, too large, or has a character that no zone can have.
    Zone,
    /// What stands before `://` is not a scheme.
    Scheme,
}

/// Why a text is not a [`Target`](super::Target). Its `Display` is one line: what is wrong, at which
/// character, and what to write.
///
/// ```
/// use unstall_core::target::Target;
///
/// let error = "localhost:99999".parse::<Target>().unwrap_err();
/// assert_eq!(error.position(), 10);
/// assert_eq!(
///     error.to_string(),
///     "port \"99999\" is out of range at character 11: ports are numbers from 1 to 65535"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseTargetError {
    kind: ParseTargetErrorKind,
    position: usize,
    character: usize,
    what: Box<str>,
    advice: Box<str>,
}

impl ParseTargetError {
    /// The offending part begins at byte `position` of the text; [`Self::within`] turns that into a
    /// character.
    pub(super) fn new(
        kind: ParseTargetErrorKind,
        position: usize,
        what: impl Into<Box<str>>,
        advice: impl Into<Box<str>>,
    ) -> Self {
        Self { kind, position, character: position + 1, what: what.into(), advice: advice.into() }
    }

    pub(super) fn port_zero(position: usize) -> Self {
        let advice = "ports are numbers from 1 to 65535";
        Self::new(ParseTargetErrorKind::Port, position, "port 0 cannot be connected to", advice)
    }

    /// Counts the characters of `text` before the position.
    pub(super) fn within(mut self, text: &str) -> Self {
        self.character = text.char_indices().take_while(|(index, _)| *index < self.position).count() + 1;
        self
    }

    /// What kind of mistake it is.
    pub const fn kind(&self) -> ParseTargetErrorKind {
        self.kind
    }

    /// Where the offending part begins, in bytes from the start of the text.
    pub const fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for ParseTargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == ParseTargetErrorKind::Empty {
            return write!(f, "{}: {}", self.what, self.advice);
        }
        write!(f, "{} at character {}: {}", self.what, self.character, self.advice)
    }
}

impl std::error::Error for ParseTargetError {}

/// A part of the input as an error shows it: quoted, escaped, and not longer than a line can bear.
pub(super) fn quoted(part: &str) -> String {
    const LIMIT: usize = 40;
    match part.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{:?}...", &part[..end]),
        None => format!("{part:?}"),
    }
}
