//! What happened during one connect: the resolution and every attempt, with times since the start of the
//! connect.
//!
//! With the feature `serde` a timeline is what a report's `results[]` holds for a connect: `target`,
//! `outcome`, `elapsed_ns`, `resolve_ns`, `attempts[]` of `address`, `reason`, `start_ns`, `end_ns`,
//! `outcome`, `os_error`. Times are integer nanoseconds; `null` is "there was none".

mod attempts;
#[cfg(feature = "serde")]
mod json;
#[cfg(feature = "qlog")]
pub mod qlog;
mod render;

pub use attempts::Attempts;

use crate::outcome::{OsError, Outcome};
use crate::race::Family;
use crate::syn::Prepared;
use crate::target::Target;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// Why an attempt started. The names are those of draft-kuehlewind-happy-qlog where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Reason {
    /// Addresses are known: the first attempt (qlog `dns_completed`).
    DnsCompleted,
    /// The other family's answer did not come within the Resolution Delay (qlog `resolution_delay_expired`).
    ResolutionDelayExpired,
    /// The newest pending attempt did not answer within the attempt delay (qlog `policy_timer`).
    PolicyTimer,
    /// The newest pending attempt failed, or at the limit of pending attempts one failed and made room (an
    /// extension: the draft has no name for it).
    PreviousAttemptFailed,
    /// The same address again, because it did not take the attempt before although somebody may listen: a full accept queue, or a
    /// lost SYN on this host (an extension).
    BacklogRetry,
    /// The same address again, because nothing answered and the OS was told not to send the SYN again itself (an extension).
    SynRetry,
}

/// The resolution of the target's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// When the question was asked.
    pub start: Duration,
    /// When the last answer came.
    pub end: Duration,
    /// The addresses in the order in which they are tried.
    pub addresses: Vec<SocketAddr>,
    /// [`Outcome::Connected`] never; [`Outcome::NoName`], [`Outcome::TimedOut`], ... or `None` when it
    /// succeeded.
    pub failure: Option<Outcome>,
    /// The resolver's error code.
    pub os_error: Option<OsError>,
    /// Each family's answer, in the order in which they came; empty where both are one answer, as the OS's is.
    pub answers: Vec<FamilyAnswer>,
}

/// A resolver's answer for one family.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FamilyAnswer {
    /// [`Family::V6`]: the answer to AAAA; [`Family::V4`]: to A.
    pub family: Family,
    /// When it came.
    #[cfg_attr(feature = "serde", serde(rename = "end_ns", with = "crate::text::ns"))]
    pub end: Duration,
    /// What it brought. Empty: there is no address of the family, or the question failed.
    pub addresses: Vec<SocketAddr>,
    /// Why the question failed.
    pub failure: Option<Outcome>,
}

/// One TCP connect to one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Where to.
    pub address: SocketAddr,
    /// Why it started.
    pub reason: Reason,
    /// When it started.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
    /// What it came to.
    pub outcome: Outcome,
    /// The error code behind the outcome.
    pub os_error: Option<OsError>,
    /// What was done about SYN retransmissions; `None`: the attempt never got that far.
    pub prepared: Option<Prepared>,
}

/// Every attempt of a connect. Times count from the start of the connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// What was asked for.
    pub target: Target,
    /// `None`: the target was an address.
    pub resolution: Option<Resolution>,
    /// In the order in which they started.
    pub attempts: Attempts,
    /// What the connect came to.
    pub outcome: Outcome,
    /// How long the whole connect took.
    pub elapsed: Duration,
}

impl Resolution {
    /// How long it took.
    pub fn took(&self) -> Duration {
        self.end.saturating_sub(self.start)
    }
}

impl Attempt {
    /// How long it took.
    pub fn took(&self) -> Duration {
        self.end.saturating_sub(self.start)
    }
}

impl Timeline {
    /// The attempt that connected; `None`: none did.
    pub fn winner(&self) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.outcome == Outcome::Connected)
    }
}

impl Reason {
    /// Every reason, in declaration order.
    pub const ALL: [Self; 6] = [
        Self::DnsCompleted,
        Self::ResolutionDelayExpired,
        Self::PolicyTimer,
        Self::PreviousAttemptFailed,
        Self::BacklogRetry,
        Self::SynRetry,
    ];

    /// The stable identifier, as in the JSON report: `dns_completed`, ...
    pub const fn id(self) -> &'static str {
        match self {
            Self::DnsCompleted => "dns_completed",
            Self::ResolutionDelayExpired => "resolution_delay_expired",
            Self::PolicyTimer => "policy_timer",
            Self::PreviousAttemptFailed => "previous_attempt_failed",
            Self::BacklogRetry => "backlog_retry",
            Self::SynRetry => "syn_retry",
        }
    }
}

/// The reason in words, for people: `the address is known`, ...
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::DnsCompleted => "the address is known",
            Self::ResolutionDelayExpired => "the other family's answer is late",
            Self::PolicyTimer => "the attempt before is slow",
            Self::PreviousAttemptFailed => "the attempt before failed",
            Self::BacklogRetry => "a listener is there but did not take it",
            Self::SynRetry => "the SYN before was not answered",
        })
    }
}
