//! Any Unix: sockets that do not block are registered with the reactor, which tells when the connect is over.

use super::{Begun, Reactor};
use crate::Prepared;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use unstall_sys::Error;
use unstall_sys::connect::{self, Options, Pending, begin};

/// A connect that is under way.
pub(super) struct Connecting<R: Reactor> {
    address: SocketAddr,
    /// `None`: it has been handed out, or its connect failed.
    stream: Option<R::Stream>,
    pending: Pending,
}

/// Starts a connect. One that is connected at once is not waited for.
pub(super) fn start<R: Reactor>(
    address: SocketAddr,
    options: Options,
    _limit: Option<Duration>,
) -> (Prepared, Result<Begun<R>, Error>) {
    let (prepared, begun) = begin(address, &options);
    (prepared, begun.and_then(|begun| enter(begun, address)))
}

/// Registers a stream. Failure closes it.
fn enter<R: Reactor>(begun: connect::Begun, address: SocketAddr) -> Result<Begun<R>, Error> {
    let stream = R::register(begun.stream).map_err(|error| Error::reactor(Some(address), error))?;
    Ok(match begun.pending {
        None => Begun::Connected(stream),
        Some(pending) => Begun::Pending(Connecting { address, stream: Some(stream), pending }),
    })
}

impl<R: Reactor> Connecting<R> {
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<R::Stream, Error>> {
        let Some(stream) = &self.stream else { return Poll::Pending };
        let over = ready!(R::poll_over(stream, context));
        let over = over.map_err(|error| Error::reactor(Some(self.address), error));
        let ended = over.and_then(|writable| self.pending.finish(stream.as_fd(), writable));
        let stream = self.stream.take();
        Poll::Ready(ended.and_then(|()| stream.ok_or_else(|| Error::self_connected(self.address))))
    }

    /// Whether the OS has sent its SYN again.
    pub(super) fn syn_repeated(&self) -> Option<bool> {
        connect::syn_repeated(self.stream.as_ref()?.as_fd())
    }

    /// Its end, if it has come by now, whether or not the reactor knows.
    pub(super) fn is_over(&mut self) -> Option<Result<R::Stream, Error>> {
        let stream = self.stream.take()?;
        match connect::look(stream.as_fd()) {
            Ok(None) => None,
            Ok(Some(writable)) => Some(self.pending.finish(stream.as_fd(), writable).map(|()| stream)),
            Err(error) => Some(Err(error)),
        }
    }
}
