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
//! | for a future | WSASocketW, ioctl, bind, CreateThreadpoolIo, ConnectEx, SO_UPDATE_CONNECT_CONTEXT, TCP_NODELAY |
//! | with a limit, or several | WSASocketW, ioctl, bind, ConnectEx, one wait, SO_UPDATE_CONNECT_CONTEXT, TCP_NODELAY |
//!
//! A local destination port that the kernel could choose as source port costs one getsockname more, which notices a self-connect.
//! Each attempt with ConnectEx is one allocation: what the kernel writes into must not move.

use super::{Ended, Options, SocketRef, Started, wait_of};
use crate::error::Error;
use crate::windows::event::Event;
use crate::windows::notified::Notified;
use crate::windows::overlapped::{Pending, connect_ex};
use crate::windows::{initial_rto, selected, version, winsock};
use crate::{addresses, ports};
use smallvec::SmallVec;
use socket2::{SockAddr, SockRef};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::windows::io::{AsSocket, OwnedSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker, ready};
use std::time::{Duration, Instant};
use unstall_core::locality;
use unstall_core::outcome::{Operation, Platform};
use unstall_core::syn::{self, Prepared, SynRetransmissions, Wanted};

/// How many attempts fit without allocating a list; a race has 6 pending at most by default.
const INLINE: usize = 6;

pub(super) fn prepare(socket: SocketRef<'_>, address: SocketAddr, wanted: SynRetransmissions) -> Prepared {
    let local = locality::is_local_by(destination(address).ip(), addresses::is_own);
    set_retransmissions(local, wanted, None, |parameters| initial_rto::set(socket, parameters))
}

pub(super) fn connect_blocking(
    address: SocketAddr,
    options: Options,
    limit: Option<Duration>,
) -> (Prepared, Result<TcpStream, Error>) {
    let Some(limit) = limit else { return without_limit(address, options) };
    let start = Instant::now();
    let mut set = AttemptSet::new();
    let (prepared, started) = set.start_within((), address, options, Some(limit));
    let result = match started {
        Ok(Started::Connected(stream)) => Ok(stream),
        Ok(Started::Pending) => {
            let left = limit.saturating_sub(start.elapsed());
            match set.wait(Some(wait_of(left, options.local))) {
                Ok(Some(((), result))) => result,
                Ok(None) => Err(Error::limit(address, limit)),
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    };
    (prepared, result)
}

fn without_limit(address: SocketAddr, options: Options) -> (Prepared, Result<TcpStream, Error>) {
    let dial = Dial::new(address, options);
    let (prepared, socket) = dial.socket(options, None);
    let result = socket.and_then(|socket| {
        let connected = SockRef::from(&socket).connect(&dial.destination.into());
        connected.map_err(|error| dial.error(Operation::Connect, code(&error)))?;
        dial.stream(socket)
    });
    (prepared, result)
}

pub(super) fn reset_at_close(socket: SocketRef<'_>) {
    let _ = SockRef::from(&socket).set_linger(Some(Duration::ZERO));
}

/// Where a connect really goes. Windows refuses the unspecified addresses, which Linux takes for loopback, and, on an IPv6
/// socket as Windows makes it, the IPv4-mapped ones.
fn destination(address: SocketAddr) -> SocketAddr {
    locality::unmap_socket(locality::unspecified_to_loopback(address))
}

/// Sets, with `set`, what the policy asks for. `limit`: how long a single SYN may wait for its answer, if anything bounds it.
fn set_retransmissions(
    local: bool,
    policy: SynRetransmissions,
    limit: Option<Duration>,
    set: impl FnOnce([u8; 4]) -> Result<(), i32>,
) -> Prepared {
    match syn::wanted(policy, local, Platform::Windows) {
        Wanted::Leave(prepared) => prepared,
        Wanted::Set => {
            let build = version::version().build;
            syn::prepared(build, policy, set(syn::initial_rto(build, policy, limit)))
        }
    }
}

fn code(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or_default()
}

/// What one connect is to do.
#[derive(Clone, Copy, Debug)]
struct Dial {
    /// As the caller gave it.
    address: SocketAddr,
    /// Where the connect goes.
    destination: SocketAddr,
    nodelay: bool,
    /// The kernel may choose the destination port as source port.
    may_be_self: bool,
}

impl Dial {
    fn new(address: SocketAddr, options: Options) -> Self {
        let destination = destination(address);
        let may_be_self = options.local && ports::may_be_source(destination.port());
        Self { address, destination, nodelay: options.nodelay, may_be_self }
    }

    fn error(&self, operation: Operation, code: i32) -> Error {
        Error::from_code(operation, self.address, code)
    }

    /// A socket that is ready to connect.
    fn socket(&self, options: Options, limit: Option<Duration>) -> (Prepared, Result<OwnedSocket, Error>) {
        match winsock::stream(self.destination) {
            Ok(socket) => {
                let set = |parameters| {
                    initial_rto::set_own(socket.as_socket(), self.destination.is_ipv4(), parameters)
                };
                let policy = options.syn_retransmissions;
                (set_retransmissions(options.local, policy, limit, set), Ok(socket))
            }
            Err(code) => (Prepared::NotSupported(code), Err(self.error(Operation::Socket, code))),
        }
    }

    /// ConnectEx wants a bound socket.
    fn bind(&self, socket: &OwnedSocket) -> Result<(), Error> {
        let any: SocketAddr = match self.destination {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let bound = SockRef::from(socket).bind(&any.into());
        bound.map_err(|error| self.error(Operation::Bind, code(&error)))
    }

    fn begin(self, socket: OwnedSocket) -> Result<Option<Connecting>, Error> {
        let Some(connect_ex) = connect_ex(&socket, self.destination.is_ipv4()) else { return Ok(None) };
        self.bind(&socket)?;
        let notified = Notified::begin(connect_ex, socket, &self.destination.into());
        let notified = notified.map_err(|code| self.error(Operation::Connect, code))?;
        Ok(Some(Connecting { dial: self, notified }))
    }

    /// A connected socket as the caller gets it.
    fn stream(&self, socket: OwnedSocket) -> Result<TcpStream, Error> {
        let stream = TcpStream::from(socket);
        let is_self =
            |own: SocketAddr| own.ip() == self.destination.ip() && own.port() == self.destination.port();
        if self.may_be_self && stream.local_addr().is_ok_and(is_self) {
            return Err(Error::self_connected(self.address));
        }
        if self.nodelay {
            // A peer that is gone already is found out by the first read or write, as on any other connection.
            let _ = stream.set_nodelay(true);
        }
        Ok(stream)
    }
}

/// A connect for a future. `None`: the provider has no ConnectEx.
pub(super) fn begin(address: SocketAddr, options: Options) -> (Prepared, Result<Option<Connecting>, Error>) {
    let dial = Dial::new(address, options);
    let (prepared, socket) = dial.socket(options, options.patience);
    (prepared, socket.and_then(|socket| dial.begin(socket)))
}

/// A connect that tells its end to a waker.
#[derive(Debug)]
pub(super) struct Connecting {
    dial: Dial,
    notified: Notified,
}

impl Connecting {
    pub(super) fn poll(&mut self, context: &Context<'_>) -> Poll<Result<TcpStream, Error>> {
        let ended = ready!(self.notified.poll(context));
        let socket = ended.map_err(|code| self.dial.error(Operation::Connect, code));
        Poll::Ready(socket.and_then(|socket| self.dial.stream(socket)))
    }
}

/// Several connects at once, all of which signal the same event.
#[derive(Debug)]
pub(super) struct AttemptSet<K> {
    pending: SmallVec<[(K, Attempt); INLINE]>,
    /// Made by the first attempt.
    event: Option<Arc<Event>>,
    /// Made when somebody first asks for it.
    bell: Option<Arc<Bell>>,
}

/// What ends a wait from elsewhere. The event alone would not do: each attempt's start resets it.
#[derive(Debug)]
struct Bell {
    rung: AtomicBool,
    event: Arc<Event>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.event.set();
    }
}

impl<K: Copy + Eq> AttemptSet<K> {
    pub(super) fn new() -> Self {
        Self { pending: SmallVec::new(), event: None, bell: None }
    }

    pub(super) fn start(
        &mut self,
        key: K,
        address: SocketAddr,
        options: Options,
    ) -> (Prepared, Result<Started, Error>) {
        self.start_within(key, address, options, options.patience)
    }

    /// The same, where no later attempt to this address makes up for a SYN that is lost.
    fn start_within(
        &mut self,
        key: K,
        address: SocketAddr,
        options: Options,
        limit: Option<Duration>,
    ) -> (Prepared, Result<Started, Error>) {
        let dial = Dial::new(address, options);
        let (prepared, socket) = dial.socket(options, limit);
        (prepared, socket.and_then(|socket| self.begin(key, dial, socket, options.local)))
    }

    fn begin(&mut self, key: K, dial: Dial, socket: OwnedSocket, local: bool) -> Result<Started, Error> {
        let mut attempt = Attempt::begin(dial, socket, self.event(&dial)?)?;
        // On this host the handshake, or the reset, is usually over when the call returns.
        if local && attempt.has_ended() {
            return attempt.finish().map(Started::Connected);
        }
        self.pending.push((key, attempt));
        Ok(Started::Pending)
    }

    fn event(&mut self, dial: &Dial) -> Result<&Arc<Event>, Error> {
        match &mut self.event {
            Some(event) => Ok(event),
            none => {
                let event = Event::new().map_err(|error| dial.error(Operation::Wait, code(&error)))?;
                Ok(none.insert(Arc::new(event)))
            }
        }
    }

    pub(super) fn waker(&mut self) -> io::Result<Waker> {
        let event = match &mut self.event {
            Some(event) => event,
            none => none.insert(Arc::new(Event::new()?)),
        };
        let bell = || Arc::new(Bell { rung: AtomicBool::new(false), event: Arc::clone(event) });
        Ok(Arc::clone(self.bell.get_or_insert_with(bell)).into())
    }

    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<Ended<K>>, Error> {
        let start = Instant::now();
        let waits = !self.pending.is_empty() || self.bell.is_some();
        let Some(event) = self.event.as_ref().filter(|_| waits) else {
            std::thread::sleep(timeout.unwrap_or_default());
            return Ok(None);
        };
        loop {
            // Before any wait: an attempt's start resets the event that an earlier one may have signalled.
            if let Some(index) = ended(&mut self.pending) {
                let (key, attempt) = self.pending.remove(index);
                return Ok(Some((key, attempt.finish())));
            }
            if self.bell.as_ref().is_some_and(|bell| bell.rung.swap(false, Ordering::Acquire)) {
                return Ok(None);
            }
            let left = timeout.map(|timeout| timeout.saturating_sub(start.elapsed()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            event.wait(left).map_err(|error| Error::wait(code(&error)))?;
        }
    }

    pub(super) fn cancel(&mut self, key: K) {
        self.pending.retain(|(pending, _)| *pending != key);
    }

    pub(super) fn give_up(&mut self, key: K) -> Option<Result<TcpStream, Error>> {
        let index = self.pending.iter().position(|(pending, _)| *pending == key)?;
        let (_, mut attempt) = self.pending.remove(index);
        attempt.has_ended().then(|| attempt.finish())
    }

    /// Windows answers every SYN within this host, so nobody needs to know.
    #[expect(clippy::unused_self, reason = "the contract is that of unix.rs")]
    pub(super) fn syn_repeated(&self, _key: K) -> Option<bool> {
        None
    }

    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }
}

/// An attempt that has ended, one that connected before those that failed.
fn ended<K>(pending: &mut [(K, Attempt)]) -> Option<usize> {
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

/// One connect of several. Dropping it closes its socket, at once.
#[derive(Debug)]
struct Attempt {
    dial: Dial,
    way: Way,
    /// What it came to, once it was seen to have ended.
    ended: Option<Result<(), i32>>,
}

/// How a connect is told to begin and tells its end.
#[derive(Debug)]
enum Way {
    ConnectEx(Pending),
    Selected(OwnedSocket),
}

impl Attempt {
    fn begin(dial: Dial, socket: OwnedSocket, event: &Arc<Event>) -> Result<Self, Error> {
        let address = SockAddr::from(dial.destination);
        let way = if let Some(connect_ex) = connect_ex(&socket, dial.destination.is_ipv4()) {
            dial.bind(&socket)?;
            Pending::begin(connect_ex, socket, &address, event).map(Way::ConnectEx)
        } else {
            selected::begin(&socket, &address, event).map(|()| Way::Selected(socket))
        };
        let way = way.map_err(|code| dial.error(Operation::Connect, code))?;
        Ok(Self { dial, way, ended: None })
    }

    fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = match &self.way {
                Way::ConnectEx(pending) => pending.outcome(),
                Way::Selected(socket) => selected::outcome(socket),
            };
        }
        self.ended.is_some()
    }

    /// The stream, or why there is none, of an attempt that has ended.
    fn finish(self) -> Result<TcpStream, Error> {
        if let Some(Err(code)) = self.ended {
            return Err(self.dial.error(Operation::Connect, code));
        }
        let socket = match self.way {
            Way::ConnectEx(pending) => pending.into_socket(),
            Way::Selected(socket) => selected::finish(socket),
        };
        self.dial.stream(socket.map_err(|code| self.dial.error(Operation::SetOption, code))?)
    }
}
