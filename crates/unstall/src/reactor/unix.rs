//! Any Unix: sockets that do not block are registered with the reactor, unless they are connected before it comes to that.

use super::Reactor;
use crate::heat::{Ended, Heat};
use crate::offload::offload;
use crate::{Connector, Prepared, Target};
use smallvec::SmallVec;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use unstall_core::outcome::Outcome;
use unstall_core::race::{Action, AttemptId, End};
use unstall_sys::connect::{Begun, Pending, begin};
use unstall_sys::{Error, resolve};

/// How many attempts fit without allocating; a race has 6 pending at most by default.
const INLINE: usize = 6;

/// Resolves the target and races its addresses.
pub(super) async fn race<R: Reactor>(connector: &Connector, target: Target) -> Ended<R::Stream> {
    let start = Instant::now();
    let config = connector.race_config();
    let resolved = addresses::<R>(&target, config.deadline).await;
    let mut heat = Heat::new(config, target, start, resolved);
    let end = run::<R>(&mut heat, connector).await;
    heat.ended(end)
}

/// The shortest way to one address.
pub(super) async fn one<R: Reactor>(
    connector: &Connector,
    address: SocketAddr,
) -> (Prepared, Result<R::Stream, Error>) {
    let (prepared, begun) = begin(address, &connector.options_for_one(address));
    let result = match begun.and_then(|begun| enter::<R>(begun, address)) {
        Ok((stream, None)) => Ok(stream),
        Ok((stream, Some(pending))) => {
            let limit = connector.race_config().deadline;
            finish::<R>(stream, pending, address, limit).await
        }
        Err(error) => Err(error),
    };
    (prepared, result)
}

async fn finish<R: Reactor>(
    stream: R::Stream,
    pending: Pending,
    address: SocketAddr,
    limit: Option<Duration>,
) -> Result<R::Stream, Error> {
    let broken = |error| Error::reactor(Some(address), error);
    let mut timer = pin!(limit.map(R::timer).transpose().map_err(broken)?);
    let writable = poll_fn(|context| {
        if let Poll::Ready(over) = R::poll_over(&stream, context) {
            return Poll::Ready(over.map(Some));
        }
        match timer.as_mut().as_pin_mut() {
            Some(timer) => R::poll_timer(timer, context).map_ok(|()| None),
            None => Poll::Pending,
        }
    });
    match (writable.await.map_err(broken)?, limit) {
        (None, Some(limit)) => Err(Error::limit(address, limit)),
        (writable, _) => {
            pending.finish(stream.as_fd(), writable == Some(true))?;
            Ok(stream)
        }
    }
}

/// The addresses of a target. Only a name needs a thread.
async fn addresses<R: Reactor>(target: &Target, limit: Option<Duration>) -> Result<Vec<SocketAddr>, Error> {
    if !target.is_name() {
        return resolve::resolve(target, limit);
    }
    let mut timer = pin!(limit.map(R::timer).transpose().map_err(|error| Error::reactor(None, error))?);
    let asked = target.clone();
    // The limit is kept here, so the resolver's own helper threads are not needed.
    let mut answer = pin!(offload(move || resolve::resolve(&asked, None)));
    let name = || target.host().to_string();
    poll_fn(|context| {
        if let Poll::Ready(answer) = answer.as_mut().poll(context) {
            let lost = || {
                let reason = "the resolver panicked, or no thread could be started for it".to_owned();
                Error::unresolved(&name(), Outcome::Exhausted, reason)
            };
            return Poll::Ready(answer.unwrap_or_else(|| Err(lost())));
        }
        let (Some(timer), Some(limit)) = (timer.as_mut().as_pin_mut(), limit) else {
            return Poll::Pending;
        };
        Poll::Ready(Err(match ready!(R::poll_timer(timer, context)) {
            Ok(()) => Error::resolver_limit(&name(), limit),
            Err(error) => Error::reactor(None, error),
        }))
    })
    .await
}

/// A pending attempt.
struct Runner<S> {
    id: AttemptId,
    address: SocketAddr,
    stream: S,
    pending: Pending,
}

type Field<S> = SmallVec<[Runner<S>; INLINE]>;

/// How the race ends. All sockets but the winner's are closed then.
async fn run<R: Reactor>(heat: &mut Heat<R::Stream>, connector: &Connector) -> End {
    let mut field = Field::new();
    let mut timer = pin!(None);
    let mut armed = None;
    loop {
        match heat.next() {
            (Action::Start { id, candidate, reason }, now) => {
                let address = candidate.address;
                let (prepared, begun) = begin(address, &connector.options(candidate.local));
                heat.started(address, reason, now, prepared);
                match begun.and_then(|begun| enter::<R>(begun, address)) {
                    Ok((stream, Some(pending))) => field.push(Runner { id, address, stream, pending }),
                    Ok((stream, None)) => heat.attempt_ended(id, Ok(stream)),
                    Err(error) => heat.attempt_ended(id, Err(error)),
                }
            }
            (Action::Wait { until }, now) => {
                if until != armed {
                    match until.map(|until| R::timer(until.saturating_sub(now))).transpose() {
                        Ok(new) => timer.set(new),
                        Err(error) => heat.wait_failed(Error::reactor(None, error)),
                    }
                    armed = until;
                    continue;
                }
                match poll_fn(|context| poll_field::<R>(&mut field, timer.as_mut(), context)).await {
                    Ok(Some((id, result))) => heat.attempt_ended(id, result),
                    Ok(None) => armed = None,
                    Err(error) => heat.wait_failed(error),
                }
            }
            (Action::Cancel { id, outcome }, _) => {
                field.retain(|runner| runner.id != id);
                heat.cancelled(id, outcome);
            }
            (Action::Done(end), _) => return end,
        }
    }
}

/// Registers a stream. Failure closes it.
fn enter<R: Reactor>(begun: Begun, address: SocketAddr) -> Result<(R::Stream, Option<Pending>), Error> {
    let stream = R::register(begun.stream).map_err(|error| Error::reactor(Some(address), error))?;
    Ok((stream, begun.pending))
}

type Came<S> = Option<(AttemptId, Result<S, Error>)>;

/// The end of any attempt, those that connected first; `None`: the timer struck.
fn poll_field<R: Reactor>(
    field: &mut Field<R::Stream>,
    timer: Pin<&mut Option<R::Timer>>,
    context: &mut Context<'_>,
) -> Poll<Result<Came<R::Stream>, Error>> {
    let mut first = None;
    for (index, runner) in field.iter().enumerate() {
        match R::poll_over(&runner.stream, context) {
            Poll::Ready(Ok(true)) => {
                first = Some((index, Ok(true)));
                break;
            }
            Poll::Ready(over) if first.is_none() => first = Some((index, over)),
            Poll::Ready(_) | Poll::Pending => {}
        }
    }
    if let Some((index, over)) = first {
        let Runner { id, address, stream, pending } = field.remove(index);
        let result = match over {
            Ok(writable) => pending.finish(stream.as_fd(), writable).map(|()| stream),
            Err(error) => Err(Error::reactor(Some(address), error)),
        };
        return Poll::Ready(Ok(Some((id, result))));
    }
    match timer.as_pin_mut() {
        Some(timer) => R::poll_timer(timer, context)
            .map(|struck| struck.map(|()| None).map_err(|error| Error::reactor(None, error))),
        None => Poll::Pending,
    }
}
