//! The host's own addresses.
//!
//! # Contract
//!
//! - `own() -> Result<Vec<IpAddr>, Error>`, asked afresh at each call;
//! - `generation() -> Option<u64>`, a number that changes with the addresses; `None` where the OS does not tell of changes.

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

/// For how long [`is_own`] believes a list where the OS does not tell of changes. Addresses change when a network is joined or
/// left, which takes longer.
const BELIEVED: Duration = Duration::from_secs(1);

/// The addresses of all interfaces, loopback included and whether or not they are up, each once.
///
/// # Errors
///
/// What the OS says.
pub fn own() -> Result<Vec<IpAddr>, Error> {
    imp::own()
}

/// Whether `address` (an IPv4-mapped one is taken for the IPv4 one) is one of the host's own. Loopback addresses are, without
/// asking the OS; for others the list is read about once a second, on Windows when it has changed. False when the list cannot be read.
pub fn is_own(address: IpAddr) -> bool {
    static LIST: Mutex<Option<List>> = Mutex::new(None);
    let address = address.to_canonical();
    if address.is_loopback() {
        return true;
    }
    let mut list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    // Asked for before the list is read, so that a change in between is not missed.
    let generation = imp::generation();
    if let Some(known) = list.as_ref().filter(|known| known.is_fresh(now, generation)) {
        return known.addresses.contains(&address);
    }
    let known = List { read: now, generation, addresses: own().unwrap_or_default() };
    let is_own = known.addresses.contains(&address);
    *list = Some(known);
    is_own
}

/// The names of the network interfaces as Windows shows them: `vEthernet (WSL)`. Windows only.
///
/// # Errors
///
/// What the OS says.
#[cfg(windows)]
pub fn interfaces() -> Result<Vec<String>, Error> {
    crate::windows::interfaces::names().map_err(|error| Error::table("the table of interfaces", error))
}

/// The host's addresses as they were when they were read.
struct List {
    read: Instant,
    generation: Option<u64>,
    addresses: Vec<IpAddr>,
}

impl List {
    fn is_fresh(&self, now: Instant, generation: Option<u64>) -> bool {
        match (self.generation, generation) {
            (Some(then), Some(now)) => then == now,
            _ => now.duration_since(self.read) < BELIEVED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BELIEVED, List};
    use std::time::{Duration, Instant};

    #[test]
    fn a_list_is_believed_until_a_change_is_told_or_else_for_a_second() {
        let read = Instant::now();
        let list = |generation| List { read, generation, addresses: Vec::new() };
        let (soon, late) = (read + BELIEVED / 2, read + BELIEVED);
        assert!(list(Some(1)).is_fresh(read + Duration::from_secs(86_400), Some(1)), "no change was told");
        assert!(!list(Some(1)).is_fresh(read, Some(2)), "a change was told");
        assert!(list(None).is_fresh(soon, None) && !list(None).is_fresh(late, None), "nothing is told");
        assert!(!list(None).is_fresh(late, Some(1)), "the list is older than the notices");
    }
}
