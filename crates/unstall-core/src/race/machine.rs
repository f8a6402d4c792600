//! The state of a race and the rules by which it moves.

use super::order::Order;
use super::precedence::more_telling;
use super::{Action, AttemptId, Candidate, Config, End, Family, Verdict};
use crate::outcome::Outcome;
use crate::timeline::Reason;
use smallvec::SmallVec;
use std::time::Duration;

/// One race: addresses and outcomes in, [`Action`]s out.
///
/// # Order
/// The addresses of an [`answer`](Self::answer) keep the OS's order of families: the family of its first address
/// leads, and from there on the families alternate (RFC 8305 section 4 with a First Address Family Count of 1).
/// Separate answers have no such order; there IPv6 leads, as in the RFC. An address that comes twice is tried once.
/// Late addresses take the place that they would have had from the start.
///
/// # Pace
/// The first attempt starts as soon as the answers allow. The next one starts
/// - at once when the newest attempt failed (or none is pending),
/// - else [`attempt_delay`](Config::attempt_delay) after the newest start, or
///   [`local_attempt_delay`](Config::local_attempt_delay) after it while all pending attempts are local,
/// - but never while [`max_pending`](Config::max_pending) attempts are pending: then it starts when one of them ends.
///
/// Nothing pending is given up to make room. A pending attempt is ended by a winner, by the deadline or by the
/// caller, and by nothing else: an attempt that is merely slow may be the only one that would connect. Node ends slow
/// attempts for the next one's sake and so cannot reach hosts more than 250 ms away (nodejs/node#54359); curl, at its
/// limit, gives up the oldest, which has waited longest and may be the next to answer.
///
/// # End
/// The first attempt that connects wins. Every other one is cancelled before [`Action::Done`], or, if it connects
/// first, gets [`Verdict::Close`]. Nothing starts after the end. What is reported before [`next`](Self::next) has
/// noticed the deadline counts, so an attempt that is refused at the very moment of the deadline was refused, and a
/// driver that wakes up late loses nothing.
///
/// When all attempts failed, the outcome that tells most speaks for the whole. From most to least: timed out (with
/// more time it might have connected), not permitted and exhausted (this host kept it from being tried, so nobody
/// knows whether a server is there), refused (the host answers, nobody listens), unknown, unreachable and not
/// available (often no more than the sign of a family that this host does not have), no name, cancelled.
/// Self-connected counts as refused. A race that the deadline ended has timed out.
///
/// # Example
/// ```
/// use std::time::Duration;
/// use unstall_core::outcome::Outcome;
/// use unstall_core::race::{Action, AttemptId, Candidate, Config, End, Race, Verdict};
///
/// let candidates = ["[::1]:80", "127.0.0.1:80"].map(|address| Candidate {
///     address: address.parse().unwrap(),
///     local: true,
/// });
/// let mut race = Race::with_candidates(Config::default(), &candidates);
/// let start = race.next(Duration::ZERO);
/// assert!(matches!(start, Action::Start { id: AttemptId(0), candidate, .. } if candidate == candidates[0]));
/// // Both are local: the next one may start after 10 ms.
/// let wait = race.next(Duration::ZERO);
/// assert_eq!(wait, Action::Wait { until: Some(Duration::from_millis(10)) });
/// // But the first is refused, so the next starts at once.
/// let now = Duration::from_micros(50);
/// assert_eq!(race.attempt_ended(now, AttemptId(0), Outcome::Refused), Verdict::Close);
/// let start = race.next(now);
/// assert!(matches!(start, Action::Start { id: AttemptId(1), candidate, .. } if candidate == candidates[1]));
/// let now = Duration::from_micros(90);
/// assert_eq!(race.attempt_ended(now, AttemptId(1), Outcome::Connected), Verdict::Keep);
/// assert_eq!(race.next(now), Action::Done(End::Won(AttemptId(1))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    config: Config,
    order: Order,
    /// Whether the AAAA answer is still to come.
    open_v6: bool,
    /// Whether the A answer is still to come.
    open_v4: bool,
    /// What ends a race that never had an address to try.
    nothing_to_try: Outcome,
    /// The attempts that may still connect, oldest first.
    live: SmallVec<[Live; 8]>,
    /// How many attempts were started.
    started: u32,
    pace: Pace,
    /// When the last attempt ended that had kept the next one from starting for lack of room.
    room_since: Duration,
    /// The failure that tells most so far.
    worst: Option<Outcome>,
    end: Option<End>,
}

/// An attempt that may still connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Live {
    id: AttemptId,
    candidate: Candidate,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Pending, and the next candidate waits for it.
    Pending,
    /// Pending, but made again: the next candidate does not wait for it a second time.
    PendingAgain,
    /// Ended, and to be made again then. It keeps its place among the pending ones, so that a candidate of which
    /// nothing is known cannot keep out one that is being retried because somebody listens there.
    Again { at: Duration, reason: Reason },
}

/// What the next candidate waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// For the answers: nothing was started yet.
    First,
    /// For the newest attempt: it started then.
    Newest { id: AttemptId, start: Duration },
    /// For nothing: the newest attempt failed then.
    Failed { at: Duration },
}

/// When the next candidate starts, and why.
#[derive(Clone, Copy)]
struct Due {
    at: Duration,
    reason: Reason,
}

impl Due {
    /// When both this and another condition are met; the later one is the reason.
    fn and(self, at: Duration, reason: Reason) -> Self {
        if at > self.at { Self { at, reason } } else { self }
    }
}

impl Race {
    /// A race whose addresses are still to come. The questions for the families that `config` allows are open.
    pub fn new(config: Config) -> Self {
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
            config: config.bounded(),
        }
    }

    /// A race whose addresses are all known at time 0, in the OS's order.
    ///
    /// If `config` allows none of them the race ends as [`Outcome::NotAvailable`], and with no address at all as
    /// [`Outcome::NoName`].
    pub fn with_candidates(config: Config, candidates: &[Candidate]) -> Self {
        let mut race = Self::new(config);
        if !candidates.is_empty() {
            race.nothing_to_try = Outcome::NotAvailable;
        }
        race.answer(Duration::ZERO, candidates);
        race
    }

    /// One answer with both families, in the OS's order (getaddrinfo). Closes all questions.
    ///
    /// If there never was an address that the configuration allows the race ends as [`Outcome::NoName`]: the name has
    /// no usable address.
    pub fn answer(&mut self, now: Duration, candidates: &[Candidate]) {
        self.learn(now, Family::Any, candidates);
    }

    /// The answer for one family; empty: negative. [`Family::Any`] is [`answer`](Self::answer).
    ///
    /// An IPv6 address starts the race at once. IPv4 addresses alone wait for the IPv6 answer, at most for the
    /// [`resolution_delay`](Config::resolution_delay). Addresses of the other family are left out. An answer that
    /// comes after both questions are closed adds its addresses.
    pub fn answer_family(&mut self, now: Duration, family: Family, candidates: &[Candidate]) {
        self.learn(now, family, candidates);
    }

    /// No more answers come; addresses that are known are still tried. With none, the race ends as `outcome`, which
    /// is not [`Outcome::Connected`].
    pub fn failed_resolution(&mut self, now: Duration, outcome: Outcome) {
        debug_assert_ne!(outcome, Outcome::Connected, "a failed resolution");
        self.nothing_to_try = outcome;
        self.learn(now, Family::Any, &[]);
    }

    /// The attempt `id` ended. The first that connected wins; everything that is reported after the race's end, or
    /// a second time, is to be closed and changes nothing.
    ///
    /// # Panics
    /// In debug builds if `id` was never started.
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

    /// The attempt `id` ended, and its address is to be tried again at `at`, afresh: with a new id and
    /// [`Reason::BacklogRetry`]. To be used instead of [`attempt_ended`](Self::attempt_ended).
    ///
    /// Meanwhile it counts as pending, so the race does not end; but no other candidate waits for it, neither now
    /// nor when it is made again. A time that has passed means now. From the deadline on nothing is tried again: if
    /// `at` is not before it, the attempt has failed as [`Outcome::TimedOut`]; to give the outcome of the attempt
    /// itself in this case, report it with `attempt_ended`.
    ///
    /// # Panics
    /// In debug builds if `id` was never started.
    pub fn attempt_again(&mut self, now: Duration, id: AttemptId, at: Duration) -> Verdict {
        if self.end == Some(End::Won(id)) {
            return Verdict::Keep;
        }
        if let Some(index) = self.reported(id) {
            if self.config.deadline.is_some_and(|deadline| at >= deadline) {
                self.fail(now, index, Outcome::TimedOut);
            } else {
                self.live[index].stage = Stage::Again { at, reason: Reason::BacklogRetry };
                self.release(now, id);
            }
        }
        Verdict::Close
    }

    /// The attempt `id` got no answer and was closed, to be made afresh at `at`, with a new id and `reason`.
    ///
    /// It is the same wait as before with another socket: unlike [`attempt_again`](Self::attempt_again) it lets no candidate
    /// start before its time, and the deadline comes as it does for one that is pending.
    ///
    /// # Panics
    /// In debug builds if `id` was never started.
    pub fn attempt_renewed(&mut self, at: Duration, id: AttemptId, reason: Reason) {
        if let Some(index) = self.reported(id) {
            self.live[index].stage = Stage::Again { at, reason };
        }
    }

    /// The caller gave up: every pending attempt is cancelled and the race ends as [`Outcome::Cancelled`]. No effect
    /// after its end.
    pub fn cancel(&mut self, _now: Duration) {
        self.end.get_or_insert(End::Failed(Outcome::Cancelled));
    }

    /// What to do now; to be asked again until the answer is [`Action::Wait`] or [`Action::Done`], and after every
    /// report.
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

    /// The addresses known so far, in the order in which they are tried (those that came late, in the order in which
    /// they would have been tried).
    pub fn candidates(&self) -> impl Iterator<Item = Candidate> + '_ {
        self.order.iter()
    }

    /// The configuration, with every value in its bounds.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    fn learn(&mut self, now: Duration, family: Family, candidates: &[Candidate]) {
        self.open_v6 &= family == Family::V4;
        self.open_v4 &= family == Family::V6;
        let allowed = self.config.family;
        let usable = candidates.iter().filter(|c| family.allows(c.address) && allowed.allows(c.address));
        self.order.learn(now, family == Family::Any, usable);
    }

    /// Where the attempt `id` is, if its end is of interest.
    fn reported(&mut self, id: AttemptId) -> Option<usize> {
        debug_assert!(id.0 < self.started, "{id:?} was never started");
        let pending = |live: &Live| live.id == id && !matches!(live.stage, Stage::Again { .. });
        let index = self.live.iter().position(pending)?;
        if self.end.is_some() {
            // A loser that ended before it was cancelled: there is nothing left to cancel.
            self.live.remove(index);
            return None;
        }
        Some(index)
    }

    fn fail(&mut self, now: Duration, index: usize, outcome: Outcome) {
        if self.full() {
            self.room_since = now;
        }
        let id = self.live.remove(index).id;
        self.worst = Some(more_telling(self.worst, outcome));
        self.release(now, id);
    }

    /// The next candidate does not wait for `id` any more.
    fn release(&mut self, now: Duration, id: AttemptId) {
        if matches!(self.pace, Pace::Newest { id: newest, .. } if newest == id) {
            self.pace = Pace::Failed { at: now };
        }
    }

    fn full(&self) -> bool {
        self.live.len() >= self.config.max_pending
    }

    fn ended(&self, now: Duration) -> Option<End> {
        let hope = !self.live.is_empty() || self.order.waiting() || self.open_v6 || self.open_v4;
        if !hope {
            return Some(End::Failed(self.worst.unwrap_or(self.nothing_to_try)));
        }
        let deadline = self.config.deadline?;
        (now >= deadline).then_some(End::Failed(Outcome::TimedOut))
    }

    fn wind_up(&mut self, end: End) -> Action {
        let outcome =
            if end == End::Failed(Outcome::TimedOut) { Outcome::TimedOut } else { Outcome::Cancelled };
        while let Some(loser) = self.live.pop() {
            if !matches!(loser.stage, Stage::Again { .. }) {
                return Action::Cancel { id: loser.id, outcome };
            }
        }
        Action::Done(end)
    }

    fn start_again(&mut self, now: Duration) -> Option<Action> {
        let due = |live: &Live| match live.stage {
            Stage::Again { at, reason } => (at <= now).then_some(reason),
            Stage::Pending | Stage::PendingAgain => None,
        };
        let (index, reason) =
            self.live.iter().enumerate().find_map(|(index, live)| Some((index, due(live)?)))?;
        let candidate = self.live.remove(index).candidate;
        Some(self.start(candidate, Stage::PendingAgain, reason))
    }

    fn start_next(&mut self, now: Duration) -> Option<Action> {
        let due = self.due().filter(|due| due.at <= now)?;
        let candidate = self.order.take()?;
        self.pace = Pace::Newest { id: AttemptId(self.started), start: now };
        Some(self.start(candidate, Stage::Pending, due.reason))
    }

    fn start(&mut self, candidate: Candidate, stage: Stage, reason: Reason) -> Action {
        let id = AttemptId(self.started);
        self.started += 1;
        self.live.push(Live { id, candidate, stage });
        Action::Start { id, candidate, reason }
    }

    /// When the next candidate starts; `None` if there is none, or no room for it.
    fn due(&self) -> Option<Due> {
        if !self.order.waiting() || self.full() {
            return None;
        }
        let known = self.order.waiting_since();
        let (at, reason) = match self.pace {
            Pace::First if self.open_v6 => {
                (known.saturating_add(self.config.resolution_delay), Reason::ResolutionDelayExpired)
            }
            Pace::First => (known, Reason::DnsCompleted),
            Pace::Newest { start, .. } => (start.saturating_add(self.delay()), Reason::PolicyTimer),
            Pace::Failed { at } => (at, Reason::PreviousAttemptFailed),
        };
        let due = Due { at, reason };
        Some(due.and(self.room_since, Reason::PreviousAttemptFailed).and(known, Reason::DnsCompleted))
    }

    fn delay(&self) -> Duration {
        let mut pending = self.live.iter().filter(|live| live.stage == Stage::Pending);
        if pending.all(|live| live.candidate.local) {
            self.config.local_attempt_delay
        } else {
            self.config.attempt_delay
        }
    }

    fn timer(&self) -> Option<Duration> {
        let again = self.live.iter().filter_map(|live| match live.stage {
            Stage::Again { at, .. } => Some(at),
            Stage::Pending | Stage::PendingAgain => None,
        });
        again.chain(self.due().map(|due| due.at)).chain(self.config.deadline).min()
    }
}
