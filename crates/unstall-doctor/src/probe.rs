//! Sockets for measuring: closed ports that stay closed, and both ends of a connection in one thread.
//!
//! Both ends are driven by one thread, so what is measured is the network stack and whatever has hooked into it, not
//! how soon the scheduler wakes another thread.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::fd::AsFd as AsSocket;
#[cfg(windows)]
use std::os::windows::io::AsSocket;
use std::time::{Duration, Instant};
use unstall_core::outcome::{Operation, OsError, Outcome, Platform, classify};
use unstall_core::syn::{Prepared, SynRetransmissions};

/// 127.0.0.1 and ::1.
pub(crate) const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// From here on a connect or an exchange over loopback is slow. It takes tens of microseconds; a busy machine may need a
/// millisecond now and then, and the shortest of the stalls that are known is 10 ms.
pub(crate) const SLOW: Duration = Duration::from_millis(5);

/// A port that is closed and stays so, because this holds it: bound, not listening.
pub(crate) struct ClosedPort {
    pub(crate) address: SocketAddr,
    _socket: Socket,
}

impl ClosedPort {
    /// A closed port at this address, one that the system chooses.
    pub(crate) fn at(ip: IpAddr) -> io::Result<Self> {
        let address = SocketAddr::new(ip, 0);
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.bind(&address.into())?;
        let address = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { address, _socket: socket })
    }
}

/// How a connect ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) os_error: Option<OsError>,
    pub(crate) elapsed: Duration,
}

impl Ended {
    /// What an error of another call than connect comes to, above all that descriptors are used up.
    pub(crate) fn by(error: &io::Error) -> Self {
        let os_error = error.raw_os_error().map(|code| OsError { operation: Operation::Socket, code });
        let outcome = os_error
            .map_or(Outcome::Unknown, |error| classify(Platform::CURRENT, error.operation, error.code));
        Self { outcome, os_error, elapsed: Duration::ZERO }
    }
}

/// One plain connect, as any program makes it: nothing is done about retransmissions.
pub(crate) fn plain_connect(address: SocketAddr, limit: Duration) -> (Ended, Option<TcpStream>) {
    let (_, ended, stream) = connect(address, limit, SynRetransmissions::OsDefault);
    (ended, stream)
}

/// One connect without SYN retransmissions; `None`: this system needs no such thing, or does not take it.
pub(crate) fn connect_without_retransmission(address: SocketAddr, limit: Duration) -> Option<Ended> {
    let (prepared, ended, _) = connect(address, limit, SynRetransmissions::NoneIfLocal);
    (prepared == Prepared::NoRetransmission).then_some(ended)
}

/// The same with one retransmission.
pub(crate) fn connect_with_one_retransmission(address: SocketAddr, limit: Duration) -> Option<Ended> {
    let (prepared, ended, _) = connect(address, limit, SynRetransmissions::Exactly(1));
    matches!(prepared, Prepared::OneRetransmission | Prepared::Retransmissions(1)).then_some(ended)
}

fn connect(
    address: SocketAddr,
    limit: Duration,
    syn_retransmissions: SynRetransmissions,
) -> (Prepared, Ended, Option<TcpStream>) {
    let options = unstall_sys::connect::Options { syn_retransmissions, local: true, ..Default::default() };
    let start = Instant::now();
    let (prepared, result) = unstall_sys::connect::connect_blocking(address, &options, Some(limit));
    let elapsed = start.elapsed();
    match result {
        Ok(stream) => {
            (prepared, Ended { outcome: Outcome::Connected, os_error: None, elapsed }, Some(stream))
        }
        Err(error) => {
            (prepared, Ended { outcome: error.outcome(), os_error: error.os_error(), elapsed }, None)
        }
    }
}

/// A connect that does not wait for its end. `Err`: it failed at once, as a refusal on the same machine may.
pub(crate) fn begin_connect(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Err(error) if !in_progress(&error) => Err(error),
        _ => Ok(()),
    }
}

fn in_progress(error: &io::Error) -> bool {
    // EINPROGRESS has no ErrorKind of its own on every toolchain that this builds with; Windows says WSAEWOULDBLOCK.
    let unix = rustix::io::Errno::INPROGRESS.raw_os_error();
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(unix)
}

/// A socket as unstall-sys takes one that is not its own.
pub(crate) fn borrowed(socket: &impl AsSocket) -> unstall_sys::connect::SocketRef<'_> {
    #[cfg(unix)]
    return socket.as_fd();
    #[cfg(windows)]
    socket.as_socket()
}

/// Has the socket closed with a reset, so that no connection stays in TIME_WAIT: a run makes hundreds.
pub(crate) fn leave_nothing(socket: &impl AsSocket) -> io::Result<()> {
    SockRef::from(socket).set_linger(Some(Duration::ZERO))
}

/// The connection that waits to be accepted. It is there at once, unless something else took the connect.
pub(crate) fn accept(listener: &TcpListener, limit: Duration) -> io::Result<TcpStream> {
    let limit = Timespec::try_from(limit).map_err(|_| io::ErrorKind::InvalidInput)?;
    match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&limit))? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => listener.accept().map(|(stream, _)| stream),
    }
}

/// Both ends of a connection over loopback.
pub(crate) struct Pair {
    pub(crate) client: TcpStream,
    pub(crate) server: TcpStream,
}

impl Pair {
    /// Connects to a listener of our own and accepts. `Err` tells how the connect ended.
    pub(crate) fn connect(listener: &TcpListener, limit: Duration) -> Result<(Self, Ended), Ended> {
        let address = listener.local_addr().map_err(|error| Ended::by(&error))?;
        let (ended, client) = plain_connect(address, limit);
        let client = client.ok_or(ended)?;
        let failed = |error: io::Error| Ended { elapsed: ended.elapsed, ..Ended::by(&error) };
        let server = accept(listener, limit).map_err(failed)?;
        leave_nothing(&client).map_err(failed)?;
        for end in [&client, &server] {
            end.set_read_timeout(Some(limit)).map_err(failed)?;
        }
        Ok((Self { client, server }, ended))
    }

    /// Sets TCP_NODELAY on both ends.
    pub(crate) fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.client.set_nodelay(nodelay)?;
        self.server.set_nodelay(nodelay)
    }

    /// One request of `pieces` writes of `size` bytes, and an answer of one byte. How long it took.
    pub(crate) fn exchange(&mut self, pieces: usize, size: usize) -> io::Result<Duration> {
        let piece = vec![0; size];
        let mut received = vec![0; size * pieces];
        let start = Instant::now();
        for _ in 0..pieces {
            self.client.write_all(&piece)?;
        }
        self.server.read_exact(&mut received)?;
        self.server.write_all(&[1])?;
        self.client.read_exact(&mut [0])?;
        Ok(start.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(5);

    #[test]
    fn a_closed_port_refuses_every_time() {
        let closed = ClosedPort::at(LOOPBACK[0]).expect("no port");
        for _ in 0..20 {
            assert_eq!(plain_connect(closed.address, LIMIT).0.outcome, Outcome::Refused);
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", not(unstall_portable)))]
    fn a_closed_pair_leaves_nothing_behind() {
        let listener = TcpListener::bind((LOOPBACK[0], 0)).expect("no listener");
        let address = listener.local_addr().expect("no address");
        for _ in 0..10 {
            let (mut pair, _) = Pair::connect(&listener, LIMIT).expect("no connection");
            pair.exchange(1, 1).expect("no exchange");
        }
        let waiting = unstall_sys::ports::time_wait().expect("no table");
        assert_eq!(waiting.get(&address), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_lack_of_descriptors_is_known_as_one() {
        let error = io::Error::from(rustix::io::Errno::MFILE);
        assert_eq!(Ended::by(&error).outcome, Outcome::Exhausted);
        assert_eq!(Ended::by(&io::ErrorKind::Other.into()).outcome, Outcome::Unknown);
    }

    #[test]
    fn a_pair_exchanges() {
        let listener = TcpListener::bind((LOOPBACK[0], 0)).expect("no listener");
        let (mut pair, _) = Pair::connect(&listener, LIMIT).expect("no connection");
        pair.set_nodelay(true).expect("no option");
        assert!(pair.exchange(2, 10).expect("no exchange") < LIMIT);
    }
}
