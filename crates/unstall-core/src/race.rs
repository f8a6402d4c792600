//! The race of connect attempts, RFC 8305, as a state machine without I/O and without a clock.
//!
//! The driver tells the machine what it learnt (addresses, outcomes) and asks [`Race::next`] what to do until the
//! answer is [`Action::Wait`] or [`Action::Done`]. Every `now` is the time since the start of the connect.

use crate::outcome::Outcome;
use crate::timeline::Reason;
use std::net::SocketAddr;
use std::time::Duration;

/// Which address families may be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Family {
    /// Both.
    #[default]
    Any,
    /// IPv4 alone.
    V4,
    /// IPv6 alone.
    V6,
}

/// The race's timers and limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// RFC 8305's Connection Attempt Delay. Default 250 ms, clamped to 10 ms ..= 2 s.
    pub attempt_delay: Duration,
    /// The attempt delay while all pending attempts are local. Default 10 ms.
    pub local_attempt_delay: Duration,
    /// How long a lone IPv4 answer waits for the IPv6 one (RFC 8305 section 3). Default 50 ms.
    pub resolution_delay: Duration,
    /// How many attempts may be pending at once. Default 6; at least 1.
    pub max_pending: usize,
    /// Which families may be tried. Default both.
    pub family: Family,
    /// When the race ends whatever happens. Default none.
    pub deadline: Option<Duration>,
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
        /// `None`: no timer is running.
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
    /// None did; the outcome that tells most (see [`Race`]).
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

// struct Race; to be written:
// Race::new(Config)                                   questions for both families (as far as `family` allows) are open
// Race::with_candidates(Config, &[Candidate]) -> Race all addresses known at time 0
// fn answer(&mut self, now, &[Candidate])             one answer with both families, in the OS's order; closes all questions
// fn answer_family(&mut self, now, Family, &[Candidate])   one family's answer; empty: negative
// fn failed_resolution(..)                            no more answers come; Outcome::NoName (or as given) when nothing was tried
// fn attempt_ended(&mut self, now, AttemptId, Outcome) -> Verdict
// fn cancel(&mut self, now)                           the caller gave up: every pending attempt is cancelled, End::Failed(Cancelled)
// fn next(&mut self, now) -> Action
