//! What an attempt came to, and which OS error codes mean which outcome.

use std::fmt;

/// How an attempt, a resolution or a whole connect ended.
///
/// The names are stable: they are the strings of the JSON report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Outcome {
    /// The three-way handshake completed.
    Connected,
    /// A reset answered the SYN: the host is there, nobody listens on the port (or, on Windows, the accept queue is
    /// full).
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
    /// The socket was connected to itself: nobody listens, the kernel chose the destination port as source port.
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

/// An OS error code and the call that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OsError {
    /// The call that failed.
    pub operation: Operation,
    /// errno, WSA code or (for [`Operation::Resolve`]) the EAI code, as the OS gave it.
    pub code: i32,
}
