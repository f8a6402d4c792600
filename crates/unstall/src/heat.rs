//! A race that is being run, whoever waits for its sockets: core's machine, the clock, and the timeline as it grows.

use crate::connector::is_local;
use crate::resolver::Answer;
use crate::retry::{Again, Retries, Silent, Stream, Tries};
use crate::trace::Trace;
use crate::{
    Attempt, Attempts, Connector, Family, FamilyAnswer, Prepared, Reason, Resolution, Target, Timeline, retry,
};
use smallvec::SmallVec;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use unstall_core::backlog::Seen;
use unstall_core::outcome::{OsError, Outcome};
use unstall_core::race;
use unstall_core::race::{Action, AttemptId, Candidate, End, Race, Verdict};
use unstall_sys::Error;
use unstall_sys::connect::wait_of;
use unstall_sys::listeners::{self, Queue};

/// The first attempt of a race.
pub(crate) const FIRST: AttemptId = AttemptId(0);

/// How a connect ended, and why it failed.
pub(crate) type Ended<S> = (Result<S, Why>, Timeline);

/// Why a connect failed, beyond what its timeline says.
#[derive(Debug, Default)]
pub(crate) struct Why {
    /// The OS's error of the attempt that tells most, if the OS gave one.
    pub(crate) source: Option<Error>,
    /// What the listener table said of an address of this host that did not answer.
    pub(crate) queue: Option<Queue>,
}

impl Why {
    /// The reason of one attempt. Only a silence within this host is looked into, if that is quick: the limit has struck.
    pub(crate) fn of(error: Error, address: SocketAddr) -> Self {
        let silent = error.outcome() == Outcome::TimedOut && is_local(address);
        let look = silent && listeners::is_quick();
        Self { queue: look.then(|| listeners::queue_of_the_silent(address)), source: Some(error) }
    }
}

/// What is to be done for a race beside waiting.
pub(crate) enum Step {
    /// What the machine says.
    Race(Action),
    /// To ask [`Heat::look`] about an attempt that is still unanswered.
    Look(AttemptId),
}

/// Why an attempt is closed that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// A fresh socket takes its place at once.
    Afresh(Reason),
    /// Nothing will answer it.
    GivenUp,
}

/// A race whose winner is an `S`. The driver asks [`next`](Self::next) what to do, does it, and reports.
pub(crate) struct Heat<S> {
    start: Instant,
    race: Race,
    retries: Retries,
    target: Target,
    resolution: Option<Resolution>,
    /// The attempt with the id n is the n-th.
    attempts: Attempts,
    /// The pending attempts that are to be looked at, and when.
    looks: SmallVec<[(AttemptId, Duration); 2]>,
    /// In the order in which they came.
    errors: SmallVec<[Error; 2]>,
    winner: Option<S>,
    /// A resolver still owes an answer.
    asking: bool,
    trace: Trace,
}

impl<S: Stream> Heat<S> {
    /// The race as it stands when the one answer has come: from the resolver, or an address that was the target. `start` is when
    /// it was asked for.
    pub(crate) fn new(
        connector: &Connector,
        target: Target,
        start: Instant,
        resolved: Result<Vec<SocketAddr>, Error>,
        trace: Trace,
    ) -> Self {
        if target.is_name() {
            let addresses = resolved.as_deref().unwrap_or_default();
            trace.resolved(&target, addresses, resolved.as_ref().err());
        }
        let now = start.elapsed();
        let race = with_answer(connector.race_config(), &target, &resolved, now);
        let resolution = target.is_name().then(|| Resolution {
            start: Duration::ZERO,
            end: now,
            addresses: race.candidates().map(|candidate| candidate.address).collect(),
            failure: resolved.as_ref().err().map(Error::outcome),
            os_error: resolved.as_ref().err().and_then(Error::os_error),
            answers: Vec::new(),
        });
        let errors = resolved.err().into_iter().collect();
        Self { resolution, errors, ..Self::with_race(connector, target, start, race, trace) }
    }

    /// The race of a name whose addresses are still to come; [`answered`](Self::answered) tells them.
    pub(crate) fn asking(connector: &Connector, target: Target, start: Instant, trace: Trace) -> Self {
        let race = Race::new(connector.race_config());
        let mut heat = Self::with_race(connector, target, start, race, trace);
        heat.resolution = Some(Resolution {
            start: Duration::ZERO,
            end: Duration::ZERO,
            addresses: Vec::new(),
            failure: None,
            os_error: None,
            answers: Vec::new(),
        });
        heat.asking = true;
        heat
    }

    /// The resolver has answered.
    pub(crate) fn answered(&mut self, answer: Answer) {
        let now = self.start.elapsed();
        let Answer { family, result, last } = answer;
        self.asking = !last;
        let (addresses, error) = match result {
            Ok(addresses) => (addresses, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        self.trace.resolved(&self.target, &addresses, error.as_ref());
        let candidates: SmallVec<[Candidate; 8]> = addresses.iter().copied().map(candidate).collect();
        self.race.answer_family(now, family, &candidates);
        let nothing = last && self.race.candidates().next().is_none();
        let Some(resolution) = &mut self.resolution else { return };
        resolution.end = now;
        resolution.addresses = self.race.candidates().map(|candidate| candidate.address).collect();
        if family != Family::Any {
            let failure = error.as_ref().map(Error::outcome);
            resolution.answers.push(FamilyAnswer { family, end: now, addresses, failure });
        }
        self.errors.extend(error);
        if nothing {
            // That a family has no address tells less than that the question for the other one failed.
            let telling = self.errors.iter().find(|error| error.outcome() != Outcome::NoName);
            let telling = telling.or(self.errors.first());
            let outcome = telling.map_or(Outcome::NoName, Error::outcome);
            resolution.failure = Some(outcome);
            resolution.os_error = telling.and_then(Error::os_error);
            self.race.failed_resolution(now, outcome);
        }
    }

    /// The connect failed before any address was known.
    fn unanswered(&mut self, outcome: Outcome) {
        let elapsed = self.start.elapsed();
        if let (true, Some(resolution)) = (self.asking && self.attempts.is_empty(), &mut self.resolution) {
            (resolution.end, resolution.failure) = (elapsed, Some(outcome));
            if outcome == Outcome::TimedOut {
                let limit = self.race.config().deadline.unwrap_or(elapsed);
                self.errors.push(Error::resolver_limit(&self.target.host().to_string(), limit));
            }
        }
    }

    /// The race of one address, whose first attempt was started at `start` and has not connected. Its name is [`FIRST`].
    pub(crate) fn begun(
        connector: &Connector,
        target: Target,
        candidate: Candidate,
        start: Instant,
        prepared: Prepared,
        trace: Trace,
    ) -> Self {
        let mut config = connector.race_config();
        config.deadline = config.deadline.map(|limit| wait_of(limit, candidate.local));
        let race = Race::with_candidates(config, &[candidate]);
        let mut heat = Self::with_race(connector, target, start, race, trace);
        // With nothing else to try, the first thing that a race wants is this start (or its end, at a limit of 0).
        let first = heat.race.next(Duration::ZERO);
        if matches!(first, Action::Start { .. }) {
            heat.has_started(FIRST, candidate, Reason::DnsCompleted, Duration::ZERO, prepared);
        }
        heat
    }

    fn with_race(connector: &Connector, target: Target, start: Instant, race: Race, trace: Trace) -> Self {
        Self {
            start,
            race,
            retries: connector.retries(),
            target,
            resolution: None,
            attempts: Attempts::new(),
            looks: SmallVec::new(),
            errors: SmallVec::new(),
            winner: None,
            asking: false,
            trace,
        }
    }

    /// What to do now, and what time it is.
    pub(crate) fn next(&mut self) -> (Step, Duration) {
        let now = self.start.elapsed();
        let step = match self.race.next(now) {
            Action::Wait { until } => match self.looks.iter().min_by_key(|(_, at)| *at) {
                Some(&(id, at)) if at <= now => Step::Look(id),
                Some(&(_, at)) => {
                    Step::Race(Action::Wait { until: Some(until.map_or(at, |until| until.min(at))) })
                }
                None => Step::Race(Action::Wait { until }),
            },
            action => Step::Race(action),
        };
        (step, now)
    }

    /// The attempt `id`, the next in the order of their ids, is being started as [`Action::Start`] said.
    pub(crate) fn started(
        &mut self,
        id: AttemptId,
        candidate: Candidate,
        reason: Reason,
        now: Duration,
        prepared: Prepared,
    ) {
        self.trace.attempt(id, candidate.address, reason);
        self.has_started(id, candidate, reason, now, prepared);
    }

    fn has_started(
        &mut self,
        id: AttemptId,
        candidate: Candidate,
        reason: Reason,
        now: Duration,
        prepared: Prepared,
    ) {
        self.attempts.push(pending(candidate.address, reason, now, prepared));
        if let Some(after) = self.retries.first_look(self.tries(id)) {
            self.looks.push((id, now + after));
        }
    }

    /// For how long an attempt that is about to start may wait for its answer, where the OS would otherwise give it up too early.
    pub(crate) fn patience(&self, candidate: Candidate) -> Option<Duration> {
        let tries = self.attempts.iter().filter(|attempt| attempt.address == candidate.address).count();
        self.retries.patience(candidate.local, tries as u32)
    }

    /// Looks at an attempt that is still unanswered. `Some`: the driver closes it, if it has still not ended, and says so by
    /// [`closed`](Self::closed). `repeated` tells whether the OS has sent its SYN again.
    pub(crate) fn look(&mut self, id: AttemptId, repeated: impl FnOnce() -> Option<bool>) -> Option<Closing> {
        self.looks.retain(|(of, _)| *of != id);
        let decision = self.retries.silent(&self.tries(id), repeated);
        match decision {
            Silent::LeaveAlone => None,
            Silent::LookIn(after) => {
                self.looks.push((id, self.start.elapsed() + after));
                None
            }
            Silent::Close(closing) => Some(closing),
        }
    }

    /// The attempt `id` was closed as [`look`](Self::look) said.
    pub(crate) fn closed(&mut self, id: AttemptId, closing: Closing) {
        let now = self.record(id, Outcome::TimedOut, None);
        match closing {
            Closing::Afresh(reason) => self.race.attempt_renewed(now, id, reason),
            Closing::GivenUp => {
                let Attempt { address, start, .. } = self.attempts[id.0 as usize];
                self.errors.push(Error::limit(address, now.saturating_sub(start)));
                let _ = self.race.attempt_ended(now, id, Outcome::TimedOut);
            }
        }
    }

    /// Nobody can wait for a time, so nothing is looked at any more. False: nothing was.
    #[cfg(any(feature = "tokio", feature = "async-io"))]
    pub(crate) fn stop_looking(&mut self) -> bool {
        let looked = !self.looks.is_empty();
        self.looks.clear();
        self.retries = Retries::default();
        looked
    }

    /// The attempt `id` ended. A stream that does not win is dropped.
    pub(crate) fn attempt_ended(&mut self, id: AttemptId, result: Result<S, Error>) {
        self.looks.retain(|(of, _)| *of != id);
        match result {
            Ok(stream) => self.connected(id, stream),
            Err(error) => self.failed(id, error),
        }
    }

    fn connected(&mut self, id: AttemptId, stream: S) {
        // Only an attempt that was made again is worth the look: it went to a queue that had been full.
        if self.attempts[id.0 as usize].reason == Reason::BacklogRetry && stream.is_ghost() {
            if let Some(Again { after, .. }) = self.retries.ended(Seen::Ghost, &self.tries(id)) {
                stream.reset();
                let now = self.record(id, Outcome::TimedOut, None);
                self.race.attempt_renewed(now + after, id, Reason::BacklogRetry);
                return;
            }
        }
        let now = self.record(id, Outcome::Connected, None);
        if self.race.attempt_ended(now, id, Outcome::Connected) == Verdict::Keep {
            self.winner = Some(stream);
        }
    }

    fn failed(&mut self, id: AttemptId, error: Error) {
        let outcome = error.outcome();
        let again = retry::seen(&error).and_then(|seen| self.retries.ended(seen, &self.tries(id)));
        let now = self.record(id, outcome, error.os_error());
        self.errors.push(error);
        match again {
            Some(Again { after, reason: Reason::BacklogRetry }) => {
                let _ = self.race.attempt_again(now, id, now + after);
            }
            Some(Again { after, reason }) => self.race.attempt_renewed(now + after, id, reason),
            None => {
                let _ = self.race.attempt_ended(now, id, outcome);
            }
        }
    }

    /// The attempt `id` has been closed as [`Action::Cancel`] said.
    pub(crate) fn cancelled(&mut self, id: AttemptId, outcome: Outcome) {
        self.looks.retain(|(of, _)| *of != id);
        self.record(id, outcome, None);
    }

    /// The wait itself failed, and so the race.
    pub(crate) fn wait_failed(&mut self, error: Error) {
        self.race.cancel(self.start.elapsed());
        self.errors.insert(0, error);
    }

    /// What the connect came to, once the action is [`Action::Done`].
    pub(crate) fn ended(mut self, end: End) -> Ended<S> {
        let outcome = match end {
            End::Won(_) => Outcome::Connected,
            // Nobody but the driver cancels: the wait failed, and its error is the first.
            End::Failed(Outcome::Cancelled) => self.errors.first().map_or(Outcome::Cancelled, Error::outcome),
            End::Failed(Outcome::TimedOut) if self.was_refused_before() => Outcome::Refused,
            End::Failed(outcome) => outcome,
        };
        if outcome != Outcome::Connected {
            self.unanswered(outcome);
        }
        let winner = self.winner.take();
        let why = winner.is_none().then(|| self.why(outcome));
        self.trace.ended(outcome);
        let result = match winner {
            Some(stream) => Ok(stream),
            None => Err(why.unwrap_or_default()),
        };
        let timeline = Timeline {
            target: self.target,
            resolution: self.resolution,
            attempts: self.attempts,
            outcome,
            elapsed: self.start.elapsed(),
        };
        (result, timeline)
    }

    /// Whether each address that the limit has struck was refused before, by a listener whose queue was full: a refusal stays one,
    /// though the last try had no time to end.
    fn was_refused_before(&self) -> bool {
        let is = |attempt: &Attempt, outcome| attempt.outcome == outcome;
        let mut unanswered = self.attempts.iter().filter(|attempt| is(attempt, Outcome::TimedOut)).peekable();
        unanswered.peek().is_some()
            && unanswered.all(|last| {
                let mut same = self.attempts.iter().filter(|attempt| attempt.address == last.address);
                same.any(|attempt| is(attempt, Outcome::Refused) && attempt.start < last.start)
            })
    }

    fn why(&mut self, outcome: Outcome) -> Why {
        let errors = std::mem::take(&mut self.errors);
        let source = errors.into_iter().find(|error| tells(error.outcome(), outcome));
        let mut silent = self.attempts.iter().rev().filter(|attempt| attempt.outcome == Outcome::TimedOut);
        let address = silent.next().map(|attempt| attempt.address).filter(|_| outcome == Outcome::TimedOut);
        let address = address.filter(|&address| self.is_local(address) && listeners::is_quick());
        Why { source, queue: address.map(listeners::queue_of_the_silent) }
    }

    /// All tries of the address of `id`, which is the last of them.
    fn tries(&self, id: AttemptId) -> Tries {
        let address = self.attempts[id.0 as usize].address;
        let mut same = self.attempts.iter().filter(|attempt| attempt.address == address);
        let now = self.start.elapsed();
        let first = same.next().map_or(now, |attempt| attempt.start);
        Tries {
            address,
            local: self.is_local(address),
            count: 1 + same.count() as u32,
            elapsed: now.saturating_sub(first),
            left: self.race.config().deadline.map(|deadline| deadline.saturating_sub(now)),
        }
    }

    fn is_local(&self, address: SocketAddr) -> bool {
        self.race.candidates().any(|candidate| candidate.address == address && candidate.local)
    }

    fn record(&mut self, id: AttemptId, outcome: Outcome, error: Option<OsError>) -> Duration {
        let now = self.start.elapsed();
        let attempt = &mut self.attempts[id.0 as usize];
        attempt.outcome = outcome;
        attempt.end = now;
        attempt.os_error = error;
        self.trace.attempt_ended(id, outcome, error);
        now
    }
}

fn with_answer(
    config: race::Config,
    target: &Target,
    resolved: &Result<Vec<SocketAddr>, Error>,
    now: Duration,
) -> Race {
    let candidates: SmallVec<[Candidate; 8]> = resolved.iter().flatten().copied().map(candidate).collect();
    if !target.is_name() && !candidates.is_empty() {
        return Race::with_candidates(config, &candidates);
    }
    let mut race = Race::new(config);
    match resolved {
        Ok(_) => race.answer(now, &candidates),
        Err(error) => race.failed_resolution(now, error.outcome()),
    }
    race
}

fn candidate(address: SocketAddr) -> Candidate {
    Candidate { address, local: is_local(address) }
}

/// Whether an attempt that ended with `attempt` is one that explains why the connect ended with `connect`.
fn tells(attempt: Outcome, connect: Outcome) -> bool {
    attempt == connect || (attempt == Outcome::SelfConnected && connect == Outcome::Refused)
}

/// The timeline of a connect to one address that was the target: one attempt, which ended with `error` or connected.
pub(crate) fn one_attempt(
    target: Target,
    address: SocketAddr,
    prepared: Prepared,
    error: Option<&Error>,
    elapsed: Duration,
) -> Timeline {
    let mut attempt = pending(address, Reason::DnsCompleted, Duration::ZERO, prepared);
    attempt.end = elapsed;
    attempt.outcome = error.map_or(Outcome::Connected, Error::outcome);
    attempt.os_error = error.and_then(Error::os_error);
    let outcome = attempt.outcome;
    Timeline { target, resolution: None, attempts: attempt.into(), outcome, elapsed }
}

/// An attempt that has just started.
fn pending(address: SocketAddr, reason: Reason, start: Duration, prepared: Prepared) -> Attempt {
    let prepared = Some(prepared);
    Attempt { address, reason, start, end: start, outcome: Outcome::Cancelled, os_error: None, prepared }
}
