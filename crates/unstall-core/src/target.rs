//! What a person types to say where to connect: `localhost:4200`, `[::1]:80`, `:4200`,
//! `http://localhost:4200/x`.
//!
//! | typed | meaning |
//! | --- | --- |
//! | `localhost:4200`, `example.org.:80` | a name and a port; a trailing dot is kept |
//! | `127.0.0.1:9`, `[::1]:80` | an address and a port; IPv6 stands in brackets |
//! | `[fe80::1%eth0]:80`, `[fe80::1%3]:80` | a zone (RFC 4007), by interface name or index; `%25eth0` as in URLs (RFC 6874) too |
//! | `:4200`, `4200` | port 4200 of `localhost` |
//! | `http://user@host:4200/x?y#z`, `host:4200/x` | what follows the port, and what precedes an `@`, is left out |
//! | `https://host/` | without a port the scheme tells it, see [`scheme_port`] |
//! | `bücher.example:80` | an international name, converted to ASCII (UTS 46) |
//!
//! Parsing an address allocates nothing. Whatever parses is displayed as `host:port`, and parses back to the
//! same [`Target`].

mod convert;
mod error;
mod name;
mod parse;
mod scheme;

pub use error::{ParseTargetError, ParseTargetErrorKind};
pub use name::{Name, ZoneName};
pub use scheme::scheme_port;

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::num::NonZeroU16;
use std::str::FromStr;

/// A host and a port.
///
/// ```
/// use unstall_core::target::Target;
///
/// let target: Target = "http://localhost:4200/index.html".parse()?;
/// assert_eq!(target.to_string(), "localhost:4200");
/// assert!(target.is_name());
/// # Ok::<(), unstall_core::target::ParseTargetError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    host: Host,
    port: NonZeroU16,
}

/// The host part of a [`Target`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Host {
    /// An address; no name has to be resolved and nothing is allocated.
    Ip(IpAddr),
    /// An IPv6 address with a zone, `fe80::1%eth0`.
    Zoned(Ipv6Addr, Zone),
    /// A name, in ASCII (IDN hosts are converted), lower case, a trailing dot kept.
    Name(Name),
}

/// The zone (RFC 4007) of a link-local IPv6 address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Zone {
    /// The interface's index, `%2`. 0 is the default zone, which is as good as none (RFC 4007 section 6).
    Index(u32),
    /// The interface's name, `%eth0`.
    Name(ZoneName),
}

impl Target {
    /// A target from its parts.
    pub const fn new(host: Host, port: NonZeroU16) -> Self {
        Self { host, port }
    }

    /// That port of `localhost`, which is what a bare port means.
    pub fn localhost(port: NonZeroU16) -> Self {
        Self::new(Host::Name(Name::localhost()), port)
    }

    /// The host.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The port, 1 to 65535.
    pub const fn port(&self) -> u16 {
        self.port.get()
    }

    /// Whether the host is a name, so that it has to be resolved first.
    pub const fn is_name(&self) -> bool {
        matches!(self.host, Host::Name(_))
    }

    /// The host as text, without brackets: for messages and resolvers.
    pub fn host_str(&self) -> Cow<'_, str> {
        match &self.host {
            Host::Name(name) => Cow::Borrowed(name),
            other => Cow::Owned(other.to_string()),
        }
    }

    /// The address to connect to, as far as no OS has to be asked: `None` for a name, and for a zone given by
    /// the name of its interface.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.host {
            Host::Ip(ip) => Some(SocketAddr::new(*ip, self.port())),
            Host::Zoned(ip, Zone::Index(zone)) => Some(SocketAddrV6::new(*ip, self.port(), 0, *zone).into()),
            Host::Zoned(_, Zone::Name(_)) | Host::Name(_) => None,
        }
    }
}

impl FromStr for Target {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Self, ParseTargetError> {
        parse::target(text)
    }
}

impl TryFrom<&str> for Target {
    type Error = ParseTargetError;

    fn try_from(text: &str) -> Result<Self, ParseTargetError> {
        text.parse()
    }
}

impl TryFrom<String> for Target {
    type Error = ParseTargetError;

    fn try_from(text: String) -> Result<Self, ParseTargetError> {
        text.parse()
    }
}

impl TryFrom<&String> for Target {
    type Error = ParseTargetError;

    fn try_from(text: &String) -> Result<Self, ParseTargetError> {
        text.parse()
    }
}

/// A host, with or without brackets, and a port.
impl TryFrom<(&str, u16)> for Target {
    type Error = ParseTargetError;

    fn try_from((host, port): (&str, u16)) -> Result<Self, ParseTargetError> {
        Ok(Self::new(host.parse()?, nonzero(port)?))
    }
}

/// Port 0 is an error.
impl TryFrom<(IpAddr, u16)> for Target {
    type Error = ParseTargetError;

    fn try_from((ip, port): (IpAddr, u16)) -> Result<Self, ParseTargetError> {
        Ok(Self::new(Host::Ip(ip), nonzero(port)?))
    }
}

/// Port 0 is an error. A scope id becomes the zone; the flow information is left out.
impl TryFrom<SocketAddr> for Target {
    type Error = ParseTargetError;

    fn try_from(address: SocketAddr) -> Result<Self, ParseTargetError> {
        let host = match address {
            SocketAddr::V6(v6) if v6.scope_id() != 0 => Host::Zoned(*v6.ip(), Zone::Index(v6.scope_id())),
            other => Host::Ip(other.ip()),
        };
        Ok(Self::new(host, nonzero(address.port())?))
    }
}

fn nonzero(port: u16) -> Result<NonZeroU16, ParseTargetError> {
    NonZeroU16::new(port).ok_or_else(|| ParseTargetError::port_zero(0))
}

/// A host alone, with or without brackets: `localhost`, `::1`, `[::1]`, `fe80::1%eth0`.
impl FromStr for Host {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Self, ParseTargetError> {
        parse::host(text)
    }
}

/// `host:port`, IPv6 in brackets; it parses back to the same target.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Ip(IpAddr::V6(_)) | Host::Zoned(..) => write!(f, "[{}]:{}", self.host, self.port),
            Host::Ip(IpAddr::V4(_)) | Host::Name(_) => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Without brackets.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(f),
            Self::Zoned(ip, zone) => write!(f, "{ip}%{zone}"),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// Without the `%`.
impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => index.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// As text, `host:port`.
#[cfg(feature = "serde")]
impl serde::Serialize for Target {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Target {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
