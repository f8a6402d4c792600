//! Who listens: the OS's table of listening TCP sockets.
//!
//! # Contract
//!
//! `table(port, owners) -> Result<Table, Error>` and `peers(port) -> Result<Peers, Error>`; an error where the OS does not tell.

use crate::error::Error;
use unstall_core::listener::Listener;

#[cfg(all(target_os = "linux", not(unstall_portable), not(unstall_no_listener_table)))]
mod linux;
#[cfg(all(target_os = "linux", not(unstall_portable), not(unstall_no_listener_table)))]
use linux as imp;
#[cfg(all(unix, any(not(target_os = "linux"), unstall_portable, unstall_no_listener_table)))]
mod unix;
#[cfg(all(unix, any(not(target_os = "linux"), unstall_portable, unstall_no_listener_table)))]
use unix as imp;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as imp;

/// Where a table came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// Linux sock_diag.
    SockDiag,
    /// Linux /proc/net/tcp and tcp6: no backlog, no V6ONLY.
    ProcNet,
    /// Windows GetExtendedTcpTable.
    ExtendedTcpTable,
}

/// The listening sockets of this host (its network namespace).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Where it came from.
    pub source: Source,
    /// One per socket.
    pub listeners: Vec<Listener>,
}

/// The established connections that came in on a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    /// All of them.
    pub established: u32,
    /// Those that no program has accepted. `None`: the OS does not tell.
    pub waiting: Option<u32>,
    /// Those whose two ends are the same address and port: connected to themselves. `None`: not counted on this OS.
    pub to_themselves: Option<u32>,
}

/// The listening sockets, of one port or of all, with their owners as far as this user may see them. Looking for the owners
/// reads every visible process's descriptors, which takes milliseconds; [`without_owners`] does not.
///
/// # Errors
///
/// Outcome `not_available` where the OS has no such table.
pub fn table(port: Option<u16>) -> Result<Table, Error> {
    imp::table(port, true)
}

/// The same without looking for the owners: tens of microseconds.
///
/// # Errors
///
/// As [`table`].
pub fn without_owners(port: Option<u16>) -> Result<Table, Error> {
    imp::table(port, false)
}

/// The established connections whose local port is `port`.
///
/// # Errors
///
/// As [`table`].
pub fn peers(port: u16) -> Result<Peers, Error> {
    imp::peers(port)
}
