//! Does what the plan says, with sockets and a clock.

use crate::plan::{Action, Plan};
use crate::probe::{self, Seen};
use crate::{End, Report, TargetReport, Wait, watch};
use async_io::Timer;
use futures_lite::future;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};
use unstall::Target;

/// Waits. `reached` is told of each target that reaches the goal, with its number, when it does.
///
/// Blocks the thread. Nothing is left when it returns: every socket is closed.
pub fn run(targets: &[Target], wait: &Wait, mut reached: impl FnMut(usize, &TargetReport)) -> Report {
    let start = Instant::now();
    let mut rows: Vec<TargetReport> = targets
        .iter()
        .map(|target| TargetReport { target: target.clone(), reached: None, tries: 0, last: None })
        .collect();
    let end = async_io::block_on(drive(start, wait, &mut rows, &mut reached));
    Report { end, elapsed: start.elapsed(), targets: rows }
}

async fn drive(
    start: Instant,
    wait: &Wait,
    rows: &mut [TargetReport],
    reached: &mut impl FnMut(usize, &TargetReport),
) -> End {
    let mut plan = Plan::new(wait, rows.len());
    let mut tries = FuturesUnordered::new();
    loop {
        let now = start.elapsed();
        match plan.next(now) {
            Action::Try(id) => {
                let target = rows[id].target.clone();
                let left = wait.timeout.saturating_sub(now);
                tries.push(async move {
                    let started = Instant::now();
                    (id, probe::attempt(wait, &target, left).await, started.elapsed())
                });
            }
            Action::Look => {
                let watched: Vec<SocketAddr> = plan.watched().flat_map(|id| addresses(&rows[id])).collect();
                let look = watch::look(&watched);
                let then = start.elapsed();
                let listening = look.as_ref().map(|look| |id: usize| look.anybody(addresses(&rows[id])));
                plan.looked(then, then.saturating_sub(now), listening);
            }
            // Nothing else can happen: plain sleep costs less and is as exact.
            Action::Wait(until) if tries.is_empty() => thread::sleep(until.saturating_sub(start.elapsed())),
            Action::Wait(until) => {
                let Some((id, seen, cost)) = first_or_timer(&mut tries, start + until).await else {
                    continue;
                };
                rows[id].tries += 1;
                let now = start.elapsed();
                let shown = seen.shown(cost);
                rows[id].last = Some(seen);
                if plan.tried(now, id, shown) {
                    rows[id].reached = Some(now);
                    reached(id, &rows[id]);
                }
            }
            Action::Done(end) => return end,
        }
    }
}

/// The next try that ends, or `None` when the time has come.
async fn first_or_timer<F: Future<Output = (usize, Seen, Duration)>>(
    tries: &mut FuturesUnordered<F>,
    until: Instant,
) -> Option<F::Output> {
    let timer = async {
        Timer::at(until).await;
        None
    };
    future::or(tries.next(), timer).await
}

/// The addresses of a target's last try.
fn addresses(row: &TargetReport) -> impl Iterator<Item = SocketAddr> {
    row.last.iter().flat_map(|seen| &seen.addresses).map(|&(address, _)| address)
}
