//! The host's own addresses.
//!
//! # Contract
//!
//! `own() -> Result<Vec<IpAddr>, Error>`, asked afresh at each call.

use crate::error::Error;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as imp;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as imp;

/// For how long [`is_own`] believes a list. Addresses change when a network is joined or left, which takes longer.
const BELIEVED: Duration = Duration::from_secs(1);

/// The addresses of all interfaces that are up, loopback included, each once.
///
/// # Errors
///
/// What the OS says.
pub fn own() -> Result<Vec<IpAddr>, Error> {
    imp::own()
}

/// Whether `address` (an IPv4-mapped one is taken for the IPv4 one) is one of the host's own. Loopback addresses are, without
/// asking the OS; for others the list is read about once a second. False when the list cannot be read.
pub fn is_own(address: IpAddr) -> bool {
    static LIST: Mutex<Option<(Instant, Vec<IpAddr>)>> = Mutex::new(None);
    let address = address.to_canonical();
    if address.is_loopback() {
        return true;
    }
    let mut list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    match &*list {
        Some((read, known)) if now.duration_since(*read) < BELIEVED => known.contains(&address),
        _ => {
            let known = own().unwrap_or_default();
            let is_own = known.contains(&address);
            *list = Some((now, known));
            is_own
        }
    }
}
