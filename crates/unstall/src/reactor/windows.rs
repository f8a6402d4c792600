//! Windows: ConnectEx, whose end the process's thread pool tells; the stream is registered when it is connected.
//!
//! tokio and async-io themselves poll the socket until it is writable and then read SO_ERROR, which can wait 15 ms for nothing.
//! Where a third party's layer has no ConnectEx, the blocking connect runs on one of a bounded number of threads; one whose future is
//! dropped finishes alone there, and is closed.

use super::{Begun, Reactor};
use crate::Prepared;
use crate::offload::{Answer, offload};
use std::io;
use std::marker::PhantomData;
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use unstall_sys::Error;
use unstall_sys::connect::{self, Options, begin, connect_blocking};

/// A connect that is under way.
pub(super) struct Connecting<R> {
    address: SocketAddr,
    way: Way,
    reactor: PhantomData<fn() -> R>,
}

/// Who tells its end.
enum Way {
    ThreadPool(connect::Connecting),
    Thread(Answer<Result<TcpStream, Error>>),
}

/// Starts a connect, and looks once whether it is over already. `limit` ends it where it has to be made on a thread.
pub(super) fn start<R: Reactor>(
    address: SocketAddr,
    options: Options,
    limit: Option<Duration>,
) -> (Prepared, Result<Begun<R>, Error>) {
    let (prepared, begun) = begin(address, &options);
    let begun = begun.and_then(|connecting| {
        let way = match connecting {
            Some(connecting) => Way::ThreadPool(connecting),
            None => Way::Thread(offload(move || connect_blocking(address, &options, limit).1)),
        };
        let mut connecting = Connecting { address, way, reactor: PhantomData };
        match connecting.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.map(Begun::Connected),
            Poll::Pending => Ok(Begun::Pending(connecting)),
        }
    });
    (prepared, begun)
}

impl<R: Reactor> Connecting<R> {
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<R::Stream, Error>> {
        let broken = |error| Error::reactor(Some(self.address), error);
        let connected = match &mut self.way {
            Way::ThreadPool(connecting) => ready!(Pin::new(connecting).poll(context)),
            Way::Thread(answer) => ready!(Pin::new(answer).poll(context))
                .unwrap_or_else(|| Err(broken(io::Error::other("no thread could be started for it")))),
        };
        Poll::Ready(connected.and_then(|stream| {
            let registered = stream.set_nonblocking(true).and_then(|()| R::register(stream));
            registered.map_err(broken)
        }))
    }

    /// Windows answers every SYN within this host, so nobody needs to know.
    #[expect(clippy::unused_self, reason = "the contract is that of unix.rs")]
    pub(super) fn syn_repeated(&self) -> Option<bool> {
        None
    }

    /// Its end, if it has come by now.
    pub(super) fn is_over(&mut self) -> Option<Result<R::Stream, Error>> {
        match self.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }
}
