//! Windows: ConnectEx where there is anything to wait for beside the connect itself, the blocking connect where there is not.
//!
//! Both tell the outcome themselves: ConnectEx by its completion, connect by what it returns. So SO_ERROR is never read.
//!
//! Several connects share one event object, and whoever wakes looks at all of them. That takes one handle for any number of
//! connects (WaitForMultipleObjects ends at 64), and unlike a completion port it leaves no trace on the socket that is
//! handed out: a socket stays with its completion port for good, and its next owner may want another.
//!
//! | | calls |
//! |---|---|
//! | without limit | WSASocketW, ioctl, connect, TCP_NODELAY |
//! | with a limit, or several | WSASocketW, ioctl, bind, ConnectEx, one wait, SO_UPDATE_CONNECT_CONTEXT, TCP_NODELAY |
//!
//! A local destination port that the kernel could choose as source port costs one getsockname more, which notices a self-connect.
//! Each attempt with ConnectEx is one allocation: what the kernel writes into must not move.

use super::{Options, SocketRef, Started};
use crate::addresses;
use crate::error::Error;
use crate::windows::event::Event;
use crate::windows::overlapped::{Pending, connect_ex, update_context};
use crate::windows::{initial_rto, selected, version, winsock};
use smallvec::SmallVec;
use socket2::{SockAddr, SockRef};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::windows::io::{AsSocket, OwnedSocket};
use std::time::{Duration, Instant};
use unstall_core::locality;
use unstall_core::outcome::Operation;
use unstall_core::syn::{self, Prepared, SynRetransmissions};

/// How many attempts fit without allocating a list; a race has 6 pending at most by default.
const INLINE: usize = 6;

/// Ports below are never chosen as source ports: the range of Windows XP began at 1025, today's at 49152.
const LOWEST_SOURCE_PORT: u16 = 1025;

pub(super) fn prepare(socket: SocketRef<'_>, address: SocketAddr, wanted: SynRetransmissions) -> Prepared {
    let address = destination(address);
    set_retransmissions(socket, locality::is_local_by(address.ip(), addresses::is_own), wanted)
}

pub(super) fn connect_blocking(
    address: SocketAddr,
    options: &Options,
    limit: Option<Duration>,
) -> (Prepared, Result<TcpStream, Error>) {
    let Some(limit) = limit else { return without_limit(address, options) };
    let start = Instant::now();
    let mut set = AttemptSet::new();
    let (prepared, started) = set.start((), address, options);
    let result = match started {
        Ok(Started::Connected(stream)) => Ok(stream),
        Ok(Started::Pending) => match set.wait(Some(limit.saturating_sub(start.elapsed()))) {
            Ok(Some(((), result))) => result,
            Ok(None) => Err(Error::limit(Operation::Connect, address)),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    (prepared, result)
}

fn without_limit(address: SocketAddr, options: &Options) -> (Prepared, Result<TcpStream, Error>) {
    let (prepared, dialled) = Dialled::new(address, options);
    let result = dialled.and_then(|dialled| {
        let connected = SockRef::from(&dialled.socket).connect(&dialled.destination.into());
        connected.map_err(|error| dialled.error(Operation::Connect, code(&error)))?;
        dialled.into_stream()
    });
    (prepared, result)
}

/// Where a connect really goes. Windows refuses the unspecified addresses, which Linux takes for loopback, and, on an IPv6
/// socket as Windows makes it, the IPv4-mapped ones.
fn destination(address: SocketAddr) -> SocketAddr {
    locality::unmap_socket(locality::unspecified_to_loopback(address))
}

fn set_retransmissions(socket: SocketRef<'_>, local: bool, wanted: SynRetransmissions) -> Prepared {
    let plan = syn::plan(wanted, local, version::version().build);
    match plan.parameters.map(|parameters| initial_rto::set(socket, parameters)) {
        Some(Err(code)) => Prepared::NotSupported(code),
        Some(Ok(())) | None => plan.prepared,
    }
}

fn code(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or_default()
}

/// A socket that is about to connect, is connecting, or has just connected.
#[derive(Debug)]
struct Dialled {
    socket: OwnedSocket,
    /// As the caller gave it.
    address: SocketAddr,
    /// Where the connect goes.
    destination: SocketAddr,
    nodelay: bool,
    /// The kernel may choose the destination port as source port.
    may_be_self: bool,
}

impl Dialled {
    fn new(address: SocketAddr, options: &Options) -> (Prepared, Result<Self, Error>) {
        let destination = destination(address);
        let socket = match winsock::stream(destination) {
            Ok(socket) => socket,
            Err(error) => return (Prepared::OsDefault, Err(error)),
        };
        let prepared = set_retransmissions(socket.as_socket(), options.local, options.syn_retransmissions);
        let may_be_self = options.local && destination.port() >= LOWEST_SOURCE_PORT;
        (prepared, Ok(Self { socket, address, destination, nodelay: options.nodelay, may_be_self }))
    }

    fn error(&self, operation: Operation, code: i32) -> Error {
        Error::from_code(operation, self.address, code)
    }

    /// ConnectEx wants a bound socket.
    fn bind(&self) -> Result<(), Error> {
        let any: SocketAddr = match self.destination {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let bound = SockRef::from(&self.socket).bind(&any.into());
        bound.map_err(|error| self.error(Operation::Bind, code(&error)))
    }

    fn into_stream(self) -> Result<TcpStream, Error> {
        let socket = SockRef::from(&self.socket);
        if self.may_be_self {
            let own = socket.local_addr().ok().and_then(|own| own.as_socket());
            if own.is_some_and(|own| (own.ip(), own.port()) == (self.destination.ip(), self.destination.port())) {
                return Err(Error::self_connected(self.address));
            }
        }
        if self.nodelay {
            // A peer that is gone already is found out by the first read or write, as on any other connection.
            let _ = socket.set_tcp_nodelay(true);
        }
        Ok(TcpStream::from(self.socket))
    }
}

/// Several connects at once, all of which signal the same event.
#[derive(Debug)]
pub(super) struct AttemptSet<K> {
    pending: SmallVec<[(K, Attempt); INLINE]>,
    /// Made by the first attempt.
    event: Option<Event>,
}

/// One connect of several.
#[derive(Debug)]
struct Attempt {
    dialled: Dialled,
    way: Way,
    /// What it came to, once it has been looked at.
    ended: Option<Result<(), i32>>,
}

/// How a connect is told to begin and tells its end.
#[derive(Debug)]
enum Way {
    ConnectEx(Pending),
    Selected,
}

impl<K: Copy + Eq> AttemptSet<K> {
    pub(super) fn new() -> Self {
        Self { pending: SmallVec::new(), event: None }
    }

    pub(super) fn start(
        &mut self,
        key: K,
        address: SocketAddr,
        options: &Options,
    ) -> (Prepared, Result<Started, Error>) {
        let (prepared, dialled) = Dialled::new(address, options);
        (prepared, dialled.and_then(|dialled| self.begin(key, dialled, options.local)))
    }

    fn begin(&mut self, key: K, dialled: Dialled, local: bool) -> Result<Started, Error> {
        if self.event.is_none() {
            self.event = Some(Event::new().map_err(|error| dialled.error(Operation::Wait, code(&error)))?);
        }
        let Some(event) = &self.event else { return Err(dialled.error(Operation::Wait, 0)) };
        let mut attempt = Attempt::begin(dialled, event)?;
        // On this host the handshake, or the reset, is usually over when the call returns.
        if local && attempt.has_ended() {
            return attempt.finish(event).map(Started::Connected);
        }
        self.pending.push((key, attempt));
        Ok(Started::Pending)
    }

    pub(super) fn wait(
        &mut self,
        timeout: Option<Duration>,
    ) -> Result<Option<(K, Result<TcpStream, Error>)>, Error> {
        let start = Instant::now();
        let Some(event) = self.event.as_ref().filter(|_| !self.pending.is_empty()) else {
            if let Some(timeout) = timeout {
                std::thread::sleep(timeout);
            }
            return Ok(None);
        };
        loop {
            // Before any wait: the next attempt's start resets the event that an earlier one may have signalled.
            if let Some(index) = Self::ended(&mut self.pending) {
                let (key, attempt) = self.pending.remove(index);
                return Ok(Some((key, attempt.finish(event))));
            }
            let left = timeout.map(|timeout| timeout.saturating_sub(start.elapsed()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            event.wait(left).map_err(|error| Error::wait(code(&error)))?;
        }
    }

    /// An attempt that has ended, one that connected before those that failed.
    fn ended(pending: &mut [(K, Attempt)]) -> Option<usize> {
        let mut failed = None;
        for (index, (_, attempt)) in pending.iter_mut().enumerate() {
            if attempt.has_ended() {
                if attempt.ended == Some(Ok(())) {
                    return Some(index);
                }
                failed = failed.or(Some(index));
            }
        }
        failed
    }

    pub(super) fn cancel(&mut self, key: K) {
        while let Some(index) = self.pending.iter().position(|(pending, _)| *pending == key) {
            let (_, attempt) = self.pending.remove(index);
            attempt.abandon(self.event.as_ref());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }
}

impl<K> Drop for AttemptSet<K> {
    fn drop(&mut self) {
        for (_, attempt) in self.pending.drain(..) {
            attempt.abandon(self.event.as_ref());
        }
    }
}

impl Attempt {
    fn begin(dialled: Dialled, event: &Event) -> Result<Self, Error> {
        let address = SockAddr::from(dialled.destination);
        let way = match connect_ex(&dialled.socket, dialled.destination.is_ipv4()) {
            Some(connect_ex) => {
                dialled.bind()?;
                Pending::begin(connect_ex, &dialled.socket, &address, event).map(Way::ConnectEx)
            }
            None => selected::begin(&dialled.socket, &address, event).map(|()| Way::Selected),
        };
        let way = way.map_err(|code| dialled.error(Operation::Connect, code))?;
        Ok(Self { dialled, way, ended: None })
    }

    fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = match &self.way {
                Way::ConnectEx(pending) => pending.outcome(&self.dialled.socket),
                Way::Selected => selected::outcome(&self.dialled.socket),
            };
        }
        self.ended.is_some()
    }

    /// The stream, or why there is none, of an attempt that has ended.
    fn finish(self, event: &Event) -> Result<TcpStream, Error> {
        let Self { dialled, way, ended } = self;
        let ordinary = match (ended, way) {
            (Some(result), Way::ConnectEx(pending)) => {
                pending.free();
                result.map_err(|code| (Operation::Connect, code)).and_then(|()| {
                    update_context(&dialled.socket).map_err(|code| (Operation::SetOption, code))
                })
            }
            (Some(result), Way::Selected) => {
                result.map_err(|code| (Operation::Connect, code)).and_then(|()| {
                    selected::finish(&dialled.socket).map_err(|code| (Operation::SetOption, code))
                })
            }
            (None, way) => {
                Self { dialled, way, ended }.abandon(Some(event));
                return unreachable_state();
            }
        };
        ordinary.map_err(|(operation, code)| dialled.error(operation, code))?;
        dialled.into_stream()
    }

    /// Closes the socket, at once.
    fn abandon(self, event: Option<&Event>) {
        todo_()
    }
}
