//! Connects for tokio (feature `tokio`): the same race, policy and timeline as the blocking ones, and a
//! [`TcpStream`] of tokio's in the end.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = unstall::testing::v4_only()?;
//! # let port = server.port();
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let stream = unstall::tokio::connect(("localhost", port)).await?;
//! assert!(stream.nodelay()?);
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! # What it needs
//! A runtime with `enable_io`, and with `enable_time` where there is a time limit or a second address to wait for. Without
//! them the connect fails with an error that says so. tokio tells it by a panic, which is caught; the program's panic hook
//! still sees it, and a program that is built with `panic = "abort"` ends.
//!
//! # What it does
//! No task is spawned, and dropping the future closes every socket of the connect at once. A name is resolved by the OS on
//! a thread that is not tokio's; there are 32 of these at most, and they end when they have nothing to do.
//!
//! On Unix a socket is registered with the reactor as it is handed out. A connect on this host is usually over before that,
//! so that the reactor is not waited for at all, and SO_ERROR is read only after a failure.
//!
//! On Windows the connect is made with ConnectEx, whose end the process's thread pool tells, and the stream is registered when it
//! is connected: tokio's own way, to wait until the socket is writable and to read SO_ERROR then, can wait 15 ms for nothing.
//! Where a third party's layer has no ConnectEx, the connect is made on one of the threads above, and ends by itself there when
//! its future is dropped.

use crate::reactor::{self, Reactor};
use crate::{ConnectError, Connector, Target, Timeline};
use ::tokio::net::TcpStream;
use ::tokio::runtime::Handle;
use ::tokio::time::{Sleep, sleep};
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Connects to `target` with the defaults of [`Connector`], as [`connect`](crate::connect()) does, without blocking.
///
/// # Errors
/// [`ConnectError`], which names every address that was tried. [`ConnectError::is_invalid_target`] when `target` is
/// none.
pub async fn connect<T>(target: T) -> Result<TcpStream, ConnectError>
where
    T: TryInto<Target>,
    T::Error: Into<ConnectError>,
{
    Connector::standard().connect_tokio(target).await
}

impl Connector {
    /// [`connect`](Self::connect) on tokio. See [`unstall::tokio`](crate::tokio) for what it needs from the runtime.
    ///
    /// Cancellation-safe: a future that is dropped has closed every socket.
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect); and [`Outcome::Unknown`](crate::Outcome::Unknown), with the reason as its source, when
    /// the runtime lacks what the connect needs or is shut down.
    pub async fn connect_tokio<T>(&self, target: T) -> Result<TcpStream, ConnectError>
    where
        T: TryInto<Target>,
        T::Error: Into<ConnectError>,
    {
        let target = target.try_into().map_err(Into::into)?;
        reactor::connect::<Tokio>(self, target).over().await
    }

    /// [`connect_timeline`](Self::connect_timeline) on tokio.
    pub async fn connect_timeline_tokio(
        &self,
        target: &Target,
    ) -> (Result<TcpStream, ConnectError>, Timeline) {
        reactor::connect_timeline::<Tokio>(self, target.clone()).over().await
    }
}

/// The runtime that the future is polled in.
struct Tokio;

impl Reactor for Tokio {
    type Stream = TcpStream;
    type Timer = Sleep;

    fn register(stream: std::net::TcpStream) -> io::Result<TcpStream> {
        Handle::try_current().map_err(io::Error::other)?;
        told(|| TcpStream::from_std(stream))?
    }

    #[cfg(unix)]
    fn poll_over(stream: &TcpStream, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        use ::tokio::io::Interest;
        use std::os::fd::AsFd;
        use std::task::{Waker, ready};

        ready!(stream.poll_write_ready(context))?;
        // It is ready, so this does not wait; and it says what tokio knows beyond that.
        let ready =
            std::pin::pin!(stream.ready(Interest::WRITABLE)).poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(ready) = ready {
            return Poll::Ready(ready.map(|ready| ready.is_writable() && !ready.is_write_closed()));
        }
        if let Some(writable) = unstall_sys::connect::look(stream.as_fd())? {
            return Poll::Ready(Ok(writable));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn timer(after: Duration) -> io::Result<Sleep> {
        Handle::try_current().map_err(io::Error::other)?;
        told(|| sleep(after))
    }

    fn poll_timer(timer: Pin<&mut Sleep>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match told(|| timer.poll(context)) {
            Ok(poll) => poll.map(Ok),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

/// What `call` returns. tokio panics where a runtime lacks a driver or is shut down, and has no other way to ask.
fn told<T>(call: impl FnOnce() -> T) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| io::Error::other(message(&*panic)))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
    text.unwrap_or("the tokio runtime panicked").to_owned()
}
