//! How other programs learn that a non-blocking connect has ended, for measuring what each way costs. Nothing here is used to
//! connect: [`crate::connect`] knows better ways.
//!
//! # Contract
//!
//! `select`, `poll`, and `Reactor` with `new` and `wait`. On Unix `select` and `poll` are the same call, and there is no reactor to
//! imitate: epoll and kqueue have no race worth measuring.

use crate::connect::SocketRef;
use std::io;
use std::time::Duration;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as imp;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as imp;

/// What a wait for the end of a connect has told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The socket is writable, and nothing speaks of a failure.
    Writable,
    /// The connect has failed; SO_ERROR has the reason.
    Failed,
    /// Nothing, until the limit struck.
    Nothing,
}

/// What a reactor asks about a socket that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Reading and writing, as mio registers a socket for tokio.
    Both,
    /// Writing alone, as polling waits for async-io.
    Writing,
}

/// Waits with `select` for the end of a connect, the except set included: the way that Winsock documents.
///
/// # Errors
///
/// The call failed.
pub fn select(socket: SocketRef<'_>, limit: Duration) -> io::Result<Readiness> {
    imp::select(socket, limit)
}

/// The same with `poll`, which is WSAPoll on Windows.
///
/// # Errors
///
/// The call failed.
pub fn poll(socket: SocketRef<'_>, limit: Duration) -> io::Result<Readiness> {
    imp::poll(socket, limit)
}

/// Waits for sockets as the reactors of tokio (mio) and async-io (polling) do on Windows: a completion port, and one AFD poll for
/// each wait.
#[derive(Debug)]
pub struct Reactor(imp::Reactor);

impl Reactor {
    /// Opens it.
    ///
    /// # Errors
    ///
    /// `Unsupported` on Unix; else the OS did not let it be opened.
    pub fn new() -> io::Result<Self> {
        imp::Reactor::new().map(Self)
    }

    /// Waits until the socket is ready, at most `limit`.
    ///
    /// # Errors
    ///
    /// The wait could not be begun, or did not end by itself after the limit.
    pub fn wait(
        &mut self,
        socket: SocketRef<'_>,
        interest: Interest,
        limit: Duration,
    ) -> io::Result<Readiness> {
        self.0.wait(socket, interest, limit)
    }
}
