//! TCP connects, listener tables and host facts behind one contract.
//!
//! This is the only crate of unstall with unsafe code. Each capability is a module; each module has one file per
//! platform that fulfils the same contract:
//!
//! | module | contract | Linux | other Unix (also run on Linux by `--cfg unstall_portable`) |
//! |---|---|---|---|
//! | [`connect`] | `connect_blocking`, `AttemptSet`, `prepare` | `linux.rs` | `unix.rs` |
//! | [`resolve`] | `resolve` | std's getaddrinfo | the same |
//! | [`listeners`] | `table` | sock_diag, else /proc/net/tcp | unknown |
//! | [`addresses`] | `own` | getifaddrs | the same |
//! | [`ports`] | `ephemeral_range`, `time_wait` | /proc, sock_diag | unknown |
//! | [`host`] | `facts` | uname, /proc | uname |
//!
//! What the OS does not tell is `None`, never 0 or false.
//!
//! ```text
//! pub struct Error { operation, address: Option<SocketAddr>, source: io::Error }      .outcome() -> Outcome, .os_error() -> Option<OsError>
//! connect::Options { nodelay: bool, syn_retransmissions: SynRetransmissions, local: bool }
//! connect::connect_blocking(SocketAddr, &Options, limit: Option<Duration>) -> (Prepared, Result<TcpStream, Error>)
//!     the shortest way to one address: socket, connect, TCP_NODELAY; with a limit also poll and one call to make it blocking again
//! connect::AttemptSet<K: Copy + Eq>     inline room for 6, allocates only beyond
//!     .start(K, SocketAddr, &Options) -> (Prepared, Result<Started, Error>)   Started::{Connected(TcpStream), Pending}
//!     .wait(timeout: Option<Duration>) -> Result<Option<(K, Result<TcpStream, Error>)>, Error>   the streams are blocking; None: time-out
//!     .cancel(K)   closes it;  dropping the set closes all
//! connect::prepare(socket: BorrowedFd/BorrowedSocket, SocketAddr, SynRetransmissions) -> Prepared
//! resolve::resolve(&Target, limit: Option<Duration>) -> Result<Vec<SocketAddr>, Error>   in the OS's order, zones resolved
//! listeners::table(port: Option<u16>) -> Result<Table, Error>   Table { source: Source, listeners: Vec<core::listener::Listener> }
//! addresses::own() -> Result<Vec<IpAddr>, Error>;  addresses::is_own(IpAddr) -> bool   cached for about a second
//! ports::ephemeral_range() -> Result<RangeInclusive<u16>, Error>;  ports::time_wait() -> Result<BTreeMap<SocketAddr, u32>, Error>
//! host::facts() -> Facts { os, kernel, arch, container: Option<..>, wsl: Option<..>, somaxconn: Option<u32>, tcp_abort_on_overflow: Option<bool>, ... }
//! clock::resolution() -> Option<Duration>
//! ```

#![allow(unsafe_code)]

pub mod addresses;
pub mod clock;
pub mod connect;
mod error;
pub mod host;
#[cfg(all(feature = "lab", target_os = "linux"))]
pub mod lab;
#[cfg(all(target_os = "linux", not(unstall_portable)))]
mod linux;
pub mod listeners;
pub mod ports;
pub mod resolve;
#[cfg(windows)]
mod windows;

pub use error::Error;
