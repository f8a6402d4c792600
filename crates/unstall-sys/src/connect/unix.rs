//! Any Unix: connect, poll, and what a poll's answer means. How a socket is made and how a self-connect is kept away is the
//! platform's (`linux.rs`, `portable.rs`).

use super::platform::{self, SourcePort};
use super::{Ended, Options, SocketRef, Started};
use crate::error::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketType, connect, getpeername, getsockname, socket, sockopt};
use smallvec::SmallVec;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};
use unstall_core::locality::unspecified_to_loopback;
use unstall_core::outcome::{Operation, OsError, Outcome};
use unstall_core::syn::{Prepared, SynRetransmissions};

/// How many attempts fit without allocating; a race has 6 pending at most by default.
const INLINE: usize = 6;

/// The longest single poll. Some systems count milliseconds in 32 bits; a longer wait is several polls.
const LONGEST_POLL: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn prepare(_socket: SocketRef<'_>, _address: SocketAddr, _wanted: SynRetransmissions) -> Prepared {
    Prepared::NotNeeded
}

pub(super) fn connect_blocking(
    address: SocketAddr,
    options: Options,
    limit: Option<Duration>,
) -> (Prepared, Result<TcpStream, Error>) {
    let result = match limit {
        None => without_limit(address, options),
        Some(limit) => within(address, options, limit),
    };
    (Prepared::NotNeeded, result)
}

fn without_limit(address: SocketAddr, options: Options) -> Result<TcpStream, Error> {
    let (attempt, progress) = Attempt::start(address, options, Mode::Blocking)?;
    if progress == Progress::Pending {
        // A signal interrupted the call; the kernel goes on connecting, and a second connect would only say EALREADY.
        attempt.wait(None)?;
    }
    attempt.into_stream()
}

fn within(address: SocketAddr, options: Options, limit: Duration) -> Result<TcpStream, Error> {
    let (attempt, progress) = Attempt::start(address, options, Mode::NonBlocking)?;
    // On this host it is usually over by now, and a look is cheaper than a wait.
    let over = progress == Progress::Connected
        || (options.local && attempt.is_over()?)
        || attempt.wait(Some(limit))?;
    if over { attempt.into_stream() } else { Err(Error::limit(address, limit)) }
}

#[derive(Debug)]
pub(super) struct AttemptSet<K> {
    pending: SmallVec<[(K, Attempt); INLINE]>,
    /// Made when somebody first asks for it.
    bell: Option<Arc<Bell>>,
}

impl<K: Copy + Eq> AttemptSet<K> {
    pub(super) fn new() -> Self {
        Self { pending: SmallVec::new(), bell: None }
    }

    pub(super) fn start(
        &mut self,
        key: K,
        address: SocketAddr,
        options: Options,
    ) -> (Prepared, Result<Started, Error>) {
        (Prepared::NotNeeded, self.try_start(key, address, options))
    }

    fn try_start(&mut self, key: K, address: SocketAddr, options: Options) -> Result<Started, Error> {
        let (attempt, progress) = Attempt::start(address, options, Mode::NonBlocking)?;
        // On this host the handshake, or the reset, is usually over when connect returns, though it says "in progress".
        if progress == Progress::Connected || (options.local && attempt.is_over()?) {
            return attempt.into_stream().map(Started::Connected);
        }
        self.pending.push((key, attempt));
        Ok(Started::Pending)
    }

    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<Ended<K>>, Error> {
        if self.pending.is_empty() && timeout.is_none() && self.bell.is_none() {
            return Ok(None);
        }
        let mut polled: SmallVec<[PollFd<'_>; INLINE]> =
            self.pending.iter().map(|(_, attempt)| attempt.poll_fd()).collect();
        polled.extend(self.bell.as_ref().map(|bell| PollFd::new(&bell.heard, PollFlags::IN)));
        if !poll_for(&mut polled, timeout).map_err(|errno| Error::wait(errno.raw_os_error()))? {
            return Ok(None);
        }
        // The bell comes after them.
        let attempts = &polled[..self.pending.len()];
        let ready = |test: fn(PollFlags) -> bool| attempts.iter().position(|fd| test(fd.revents()));
        let Some(index) = ready(is_success).or_else(|| ready(|events| !events.is_empty())) else {
            self.bell.iter().for_each(|bell| bell.stop());
            return Ok(None);
        };
        let events = polled[index].revents();
        drop(polled);
        let (key, attempt) = self.pending.remove(index);
        Ok(Some((key, attempt.judge(events).and_then(|()| attempt.into_stream()))))
    }

    pub(super) fn waker(&mut self) -> io::Result<Waker> {
        let bell = match &mut self.bell {
            Some(bell) => bell,
            none => none.insert(Arc::new(Bell::new()?)),
        };
        Ok(Arc::clone(bell).into())
    }

    pub(super) fn cancel(&mut self, key: K) {
        self.pending.retain(|(pending, _)| *pending != key);
    }

    pub(super) fn give_up(&mut self, key: K) -> Option<Result<TcpStream, Error>> {
        let index = self.pending.iter().position(|(pending, _)| *pending == key)?;
        let (_, attempt) = self.pending.remove(index);
        match attempt.is_over() {
            Ok(false) => None,
            Ok(true) => Some(attempt.into_stream()),
            Err(error) => Some(Err(error)),
        }
    }

    pub(super) fn syn_repeated(&self, key: K) -> Option<bool> {
        let (_, attempt) = self.pending.iter().find(|(pending, _)| *pending == key)?;
        platform::syn_repeated(attempt.socket.as_fd())
    }

    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }
}

/// What ends a poll from elsewhere: a pair of sockets. Both ends live as long as anybody may ring, so that nobody gets SIGPIPE.
#[derive(Debug)]
struct Bell {
    heard: UnixStream,
    rope: UnixStream,
}

impl Bell {
    fn new() -> io::Result<Self> {
        let (heard, rope) = UnixStream::pair()?;
        heard.set_nonblocking(true)?;
        rope.set_nonblocking(true)?;
        Ok(Self { heard, rope })
    }

    fn stop(&self) {
        let mut bytes = [0; 64];
        while (&self.heard).read(&mut bytes).is_ok_and(|count| count == bytes.len()) {}
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // If it is full it rings already.
        let _ = (&self.rope).write(&[1]);
    }
}

/// Whether the socket waits in connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Blocking,
    NonBlocking,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Connected,
    Pending,
}

/// A socket that was told to connect.
#[derive(Debug)]
struct Attempt {
    socket: OwnedFd,
    mode: Mode,
    pending: Pending,
}

impl Attempt {
    fn start(address: SocketAddr, options: Options, mode: Mode) -> Result<(Self, Progress), Error> {
        let socket = platform::open(family(&address), mode)
            .map_err(|errno| Error::from_code(Operation::Socket, address, errno.raw_os_error()))?;
        let mut source = SourcePort::guard(&socket, &address, options.local);
        let mut result = connect(&socket, &address);
        if result == Err(Errno::ADDRNOTAVAIL) && source.use_other_side(&socket) {
            result = connect(&socket, &address);
        }
        let progress = match result {
            Ok(()) => Progress::Connected,
            Err(Errno::INPROGRESS | Errno::INTR) => Progress::Pending,
            Err(errno) => return Err(connect_error(address, errno)),
        };
        let pending = Pending { address, nodelay: options.nodelay, may_be_self: source.must_detect() };
        Ok((Self { socket, mode, pending }, progress))
    }

    fn poll_fd(&self) -> PollFd<'_> {
        PollFd::new(&self.socket, PollFlags::OUT)
    }

    /// Whether it is connected by now.
    fn is_over(&self) -> Result<bool, Error> {
        match platform::look(&self.socket) {
            Some(Ok(over)) => Ok(over),
            Some(Err(errno)) => Err(connect_error(self.pending.address, errno)),
            None => self.wait(Some(Duration::ZERO)),
        }
    }

    /// Waits for the end of the connect; false: it had none in time.
    fn wait(&self, timeout: Option<Duration>) -> Result<bool, Error> {
        self.pending.wait(self.socket.as_fd(), timeout)
    }

    fn judge(&self, events: PollFlags) -> Result<(), Error> {
        self.pending.judge(self.socket.as_fd(), is_success(events))
    }

    fn into_stream(self) -> Result<TcpStream, Error> {
        self.pending.settle(self.socket.as_fd())?;
        if self.mode == Mode::NonBlocking {
            ioctl_fionbio(&self.socket, false).map_err(|errno| {
                Error::from_code(Operation::SetOption, self.pending.address, errno.raw_os_error())
            })?;
        }
        Ok(TcpStream::from(self.socket))
    }
}

/// What is still to be done about a socket that was told to connect, whoever holds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    address: SocketAddr,
    nodelay: bool,
    /// Nothing kept the kernel from choosing the destination port as source port.
    may_be_self: bool,
}

impl Pending {
    pub(super) fn finish(self, socket: BorrowedFd<'_>, writable: bool) -> Result<(), Error> {
        self.judge(socket, writable)?;
        self.settle(socket)
    }

    fn wait(self, socket: BorrowedFd<'_>, timeout: Option<Duration>) -> Result<bool, Error> {
        let mut polled = [PollFd::from_borrowed_fd(socket, PollFlags::OUT)];
        let ended = poll_for(&mut polled, timeout)
            .map_err(|errno| Error::from_code(Operation::Wait, self.address, errno.raw_os_error()))?;
        if ended {
            self.judge(socket, is_success(polled[0].revents()))?;
        }
        Ok(ended)
    }

    /// What the end of the wait says about the connect. SO_ERROR is read only when it failed.
    fn judge(self, socket: BorrowedFd<'_>, success: bool) -> Result<(), Error> {
        if success && (platform::POLL_TELLS_FAILURES || getpeername(socket).is_ok()) {
            return Ok(());
        }
        let errno = match sockopt::socket_error(socket) {
            Ok(Err(errno)) | Err(errno) => errno,
            // BSD reports a hang-up when the peer has closed by now; the connect itself succeeded.
            Ok(Ok(())) => match getpeername(socket) {
                Ok(Some(_)) => return Ok(()),
                Ok(None) => Errno::NOTCONN,
                Err(errno) => errno,
            },
        };
        Err(connect_error(self.address, errno))
    }

    /// What is left to do when it is connected.
    fn settle(self, socket: BorrowedFd<'_>) -> Result<(), Error> {
        if self.may_be_self && is_self_connected(socket, self.address.port()) {
            // Without lingering: a TIME_WAIT would keep the server from binding the port.
            let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
            return Err(Error::self_connected(self.address));
        }
        if self.nodelay {
            // Fails (on macOS) when the peer has reset the connection by now, which the first read or write will tell.
            let _ = sockopt::set_tcp_nodelay(socket, true);
        }
        Ok(())
    }
}

/// Whether a connect is over, and if so whether the poll says nothing of an error.
pub(super) fn look(socket: BorrowedFd<'_>) -> Result<Option<bool>, Error> {
    let mut polled = [PollFd::from_borrowed_fd(socket, PollFlags::OUT)];
    let ended =
        poll_for(&mut polled, Some(Duration::ZERO)).map_err(|errno| Error::wait(errno.raw_os_error()))?;
    Ok(ended.then(|| is_success(polled[0].revents())))
}

/// A connection's own end and the other one.
pub(super) fn ends(socket: BorrowedFd<'_>) -> Option<(SocketAddr, SocketAddr)> {
    let own = SocketAddr::try_from(getsockname(socket).ok()?).ok()?;
    let peer = SocketAddr::try_from(getpeername(socket).ok()??).ok()?;
    Some((own, peer))
}

pub(super) fn reset_at_close(socket: BorrowedFd<'_>) {
    let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}

/// Starts a connect, which whoever gets the stream waits for; `None`: it is connected.
pub(super) fn begin(address: SocketAddr, options: Options) -> Result<(TcpStream, Option<Pending>), Error> {
    let (attempt, progress) = Attempt::start(address, options, Mode::NonBlocking)?;
    let connected = progress == Progress::Connected || (options.local && attempt.is_over()?);
    let Attempt { socket, pending, .. } = attempt;
    if connected {
        pending.settle(socket.as_fd())?;
    }
    Ok((TcpStream::from(socket), (!connected).then_some(pending)))
}

const fn family(address: &SocketAddr) -> AddressFamily {
    match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    }
}

/// Writable, and no word of an error.
fn is_success(events: PollFlags) -> bool {
    events.contains(PollFlags::OUT)
        && !events.intersects(PollFlags::ERR.union(PollFlags::HUP).union(PollFlags::NVAL))
}

/// Polls until something happens or the time is over (false). Signals and [`LONGEST_POLL`] do not end it.
fn poll_for(polled: &mut [PollFd<'_>], timeout: Option<Duration>) -> Result<bool, Errno> {
    if timeout == Some(Duration::ZERO) {
        return at_once(polled);
    }
    // A time-out beyond what the clock can express is as good as none.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut left = deadline.and(timeout);
    loop {
        let slice = left.map(|left| left.min(LONGEST_POLL));
        let spec = slice.and_then(|slice| Timespec::try_from(slice).ok());
        match poll(polled, spec.as_ref()) {
            Ok(0) if slice == left => return Ok(false),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(errno) => return Err(errno),
        }
        left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    }
}

/// Polls without waiting, and so without asking the clock.
fn at_once(polled: &mut [PollFd<'_>]) -> Result<bool, Errno> {
    loop {
        match poll(polled, Some(&Timespec::default())) {
            Err(Errno::INTR) => {}
            result => return result.map(|count| count > 0),
        }
    }
}

/// Whether both ends are the same. The second call is made only when the ports are.
fn is_self_connected(socket: BorrowedFd<'_>, port: u16) -> bool {
    let end = |address: rustix::net::SocketAddrAny| {
        SocketAddr::try_from(address).ok().map(|address| (address.ip(), address.port()))
    };
    let Some(local) = getsockname(socket).ok().and_then(end) else { return false };
    local.1 == port && getpeername(socket).ok().flatten().and_then(end) == Some(local)
}

fn connect_error(address: SocketAddr, errno: Errno) -> Error {
    let code = errno.raw_os_error();
    let operation = Operation::Connect;
    if errno != Errno::ADDRNOTAVAIL {
        return Error::from_code(operation, address, code);
    }
    // Unix takes the unspecified addresses for loopback, so they are as usable as that.
    let destination = unspecified_to_loopback(address);
    let outcome =
        Outcome::from_os_for(OsError { operation, code }, destination, Some(is_usable(&destination)));
    Error::with_outcome(operation, address, code, outcome)
}

/// Whether this host has a route and a source address for a destination. Asked of the kernel by a UDP connect, which sends
/// nothing: where that succeeds, EADDRNOTAVAIL on a TCP connect means that the ports are used up.
fn is_usable(address: &SocketAddr) -> bool {
    socket(family(address), SocketType::DGRAM, None).and_then(|udp| connect(&udp, address)).is_ok()
}
