//! Drives core's race with the sockets of [`AttemptSet`], and blocks meanwhile.

use crate::heat::{Ended, Heat};
use crate::{Connector, Target};
use std::net::TcpStream;
use std::time::Instant;
use unstall_core::race::{Action, AttemptId, End};
use unstall_sys::connect::{AttemptSet, Started};
use unstall_sys::resolve;

/// Resolves the target and races its addresses.
pub(crate) fn race(connector: &Connector, target: Target) -> Ended<TcpStream> {
    let start = Instant::now();
    let config = connector.race_config();
    let resolved = resolve::resolve(&target, config.deadline);
    let mut heat = Heat::new(config, target, start, resolved);
    let end = run(&mut heat, connector);
    heat.ended(end)
}

/// How the race ends. All sockets but the winner's are closed then.
fn run(heat: &mut Heat<TcpStream>, connector: &Connector) -> End {
    let mut sockets: AttemptSet<AttemptId> = AttemptSet::new();
    loop {
        match heat.next() {
            (Action::Start { id, candidate, reason }, now) => {
                let options = connector.options(candidate.local);
                let (prepared, started) = sockets.start(id, candidate.address, &options);
                heat.started(candidate.address, reason, now, prepared);
                match started {
                    Ok(Started::Pending) => {}
                    Ok(Started::Connected(stream)) => heat.attempt_ended(id, Ok(stream)),
                    Err(error) => heat.attempt_ended(id, Err(error)),
                }
            }
            (Action::Wait { until }, now) => {
                match sockets.wait(until.map(|until| until.saturating_sub(now))) {
                    Ok(Some((id, result))) => heat.attempt_ended(id, result),
                    Ok(None) => {}
                    Err(error) => heat.wait_failed(error),
                }
            }
            (Action::Cancel { id, outcome }, _) => {
                sockets.cancel(id);
                heat.cancelled(id, outcome);
            }
            (Action::Done(end), _) => return end,
        }
    }
}
