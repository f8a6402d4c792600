//! The race of connect attempts, RFC 8305, as a state machine without I/O and without a clock.
//!
//! The driver tells the machine what it learnt (addresses, outcomes) and asks [`Race::next`] what to do until the
//! answer is [`Action::Wait`] or [`Action::Done`]. Every `now` is the time since the start of the connect.

mod machine;
mod order;
mod precedence;

pub use machine::Race;

use crate::outcome::Outcome;
use crate::timeline::Reason;
use std::net::SocketAddr;
use std::time::Duration;

/// RFC 8305 section 5: a fixed Connection Attempt Delay of 250 milliseconds is recommended.
pub const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// The attempt delay among local addresses: what never leaves the host answers in microseconds or not at all. It is
/// [`MIN_ATTEMPT_DELAY`], the shortest that the RFC allows.
pub const LOCAL_ATTEMPT_DELAY: Duration = MIN_ATTEMPT_DELAY;

/// RFC 8305 sections 3 and 8: the recommended Resolution Delay is 50 milliseconds.
pub const RESOLUTION_DELAY: Duration = Duration::from_millis(50);

/// RFC 8305 sections 5 and 8: the Connection Attempt Delay must not be less than 10 milliseconds. (The recommended
/// minimum of 100 milliseconds is for delays computed from measured round trips, which this race does not do.)
///
/// Our reading: the bound is on the timer, and guards a network against a burst of packets to addresses of which
/// nothing is known. It is not on the reaction to a failure, which is an answer: the RFC does not say when the next
/// attempt starts after one.
pub const MIN_ATTEMPT_DELAY: Duration = Duration::from_millis(10);

/// RFC 8305 sections 5 and 8: the Maximum Connection Attempt Delay, recommended to be 2 seconds.
pub const MAX_ATTEMPT_DELAY: Duration = Duration::from_secs(2);

/// How many attempts may be pending at once: the RFC names no number, curl's is 6 (curl commit db9b6fa82e).
pub const MAX_PENDING: usize = 6;

/// Which address families may be tried.
///
/// The family is that of the socket: `::ffff:127.0.0.1` is IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Family {
    /// Both.
    #[default]
    Any,
    /// IPv4 alone.
    V4,
    /// IPv6 alone.
    V6,
}

impl Family {
    /// Whether `address` is of this family.
    pub const fn allows(self, address: SocketAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

/// The race's timers and limits. A [`Race`] brings values that are out of bounds into bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// RFC 8305's Connection Attempt Delay. Default [`ATTEMPT_DELAY`], 250 ms; from [`MIN_ATTEMPT_DELAY`] to
    /// [`MAX_ATTEMPT_DELAY`].
    pub attempt_delay: Duration,
    /// The attempt delay while all pending attempts are local. Default [`LOCAL_ATTEMPT_DELAY`], 10 ms; from
    /// [`MIN_ATTEMPT_DELAY`] to [`MAX_ATTEMPT_DELAY`].
    pub local_attempt_delay: Duration,
    /// How long a lone IPv4 answer waits for the IPv6 one (RFC 8305 section 3). Default [`RESOLUTION_DELAY`], 50 ms.
    pub resolution_delay: Duration,
    /// How many attempts may be pending at once, those that wait to be made again included. Default [`MAX_PENDING`],
    /// 6; at least 1.
    pub max_pending: usize,
    /// Which families may be tried. Default both.
    pub family: Family,
    /// When the race ends whatever happens. Default none.
    pub deadline: Option<Duration>,
}

impl Config {
    /// The same with every value in its bounds.
    fn bounded(self) -> Self {
        Self {
            attempt_delay: self.attempt_delay.clamp(MIN_ATTEMPT_DELAY, MAX_ATTEMPT_DELAY),
            local_attempt_delay: self.local_attempt_delay.clamp(MIN_ATTEMPT_DELAY, MAX_ATTEMPT_DELAY),
            max_pending: self.max_pending.max(1),
            ..self
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            attempt_delay: ATTEMPT_DELAY,
            local_attempt_delay: LOCAL_ATTEMPT_DELAY,
            resolution_delay: RESOLUTION_DELAY,
            max_pending: MAX_PENDING,
            family: Family::Any,
            deadline: None,
        }
    }
}

/// An address to try, and whether its packets stay on this host (see [`crate::locality`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The address.
    pub address: SocketAddr,
    /// Whether it is local.
    pub local: bool,
}

/// Names an attempt within its race; the n-th started attempt is n, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttemptId(pub u32);

/// What the driver is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Action {
    /// Start a connect.
    Start {
        /// Its name.
        id: AttemptId,
        /// Where to.
        candidate: Candidate,
        /// Why now.
        reason: Reason,
    },
    /// Close a pending attempt; record `outcome` for it. Its later end is of no interest.
    Cancel {
        /// Which.
        id: AttemptId,
        /// [`Outcome::Cancelled`], or [`Outcome::TimedOut`] when the deadline ended it.
        outcome: Outcome,
    },
    /// Wait for the end of an attempt or for an answer, at most until this time.
    Wait {
        /// Always later than the `now` of the question. `None`: no timer is running.
        until: Option<Duration>,
    },
    /// The race is over and every loser was cancelled.
    Done(End),
}

/// How the race ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// This attempt connected.
    Won(AttemptId),
    /// None did; the outcome that tells most (see [`Race`]). Never [`Outcome::Connected`], and never
    /// [`Outcome::SelfConnected`], which is a refusal for the whole.
    Failed(Outcome),
}

/// What the driver does with the socket of an attempt that it reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It is the winner: keep it.
    Keep,
    /// It failed, or it connected too late: close it.
    Close,
}
