//! What happened during one connect: the resolution and every attempt, with times since the start of the connect.

use crate::outcome::{OsError, Outcome};
use crate::syn::Prepared;
use crate::target::Target;
use smallvec::SmallVec;
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
    /// The newest pending attempt failed (an extension: the draft has no name for it).
    PreviousAttemptFailed,
    /// The same address again, because somebody listens there but the accept queue was full (an extension).
    BacklogRetry,
}

/// The resolution of the target's name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Resolution {
    /// When the question was asked.
    pub start: Duration,
    /// When the last answer came.
    pub end: Duration,
    /// The addresses in the order in which they are tried.
    pub addresses: Vec<SocketAddr>,
    /// [`Outcome::Connected`] never; [`Outcome::NoName`], [`Outcome::TimedOut`], ... or `None` when it succeeded.
    pub failure: Option<Outcome>,
    /// The resolver's error code.
    pub os_error: Option<OsError>,
}

/// One TCP connect to one address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    pub attempts: SmallVec<[Attempt; 2]>,
    /// What the connect came to.
    pub outcome: Outcome,
    /// How long the whole connect took.
    pub elapsed: Duration,
}
