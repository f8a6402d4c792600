//! From text to a [`Target`]. Every function takes a part of the text and `at`, the byte where that part
//! begins, so that an error can say where it is.

use super::error::{ParseTargetError, ParseTargetErrorKind, quoted};
use super::{Host, Name, Target, Zone, ZoneName, scheme_port};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;

type Parsed<T> = Result<T, ParseTargetError>;

/// What a URL adds: its scheme's port, and another spelling of zones.
#[derive(Clone, Copy)]
struct Url<'a> {
    scheme: &'a str,
}

pub(super) fn target(text: &str) -> Parsed<Target> {
    whole_target(text).map_err(|error| error.within(text))
}

pub(super) fn host(text: &str) -> Parsed<Host> {
    whole_host(text).map_err(|error| error.within(text))
}

fn whole_target(text: &str) -> Parsed<Target> {
    if text.is_empty() {
        return Err(empty("the target is empty"));
    }
    match text.split_once("://") {
        // A "://" behind the host belongs to a path or query: `localhost:80/?to=http://x`.
        Some((scheme, rest)) if !scheme.contains(['/', '?', '#', '[']) => {
            check_scheme(scheme)?;
            authority(rest, scheme.len() + 3, Some(Url { scheme }))
        }
        _ => authority(text, 0, None),
    }
}

fn whole_host(text: &str) -> Parsed<Host> {
    if text.is_empty() {
        return Err(empty("the host is empty"));
    }
    if let Some(inner) = text.strip_prefix('[') {
        let inner = inner.strip_suffix(']').ok_or_else(|| unclosed(0))?;
        return bracketed(inner, 1, None);
    }
    if text.contains(':') { bracketed(text, 0, None) } else { unbracketed(text, 0) }
}

/// RFC 3986 section 3.1.
fn check_scheme(scheme: &str) -> Parsed<()> {
    let mut characters = scheme.char_indices();
    let advice = "write HOST:PORT or a URL, for example http://localhost:4200";
    let wrong =
        |at: usize, what: String| Err(ParseTargetError::new(ParseTargetErrorKind::Scheme, at, what, advice));
    match characters.next() {
        Some((_, first)) if first.is_ascii_alphabetic() => {}
        Some((_, first)) => return wrong(0, format!("a URL's scheme cannot begin with {first:?}")),
        None => return wrong(0, "there is no scheme before \"://\"".into()),
    }
    match characters.find(|(_, c)| !(c.is_ascii_alphanumeric() || "+-.".contains(*c))) {
        Some((at, character)) => wrong(at, format!("{character:?} cannot be in a URL's scheme")),
        None => Ok(()),
    }
}

/// `user@host:port/path?query#fragment`: what stands around host and port is left out.
fn authority(text: &str, at: usize, url: Option<Url<'_>>) -> Parsed<Target> {
    let text = text.split(['/', '?', '#']).next().unwrap_or(text);
    let (user, text, at) = match text.rsplit_once('@') {
        Some((user, rest)) => (Some(user), rest, at + user.len() + 1),
        None => (None, text, at),
    };
    if text.starts_with('[') {
        return bracketed_target(text, at, url);
    }
    // Only where nothing stands before it is a port alone one of localhost.
    let may_lack_host = url.is_none() && user.is_none();
    let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once(':') {
        None if text.is_empty() => Err(missing_host(at, url)),
        None if may_lack_host && all_digits => Ok(Target::localhost(port(text, at)?)),
        None => {
            let host = unbracketed(text, at)?;
            Ok(Target::new(host, default_port(text, at + text.len(), url)?))
        }
        Some((_, rest)) if rest.contains(':') => Err(too_many_colons(text, at)),
        Some(("", number)) if may_lack_host => Ok(Target::localhost(port(number, at + 1)?)),
        Some(("", _)) => Err(missing_host(at, url)),
        // RFC 3986 allows an empty port in a URL, as if the colon were not there.
        Some((host, "")) if url.is_some() => {
            Ok(Target::new(unbracketed(host, at)?, default_port(host, at + host.len(), url)?))
        }
        Some((host, number)) => {
            let found = unbracketed(host, at)?;
            Ok(Target::new(found, port(number, at + host.len() + 1)?))
        }
    }
}

/// `[::1]:80`.
fn bracketed_target(text: &str, at: usize, url: Option<Url<'_>>) -> Parsed<Target> {
    let close = text.find(']').ok_or_else(|| unclosed(at))?;
    let (shown, rest) = text.split_at(close + 1);
    let host = bracketed(&text[1..close], at + 1, url)?;
    let behind = at + shown.len();
    match rest.strip_prefix(':') {
        // Empty is an error but for a URL, as without brackets.
        Some("") if url.is_some() => Ok(Target::new(host, default_port(shown, behind, url)?)),
        Some(number) => Ok(Target::new(host, port(number, behind + 1)?)),
        None if rest.is_empty() => Ok(Target::new(host, default_port(shown, behind, url)?)),
        None => Err(ParseTargetError::new(
            ParseTargetErrorKind::Brackets,
            behind,
            format!("{} follows the closing bracket", quoted(rest)),
            "write a colon and the port there, for example [::1]:4200",
        )),
    }
}

/// What stands between brackets: an IPv6 address, perhaps with a zone.
fn bracketed(inner: &str, at: usize, url: Option<Url<'_>>) -> Parsed<Host> {
    let (address, zone) = match inner.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (inner, None),
    };
    let Ok(ip) = address.parse::<Ipv6Addr>() else { return Err(not_ipv6(inner, address, at)) };
    match zone {
        None => Ok(Host::Ip(IpAddr::V6(ip))),
        Some(zone) => Ok(Host::Zoned(ip, self::zone(zone, at + address.len() + 1, url)?)),
    }
}

/// What follows `%`. RFC 6874 writes `%25` for it in URLs; people carry that over to where it need not be, so
/// `25` is left out there too, unless only digits follow: that is an index.
fn zone(text: &str, at: usize, url: Option<Url<'_>>) -> Parsed<Zone> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (text, at) = match text.strip_prefix("25") {
        Some(rest) if !rest.is_empty() && (url.is_some() || !digits(rest)) => (rest, at + 2),
        _ => (text, at),
    };
    if !digits(text) {
        return ZoneName::parse(text, at).map(Zone::Name);
    }
    text.parse().map(Zone::Index).map_err(|_| {
        let what = format!("zone {} is out of range", quoted(text));
        ParseTargetError::new(
            ParseTargetErrorKind::Zone,
            at,
            what,
            "an interface's index is at most 4294967295",
        )
    })
}

/// A name or an IPv4 address.
fn unbracketed(text: &str, at: usize) -> Parsed<Host> {
    if let Ok(ip) = text.parse::<Ipv4Addr>() {
        return Ok(Host::Ip(IpAddr::V4(ip)));
    }
    if let Some(index) = text.find([']', '[']) {
        let what = format!("{:?} stands without its other bracket", &text[index..=index]);
        let advice = "an IPv6 address stands in brackets, for example [::1]:4200";
        return Err(ParseTargetError::new(ParseTargetErrorKind::Brackets, at + index, what, advice));
    }
    if text.is_ascii() {
        return Name::parse(text, at).map(Host::Name);
    }
    // Conversion turns other scripts' digits into ASCII ones, which may make an address.
    match Name::parse(text, at) {
        Ok(name) => Ok(Host::Name(name)),
        Err(error) => match idna::domain_to_ascii_cow(text.as_bytes(), idna::AsciiDenyList::URL) {
            Ok(ascii) => ascii.parse().map(|ip| Host::Ip(IpAddr::V4(ip))).map_err(|_| error),
            Err(_) => Err(error),
        },
    }
}

fn port(text: &str, at: usize) -> Parsed<NonZeroU16> {
    let error = |what: String| {
        let advice = "ports are numbers from 1 to 65535";
        Err(ParseTargetError::new(ParseTargetErrorKind::Port, at, what, advice))
    };
    if text.is_empty() {
        return error("the port is missing".into());
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return error(format!("port {} is not a number", quoted(text)));
    }
    match text.parse::<u16>() {
        Ok(number) => NonZeroU16::new(number).ok_or_else(|| ParseTargetError::port_zero(at)),
        Err(_) => error(format!("port {} is out of range", quoted(text))),
    }
}

/// The scheme's port; `host` is what was typed for it and `at` where the port is missing.
fn default_port(host: &str, at: usize, url: Option<Url<'_>>) -> Parsed<NonZeroU16> {
    if let Some(port) = url.and_then(|url| scheme_port(url.scheme)).and_then(NonZeroU16::new) {
        return Ok(port);
    }
    let what = match url {
        Some(url) => format!("no port after {}, and {} has no known one,", quoted(host), quoted(url.scheme)),
        None => format!("no port after {}", quoted(host)),
    };
    let advice = "add a colon and the port, for example localhost:4200";
    Err(ParseTargetError::new(ParseTargetErrorKind::MissingPort, at, what, advice))
}

fn empty(what: &str) -> ParseTargetError {
    let advice = "write HOST:PORT, for example localhost:4200";
    ParseTargetError::new(ParseTargetErrorKind::Empty, 0, what, advice)
}

fn missing_host(at: usize, url: Option<Url<'_>>) -> ParseTargetError {
    let advice = match url {
        Some(_) => "a URL needs one, for example http://localhost:4200",
        None => "write HOST:PORT, for example localhost:4200",
    };
    ParseTargetError::new(ParseTargetErrorKind::MissingHost, at, "the host is missing", advice)
}

fn unclosed(at: usize) -> ParseTargetError {
    let advice = "close it behind the IPv6 address, for example [::1]:4200";
    ParseTargetError::new(ParseTargetErrorKind::Brackets, at, "\"[\" is not closed", advice)
}

fn not_ipv6(inner: &str, address: &str, at: usize) -> ParseTargetError {
    let what = format!("{} is not an IPv6 address", quoted(inner));
    let advice = if inner.contains(':') {
        "check its spelling, for example [::1]:4200"
    } else if address.parse::<Ipv4Addr>().is_ok() {
        "write an IPv4 address without brackets, for example 127.0.0.1:4200"
    } else {
        "only IPv6 addresses stand in brackets, for example [::1]:4200"
    };
    ParseTargetError::new(ParseTargetErrorKind::Brackets, at, what, advice)
}

/// Two or more colons without brackets: an IPv6 address, with or without a port, or a slip.
fn too_many_colons(text: &str, at: usize) -> ParseTargetError {
    // What is one has nothing that a message would have to escape.
    let is_ipv6 = |text: &str| bracketed(text, 0, None).is_ok();
    let split = text.rsplit_once(':').filter(|(head, tail)| is_ipv6(head) && port(tail, 0).is_ok());
    let ambiguous = |what: String, advice: String| {
        ParseTargetError::new(ParseTargetErrorKind::Ambiguous, at, what, advice)
    };
    match split {
        Some((head, tail)) if is_ipv6(text) => ambiguous(
            format!("{} can be read in two ways", quoted(text)),
            format!("write [{head}]:{tail} for port {tail} of {head}, or [{text}]:PORT for a port of {text}"),
        ),
        Some((head, tail)) => ambiguous(
            format!("{} lacks the brackets around its address", quoted(text)),
            format!("write [{head}]:{tail}"),
        ),
        None if is_ipv6(text) => ambiguous(
            format!("{} is an IPv6 address without a port", quoted(text)),
            format!("write it in brackets with a port, for example [{text}]:4200"),
        ),
        None => {
            let second = text.match_indices(':').nth(1).map_or(0, |(index, _)| index);
            let what = "there is a second ':'";
            let advice = "write HOST:PORT, or [ADDRESS]:PORT for IPv6, for example [::1]:4200";
            ParseTargetError::new(ParseTargetErrorKind::Ambiguous, at + second, what, advice)
        }
    }
}
