//! Accept queues that are full of our own connections.

use socket2::Socket;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The smallest backlog for which Linux does not need SYN cookies (and a kernel message about flooding).
const BACKLOG: u8 = 1;
/// How long one of our own connections may take. Only a host in trouble comes near it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Where the OS does not show its queues: a loopback connect that is not made by then found the queue full.
const NO_ANSWER: Duration = Duration::from_millis(200);
/// More connections than any OS queues for a backlog of 1.
const MOST: usize = 32;

/// Starts to listen and fills the accept queue. The clients keep it full as long as they live.
pub(super) fn fill(listener: &Socket, address: SocketAddr) -> io::Result<Vec<TcpStream>> {
    listener.listen(BACKLOG.into())?;
    if cfg!(all(target_os = "linux", not(unstall_portable))) {
        fill_counting(address)
    } else {
        fill_until_silent(address)
    }
}

/// Linux queues one connection more than the backlog says, and its listener table shows how many there are. A connect
/// is done a moment before its connection is in the queue, so the table has the last word.
fn fill_counting(address: SocketAddr) -> io::Result<Vec<TcpStream>> {
    let clients =
        (0..=BACKLOG).map(|_| TcpStream::connect_timeout(&address, PATIENCE)).collect::<io::Result<_>>()?;
    let start = Instant::now();
    while waiting(address).is_some_and(|waiting| waiting <= BACKLOG.into()) {
        if start.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("the accept queue of {address} did not fill")));
        }
        std::thread::yield_now();
    }
    Ok(clients)
}

/// `None`: the table cannot be read, so nothing is known.
fn waiting(address: SocketAddr) -> Option<u32> {
    let table = unstall_sys::listeners::table(Some(address.port())).ok()?;
    table.listeners.iter().find(|listener| listener.address == address)?.waiting
}

/// Connects until one gets no answer or, on Windows, a reset.
fn fill_until_silent(address: SocketAddr) -> io::Result<Vec<TcpStream>> {
    let mut clients = Vec::new();
    while clients.len() < MOST {
        match TcpStream::connect_timeout(&address, NO_ANSWER) {
            Ok(client) => clients.push(client),
            Err(_) if !clients.is_empty() => return Ok(clients),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("the accept queue of {address} holds more than {MOST} connections")))
}

/// Accepts and closes what waits; the number of connections.
pub(super) fn drain(listener: &Socket) -> io::Result<usize> {
    listener.set_nonblocking(true)?;
    let mut accepted = 0;
    loop {
        match listener.accept() {
            Ok(_) => accepted += 1,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(accepted),
            Err(error) => return Err(error),
        }
    }
}
