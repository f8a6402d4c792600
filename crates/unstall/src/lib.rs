//! TCP connects that never stall where the operating system need not.
//!
//! [`connect`] gives a plain [`std::net::TcpStream`], in place of [`TcpStream::connect`](std::net::TcpStream::connect):
//!
//! * A closed port is refused at once. Windows repeats the SYN to a closed port for 2 s, on loopback too.
//! * A name with several addresses is a race (RFC 8305): an address that fails costs nothing, one that does not answer
//!   costs one attempt delay, 250 ms, or 10 ms for addresses of this host.
//! * `localhost`, `localhost.` and `*.localhost` are this host (RFC 6761), on whichever family the server listens.
//! * A time limit covers the name too, and a refusal stays a refusal.
//! * The error names every address with what it came to and how long that took.
//! * `TCP_NODELAY` is set, so that small writes do not wait for delayed ACKs.
//!
//! ```
//! use std::time::Duration;
//! use unstall::Connector;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = unstall::testing::v4_only()?;
//! # let target = server.target();
//! // Anything that says host and port: "localhost:4200", ("localhost", 4200), a SocketAddr, "http://localhost:4200/x".
//! let stream = unstall::connect(target.clone())?;
//!
//! let connector = Connector::new().connect_timeout(Duration::from_secs(2));
//! match connector.connect(target) {
//!     Ok(stream) => println!("connected to {}", stream.peer_addr()?),
//!     Err(error) if error.is_refused() => println!("nobody listens there: {error}"),
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A socket that somebody else connects, tokio's `TcpSocket` for instance, gets its fast refusal from [`prepare`].
//!
//! # Features
//! None is on by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `tokio` | `unstall::tokio`: connects that wait on tokio |
//! | `async-io` | `unstall::async_io`: connects that wait on async-io, for smol and async-std |
//! | `hyper` | `unstall::hyper`: a connector for hyper-util's client, tonic, axum and whatever takes the same; implies `tokio` |
//! | `hickory` | `unstall::hickory`: a resolver for [`Connector::resolver`] that asks name servers itself, AAAA and A apart; implies `tokio` |
//! | `tracing` | spans and events of the crate tracing: `connect`, and below it one `attempt` for each, with OpenTelemetry's field names |
//! | `qlog` | `Connector::qlog`: a timeline with the events of draft-kuehlewind-happy-qlog |
//! | `ureq` | `unstall::ureq`: a connector for ureq 3.5 |
//! | `testing` | `unstall::testing`: servers that are down, silent, full, resetting, late, deaf, for the tests of programs that connect |
//! | `serde` | `Serialize` and `Deserialize` for [`Timeline`] and what it is made of |
//!
//! # Platforms
//! **Linux**: refuses at once by itself, so nothing is done about SYN retransmissions. A connect to one address allocates
//! nothing and makes these system calls (measured with strace, and kept by a test):
//!
//! | | unstall | std |
//! |---|---|---|
//! | without a limit | `socket`, `connect`, `sendto`, `setsockopt` (`TCP_NODELAY`), `ioctl` | `socket`, `connect` |
//! | with a limit | the same | `socket`, `ioctl`, `connect`, `ioctl`, `poll` |
//! | `backlog_retry(0)`, without a limit | `socket`, `connect`, `setsockopt` | `socket`, `connect` |
//!
//! Two of them, `sendto` (of nothing, which tells whether it is connected) and `ioctl`, are there because a connect that blocks
//! could not be given up when the server's accept queue is full: see [`Connector::backlog_retry`].
//!
//! A port of this host that the kernel could choose as a source port costs one `setsockopt` more, against self-connects.
//! `cargo bench -p unstall` compares the times with std's, side by side in one run.
//!
//! **Other Unix**: the same code on `poll`; it is run on Linux by the tests.
//!
//! **Windows**: a connect to this host gets `SIO_TCP_INITIAL_RTO` before it is made, so that the first reset is final (before
//! Windows 10 build 16299: the second); what was done is each attempt's [`Prepared`]. 0.0.0.0 and `::` are taken for loopback,
//! IPv4-mapped addresses for IPv4. A connect to one address without a limit is `WSASocketW`, `WSAIoctl`, `connect` and
//! `setsockopt`; with a limit, in a race or in a future it is made with ConnectEx, so that SO_ERROR, which can wait 15 ms for
//! nothing, is never read. Built and tested under Wine; nobody has measured it on Windows.
//!
//! A self-connect, where the kernel chooses the destination port as the source port and nobody listens, is prevented
//! where the OS can exclude a source port (Linux 6.3 and later), noticed elsewhere, and reported as refused.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "async-io")]
pub mod async_io;
mod connector;
mod drive;
mod error;
mod heat;
#[cfg(feature = "hickory")]
pub mod hickory;
#[cfg(feature = "hyper")]
pub mod hyper;
mod offload;
mod prepare;
#[cfg(any(feature = "tokio", feature = "async-io"))]
mod reactor;
pub mod resolver;
mod retry;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "tokio")]
pub mod tokio;
mod trace;
#[cfg(feature = "ureq")]
pub mod ureq;

pub use connector::Connector;
pub use error::{ConnectError, connect_error};
pub use prepare::prepare;
pub use unstall_core::outcome::{Operation, OsError, Outcome};
pub use unstall_core::race::Family;
pub use unstall_core::syn::{Prepared, SynRetransmissions};
pub use unstall_core::target::{Host, Name, ParseTargetError, ParseTargetErrorKind, Target, Zone, ZoneName};
pub use unstall_core::timeline::{Attempt, Attempts, FamilyAnswer, Reason, Resolution, Timeline};

use std::net::TcpStream;

/// Connects to `target` with the defaults of [`Connector`].
///
/// A target is whatever says host and port: `&str` and `String` (`localhost:4200`, `[::1]:80`, `:4200`, `4200`,
/// `http://localhost:4200/x`), `(host, port)` with a name or an address, [`SocketAddr`](std::net::SocketAddr), [`Target`].
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = unstall::testing::v4_only()?;
/// # let port = server.port();
/// let stream = unstall::connect(("localhost", port))?;
/// assert!(stream.nodelay()?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ConnectError`], which names every address that was tried. [`ConnectError::is_invalid_target`] when `target` is
/// none.
pub fn connect<T>(target: T) -> Result<TcpStream, ConnectError>
where
    T: TryInto<Target>,
    T::Error: Into<ConnectError>,
{
    Connector::new().connect(target)
}

/// The example in README.md compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadMe;
