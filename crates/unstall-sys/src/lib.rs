//! TCP connects, listener tables and host facts behind one contract.
//!
//! This is the only crate of unstall with unsafe code. Each capability is a module; each module has one file per
//! platform, which fulfils the contract that the module's own page states:
//!
//! | module | offers | Linux | any other Unix | Windows |
//! |---|---|---|---|---|
//! | [`connect`] | `connect_blocking`, `AttemptSet`, `prepare` | non-blocking in one call, IP_LOCAL_PORT_RANGE | fcntl, both ends compared | ConnectEx |
//! | [`resolve`] | `resolve`, `resolve_detailed`, `ask_os` | getaddrinfo | the same | getaddrinfo |
//! | [`listeners`] | `table`, `without_owners`, `peers` | sock_diag, else /proc/net/tcp | unknown | GetExtendedTcpTable |
//! | [`addresses`] | `own`, `is_own` | getifaddrs | the same | GetAdaptersAddresses |
//! | [`ports`] | `ephemeral_range`, `per_destination`, `time_wait` | /proc, sock_diag | unknown | netsh, GetExtendedTcpTable |
//! | [`host`] | `facts` | uname, /proc | uname | RtlGetVersion |
//! | [`readiness`] | `select`, `poll`, `Reactor` | poll | the same | select, WSAPoll, the AFD driver |
//! | [`providers`] | `catalogue` | unknown | unknown | WSCEnumProtocols |
//! | [`clock`] | `resolution`, `Timer` | clock_getres | the same | QueryPerformanceFrequency |
//!
//! What the OS does not tell is `None` or an error, never 0 or false. On Linux all of it is about the network namespace of the
//! calling thread.
//!
//! # Secondary paths
//!
//! What runs only where something is missing can be run anywhere, and is by the tests, with `RUSTFLAGS="--cfg ..."`:
//!
//! | flag | what is run |
//! |---|---|
//! | `unstall_portable` | the files for any other Unix, on Linux |
//! | `unstall_no_port_range` | a kernel before 6.3: self-connects are detected, not prevented |
//! | `unstall_no_sock_diag` | the listener table from /proc/net/tcp |
//! | `unstall_no_listener_table` | no listener table |
//!
//! # The contract in short
//!
//! ```text
//! Error                                     .operation() .address() .outcome() .os_error() .kind(), into io::Error
//! connect::Options { nodelay: bool, syn_retransmissions: SynRetransmissions, local: bool, patience: Option<Duration> }
//! connect::connect_blocking(SocketAddr, &Options, limit: Option<Duration>) -> (Prepared, Result<TcpStream, Error>)
//! connect::AttemptSet<K: Copy + Eq>         room for 6, allocates only beyond; dropping it closes all
//!     .start(K, SocketAddr, &Options)       -> (Prepared, Result<Started, Error>)   Started::{Connected(TcpStream), Pending}
//!     .wait(timeout: Option<Duration>)      -> Result<Option<Ended<K>>, Error>      Ended<K> = (K, Result<TcpStream, Error>)
//!     .cancel(K)  .give_up(K) -> Option<Result<TcpStream, Error>>  .len()  .is_empty()
//! connect::begin(SocketAddr, &Options)      -> (Prepared, Result<Begun, Error>)   Unix; Begun { stream, pending: Option<Pending> }
//! connect::Pending.finish(SocketRef, writable: bool) -> Result<(), Error>     Unix; its end, as somebody else's reactor tells it
//! connect::look(SocketRef)                  -> Result<Option<bool>, Error>   Unix; `writable`, for a reactor that does not tell
//! connect::prepare(SocketRef, SocketAddr, SynRetransmissions) -> Prepared    SocketRef: BorrowedFd or BorrowedSocket
//! resolve::resolve(&Target, limit: Option<Duration>) -> Result<Vec<SocketAddr>, Error>   in the OS's order, zones resolved
//! resolve::resolve_detailed(&Target, limit) -> Result<Answer, Error>         Answer { addresses, origin: Origin, os_error }
//! resolve::ask_os(&str, u16, limit)         -> Result<Vec<SocketAddr>, Error>            without the rules for localhost
//! listeners::table(Option<u16>)             -> Result<Table, Error>          Table { source: Source, listeners: Vec<Listener> }
//! listeners::without_owners(Option<u16>)    -> Result<Table, Error>
//! listeners::peers(u16)                     -> Result<Peers, Error>          Peers { established, waiting, .. }
//! listeners::queue(SocketAddr) -> Queue      what a connect would find; shared for 2 ms
//! listeners::queue_after_refusal(SocketAddr) -> Queue   the same, and the port itself where no table tells
//! connect::server_side(SocketRef) -> listeners::ServerSide   Unix; whether the server has taken a connection
//! connect::reset_at_close(SocketRef)
//! host::syn_schedule()                      -> Schedule
//! addresses::own()                          -> Result<Vec<IpAddr>, Error>
//! addresses::is_own(IpAddr)                 -> bool                          cached for about a second
//! ports::ephemeral_range()                  -> Result<RangeInclusive<u16>, Error>
//! ports::per_destination()                  -> Result<BTreeMap<SocketAddr, Taken>, Error>   Taken { established, time_wait }
//! ports::time_wait()                        -> Result<BTreeMap<SocketAddr, u32>, Error>
//! host::facts()                             -> Facts
//! readiness::select(SocketRef, Duration)    -> io::Result<Readiness>   Readiness::{Writable, Failed, Nothing}; `poll` the same
//! readiness::Reactor::new()?.wait(SocketRef, Interest, Duration) -> io::Result<Readiness>   as tokio and async-io wait on Windows
//! providers::catalogue()                    -> Result<Vec<Provider>, Error>   Provider { name, library, place, id }
//! connect::set_initial_rto(SocketRef, [u8; 4]) -> Result<(), i32>
//! clock::resolution()                       -> Option<Duration>
//! ```

#![allow(unsafe_code)]

pub mod addresses;
pub mod clock;
pub mod connect;
#[cfg(windows)]
pub mod console;
mod error;
#[cfg(windows)]
pub mod handles;
pub mod host;
#[cfg(all(feature = "lab", target_os = "linux"))]
pub mod lab;
#[cfg(all(target_os = "linux", not(unstall_portable)))]
mod linux;
pub mod listeners;
pub mod ports;
pub mod providers;
pub mod readiness;
pub mod resolve;
#[cfg(windows)]
pub mod run;
#[cfg(windows)]
mod windows;

pub use error::Error;
