//! Connecting: the shortest way to one address, several attempts at once, and sockets that somebody else connects.
//!
//! # Contract
//!
//! Each platform file offers the items that this module wraps, with the same names:
//!
//! - `connect_blocking(SocketAddr, Options, Option<Duration>) -> (Prepared, Result<TcpStream, Error>)`;
//! - `AttemptSet<K>` with `new`, `start`, `wait`, `cancel`, `give_up`, `syn_repeated`, `len`;
//! - `prepare(SocketRef, SocketAddr, SynRetransmissions) -> Prepared`;
//! - on Unix `begin`, `look`, `syn_repeated` and `Pending` with `finish`, for a reactor of somebody else's; on Windows `begin` and `Connecting`,
//!   which needs no reactor: those poll a socket for readiness, and a connect that is only polled needs SO_ERROR to tell its end.
//!
//! What every platform promises:
//!
//! - a stream that is handed out is blocking (but that of `begin` on Unix), is closed in programs that this one starts, and is not connected to itself;
//! - SO_ERROR is read after a failure only, never on success (on Windows reading it can wait 15 ms for nothing);
//! - no call is made that the work does not need; a success allocates nothing (an [`AttemptSet`] up to 6 attempts; on Windows each of them is one allocation);
//! - whatever is dropped is closed, at once and without waiting for the peer.
//!
//! # System calls on Linux
//!
//! | connect | calls |
//! |---|---|
//! | without limit | socket, connect, setsockopt(TCP_NODELAY) |
//! | with a limit, local | socket, connect, sendto, setsockopt(TCP_NODELAY), ioctl(FIONBIO) |
//! | with a limit, elsewhere | socket, connect, poll, setsockopt(TCP_NODELAY), ioctl(FIONBIO) |
//! | an attempt of a set | the same; poll looks at all that are pending |
//! | `begin`, local | socket, connect, sendto, setsockopt(TCP_NODELAY) |
//! | `begin`, local and refused | socket, connect, sendto, close |
//! | `begin`, elsewhere | socket, connect; setsockopt(TCP_NODELAY) when it is over |
//! | refused, without limit | socket, connect, close |
//! | refused, with a limit or in a set, local | socket, connect, sendto, close |
//!
//! Sending nothing is how a local attempt is looked at: that says "done", "under way" or why not, in one call that is cheaper than
//! a poll. One that is not over at once (its server's queue is full) polls then. A local destination port within the
//! ephemeral range costs one setsockopt(IP_LOCAL_PORT_RANGE) more, before connect; where the kernel (before 6.3) has no such
//! option, one getsockname after it. The range is read once a second at most (open, read, close). `tests/syscalls.rs`
//! counts them.
//!
//! # Self-connects
//!
//! A connect to a closed port of this host can meet itself when the kernel picks the destination port as source port. It then
//! "succeeds", and holds the port against the server that should listen there. On Linux the destination port is taken out of the
//! ports that the kernel picks from: the larger side of the range around it is used first, then the other, so every port stays
//! in use but that one. Elsewhere both ends are compared; a socket that met itself is closed without a TIME_WAIT and reported as
//! [`Outcome::SelfConnected`](unstall_core::outcome::Outcome::SelfConnected). A range that an administrator has moved in the last
//! second is guarded by its old bounds.

use crate::error::Error;
#[cfg(unix)]
use crate::listeners::{self, ServerSide};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use unstall_core::syn::{Prepared, SynRetransmissions};

#[cfg(all(target_os = "linux", not(unstall_portable)))]
#[path = "linux.rs"]
mod platform;
#[cfg(all(unix, not(all(target_os = "linux", not(unstall_portable)))))]
#[path = "portable.rs"]
mod platform;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
#[cfg(unix)]
use unix as imp;
#[cfg(windows)]
use windows as imp;

/// A socket that belongs to somebody else.
#[cfg(unix)]
pub type SocketRef<'a> = std::os::fd::BorrowedFd<'a>;
/// A socket that belongs to somebody else.
#[cfg(windows)]
pub type SocketRef<'a> = std::os::windows::io::BorrowedSocket<'a>;

/// How a connect is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Set TCP_NODELAY on the connected socket. Default true.
    pub nodelay: bool,
    /// How often the SYN may be sent again. Default [`SynRetransmissions::NoneIfLocal`]. Only Windows needs it.
    pub syn_retransmissions: SynRetransmissions,
    /// Whether the packets stay on this host (see `unstall_core::locality`). Default false. It decides about
    /// retransmissions and about the guard against self-connects, which only local destinations can have.
    pub local: bool,
    /// How long this attempt's SYN may wait for its answer, where the OS is told not to send it again. Default `None`: as long as
    /// the OS waits. Windows alone can be told.
    pub patience: Option<Duration>,
}

/// A timer tick of Windows, unless some program asked for a shorter one.
const TICK: Duration = Duration::from_micros(15_625);

/// How long a wait for a connect with `limit` lasts. On Windows at least a timer tick where the destination is local: the kernel tells
/// of a refusal a moment after the call that began the connect, and rounds waits up to a tick anyway. So a refusal stays one,
/// however short the limit. Elsewhere it is there when that call returns.
pub fn wait_of(limit: Duration, local: bool) -> Duration {
    if cfg!(windows) && local { limit.max(TICK) } else { limit }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nodelay: true,
            syn_retransmissions: SynRetransmissions::NoneIfLocal,
            local: false,
            patience: None,
        }
    }
}

/// What an attempt has come to when [`AttemptSet::start`] returns.
#[derive(Debug)]
pub enum Started {
    /// It is connected already.
    Connected(TcpStream),
    /// [`AttemptSet::wait`] will tell.
    Pending,
}

/// An attempt of an [`AttemptSet`] that has ended: its name, and the stream or why there is none.
pub type Ended<K> = (K, Result<TcpStream, Error>);

/// Connects to one address and waits for the end, at most `limit` (default: as long as the OS tries).
///
/// # Errors
///
/// [`Outcome::TimedOut`](unstall_core::outcome::Outcome::TimedOut) without an OS error when the limit struck, with one when
/// the OS gave up; otherwise what the OS says.
pub fn connect_blocking(
    address: SocketAddr,
    options: &Options,
    limit: Option<Duration>,
) -> (Prepared, Result<TcpStream, Error>) {
    imp::connect_blocking(address, *options, limit)
}

/// Takes the SYN retransmissions away from a socket that somebody else connects to `address`, where the OS would
/// repeat a refused connect. Does nothing on Unix, whose refusals are final at once.
pub fn prepare(socket: SocketRef<'_>, address: SocketAddr, wanted: SynRetransmissions) -> Prepared {
    imp::prepare(socket, address, wanted)
}

/// Gives the bytes of SIO_TCP_INITIAL_RTO to a socket as they are, for measuring what each value does: no build is asked. Before
/// its connect, and never on a socket that listens. The error code of the OS; on Unix ENOSYS, for there is no such option.
pub fn set_initial_rto(socket: SocketRef<'_>, parameters: [u8; 4]) -> Result<(), i32> {
    #[cfg(windows)]
    return crate::windows::initial_rto::set(socket, parameters);
    #[cfg(unix)]
    {
        let _ = (socket, parameters);
        Err(libc::ENOSYS)
    }
}

/// A connect that [`begin`] started, on a stream that does not block.
#[cfg(unix)]
#[derive(Debug)]
pub struct Begun {
    /// The stream. It belongs to the caller, who registers it with a reactor, or drops it to give the connect up.
    pub stream: TcpStream,
    /// What is still to be done when the stream becomes writable. `None`: nothing, it is connected.
    pub pending: Option<Pending>,
}

/// What is still to be done about a connect of [`begin`] that was not over at once.
#[cfg(unix)]
#[derive(Clone, Copy, Debug)]
pub struct Pending(imp::Pending);

/// Starts a connect that does not block, for a reactor of somebody else's to wait for. Looks once whether it is over already when
/// the destination is local: then there is nothing to register.
///
/// # Errors
///
/// What the OS says when the connect fails at once.
#[cfg(unix)]
pub fn begin(address: SocketAddr, options: &Options) -> (Prepared, Result<Begun, Error>) {
    let begun = imp::begin(address, *options);
    let begun = begun.map(|(stream, pending)| Begun { stream, pending: pending.map(Pending) });
    (Prepared::NotNeeded, begun)
}

/// What [`Pending::finish`] wants to know, for a reactor that does not tell a failure from a success: whether the stream is
/// writable, and nothing of an error or a hang-up. `None`: the connect goes on.
///
/// # Errors
///
/// The look failed.
#[cfg(unix)]
pub fn look(stream: SocketRef<'_>) -> Result<Option<bool>, Error> {
    imp::look(stream)
}

/// Whether the OS has sent the SYN of a connect that is under way again; `None`: it does not tell. Linux does (TCP_INFO).
#[cfg(unix)]
pub fn syn_repeated(stream: SocketRef<'_>) -> Option<bool> {
    platform::syn_repeated(stream)
}

/// What has become of the server's end of a connection within this host: where its queue was full it may not know of it. Asks the
/// kernel about the one connection (Linux; some 10 us).
#[cfg(unix)]
pub fn server_side(stream: SocketRef<'_>) -> ServerSide {
    imp::ends(stream).map_or(ServerSide::Unknown, |(own, peer)| listeners::server_side(own, peer))
}

/// Makes the end of a connection a reset, once it is closed: no TIME_WAIT, and nothing is left to accept at the other side. For a
/// connection that the server never took.
pub fn reset_at_close(stream: SocketRef<'_>) {
    imp::reset_at_close(stream);
}

#[cfg(unix)]
impl Pending {
    /// The end of the connect, to be called when the reactor says so. `writable`: it says that the stream is writable, and nothing
    /// of an error or a hang-up; then SO_ERROR is not read. The stream is ready for use then.
    ///
    /// # Errors
    ///
    /// The connect failed.
    pub fn finish(self, stream: SocketRef<'_>, writable: bool) -> Result<(), Error> {
        self.0.finish(stream, writable)
    }
}

/// A connect whose end is told to the waker of the task that awaits it, by the process's own thread pool; so any runtime will do.
/// The stream is blocking. Dropping it closes the socket at once.
#[cfg(windows)]
#[derive(Debug)]
pub struct Connecting(imp::Connecting);

/// Starts a connect for a future to wait for. `None`: this Windows has no ConnectEx (some third party's layer); connect on a thread
/// then.
///
/// # Errors
///
/// What the OS says when the connect fails at once.
#[cfg(windows)]
pub fn begin(address: SocketAddr, options: &Options) -> (Prepared, Result<Option<Connecting>, Error>) {
    let (prepared, begun) = imp::begin(address, *options);
    (prepared, begun.map(|begun| begun.map(Connecting)))
}

#[cfg(windows)]
impl Future for Connecting {
    type Output = Result<TcpStream, Error>;

    fn poll(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        self.get_mut().0.poll(context)
    }
}

/// Several connects at once, each named by a `K`. Room for 6 without allocating. Dropping it closes all that are pending.
#[derive(Debug)]
pub struct AttemptSet<K>(imp::AttemptSet<K>);

impl<K: Copy + Eq> AttemptSet<K> {
    /// A set without attempts.
    pub fn new() -> Self {
        Self(imp::AttemptSet::new())
    }

    /// Starts a connect. Looks once whether it is over already when the destination is local.
    ///
    /// # Errors
    ///
    /// What the OS says when the connect fails at once; the attempt is not in the set then.
    pub fn start(
        &mut self,
        key: K,
        address: SocketAddr,
        options: &Options,
    ) -> (Prepared, Result<Started, Error>) {
        self.0.start(key, address, *options)
    }

    /// Waits for the end of any attempt, at most `timeout` (`None`: as long as it takes). The attempt leaves the set. One that
    /// connected is handed out before those that failed. `Ok(None)`: nothing ended in time. An empty set has nothing to wait for:
    /// it waits for the time-out, and without one returns `Ok(None)` at once.
    ///
    /// # Errors
    ///
    /// The wait itself failed; the attempts are still in the set.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<Ended<K>>, Error> {
        self.0.wait(timeout)
    }

    /// Ends a [`wait`](Self::wait) from elsewhere, the next one if none is going on: it returns `Ok(None)`. From the first call on,
    /// an empty set waits too.
    ///
    /// # Errors
    ///
    /// The OS has no room for what it takes: two descriptors, or on Windows an event.
    pub fn waker(&mut self) -> Result<std::task::Waker, Error> {
        self.0.waker().map_err(|error| Error::reactor(None, error))
    }

    /// Closes an attempt. One that is not in the set is ignored.
    pub fn cancel(&mut self, key: K) {
        self.0.cancel(key);
    }

    /// Closes an attempt, unless it has just ended: then it is handed out, for whoever connected must not be lost. `None`: it is
    /// closed, or was not in the set.
    pub fn give_up(&mut self, key: K) -> Option<Result<TcpStream, Error>> {
        self.0.give_up(key)
    }

    /// Whether the OS has sent the SYN of a pending attempt again; `None`: it does not tell. Linux does (TCP_INFO).
    pub fn syn_repeated(&self, key: K) -> Option<bool> {
        self.0.syn_repeated(key)
    }

    /// How many attempts are pending.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no attempt is pending.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }
}

impl<K: Copy + Eq> Default for AttemptSet<K> {
    fn default() -> Self {
        Self::new()
    }
}
