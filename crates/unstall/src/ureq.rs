//! A connector for ureq 3 (feature `ureq`), the HTTP client that blocks: in place of its own `TcpConnector`.
//!
//! ```
//! use unstall::ureq::agent;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = unstall::testing::v4_only()?;
//! # let port = server.port();
//! let agent = agent(ureq::config::Config::default(), unstall::Connector::new());
//! let answer = agent.get(format!("http://localhost:{port}/")).call()?;
//! # assert!(answer.status().is_success());
//! # Ok(())
//! # }
//! ```
//!
//! A connect that fails is a [`ConnectError`] inside a [`ureq::Error::Io`], when one of ureq's time limits struck
//! too; [`connect_error`](crate::connect_error) finds it, and with it the timeline.
//!
//! With TLS, or a proxy, the chain is the program's:
//!
//! ```ignore
//! use ureq::unversioned::transport::{Connector as _, RustlsConnector};
//!
//! let connector = unstall::ureq::TcpConnector::default().chain(RustlsConnector::default());
//! let agent = ureq::Agent::with_parts(config, connector, unstall::ureq::Unresolved);
//! ```
//!
//! ureq promises for the traits of [`ureq::unversioned`] that they change in its minor versions at most, so this feature goes with
//! ureq 3.5 and no other; a newer one comes with a new version of this crate.

use crate::{ConnectError, Connector, Family, Target};
use ::ureq::config::{Config, IpFamily};
use ::ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ::ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector as Connects, Either, LazyBuffers, NextTimeout, ShutdownHandle,
    Transport,
};
use ::ureq::{Agent, Error, http::Uri};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// An agent whose connects are those of `connector`. For `http` and no proxy.
pub fn agent(config: Config, connector: Connector) -> Agent {
    Agent::with_parts(config, TcpConnector::from(connector), Unresolved)
}

/// Connects to the host and port of the request's URI, as [`Connector::connect`] does. An earlier connector of the chain that has
/// connected, to a proxy for instance, is left alone.
///
/// Of ureq's configuration it keeps `ip_family`, `no_delay` and the time limits; of these and those of the [`Connector`] the
/// stricter count. The addresses of the agent's resolver are not used: [`Unresolved`] saves looking them up.
#[derive(Clone, Debug, Default)]
pub struct TcpConnector {
    connector: Connector,
}

/// With a time limit, a family and whatever else a [`Connector`] is told.
impl From<Connector> for TcpConnector {
    fn from(connector: Connector) -> Self {
        Self { connector }
    }
}

impl<In: Transport> Connects<In> for TcpConnector {
    type Out = Either<In, TcpTransport>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        if chained.is_some() {
            return Ok(chained.map(Either::A));
        }
        let connector = self.told(details);
        let stream = target(details.uri).and_then(|target| connector.connect(target));
        let stream = Arc::new(stream.map_err(|error| Error::Io(error.into()))?);
        (details.register_shutdown)(Arc::downgrade(&stream) as Weak<dyn ShutdownHandle>)?;
        let (input, output) = (details.config.input_buffer_size(), details.config.output_buffer_size());
        let buffers = LazyBuffers::new(input, output);
        Ok(Some(Either::B(TcpTransport { stream, buffers, limits: [None; 2] })))
    }
}

impl TcpConnector {
    /// The connector with what ureq's configuration adds.
    fn told(&self, details: &ConnectionDetails<'_>) -> Connector {
        let mut connector = self.connector.clone();
        if let Some(limit) = details.timeout.not_zero() {
            let own = connector.race_config().deadline;
            connector = connector.connect_timeout(own.map_or(*limit, |own| own.min(*limit)));
        }
        if !details.config.no_delay() {
            connector = connector.nodelay(false);
        }
        match details.config.ip_family() {
            IpFamily::Any => connector,
            IpFamily::Ipv4Only => connector.family(Family::V4),
            IpFamily::Ipv6Only => connector.family(Family::V6),
        }
    }
}

fn target(uri: &Uri) -> Result<Target, ConnectError> {
    let host = uri.authority().map_or("", |authority| authority.as_str());
    Ok(format!("{}://{host}", uri.scheme_str().unwrap_or("http")).parse()?)
}

/// A resolver that leaves names to [`TcpConnector`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Unresolved;

impl Resolver for Unresolved {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

/// The connection, as ureq reads and writes it.
#[derive(Debug)]
pub struct TcpTransport {
    /// ureq holds it weakly, to end what waits on it when the agent is shut down.
    stream: Arc<TcpStream>,
    buffers: LazyBuffers,
    /// The time limits that the socket has, for reading and for writing.
    limits: [Option<Duration>; 2],
}

impl TcpTransport {
    /// Gives the socket a time limit unless it has that already.
    fn limit(
        &mut self,
        which: usize,
        timeout: NextTimeout,
        set: fn(&TcpStream, Option<Duration>) -> io::Result<()>,
    ) -> Result<(), Error> {
        let limit = timeout.not_zero().map(|limit| *limit);
        if timeout.after.is_zero() {
            return Err(Error::Timeout(timeout.reason));
        }
        if self.limits[which] != limit {
            set(&self.stream, limit)?;
            self.limits[which] = limit;
        }
        Ok(())
    }
}

impl Transport for TcpTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let timeout = timeout.for_write();
        self.limit(1, timeout, TcpStream::set_write_timeout)?;
        let written = (&*self.stream).write_all(&self.buffers.output()[..amount]);
        written.map_err(|error| limited(error, timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = timeout.for_read();
        self.limit(0, timeout, TcpStream::set_read_timeout)?;
        let read = loop {
            match (&*self.stream).read(self.buffers.input_append_buf()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read.map_err(|error| limited(error, timeout))?,
            }
        };
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    /// Whether nothing has come: neither an end nor bytes that nobody asked for.
    fn is_open(&mut self) -> bool {
        let silent = |stream: &TcpStream| {
            stream.set_nonblocking(true)?;
            let peeked = stream.peek(&mut [0]);
            stream.set_nonblocking(false)?;
            Ok::<_, io::Error>(peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock))
        };
        silent(&self.stream).unwrap_or(false)
    }
}

/// A socket tells its time limit as "would block" on Unix.
fn limited(error: io::Error, timeout: NextTimeout) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::Timeout(timeout.reason),
        _ => Error::Io(error),
    }
}
