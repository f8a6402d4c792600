//! Drives core's race with real sockets and the real clock, and keeps the timeline.

use crate::{Attempt, Connector, Prepared, Reason, Resolution, Target, Timeline};
use smallvec::{SmallVec, smallvec};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use unstall_core::outcome::Outcome;
use unstall_core::race::{Action, AttemptId, Candidate, End, Race, Verdict};
use unstall_core::{locality, race};
use unstall_sys::connect::{AttemptSet, Started};
use unstall_sys::{Error, addresses, resolve};

/// How a connect ended, and the OS's error of the attempt that tells most, if the OS gave one.
pub(crate) type Ended = (Result<TcpStream, Option<Error>>, Timeline);

/// Resolves the target and races its addresses.
pub(crate) fn race(connector: &Connector, target: Target) -> Ended {
    let start = Instant::now();
    let config = connector.race_config();
    let resolved = resolve::resolve(&target, config.deadline);
    let now = start.elapsed();
    let race = with_answer(config, &target, &resolved, now);
    let resolution = target.is_name().then(|| Resolution {
        start: Duration::ZERO,
        end: now,
        addresses: race.candidates().map(|candidate| candidate.address).collect(),
        failure: resolved.as_ref().err().map(Error::outcome),
        os_error: resolved.as_ref().err().and_then(Error::os_error),
    });
    let mut heat = Heat {
        start,
        race,
        sockets: AttemptSet::new(),
        attempts: SmallVec::new(),
        errors: resolved.err().into_iter().collect(),
        winner: None,
    };
    let outcome = heat.run(connector);
    heat.errors.retain(|error| tells(error.outcome(), outcome));
    let result = heat.winner.ok_or_else(|| heat.errors.into_iter().next());
    let timeline =
        Timeline { target, resolution, attempts: heat.attempts, outcome, elapsed: start.elapsed() };
    (result, timeline)
}

/// The race as it stands when the one answer has come: from the resolver, or an address that was the target.
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

/// A race that is being run.
struct Heat {
    start: Instant,
    race: Race,
    sockets: AttemptSet<AttemptId>,
    /// The attempt with the id n is the n-th.
    attempts: SmallVec<[Attempt; 2]>,
    /// In the order in which they came.
    errors: SmallVec<[Error; 2]>,
    winner: Option<TcpStream>,
}

impl Heat {
    /// What the connect came to. All sockets but the winner's are closed then.
    fn run(&mut self, connector: &Connector) -> Outcome {
        loop {
            let now = self.start.elapsed();
            match self.race.next(now) {
                Action::Start { id, candidate, reason } => {
                    let options = connector.options(candidate.local);
                    let (prepared, started) = self.sockets.start(id, candidate.address, &options);
                    self.attempts.push(pending(candidate.address, reason, now, prepared));
                    match started {
                        Ok(Started::Pending) => {}
                        Ok(Started::Connected(stream)) => self.attempt_ended(id, Ok(stream)),
                        Err(error) => self.attempt_ended(id, Err(error)),
                    }
                }
                Action::Wait { until } => {
                    match self.sockets.wait(until.map(|until| until.saturating_sub(now))) {
                        Ok(Some((id, result))) => self.attempt_ended(id, result),
                        Ok(None) => {}
                        Err(error) => {
                            self.race.cancel(now);
                            self.errors.insert(0, error);
                        }
                    }
                }
                Action::Cancel { id, outcome } => {
                    self.sockets.cancel(id);
                    self.record(id, outcome);
                }
                Action::Done(End::Won(_)) => return Outcome::Connected,
                // Nobody but this loop cancels: the wait failed, and its error is the first.
                Action::Done(End::Failed(Outcome::Cancelled)) => {
                    return self.errors.first().map_or(Outcome::Cancelled, Error::outcome);
                }
                Action::Done(End::Failed(outcome)) => return outcome,
            }
        }
    }

    fn attempt_ended(&mut self, id: AttemptId, result: Result<TcpStream, Error>) {
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

    fn record(&mut self, id: AttemptId, outcome: Outcome) -> Duration {
        let now = self.start.elapsed();
        let attempt = &mut self.attempts[id.0 as usize];
        attempt.outcome = outcome;
        attempt.end = now;
        now
    }
}
