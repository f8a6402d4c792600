//! Drives core's race with the sockets of [`AttemptSet`], and blocks meanwhile.

use crate::heat::{Ended, FIRST, Heat, Step};
use crate::{Connector, Prepared, Target, retry};
use std::net::TcpStream;
use std::time::Instant;
use unstall_core::race::{Action, AttemptId, Candidate, End};
use unstall_sys::connect::{AttemptSet, Options, Started, connect_blocking};
use unstall_sys::{Error, resolve};

/// Resolves the target and races its addresses.
pub(crate) fn race(connector: &Connector, target: Target) -> Raced {
    let start = Instant::now();
    let resolved = match connector.known_addresses() {
        Some(addresses) => Ok(addresses),
        None => resolve::resolve(&target, connector.race_config().deadline),
    };
    let mut heat = Heat::new(connector, target, start, resolved);
    let end = run(&mut heat, connector, &mut AttemptSet::new());
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
) -> One<(Prepared, Result<TcpStream, Error>), Raced> {
    let mut sockets = AttemptSet::new();
    let (prepared, started) = first(connector, &mut sockets, candidate);
    let failed = match started {
        Ok(Started::Connected(stream)) => return One::AtOnce((prepared, Ok(stream))),
        Err(error) if retry::is_final(&error) => return One::AtOnce((prepared, Err(error))),
        Ok(Started::Pending) => None,
        Err(error) => Some(error),
    };
    let mut heat = Heat::begun(connector, target.clone(), candidate, start, prepared);
    if let Some(error) = failed {
        heat.attempt_ended(FIRST, Err(error));
    }
    let end = run(&mut heat, connector, &mut sockets);
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
fn run(heat: &mut Heat<TcpStream>, connector: &Connector, sockets: &mut AttemptSet<AttemptId>) -> End {
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
                match sockets.wait(until.map(|until| until.saturating_sub(now))) {
                    Ok(Some((id, result))) => heat.attempt_ended(id, result),
                    Ok(None) => {}
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
