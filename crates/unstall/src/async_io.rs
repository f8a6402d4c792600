//! Connects for async-io (feature `async-io`), the reactor of smol and async-std: the same race, policy and timeline as the
//! blocking ones, and an [`Async<TcpStream>`](::async_io::Async) in the end. smol's and async-std's streams are made from it.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = unstall::testing::v4_only()?;
//! # let port = server.port();
//! async_io::block_on(async {
//!     let stream = unstall::async_io::connect(("localhost", port)).await?;
//!     assert!(stream.get_ref().nodelay()?);
//!     # Ok(())
//! })
//! # }
//! ```
//!
//! Any executor will do. No task is spawned, and dropping the future closes every socket of the connect at once. A name is
//! resolved by the OS on a thread of which there are 32 at most. On Windows the connect is made with ConnectEx, whose end the
//! process's thread pool tells.

use crate::reactor::{self, Reactor};
use crate::{ConnectError, Connector, Target, Timeline};
use ::async_io::{Async, Timer};
use std::io;
use std::net::TcpStream;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Connects to `target` with the defaults of [`Connector`], as [`connect`](crate::connect()) does, without blocking.
///
/// # Errors
/// [`ConnectError`], which names every address that was tried. [`ConnectError::is_invalid_target`] when `target` is
/// none.
pub async fn connect<T>(target: T) -> Result<Async<TcpStream>, ConnectError>
where
    T: TryInto<Target>,
    T::Error: Into<ConnectError>,
{
    Connector::standard().connect_async_io(target).await
}

impl Connector {
    /// [`connect`](Self::connect) on async-io.
    ///
    /// Cancellation-safe: a future that is dropped has closed every socket.
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect).
    pub async fn connect_async_io<T>(&self, target: T) -> Result<Async<TcpStream>, ConnectError>
    where
        T: TryInto<Target>,
        T::Error: Into<ConnectError>,
    {
        let target = target.try_into().map_err(Into::into)?;
        reactor::connect::<AsyncIo>(self, target).over().await
    }

    /// [`connect_timeline`](Self::connect_timeline) on async-io.
    pub async fn connect_timeline_async_io(
        &self,
        target: &Target,
    ) -> (Result<Async<TcpStream>, ConnectError>, Timeline) {
        reactor::connect_timeline::<AsyncIo>(self, target.clone()).over().await
    }
}

/// The reactor of this process.
struct AsyncIo;

impl Reactor for AsyncIo {
    type Stream = Async<TcpStream>;
    type Timer = Timer;

    fn register(stream: TcpStream) -> io::Result<Async<TcpStream>> {
        Async::new_nonblocking(stream)
    }

    #[cfg(unix)]
    fn poll_over(stream: &Async<TcpStream>, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        use std::os::fd::AsFd;

        loop {
            std::task::ready!(stream.poll_writable(context))?;
            // It does not say how the connect ended, nor surely that it did.
            if let Some(writable) = unstall_sys::connect::look(stream.as_fd())? {
                return Poll::Ready(Ok(writable));
            }
        }
    }

    fn timer(after: Duration) -> io::Result<Timer> {
        Ok(Timer::after(after))
    }

    fn poll_timer(timer: Pin<&mut Timer>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        timer.poll(context).map(|_| Ok(()))
    }
}
