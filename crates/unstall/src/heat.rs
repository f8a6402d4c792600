//! A race that is being run, whoever waits for its sockets: core's machine, the clock, and the timeline as it grows.

use crate::{Attempt, Prepared, Reason, Resolution, Target, Timeline};
use smallvec::{SmallVec, smallvec};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use unstall_core::outcome::Outcome;
use unstall_core::race::{Action, AttemptId, Candidate, End, Race, Verdict};
use unstall_core::{locality, race};
use unstall_sys::{Error, addresses};

/// How a connect ended, and the OS's error of the attempt that tells most, if the OS gave one.
pub(crate) type Ended<S> = (Result<S, Option<Error>>, Timeline);

/// A race whose winner is an `S`. The driver asks [`next`](Self::next) what to do, does it, and reports.
pub(crate) struct Heat<S> {
    start: Instant,
    race: Race,
    target: Target,
    resolution: Option<Resolution>,
    /// The attempt with the id n is the n-th.
    attempts: SmallVec<[Attempt; 2]>,
    /// In the order in which they came.
    errors: SmallVec<[Error; 2]>,
    winner: Option<S>,
}

impl<S> Heat<S> {
    /// The race as it stands when the one answer has come: from the resolver, or an address that was the target. `start` is when
    /// it was asked for.
    pub(crate) fn new(
        config: race::Config,
        target: Target,
        start: Instant,
        resolved: Result<Vec<SocketAddr>, Error>,
    ) -> Self {
        let now = start.elapsed();
        let race = with_answer(config, &target, &resolved, now);
        let resolution = target.is_name().then(|| Resolution {
            start: Duration::ZERO,
            end: now,
            addresses: race.candidates().map(|candidate| candidate.address).collect(),
            failure: resolved.as_ref().err().map(Error::outcome),
            os_error: resolved.as_ref().err().and_then(Error::os_error),
        });
        Self {
            start,
            race,
            target,
            resolution,
            attempts: SmallVec::new(),
            errors: resolved.err().into_iter().collect(),
            winner: None,
        }
    }

    /// What to do now, and what time it is.
    pub(crate) fn next(&mut self) -> (Action, Duration) {
        let now = self.start.elapsed();
        (self.race.next(now), now)
    }

    /// The next attempt, in the order of their ids, has been started as [`Action::Start`] said.
    pub(crate) fn started(&mut self, address: SocketAddr, reason: Reason, now: Duration, prepared: Prepared) {
        self.attempts.push(pending(address, reason, now, prepared));
    }

    /// The attempt `id` ended. A stream that does not win is dropped.
    pub(crate) fn attempt_ended(&mut self, id: AttemptId, result: Result<S, Error>) {
        let outcome = result.as_ref().map_or_else(Error::outcome, |_| Outcome::Connected);
        let now = self.record(id, outcome);
        let verdict = self.race.attempt_ended(now, id, outcome);
        match result {
            Ok(stream) if verdict == Verdict::Keep => self.winner = Some(stream),
            Ok(_) => {}
            Err(error) => {
                self.attempts[id.0 as usize].os_error = error.os_error();
                self.errors.push(error);
            }
        }
    }

    /// The attempt `id` has been closed as [`Action::Cancel`] said.
    pub(crate) fn cancelled(&mut self, id: AttemptId, outcome: Outcome) {
        self.record(id, outcome);
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
            End::Failed(outcome) => outcome,
        };
        self.errors.retain(|error| tells(error.outcome(), outcome));
        let result = self.winner.ok_or_else(|| self.errors.into_iter().next());
        let timeline = Timeline {
            target: self.target,
            resolution: self.resolution,
            attempts: self.attempts,
            outcome,
            elapsed: self.start.elapsed(),
        };
        (result, timeline)
    }

    fn record(&mut self, id: AttemptId, outcome: Outcome) -> Duration {
        let now = self.start.elapsed();
        let attempt = &mut self.attempts[id.0 as usize];
        attempt.outcome = outcome;
        attempt.end = now;
        now
    }
}

fn with_answer(
    config: race::Config,
    target: &Target,
    resolved: &Result<Vec<SocketAddr>, Error>,
    now: Duration,
) -> Race {
    let candidate = |&address: &SocketAddr| Candidate {
        address,
        local: locality::is_local_by(address.ip(), addresses::is_own),
    };
    let candidates: SmallVec<[Candidate; 8]> = resolved.iter().flatten().map(candidate).collect();
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
    Timeline { target, resolution: None, attempts: smallvec![attempt], outcome, elapsed }
}

/// An attempt that has just started.
fn pending(address: SocketAddr, reason: Reason, start: Duration, prepared: Prepared) -> Attempt {
    let prepared = Some(prepared);
    Attempt { address, reason, start, end: start, outcome: Outcome::Cancelled, os_error: None, prepared }
}
