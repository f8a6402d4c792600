//! Drives core's race with the sockets of [`AttemptSet`], and blocks meanwhile.

use crate::heat::{Ended, FIRST, Heat, Step};
use crate::resolver::{Answer, Lookups};
use crate::trace::Trace;
use crate::{Connector, Prepared, Target, retry};
use std::net::TcpStream;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use unstall_core::race::{Action, AttemptId, Candidate, End};
use unstall_sys::connect::{AttemptSet, Options, Started, connect_blocking};
use unstall_sys::{Error, resolve};

/// Resolves the target and races its addresses.
pub(crate) fn race(connector: &Connector, target: Target) -> Raced {
    let start = Instant::now();
    let trace = Trace::connect(&target);
    if let Some(lookups) = Lookups::ask(connector, &target) {
        let mut heat = Heat::asking(connector, target, start, trace);
        let end = run(&mut heat, connector, &mut AttemptSet::new(), lookups);
        return heat.ended(end);
    }
    let resolved = match connector.known_addresses() {
        Some(addresses) => Ok(addresses),
        None => resolve::resolve(&target, connector.race_config().deadline),
    };
    let mut heat = Heat::new(connector, target, start, resolved, trace);
    let end = run(&mut heat, connector, &mut AttemptSet::new(), Lookups::default());
    heat.ended(end)
}

/// What a race came to.
pub(crate) type Raced = Ended<TcpStream>;

/// What a connect to one address came to.
pub(crate) enum One<R, E> {
    /// It was over at once.
    AtOnce(R),
    /// It was not, or had to be made again.
    Raced(E),
}

/// The shortest way to one address whose tries may have to be repeated, from `start` on.
pub(crate) fn one(
    connector: &Connector,
    target: &Target,
    candidate: Candidate,
    start: Instant,
    trace: Trace,
) -> One<(Prepared, Result<TcpStream, Error>), Raced> {
    let mut sockets = AttemptSet::new();
    let (prepared, started) = first(connector, &mut sockets, candidate);
    let failed = match started {
        Ok(Started::Connected(stream)) => {
            trace.over(FIRST, None);
            return One::AtOnce((prepared, Ok(stream)));
        }
        Err(error) if retry::is_final(&error) => {
            trace.over(FIRST, Some(&error));
            return One::AtOnce((prepared, Err(error)));
        }
        Ok(Started::Pending) => None,
        Err(error) => Some(error),
    };
    let mut heat = Heat::begun(connector, target.clone(), candidate, start, prepared, trace);
    if let Some(error) = failed {
        heat.attempt_ended(FIRST, Err(error));
    }
    let end = run(&mut heat, connector, &mut sockets, Lookups::default());
    One::Raced(heat.ended(end))
}

/// Starts the first try. On Windows the blocking connect is the shortest way, and its end comes by itself: a queue that is full
/// refuses there. Elsewhere a connect that blocks could not be given up.
fn first(
    connector: &Connector,
    sockets: &mut AttemptSet<AttemptId>,
    candidate: Candidate,
) -> (Prepared, Result<Started, Error>) {
    let options = connector.options(candidate.local);
    let patience = connector.retries().patience(candidate.local, 0);
    if cfg!(windows) && patience.is_none() {
        let limit = connector.race_config().deadline;
        let (prepared, result) = connect_blocking(candidate.address, &options, limit);
        return (prepared, result.map(Started::Connected));
    }
    sockets.start(FIRST, candidate.address, &Options { patience, ..options })
}

/// How the race ends. All sockets but the winner's are closed then.
fn run(
    heat: &mut Heat<TcpStream>,
    connector: &Connector,
    sockets: &mut AttemptSet<AttemptId>,
    mut lookups: Lookups<'_>,
) -> End {
    loop {
        match heat.next() {
            (Step::Race(Action::Start { id, candidate, reason }), now) => {
                let patience = heat.patience(candidate);
                let options = Options { patience, ..connector.options(candidate.local) };
                let (prepared, started) = sockets.start(id, candidate.address, &options);
                heat.started(id, candidate, reason, now, prepared);
                match started {
                    Ok(Started::Pending) => {}
                    Ok(Started::Connected(stream)) => heat.attempt_ended(id, Ok(stream)),
                    Err(error) => heat.attempt_ended(id, Err(error)),
                }
            }
            (Step::Race(Action::Wait { until }), now) => {
                match wait(sockets, &mut lookups, until.map(|until| until.saturating_sub(now))) {
                    Ok(Came::Ended((id, result))) => heat.attempt_ended(id, result),
                    Ok(Came::Answered(answer)) => heat.answered(answer),
                    Ok(Came::Nothing) => {}
                    Err(error) => heat.wait_failed(error),
                }
            }
            (Step::Look(id), _) => {
                if let Some(closing) = heat.look(id, || sockets.syn_repeated(id)) {
                    match sockets.give_up(id) {
                        Some(result) => heat.attempt_ended(id, result),
                        None => heat.closed(id, closing),
                    }
                }
            }
            (Step::Race(Action::Cancel { id, outcome }), _) => {
                sockets.cancel(id);
                heat.cancelled(id, outcome);
            }
            (Step::Race(Action::Done(end)), _) => return end,
        }
    }
}

enum Came {
    Ended(unstall_sys::connect::Ended<AttemptId>),
    Answered(Answer),
    Nothing,
}

/// Waits for an attempt's end, or for an answer of the resolver if there is one to come.
fn wait(
    sockets: &mut AttemptSet<AttemptId>,
    lookups: &mut Lookups<'_>,
    timeout: Option<Duration>,
) -> Result<Came, Error> {
    if lookups.are_open() {
        let waker = sockets.waker()?;
        if let Poll::Ready(answer) = lookups.poll(&mut Context::from_waker(&waker)) {
            return Ok(Came::Answered(answer));
        }
    }
    Ok(sockets.wait(timeout)?.map_or(Came::Nothing, Came::Ended))
}
