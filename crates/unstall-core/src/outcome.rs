//! What an attempt came to, and which OS error codes mean which outcome.
//!
//! The codes stand in tables, one for errno, one for Winsock and Win32, one for getaddrinfo, and every table
//! is compiled on every platform: a report from Windows can be read on Linux. [`classify`] looks a code up,
//! [`refine`] adds what the destination tells about it. A code that no table has stays [`Outcome::Unknown`].

mod resolver;
mod table;
mod unix;
mod windows;

pub use table::{Known, Platform, classify, lookup, meaning, name};

use crate::locality;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// How an attempt, a resolution or a whole connect ended.
///
/// The names are stable: they are the strings of the JSON report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Outcome {
    /// The three-way handshake completed.
    Connected,
    /// A reset answered the SYN: the host is there, nobody listens on the port (or, on Windows, the accept
    /// queue is full).
    Refused,
    /// Nothing answered in the time allowed.
    TimedOut,
    /// A router or the own routing table says that there is no way to the host or network.
    Unreachable,
    /// The address or its family cannot be used on this host (IPv6 off, 0.0.0.0 on Windows, no zone given).
    NotAvailable,
    /// A firewall, sandbox or policy of this host forbids it.
    NotPermitted,
    /// The name does not resolve to any usable address.
    NoName,
    /// Local ports, buffers or descriptors are used up.
    Exhausted,
    /// The socket was connected to itself: nobody listens, the kernel chose the destination port as source
    /// port.
    SelfConnected,
    /// Given up by the caller or because another attempt won.
    Cancelled,
    /// An error code that none of the tables knows.
    Unknown,
}

impl Outcome {
    /// Every outcome, in declaration order.
    pub const ALL: [Self; 11] = [
        Self::Connected,
        Self::Refused,
        Self::TimedOut,
        Self::Unreachable,
        Self::NotAvailable,
        Self::NotPermitted,
        Self::NoName,
        Self::Exhausted,
        Self::SelfConnected,
        Self::Cancelled,
        Self::Unknown,
    ];

    /// The stable identifier, as in the JSON report: `connected`, `timed_out`, ...
    pub const fn id(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Unreachable => "unreachable",
            Self::NotAvailable => "not_available",
            Self::NotPermitted => "not_permitted",
            Self::NoName => "no_name",
            Self::Exhausted => "exhausted",
            Self::SelfConnected => "self_connected",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// What a failed call means on the platform that this is compiled for.
    pub fn from_os(error: OsError) -> Self {
        classify(Platform::CURRENT, error.operation, error.code)
    }

    /// [`Self::from_os`], refined by what the destination of a connect tells; see [`refine`].
    pub fn from_os_for(error: OsError, destination: SocketAddr, family_usable: Option<bool>) -> Self {
        match error.operation {
            Operation::Connect | Operation::Wait => refine(Self::from_os(error), destination, family_usable),
            _ => Self::from_os(error),
        }
    }
}

/// What a connect's outcome means, given where it went and whether connects of that family work on this host
/// at all (`None`: not known). Two codes say less than can be told:
///
/// - EADDRNOTAVAIL stands for an address that this host cannot use as well as for "no free local port". IPv4
///   loopback exists on every host, so there it is the ports; for other addresses it is the ports if the
///   family is known to be usable. Unspecified addresses (Windows refuses them) and link-local ones without a
///   zone stay not available.
/// - EINVAL for a link-local IPv6 address without a zone is the missing zone (Linux).
///
/// ```
/// # use unstall_core::outcome::{Outcome, refine};
/// let loopback = "127.0.0.1:80".parse().unwrap();
/// assert_eq!(refine(Outcome::NotAvailable, loopback, None), Outcome::Exhausted);
/// let loopback = "[::1]:80".parse().unwrap();
/// assert_eq!(refine(Outcome::NotAvailable, loopback, None), Outcome::NotAvailable);
/// ```
#[must_use]
pub fn refine(outcome: Outcome, destination: SocketAddr, family_usable: Option<bool>) -> Outcome {
    let ip = locality::unmap(destination.ip());
    let no_zone = match destination {
        SocketAddr::V6(v6) => v6.ip().is_unicast_link_local() && v6.scope_id() == 0,
        SocketAddr::V4(_) => false,
    };
    let out_of_ports = !no_zone
        && !ip.is_unspecified()
        && (family_usable == Some(true) || matches!(ip, IpAddr::V4(v4) if v4.is_loopback()));
    match outcome {
        Outcome::NotAvailable if out_of_ports => Outcome::Exhausted,
        Outcome::Unknown | Outcome::Unreachable if no_zone => Outcome::NotAvailable,
        other => other,
    }
}

/// The std error kind with which an outcome is reported.
///
/// [`Outcome::SelfConnected`] is a refusal, for nobody listens. [`Outcome::Cancelled`] is not `Interrupted`,
/// which std's own loops take for "try again". [`Outcome::Exhausted`] is `ResourceBusy`: what is used up may
/// be free again later.
pub const fn io_error_kind(outcome: Outcome) -> io::ErrorKind {
    match outcome {
        Outcome::Refused | Outcome::SelfConnected => io::ErrorKind::ConnectionRefused,
        Outcome::TimedOut => io::ErrorKind::TimedOut,
        Outcome::Unreachable => io::ErrorKind::HostUnreachable,
        Outcome::NotAvailable => io::ErrorKind::AddrNotAvailable,
        Outcome::NotPermitted => io::ErrorKind::PermissionDenied,
        Outcome::NoName => io::ErrorKind::NotFound,
        Outcome::Exhausted => io::ErrorKind::ResourceBusy,
        Outcome::Cancelled => io::ErrorKind::ConnectionAborted,
        Outcome::Connected | Outcome::Unknown => io::ErrorKind::Other,
    }
}

/// The outcome in words, for people: `timed out`, `self-connected`, ...
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TimedOut => "timed out",
            Self::NotAvailable => "not available",
            Self::NotPermitted => "not permitted",
            Self::NoName => "no name",
            Self::SelfConnected => "self-connected",
            other => other.id(),
        })
    }
}

/// The call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Operation {
    /// getaddrinfo.
    Resolve,
    /// socket or WSASocketW.
    Socket,
    /// setsockopt, ioctl, fcntl or WSAIoctl.
    SetOption,
    /// bind.
    Bind,
    /// listen.
    Listen,
    /// connect or ConnectEx.
    Connect,
    /// poll or a wait for completions.
    Wait,
    /// Reading the listener table or another table of the OS.
    ReadTable,
}

impl Operation {
    /// Every operation, in declaration order.
    pub const ALL: [Self; 8] = [
        Self::Resolve,
        Self::Socket,
        Self::SetOption,
        Self::Bind,
        Self::Listen,
        Self::Connect,
        Self::Wait,
        Self::ReadTable,
    ];
}

/// The operation in words, as in "cannot ...": `resolve`, `create a socket`, ...
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Resolve => "resolve",
            Self::Socket => "create a socket",
            Self::SetOption => "set a socket option",
            Self::Bind => "bind",
            Self::Listen => "listen",
            Self::Connect => "connect",
            Self::Wait => "wait",
            Self::ReadTable => "read the OS's tables",
        })
    }
}

/// An OS error code and the call that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OsError {
    /// The call that failed.
    pub operation: Operation,
    /// errno, WSA code or (for [`Operation::Resolve`]) the EAI code, as the OS gave it.
    pub code: i32,
}

impl OsError {
    /// The code's symbolic name on the platform that this is compiled for, `ECONNREFUSED` for example.
    pub fn name(self) -> Option<&'static str> {
        name(Platform::CURRENT, self.operation, self.code)
    }

    /// What the code means, in words, on the platform that this is compiled for.
    pub fn meaning(self) -> Option<&'static str> {
        meaning(Platform::CURRENT, self.operation, self.code)
    }
}

/// Name and number, `ECONNREFUSED (111)`; the number alone, `error 4242`, when no table has it.
impl fmt::Display for OsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.code),
            None => write!(f, "error {}", self.code),
        }
    }
}
