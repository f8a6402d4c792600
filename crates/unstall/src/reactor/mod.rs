//! Connects that wait on somebody else's reactor: what tokio and async-io have in common.
//!
//! The decisions are core's, as in the blocking library; here is only the waiting. The future owns every socket: dropping it closes
//! them all. No task is spawned.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as imp;
#[cfg(windows)]
use windows as imp;

use crate::connector::is_local;
use crate::heat::{self, Ended, FIRST, Heat, Step, Why};
use crate::offload::offload;
use crate::resolver::{Answer, Lookups};
use crate::trace::Trace;
use crate::{ConnectError, Connector, Prepared, Reason, Target, Timeline, retry};
use smallvec::SmallVec;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use unstall_core::outcome::Outcome;
use unstall_core::race::{Action, AttemptId, Candidate, End};
use unstall_sys::connect::{Options, wait_of};
use unstall_sys::{Error, resolve};

/// How many attempts fit without allocating; a race has 6 pending at most by default.
const INLINE: usize = 6;

/// Waits for sockets and for time. Its errors are those of a reactor that is not there or has been shut down.
#[cfg_attr(windows, allow(dead_code, reason = "there the blocking connect keeps the limit"))]
pub(crate) trait Reactor {
    /// A stream that is registered.
    #[cfg(unix)]
    type Stream: std::os::fd::AsFd;
    /// A stream that is registered.
    #[cfg(windows)]
    type Stream;
    type Timer;

    /// Registers a stream that does not block.
    fn register(stream: TcpStream) -> io::Result<Self::Stream>;

    /// Whether the connect of a stream is over, and if so whether the stream is writable, with nothing of an error or a hang-up.
    #[cfg(unix)]
    fn poll_over(stream: &Self::Stream, context: &mut Context<'_>) -> Poll<io::Result<bool>>;

    fn timer(after: Duration) -> io::Result<Self::Timer>;

    fn poll_timer(timer: Pin<&mut Self::Timer>, context: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// A connect that was begun. One that is over at once, as most on this host are, needs no memory of its own; what others need is
/// allocated once, so that the futures of those who wait are small.
pub(crate) enum Connect<T, F> {
    Over(T),
    Later(Pin<Box<F>>),
}

impl<T, F: Future<Output = T>> Connect<T, F> {
    pub(crate) async fn over(self) -> T {
        match self {
            Self::Over(result) => result,
            Self::Later(future) => future.await,
        }
    }
}

/// Connects, without a timeline unless it fails.
pub(crate) fn connect<'a, R: Reactor + 'a>(
    connector: &'a Connector,
    target: Target,
) -> Connect<
    Result<R::Stream, ConnectError>,
    impl Future<Output = Result<R::Stream, ConnectError>> + use<'a, R>,
> {
    match begin::<R>(connector, target) {
        Stage::Over(Lone { result: Ok(stream), .. }) => Connect::Over(Ok(stream)),
        Stage::Over(failed) => Connect::Over(result(failed.ended())),
        later => Connect::Later(Box::pin(async move { result(later.ended(connector).await) })),
    }
}

/// Connects, and says what happened when.
pub(crate) fn connect_timeline<'a, R: Reactor + 'a>(
    connector: &'a Connector,
    target: Target,
) -> Connect<Told<R::Stream>, impl Future<Output = Told<R::Stream>> + use<'a, R>> {
    match begin::<R>(connector, target) {
        Stage::Over(lone) => Connect::Over(told(lone.ended())),
        later => Connect::Later(Box::pin(async move { told(later.ended(connector).await) })),
    }
}

/// What a connect came to, and its timeline.
type Told<S> = (Result<S, ConnectError>, Timeline);

fn result<S>((result, timeline): Ended<S>) -> Result<S, ConnectError> {
    result.map_err(|why| ConnectError::new(timeline, why))
}

fn told<S>((result, timeline): Ended<S>) -> Told<S> {
    (result.map_err(|why| ConnectError::new(timeline.clone(), why)), timeline)
}

/// What a connect has come to when it has been started.
enum Begun<R: Reactor> {
    /// It is connected, and the stream registered.
    Connected(R::Stream),
    /// Polling it tells the end. Dropping it closes the socket.
    Pending(imp::Connecting<R>),
}

/// Resolves the target and races its addresses.
async fn race<R: Reactor>(connector: &Connector, target: Target) -> Ended<R::Stream> {
    let start = Instant::now();
    let trace = Trace::connect(&target);
    if let Some(lookups) = Lookups::ask(connector, &target) {
        let mut heat = Heat::asking(connector, target, start, trace);
        let end = run::<R>(&mut heat, connector, Field::new(), lookups).await;
        return heat.ended(end);
    }
    let resolved = match connector.known_addresses() {
        Some(addresses) => Ok(addresses),
        None => addresses::<R>(&target, connector.race_config().deadline).await,
    };
    let mut heat = Heat::new(connector, target, start, resolved, trace);
    let end = run::<R>(&mut heat, connector, Field::new(), Lookups::default()).await;
    heat.ended(end)
}

/// The one attempt of a connect, and how far it is.
struct Lone<S> {
    target: Target,
    address: SocketAddr,
    prepared: Prepared,
    start: Instant,
    result: S,
}

impl Lone<()> {
    fn with<S>(self, result: S) -> Lone<S> {
        let Self { target, address, prepared, start, result: () } = self;
        Lone { target, address, prepared, start, result }
    }
}

impl<S> Lone<Result<S, Error>> {
    fn ended(self) -> Ended<S> {
        let Self { target, address, prepared, start, result } = self;
        let timeline = heat::one_attempt(target, address, prepared, result.as_ref().err(), start.elapsed());
        (result.map_err(|error| Why::of(error, address)), timeline)
    }
}

/// How far a connect is that was begun.
enum Stage<R: Reactor> {
    Over(Lone<Result<R::Stream, Error>>),
    /// There may be several addresses.
    Race(Target),
    /// The end of one attempt, which is final.
    Last(Lone<imp::Connecting<R>>, Trace),
    /// The end of a first attempt; or it failed, and is made again.
    First(Lone<Result<imp::Connecting<R>, Error>>, Trace),
}

impl<R: Reactor> Stage<R> {
    async fn ended(self, connector: &Connector) -> Ended<R::Stream> {
        match self {
            Self::Over(lone) => lone.ended(),
            Self::Race(target) => race::<R>(connector, target).await,
            Self::Last(Lone { target, address, prepared, start, result: connecting }, trace) => {
                let limit = connector.race_config().deadline;
                let result = within(connecting, address, limit).await;
                trace.over(FIRST, result.as_ref().err());
                Lone { target, address, prepared, start, result }.ended()
            }
            Self::First(begun, trace) => repeated::<R>(connector, begun, trace).await,
        }
    }
}

/// Begins a connect. The shortest way is that to one address.
fn begin<R: Reactor>(connector: &Connector, target: Target) -> Stage<R> {
    let Some(address) = connector.only_address(&target) else { return Stage::Race(target) };
    let start = Instant::now();
    let candidate = Candidate { address, local: is_local(address) };
    let patience = connector.retries().patience(candidate.local, 0);
    let options = Options { patience, ..connector.options(candidate.local) };
    let mut trace = Trace::connect(&target);
    trace.attempt(FIRST, address, Reason::DnsCompleted);
    let (prepared, begun) = imp::start::<R>(address, options, connector.race_config().deadline);
    let repeats = connector.repeats(candidate);
    let lone = Lone { target, address, prepared, start, result: () };
    match begun {
        Ok(Begun::Connected(stream)) => {
            trace.over(FIRST, None);
            Stage::Over(lone.with(Ok(stream)))
        }
        Ok(Begun::Pending(connecting)) if repeats => Stage::First(lone.with(Ok(connecting)), trace),
        Ok(Begun::Pending(connecting)) => Stage::Last(lone.with(connecting), trace),
        Err(error) if repeats && !retry::is_final(&error) => Stage::First(lone.with(Err(error)), trace),
        Err(error) => {
            trace.over(FIRST, Some(&error));
            Stage::Over(lone.with(Err(error)))
        }
    }
}

/// The race of one address whose first try has not connected.
async fn repeated<R: Reactor>(
    connector: &Connector,
    begun: Lone<Result<imp::Connecting<R>, Error>>,
    trace: Trace,
) -> Ended<R::Stream> {
    let Lone { target, address, prepared, start, result } = begun;
    let candidate = Candidate { address, local: is_local(address) };
    let mut heat = Heat::begun(connector, target, candidate, start, prepared, trace);
    let mut field = Field::<R>::new();
    match result {
        Ok(connecting) => field.push(Runner::new(FIRST, connecting)),
        Err(error) => heat.attempt_ended(FIRST, Err(error)),
    }
    let end = run::<R>(&mut heat, connector, field, Lookups::default()).await;
    heat.ended(end)
}

async fn within<R: Reactor>(
    mut connecting: imp::Connecting<R>,
    address: SocketAddr,
    limit: Option<Duration>,
) -> Result<R::Stream, Error> {
    let broken = |error| Error::reactor(Some(address), error);
    let timer = limit.map(|limit| R::timer(wait_of(limit, is_local(address))));
    let mut timer = pin!(timer.transpose().map_err(broken)?);
    poll_fn(|context| {
        if let Poll::Ready(result) = connecting.poll(context) {
            return Poll::Ready(result);
        }
        let (Some(timer), Some(limit)) = (timer.as_mut().as_pin_mut(), limit) else {
            return Poll::Pending;
        };
        R::poll_timer(timer, context).map(|struck| match struck {
            Ok(()) => Err(Error::limit(address, limit)),
            Err(error) => Err(broken(error)),
        })
    })
    .await
}

/// The addresses of a target. Only a name that somebody has to be asked for needs a thread.
async fn addresses<R: Reactor>(target: &Target, limit: Option<Duration>) -> Result<Vec<SocketAddr>, Error> {
    if let Some(answer) = resolve::at_once(target) {
        return answer;
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
struct Runner<R: Reactor> {
    id: AttemptId,
    connecting: imp::Connecting<R>,
    /// What it came to, while one that connected is told first.
    ended: Option<Result<R::Stream, Error>>,
}

type Field<R> = SmallVec<[Runner<R>; INLINE]>;

impl<R: Reactor> Runner<R> {
    fn new(id: AttemptId, connecting: imp::Connecting<R>) -> Self {
        Self { id, connecting, ended: None }
    }
}

/// How the race ends. All sockets but the winner's are closed then.
async fn run<R: Reactor>(
    heat: &mut Heat<R::Stream>,
    connector: &Connector,
    mut field: Field<R>,
    mut lookups: Lookups<'_>,
) -> End {
    let mut timer = pin!(None);
    let mut armed = None;
    loop {
        match heat.next() {
            (Step::Race(Action::Start { id, candidate, reason }), now) => {
                let patience = heat.patience(candidate);
                let options = Options { patience, ..connector.options(candidate.local) };
                let left = connector.race_config().deadline.map(|deadline| deadline.saturating_sub(now));
                let (prepared, begun) = imp::start::<R>(candidate.address, options, left);
                heat.started(id, candidate, reason, now, prepared);
                match begun {
                    Ok(Begun::Connected(stream)) => heat.attempt_ended(id, Ok(stream)),
                    Ok(Begun::Pending(connecting)) => field.push(Runner::new(id, connecting)),
                    Err(error) => heat.attempt_ended(id, Err(error)),
                }
            }
            (Step::Race(Action::Wait { until }), now) => {
                if until != armed {
                    match until.map(|until| R::timer(until.saturating_sub(now))).transpose() {
                        Ok(next) => timer.set(next),
                        Err(error) if !heat.stop_looking() => heat.wait_failed(Error::reactor(None, error)),
                        // Without timers what is pending is the OS's business, as it would be with any other connector.
                        Err(_) => continue,
                    }
                    armed = until;
                    continue;
                }
                let came = poll_fn(|context| match lookups.poll(context) {
                    Poll::Ready(answer) => Poll::Ready(Ok(Came::Answered(answer))),
                    Poll::Pending => poll_field(&mut field, timer.as_mut(), context),
                });
                match came.await {
                    Ok(Came::Answered(answer)) => heat.answered(answer),
                    Ok(Came::Ended(id, result)) => heat.attempt_ended(id, result),
                    Ok(Came::Time) => armed = None,
                    Err(_) if heat.stop_looking() => {
                        timer.set(None);
                        armed = None;
                    }
                    Err(error) => heat.wait_failed(error),
                }
            }
            (Step::Look(id), _) => {
                if let Some(closing) = heat.look(id, || syn_repeated(&field, id)) {
                    match give_up(&mut field, id) {
                        Some(result) => heat.attempt_ended(id, result),
                        None => heat.closed(id, closing),
                    }
                }
            }
            (Step::Race(Action::Cancel { id, outcome }), _) => {
                field.retain(|runner| runner.id != id);
                heat.cancelled(id, outcome);
            }
            (Step::Race(Action::Done(end)), _) => return end,
        }
    }
}

/// Whether the OS has sent the SYN of an attempt again.
fn syn_repeated<R: Reactor>(field: &Field<R>, id: AttemptId) -> Option<bool> {
    field.iter().find(|runner| runner.id == id)?.connecting.syn_repeated()
}

/// Closes an attempt, unless it has just ended.
fn give_up<R: Reactor>(field: &mut Field<R>, id: AttemptId) -> Option<Result<R::Stream, Error>> {
    let index = field.iter().position(|runner| runner.id == id)?;
    let mut runner = field.remove(index);
    runner.ended.take().or_else(|| runner.connecting.is_over())
}

enum Came<S> {
    /// An attempt has ended.
    Ended(AttemptId, Result<S, Error>),
    /// The resolver has answered.
    Answered(Answer),
    /// The timer struck.
    Time,
}

/// An attempt that has ended, one that connected before those that failed; or the timer.
fn poll_field<R: Reactor>(
    field: &mut Field<R>,
    timer: Pin<&mut Option<R::Timer>>,
    context: &mut Context<'_>,
) -> Poll<Result<Came<R::Stream>, Error>> {
    let mut first = None;
    for (index, runner) in field.iter_mut().enumerate() {
        if runner.ended.is_none() {
            if let Poll::Ready(result) = runner.connecting.poll(context) {
                runner.ended = Some(result);
            }
        }
        match runner.ended {
            Some(Ok(_)) => {
                first = Some(index);
                break;
            }
            Some(Err(_)) => first = first.or(Some(index)),
            None => {}
        }
    }
    if let Some(Runner { id, ended: Some(result), .. }) = first.map(|index| field.remove(index)) {
        return Poll::Ready(Ok(Came::Ended(id, result)));
    }
    match timer.as_pin_mut() {
        Some(timer) => R::poll_timer(timer, context)
            .map(|struck| struck.map(|()| Came::Time).map_err(|error| Error::reactor(None, error))),
        None => Poll::Pending,
    }
}
