//! The race of connect attempts, RFC 8305, as a state machine without I/O and without a clock.
//!
//! The driver tells the machine what it learnt (addresses, outcomes) and asks [`Race::next`] what to do until the
//! answer is [`Action::Wait`] or [`Action::Done`]. Every `now` is the time since the start of the connect.

mod order;
mod precedence;

use crate::outcome::Outcome;
use crate::timeline::Reason;
use order::Order;
use smallvec::SmallVec;
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

impl Default for Config {
    fn default() -> Self {
        Self {
            attempt_delay: Duration::from_millis(250),
            local_attempt_delay: Duration::from_millis(10),
            resolution_delay: Duration::from_millis(50),
            max_pending: 6,
            family: Family::Any,
            deadline: None,
        }
    }
}

/// RFC 8305 section 8: the Connection Attempt Delay "MUST NOT be less than" this.
pub const MIN_ATTEMPT_DELAY: Duration = Duration::from_millis(10);
/// RFC 8305 section 8: Maximum Connection Attempt Delay.
pub const MAX_ATTEMPT_DELAY: Duration = Duration::from_secs(2);

/// The race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    config: Config,
    order: Order,
    /// Whether the AAAA and the A answer are still to come.
    open_v6: bool,
    open_v4: bool,
    /// What ends a race that never had an address to try.
    nothing_to_try: Outcome,
    /// Attempts that are pending or wait to be made again, oldest first.
    live: SmallVec<[Live; 8]>,
    started: u32,
    pace: Pace,
    /// Since when fewer than `max_pending` attempts are live.
    room_since: Duration,
    /// The failure that tells most so far.
    worst: Option<Outcome>,
    end: Option<End>,
}

/// An attempt that somebody still hopes for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Live {
    id: AttemptId,
    candidate: Candidate,
    reason: Reason,
    /// `Some`: it ended, and is to be made again at this time.
    again_at: Option<Duration>,
}

/// What decides when the next candidate may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// Nothing was started yet: the answers decide.
    First,
    /// The newest attempt is pending since then.
    Held { by: AttemptId, start: Duration },
    /// The newest attempt failed then.
    Failed { at: Duration },
}

/// When the next candidate starts, and why.
struct Due {
    at: Duration,
    reason: Reason,
}

impl Race {
    /// A race whose addresses are still to come: the questions for the families that `config` allows are open.
    pub fn new(config: Config) -> Self {
        let config = Config {
            attempt_delay: config.attempt_delay.clamp(MIN_ATTEMPT_DELAY, MAX_ATTEMPT_DELAY),
            local_attempt_delay: config.local_attempt_delay.clamp(MIN_ATTEMPT_DELAY, MAX_ATTEMPT_DELAY),
            max_pending: config.max_pending.max(1),
            ..config
        };
        Self {
            order: Order::default(),
            open_v6: config.family != Family::V4,
            open_v4: config.family != Family::V6,
            nothing_to_try: Outcome::NoName,
            live: SmallVec::new(),
            started: 0,
            pace: Pace::First,
            room_since: Duration::ZERO,
            worst: None,
            end: None,
            config,
        }
    }

    /// A race whose addresses are all known at time 0.
    pub fn with_candidates(config: Config, candidates: &[Candidate]) -> Self {
        let mut race = Self::new(config);
        if !candidates.is_empty() {
            race.nothing_to_try = Outcome::NotAvailable;
        }
        race.answer(Duration::ZERO, candidates);
        race
    }

    /// One answer with both families, in the OS's order; closes all questions.
    pub fn answer(&mut self, now: Duration, candidates: &[Candidate]) {
        self.answer_family(now, Family::Any, candidates);
    }

    /// The answer for one family; empty: negative.
    pub fn answer_family(&mut self, now: Duration, family: Family, candidates: &[Candidate]) {
        if self.end.is_some() {
            return;
        }
        self.open_v6 &= family == Family::V4;
        self.open_v4 &= family == Family::V6;
        let allowed = self.config.family;
        let usable = candidates.iter().filter(|c| family.allows(c.address) && allowed.allows(c.address));
        self.order.learn(now, family == Family::Any, usable);
    }

    /// No more answers come. `outcome` is how the race ends if there was nothing to try.
    pub fn failed_resolution(&mut self, now: Duration, outcome: Outcome) {
        self.nothing_to_try = outcome;
        self.answer(now, &[]);
    }

    /// An attempt ended.
    pub fn attempt_ended(&mut self, now: Duration, id: AttemptId, outcome: Outcome) -> Verdict {
        if self.end == Some(End::Won(id)) {
            return Verdict::Keep;
        }
        let Some(index) = self.reported(id) else {
            return Verdict::Close;
        };
        if outcome == Outcome::Connected {
            self.live.remove(index);
            self.end = Some(End::Won(id));
            return Verdict::Keep;
        }
        self.fail(now, index, outcome);
        Verdict::Close
    }

    /// An attempt ended, and its address is to be tried again at `at`.
    pub fn attempt_again(&mut self, now: Duration, id: AttemptId, at: Duration) -> Verdict {
        let Some(index) = self.reported(id) else {
            return Verdict::Close;
        };
        if self.config.deadline.is_some_and(|deadline| at >= deadline) {
            self.fail(now, index, Outcome::TimedOut);
        } else {
            self.live[index].again_at = Some(at);
            self.release(now, id);
        }
        Verdict::Close
    }

    /// The caller gave up.
    pub fn cancel(&mut self, _now: Duration) {
        self.end.get_or_insert(End::Failed(Outcome::Cancelled));
    }

    /// What to do now.
    pub fn next(&mut self, now: Duration) -> Action {
        if self.end.is_none() {
            self.end = self.ended(now);
        }
        if let Some(end) = self.end {
            return self.wind_up(end);
        }
        match self.start_again(now).or_else(|| self.start_next(now)) {
            Some(start) => start,
            None => Action::Wait { until: self.timer() },
        }
    }

    /// The addresses in the order in which they are tried, as far as known.
    pub fn candidates(&self) -> impl Iterator<Item = Candidate> + '_ {
        self.order.iter()
    }

    /// Where the pending attempt `id` is; `None` if its end is of no interest any more.
    fn reported(&mut self, id: AttemptId) -> Option<usize> {
        debug_assert!(id.0 < self.started, "{id:?} was never started");
        let index = self.live.iter().position(|live| live.id == id && live.again_at.is_none())?;
        if self.end.is_some() {
            // A loser that ended before it was cancelled.
            self.live.remove(index);
            return None;
        }
        Some(index)
    }

    fn fail(&mut self, now: Duration, index: usize, outcome: Outcome) {
        if self.live.len() >= self.config.max_pending {
            self.room_since = now;
        }
        let id = self.live.remove(index).id;
        self.worst = Some(precedence::more_telling(self.worst, outcome));
        self.release(now, id);
    }

    fn release(&mut self, now: Duration, id: AttemptId) {
        if matches!(self.pace, Pace::Held { by, .. } if by == id) {
            self.pace = Pace::Failed { at: now };
        }
    }

    fn ended(&self, now: Duration) -> Option<End> {
        let more = self.order.waiting() || self.open_v6 || self.open_v4;
        if self.live.is_empty() && !more {
            return Some(End::Failed(self.worst.unwrap_or(self.nothing_to_try)));
        }
        let deadline = self.config.deadline?;
        (now >= deadline).then_some(End::Failed(Outcome::TimedOut))
    }

    fn wind_up(&mut self, end: End) -> Action {
        let outcome = match end {
            End::Failed(Outcome::TimedOut) => Outcome::TimedOut,
            _ => Outcome::Cancelled,
        };
        while let Some(live) = self.live.pop() {
            if live.again_at.is_none() {
                return Action::Cancel { id: live.id, outcome };
            }
        }
        Action::Done(end)
    }

    fn start_again(&mut self, now: Duration) -> Option<Action> {
        let index = self.live.iter().position(|live| live.again_at.is_some_and(|at| at <= now))?;
        let candidate = self.live.remove(index).candidate;
        Some(self.start(candidate, Reason::BacklogRetry))
    }

    fn start_next(&mut self, now: Duration) -> Option<Action> {
        let due = self.due().filter(|due| due.at <= now)?;
        let candidate = self.order.take()?;
        self.pace = Pace::Held { by: AttemptId(self.started), start: now };
        Some(self.start(candidate, due.reason))
    }

    fn start(&mut self, candidate: Candidate, reason: Reason) -> Action {
        let id = AttemptId(self.started);
        self.started += 1;
        self.live.push(Live { id, candidate, reason, again_at: None });
        Action::Start { id, candidate, reason }
    }

    /// `None`: there is no candidate, or no room for one.
    fn due(&self) -> Option<Due> {
        if !self.order.waiting() || self.live.len() >= self.config.max_pending {
            return None;
        }
        let known = self.order.waiting_since();
        let mut due = match self.pace {
            Pace::First if self.open_v6 => Due {
                at: known.saturating_add(self.config.resolution_delay),
                reason: Reason::ResolutionDelayExpired,
            },
            Pace::First => Due { at: known, reason: Reason::DnsCompleted },
            Pace::Held { start, .. } => {
                Due { at: start.saturating_add(self.delay()), reason: Reason::PolicyTimer }
            }
            Pace::Failed { at } => Due { at, reason: Reason::PreviousAttemptFailed },
        };
        if self.room_since > due.at {
            due = Due { at: self.room_since, reason: Reason::PreviousAttemptFailed };
        }
        if known > due.at {
            due = Due { at: known, reason: Reason::DnsCompleted };
        }
        Some(due)
    }

    fn delay(&self) -> Duration {
        let mut holding =
            self.live.iter().filter(|live| live.again_at.is_none() && live.reason != Reason::BacklogRetry);
        if holding.all(|live| live.candidate.local) {
            self.config.local_attempt_delay
        } else {
            self.config.attempt_delay
        }
    }

    fn timer(&self) -> Option<Duration> {
        let again = self.live.iter().filter_map(|live| live.again_at);
        again.chain(self.due().map(|due| due.at)).chain(self.config.deadline).min()
    }
}

impl Family {
    /// Whether `address` is of this family.
    pub fn allows(self, address: SocketAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}
