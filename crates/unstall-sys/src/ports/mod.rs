//! Local ports: which the kernel chooses from, and how many are taken by connections to one destination.
//!
//! # Contract
//!
//! `ephemeral_range()`, `excluded()`, `per_destination()`, each an error where the OS does not tell.

use crate::error::Error;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

#[cfg(all(target_os = "linux", not(unstall_portable)))]
mod linux;
#[cfg(all(target_os = "linux", not(unstall_portable)))]
use linux as imp;
#[cfg(all(target_os = "linux", not(unstall_portable)))]
pub(crate) use linux::cached_ephemeral_range;
#[cfg(all(unix, not(all(target_os = "linux", not(unstall_portable)))))]
mod unix;
#[cfg(all(unix, not(all(target_os = "linux", not(unstall_portable)))))]
use unix as imp;
#[cfg(any(windows, test))]
mod netsh;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as imp;

/// Connections to one destination; each takes a local port that no other connection to that destination can use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Neither being made nor being closed.
    pub established: u32,
    /// Closed by this side; the port is kept for a while (Linux: 60 s).
    pub time_wait: u32,
}

/// The ports that the kernel chooses from when a socket is not bound.
///
/// # Errors
///
/// Outcome `not_available` where the OS does not tell.
pub fn ephemeral_range() -> Result<RangeInclusive<u16>, Error> {
    imp::ephemeral_range()
}

/// Whether the kernel may choose `port` as the source port of a connect. True where the OS does not tell.
pub fn may_be_source(port: u16) -> bool {
    imp::may_be_source(port)
}

/// Ports that no program may bind unless it asks for them by number (administered), or at all: what Hyper-V, WinNAT and
/// administrators have reserved on Windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// The ports.
    pub ports: RangeInclusive<u16>,
    /// An administrator's own exclusion, with a star in netsh's list.
    pub administered: bool,
}

/// The excluded TCP port ranges (IPv4) of Windows.
///
/// # Errors
///
/// Outcome `not_available` where the OS has no such ranges or does not tell.
pub fn excluded() -> Result<Vec<Excluded>, Error> {
    imp::excluded()
}

/// Established and TIME_WAIT connections of this host (its network namespace) by destination.
///
/// # Errors
///
/// Outcome `not_available` where the OS does not tell.
pub fn per_destination() -> Result<BTreeMap<SocketAddr, Taken>, Error> {
    imp::per_destination()
}

/// The TIME_WAIT connections alone, by destination.
///
/// # Errors
///
/// As [`per_destination`].
pub fn time_wait() -> Result<BTreeMap<SocketAddr, u32>, Error> {
    let waiting = per_destination()?.into_iter().map(|(address, taken)| (address, taken.time_wait));
    Ok(waiting.filter(|(_, count)| *count > 0).collect())
}
