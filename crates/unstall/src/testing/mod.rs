//! Servers that misbehave on purpose, for the tests of programs that connect (feature `testing`).
//!
//! Each function gives a [`Server`] on a port of its own, on 127.0.0.1 and, where the host has it, on ::1 with the
//! same port, so that `localhost` behaves as the name of the function says whichever family the client tries. Nothing
//! needs privileges and nothing leaves the host. When the guard is dropped the port is free again: its threads have
//! ended and its sockets are closed.
//!
//! ```
//! use unstall::testing;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = testing::refused()?;
//! let error = unstall::connect(server.target()).unwrap_err();
//! assert!(error.is_refused());
//!
//! let server = testing::closes()?;
//! let mut stream = unstall::connect(server.target())?;
//! assert_eq!(std::io::Read::read(&mut stream, &mut [0])?, 0);
//! # Ok(())
//! # }
//! ```
//!
//! | function | connect | then |
//! |---|---|---|
//! | [`refused`] | refused | |
//! | [`silent`] | no answer | |
//! | [`full_backlog`] | no answer until [`FullBacklog::drain`] | no byte |
//! | [`late`] | refused at first, then connected | one short HTTP answer |
//! | [`deaf`] | connected | no byte |
//! | [`closes`] | connected | end of stream |
//! | [`resets`] | connected | connection reset |
//! | [`v4_only`], [`v6_only`] | connected on one family, refused on the other | one short HTTP answer |
//! | [`silent_v6`] | connected on IPv4, no answer on IPv6 | one short HTTP answer |

mod ports;
mod queue;
mod serve;

use crate::Target;
use ports::Ports;
use serve::{Behaviour, Serving};
use socket2::Socket;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU16;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What [`a_full_queue_refuses`] has set.
pub(crate) static REFUSES_WHEN_FULL: AtomicBool = AtomicBool::new(false);

/// Has this process take a refusal for what it may be on Windows, the answer of a full accept queue, and so look whether somebody
/// listens and try again ([`Connector::backlog_retry`](crate::Connector::backlog_retry)). For labs that emulate Windows; there it is
/// always so. Elsewhere a listener that refuses is behind a firewall rule, and trying again would only take 2 s.
pub fn a_full_queue_refuses(emulated: bool) {
    REFUSES_WHEN_FULL.store(emulated, Ordering::Relaxed);
}

/// A port that behaves as the function that made it says, until this guard is dropped.
#[derive(Debug)]
#[must_use = "the port is given back when the guard is dropped"]
pub struct Server {
    port: NonZeroU16,
    /// The address that shows the behaviour comes first.
    addresses: Vec<SocketAddr>,
    /// Dropped in this order: who accepts first, then the clients that fill a queue, then what holds the port.
    _serving: Vec<Serving>,
    _clients: Vec<TcpStream>,
    held: Vec<Socket>,
}

impl Server {
    /// The address to connect to: `127.0.0.1:port`, or `[::1]:port` for [`v6_only`].
    pub fn addr(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Every address that is held: [`addr`](Self::addr) and the same port of the other family's loopback address,
    /// if the host has both.
    pub fn addrs(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The port, the same for every address.
    pub fn port(&self) -> u16 {
        self.port.get()
    }

    /// `localhost` and the port.
    pub fn target(&self) -> Target {
        Target::localhost(self.port)
    }

    /// `http://localhost:port/`.
    pub fn url(&self) -> String {
        format!("http://localhost:{}/", self.port())
    }
}

/// A port where nobody listens and, as long as the guard lives, nobody else can: every connect is refused.
///
/// The port is bound and never listened on. Linux answers a SYN to such a port with a reset, like any closed port. It
/// is bound without `SO_REUSEADDR`, so neither a server nor the source port of a connect can take it meanwhile.
///
/// # Errors
/// When no port of 127.0.0.1 can be bound.
///
/// ```
/// use unstall::testing;
///
/// # fn main() -> std::io::Result<()> {
/// let server = testing::refused()?;
/// for &address in server.addrs() {
///     assert!(unstall::connect(address).unwrap_err().is_refused());
/// }
/// # Ok(())
/// # }
/// ```
pub fn refused() -> io::Result<Server> {
    let ports = Ports::bind()?;
    let (port, addresses) = (ports.port, ports.addresses());
    Ok(Server { port, addresses, _serving: vec![], _clients: vec![], held: ports.into_sockets() })
}

/// A port that never answers: the connect neither succeeds nor fails until its time limit, or until the OS gives up
/// (about 2 min on Linux).
///
/// The port has a listener whose accept queue is full of our own connections. Linux drops a SYN to such a port, as a
/// firewall would. No privileges are needed.
///
/// # Errors
/// `Unsupported` on Windows, which answers with a reset when the queue is full. Else when the port cannot be bound or
/// its queue cannot be filled.
///
/// ```
/// use std::time::Duration;
/// use unstall::{Connector, testing};
///
/// # #[cfg(windows)]
/// # fn main() {}
/// # #[cfg(not(windows))]
/// # fn main() -> std::io::Result<()> {
/// let server = testing::silent()?;
/// let connector = Connector::new().connect_timeout(Duration::from_millis(50));
/// assert!(connector.connect(server.addr()).unwrap_err().is_timed_out());
/// # Ok(())
/// # }
/// ```
pub fn silent() -> io::Result<Server> {
    if cfg!(windows) {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a full accept queue answers with a reset on Windows, so no port can be made silent this way",
        ));
    }
    full_backlog().map(|full| full.server)
}

/// A port whose accept queue is full, with a handle to empty it.
///
/// Linux drops the SYN of a connect to it and the client sends the next one a second later. Windows answers with a
/// reset.
///
/// # Errors
/// When the port cannot be bound or its queue cannot be filled.
///
/// ```
/// use unstall::testing;
///
/// # fn main() -> std::io::Result<()> {
/// let server = testing::full_backlog()?;
/// assert!(server.drain()? > 0);
/// unstall::connect(server.addr())?;
/// # Ok(())
/// # }
/// ```
pub fn full_backlog() -> io::Result<FullBacklog> {
    let ports = Ports::bind()?;
    let (port, addresses) = (ports.port, ports.addresses());
    let held = ports.into_sockets();
    let mut clients = vec![];
    for (socket, &address) in held.iter().zip(&addresses) {
        clients.extend(queue::fill(socket, address)?);
    }
    Ok(FullBacklog { server: Server { port, addresses, _serving: vec![], _clients: clients, held } })
}

/// Made by [`full_backlog`]; everything else is as for any [`Server`].
#[derive(Debug)]
#[must_use = "the port is given back when the guard is dropped"]
pub struct FullBacklog {
    server: Server,
}

impl FullBacklog {
    /// Accepts and closes whatever waits in the queues and says how many connections that were. From then on a few
    /// connects succeed, until the queue is full again.
    ///
    /// # Errors
    /// Those of accept(2).
    pub fn drain(&self) -> io::Result<usize> {
        self.server.held.iter().map(queue::drain).sum()
    }
}

impl Deref for FullBacklog {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

/// A server that accepts each connection and resets it at once (`SO_LINGER` 0). Whether the client learns that from
/// its connect or from its first read is a matter of microseconds.
///
/// # Errors
/// When the port cannot be bound.
///
/// ```
/// use std::io::{Error, ErrorKind, Read};
/// use unstall::testing;
///
/// # #[cfg(windows)] // Wine's server may take the reset for an end.
/// # fn main() {}
/// # #[cfg(not(windows))]
/// # fn main() -> std::io::Result<()> {
/// let server = testing::resets()?;
/// let result = unstall::connect(server.addr()).map_err(Error::from).and_then(|mut stream| stream.read(&mut [0]));
/// assert_eq!(result.unwrap_err().kind(), ErrorKind::ConnectionReset);
/// # Ok(())
/// # }
/// ```
pub fn resets() -> io::Result<Server> {
    serving(Ports::bind()?, Behaviour::Reset, None)
}

/// A server that accepts each connection and closes it at once. A client that had sent something before gets a reset
/// instead of the end of the stream, as from any server that closes without reading.
///
/// # Errors
/// When the port cannot be bound.
///
/// ```
/// use std::io::Read;
/// use unstall::testing;
///
/// # fn main() -> std::io::Result<()> {
/// let server = testing::closes()?;
/// let mut stream = unstall::connect(server.target())?;
/// assert_eq!(stream.read(&mut [0])?, 0);
/// # Ok(())
/// # }
/// ```
pub fn closes() -> io::Result<Server> {
    serving(Ports::bind()?, Behaviour::Close, None)
}

/// A server that accepts each connection, reads whatever comes and never says anything.
///
/// # Errors
/// When the port cannot be bound.
///
/// ```
/// use std::{io::Read, time::Duration};
/// use unstall::testing;
///
/// # fn main() -> std::io::Result<()> {
/// let server = testing::deaf()?;
/// let mut stream = unstall::connect(server.target())?;
/// stream.set_read_timeout(Some(Duration::from_millis(20)))?;
/// assert!(stream.read(&mut [0]).is_err());
/// # Ok(())
/// # }
/// ```
pub fn deaf() -> io::Result<Server> {
    serving(Ports::bind()?, Behaviour::Deaf, None)
}

/// A server that starts to listen after `delay`; until then connects are refused. Then it gives each client that sends
/// something one short HTTP answer.
///
/// # Errors
/// When the port cannot be bound.
///
/// ```
/// use std::time::Duration;
/// use unstall::testing;
///
/// # fn main() -> std::io::Result<()> {
/// let server = testing::late(Duration::from_millis(300))?;
/// assert!(unstall::connect(server.target()).unwrap_err().is_refused());
/// while unstall::connect(server.target()).is_err() {
///     std::thread::yield_now();
/// }
/// # Ok(())
/// # }
/// ```
pub fn late(delay: Duration) -> io::Result<Server> {
    serving(Ports::bind()?, Behaviour::Hello, Some(delay))
}

/// A server on 127.0.0.1 alone; ::1 refuses, and nobody else can listen there. It gives each client that sends
/// something one short HTTP answer.
///
/// # Errors
/// When the port cannot be bound.
///
/// ```
/// use std::io::{Read, Write};
/// use unstall::testing;
///
/// # fn main() -> std::io::Result<()> {
/// let server = testing::v4_only()?;
/// let mut stream = unstall::connect(server.target())?;
/// assert!(stream.peer_addr()?.is_ipv4());
/// stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
/// let mut answer = String::new();
/// stream.read_to_string(&mut answer)?;
/// assert!(answer.starts_with("HTTP/1.1 200 OK"));
/// # Ok(())
/// # }
/// ```
pub fn v4_only() -> io::Result<Server> {
    let Ports { v4, v6, port } = Ports::bind()?;
    let held = v6.into_iter().collect();
    one_family(port, v4, ports::loopback_v4(port.get()), held)
}

/// A server on ::1 alone; 127.0.0.1 refuses, and nobody else can listen there. It gives each client that sends
/// something one short HTTP answer.
///
/// # Errors
/// When the port cannot be bound; `AddrNotAvailable` when the host has no ::1.
///
/// ```
/// use unstall::testing;
///
/// # fn main() -> std::io::Result<()> {
/// let server = match testing::v6_only() {
///     Err(error) if error.kind() == std::io::ErrorKind::AddrNotAvailable => return Ok(()),
///     server => server?,
/// };
/// assert!(unstall::connect(server.target())?.peer_addr()?.is_ipv6());
/// # Ok(())
/// # }
/// ```
pub fn v6_only() -> io::Result<Server> {
    let Ports { v4, v6, port } = Ports::bind()?;
    let v6 = v6.ok_or_else(|| io::Error::new(io::ErrorKind::AddrNotAvailable, "this host has no ::1"))?;
    one_family(port, v6, ports::loopback_v6(port.get()), vec![v4])
}

/// ::1 is silent, and a server on 127.0.0.1 alone has the same port: a client that tries the addresses of `localhost` one after
/// another waits. The server gives each client that sends something one short HTTP answer. [`Server::addr`] is the server's.
///
/// # Errors
/// `Unsupported` on Windows, as for [`silent`]; `AddrNotAvailable` when the host has no ::1; else when the port cannot be bound
/// or its queue cannot be filled.
///
/// ```
/// use unstall::testing;
///
/// # fn main() {
/// if let Ok(server) = testing::silent_v6() {
///     assert!(unstall::connect(server.target()).is_ok());
/// }
/// # }
/// ```
pub fn silent_v6() -> io::Result<Server> {
    if cfg!(windows) {
        return silent();
    }
    let Ports { v4, v6, port } = Ports::bind()?;
    let v6 = v6.ok_or_else(|| io::Error::new(io::ErrorKind::AddrNotAvailable, "this host has no ::1"))?;
    let clients = queue::fill(&v6, ports::loopback_v6(port.get()))?;
    let server = one_family(port, v4, ports::loopback_v4(port.get()), vec![v6])?;
    Ok(Server { _clients: clients, ..server })
}

/// A server on every held address.
fn serving(ports: Ports, behaviour: Behaviour, delay: Option<Duration>) -> io::Result<Server> {
    let (port, addresses) = (ports.port, ports.addresses());
    let serving = ports
        .into_sockets()
        .into_iter()
        .zip(&addresses)
        .map(|(socket, &address)| Serving::start(socket, address, behaviour, delay))
        .collect::<io::Result<_>>()?;
    Ok(Server { port, addresses, _serving: serving, _clients: vec![], held: vec![] })
}

/// A server on one address; `held` are the sockets that keep the other family's port closed.
fn one_family(
    port: NonZeroU16,
    socket: Socket,
    address: SocketAddr,
    held: Vec<Socket>,
) -> io::Result<Server> {
    let mut addresses = vec![address];
    for socket in &held {
        addresses.extend(socket.local_addr()?.as_socket());
    }
    let serving = vec![Serving::start(socket, address, Behaviour::Hello, None)?];
    Ok(Server { port, addresses, _serving: serving, _clients: vec![], held })
}
