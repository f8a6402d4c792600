//! When an attempt is made again: core's policies, given what the OS says about the listener.

use crate::heat::Closing;
use crate::{Reason, SynRetransmissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use unstall_core::backlog::{self, Decision, Listening, Seen, Situation};
use unstall_core::outcome::Outcome;
use unstall_core::resend::{Next, Schedule};
use unstall_sys::listeners::Place;
use unstall_sys::{Error, host, listeners};

/// Whether a full accept queue refuses here, so that a refusal has to be looked into. It does on Windows (KB113576), and where that is
/// emulated.
fn refuses_when_full() -> bool {
    cfg!(windows) || is_emulated()
}

#[cfg(feature = "testing")]
fn is_emulated() -> bool {
    crate::testing::REFUSES_WHEN_FULL.load(std::sync::atomic::Ordering::Relaxed)
}

#[cfg(not(feature = "testing"))]
const fn is_emulated() -> bool {
    false
}

/// What an error says about the listener, if it says anything.
pub(crate) fn seen(error: &Error) -> Option<Seen> {
    match (error.outcome(), error.kind()) {
        (Outcome::Refused, ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted) => Some(Seen::Reset),
        (Outcome::Refused, _) => Some(Seen::Refused),
        (Outcome::TimedOut, _) => Some(Seen::GivenUp),
        _ => None,
    }
}

/// Whether an error stands, whoever listens.
pub(crate) fn is_final(error: &Error) -> bool {
    match seen(error) {
        None | Some(Seen::Reset) => true,
        Some(Seen::Refused) => !refuses_when_full(),
        Some(_) => false,
    }
}

/// What a connector repeats. The default is nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Retries {
    /// How long a listener of this host is tried.
    budget: Duration,
    /// When lost SYNs to other hosts are sent again, if it is we who do that.
    resend: Option<Schedule>,
}

/// All tries of one address so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tries {
    pub(crate) address: SocketAddr,
    pub(crate) local: bool,
    /// How many, the one in question included.
    pub(crate) count: u32,
    /// Since the first one's start.
    pub(crate) elapsed: Duration,
    /// Until the caller's limit.
    pub(crate) left: Option<Duration>,
}

/// What is to be done about an attempt that is unanswered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silent {
    /// The OS sees to it.
    LeaveAlone,
    LookIn(Duration),
    Close(Closing),
}

/// What is known of an attempt that is unanswered.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    repeated: Option<bool>,
    turn: Option<Duration>,
}

/// An attempt that has ended is made again, so long from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Again {
    pub(crate) after: Duration,
    pub(crate) reason: Reason,
}

impl Retries {
    pub(crate) fn new(budget: Duration, retransmissions: SynRetransmissions) -> Self {
        let resend = (retransmissions == SynRetransmissions::NoneAnywhere).then(host::syn_schedule);
        Self { budget, resend }
    }

    /// Whether anything is repeated for such an address.
    pub(crate) fn apply(&self, local: bool) -> bool {
        if local { !self.budget.is_zero() } else { self.resend.is_some() }
    }

    /// How long after its start an attempt is looked at. `None`: never.
    pub(crate) fn first_look(&self, tries: Tries) -> Option<Duration> {
        if tries.local {
            let looks = tries.elapsed < self.budget;
            // Most attempts are the only one, and need no random number.
            let jitter = if tries.count > 1 { jitter() } else { 0.0 };
            return looks.then(|| backlog::first_look(tries.count, tries.elapsed, jitter));
        }
        match self.resend?.next(tries.count - 1, tries.elapsed) {
            Next::In(after) | Next::GiveUpIn(after) => Some(after),
            Next::Now | Next::GiveUp => Some(Duration::ZERO),
        }
    }

    /// How long a SYN may wait for its answer, after so many tries before it.
    pub(crate) fn patience(&self, local: bool, before: u32) -> Option<Duration> {
        self.resend.filter(|_| !local).map(|schedule| schedule.lasts(before))
    }

    /// `repeated` tells whether the OS has sent the SYN again.
    pub(crate) fn silent(&self, tries: &Tries, repeated: impl FnOnce() -> Option<bool>) -> Silent {
        if !tries.local {
            let Some(schedule) = self.resend else { return Silent::LeaveAlone };
            return match schedule.next(tries.count - 1, tries.elapsed) {
                Next::In(after) | Next::GiveUpIn(after) => Silent::LookIn(after),
                Next::Now => Silent::Close(Closing::Afresh(Reason::SynRetry)),
                Next::GiveUp => Silent::Close(Closing::GivenUp),
            };
        }
        if tries.elapsed >= self.budget {
            return Silent::LeaveAlone;
        }
        let repeated = if backlog::wants_repeated(tries.count, tries.elapsed) { repeated() } else { None };
        let Place { queue, turn } = listeners::place(tries.address);
        match self.decide(Seen::Silence, queue.listening, tries, Known { repeated, turn }) {
            Decision::Final => Silent::LeaveAlone,
            Decision::Look { after } => Silent::LookIn(after),
            Decision::Again { .. } => Silent::Close(Closing::Afresh(Reason::BacklogRetry)),
        }
    }

    /// `None`: the end stands.
    pub(crate) fn ended(&self, seen: Seen, tries: &Tries) -> Option<Again> {
        if !tries.local {
            let schedule = self.resend.filter(|_| seen == Seen::GivenUp)?;
            let reason = Reason::SynRetry;
            return match schedule.next(tries.count - 1, tries.elapsed) {
                Next::In(after) => Some(Again { after, reason }),
                Next::Now => Some(Again { after: Duration::ZERO, reason }),
                Next::GiveUpIn(_) | Next::GiveUp => None,
            };
        }
        if tries.elapsed >= self.budget || (seen == Seen::Refused && !refuses_when_full()) {
            return None;
        }
        let listening = match seen {
            Seen::Refused => listeners::queue_after_refusal(tries.address).listening,
            _ => Listening::Unknown,
        };
        match self.decide(seen, listening, tries, Known::default()) {
            Decision::Again { after } => Some(Again { after, reason: Reason::BacklogRetry }),
            Decision::Final | Decision::Look { .. } => None,
        }
    }

    fn decide(&self, seen: Seen, listening: Listening, tries: &Tries, known: Known) -> Decision {
        backlog::decide(&Situation {
            seen,
            local: tries.local,
            listening,
            elapsed: tries.elapsed,
            tries: tries.count,
            repeated: known.repeated,
            turn: known.turn,
            budget: self.budget,
            left: tries.left,
            jitter: jitter(),
        })
    }
}

/// From 0 to below 1. The standard library's hasher has keys of its own for each call, which is random enough to spread a crowd.
fn jitter() -> f64 {
    (RandomState::new().build_hasher().finish() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A connected stream whose server may not know of it.
#[cfg(unix)]
pub(crate) trait Stream: std::os::fd::AsFd {
    /// Whether it is connected on this side alone. False where the OS does not tell.
    fn is_ghost(&self) -> bool {
        unstall_sys::connect::server_side(self.as_fd()) == listeners::ServerSide::Half
    }

    /// Lets its end be a reset, which takes the server's half away too.
    fn reset(&self) {
        unstall_sys::connect::reset_at_close(self.as_fd());
    }
}

#[cfg(unix)]
impl<T: std::os::fd::AsFd> Stream for T {}

/// A connected stream. A full queue is reset on Windows, so there is no half of a connection.
#[cfg(windows)]
pub(crate) trait Stream {
    fn is_ghost(&self) -> bool {
        false
    }

    fn reset(&self) {}
}

#[cfg(windows)]
impl<T> Stream for T {}
