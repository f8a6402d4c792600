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

use crate::heat::{self, Ended};
use crate::{ConnectError, Connector, Target, Timeline};
use std::io;
use std::net::TcpStream;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// What a stream is on Unix, beside registered.
#[cfg(unix)]
pub(crate) trait Registered: std::os::fd::AsFd {}
#[cfg(unix)]
impl<T: std::os::fd::AsFd> Registered for T {}
/// What a stream is on Windows, beside registered.
#[cfg(windows)]
pub(crate) trait Registered {}
#[cfg(windows)]
impl<T> Registered for T {}

/// Waits for sockets and for time. Its errors are those of a reactor that is not there or has been shut down.
#[cfg_attr(windows, allow(dead_code, reason = "there the blocking connect keeps the limit"))]
pub(crate) trait Reactor {
    /// A stream that is registered.
    type Stream: Registered;
    type Timer;

    /// Registers a stream that does not block.
    fn register(stream: TcpStream) -> io::Result<Self::Stream>;

    /// Whether the connect of a stream is over, and if so whether the stream is writable, with nothing of an error or a hang-up.
    #[cfg(unix)]
    fn poll_over(stream: &Self::Stream, context: &mut Context<'_>) -> Poll<io::Result<bool>>;

    fn timer(after: Duration) -> io::Result<Self::Timer>;

    fn poll_timer(timer: Pin<&mut Self::Timer>, context: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// Connects, without a timeline unless it fails.
pub(crate) async fn connect<R: Reactor>(
    connector: &Connector,
    target: Target,
) -> Result<R::Stream, ConnectError> {
    let Some(address) = connector.only_address(&target) else {
        let (result, timeline) = imp::race::<R>(connector, target).await;
        return result.map_err(|source| ConnectError::new(timeline, source));
    };
    let start = Instant::now();
    let (prepared, result) = imp::one::<R>(connector, address).await;
    result.map_err(|error| {
        let timeline = heat::one_attempt(target, address, prepared, Some(&error), start.elapsed());
        ConnectError::new(timeline, Some(error))
    })
}

/// Connects, and says what happened when.
pub(crate) async fn connect_timeline<R: Reactor>(
    connector: &Connector,
    target: Target,
) -> (Result<R::Stream, ConnectError>, Timeline) {
    let (result, timeline) = ended::<R>(connector, target).await;
    (result.map_err(|source| ConnectError::new(timeline.clone(), source)), timeline)
}

async fn ended<R: Reactor>(connector: &Connector, target: Target) -> Ended<R::Stream> {
    let Some(address) = connector.only_address(&target) else {
        return imp::race::<R>(connector, target).await;
    };
    let start = Instant::now();
    let (prepared, result) = imp::one::<R>(connector, address).await;
    let timeline = heat::one_attempt(target, address, prepared, result.as_ref().err(), start.elapsed());
    (result.map_err(Some), timeline)
}
