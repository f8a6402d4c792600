//! Who listens on this host, for all watched targets in one look.

use std::collections::HashMap;
use std::net::SocketAddr;
use unstall_core::listener::{self, Listener};
use unstall_sys::listeners;

/// Which ports have listeners, by port.
pub(crate) struct Look(HashMap<u16, Vec<Listener>>);

/// Looks at the OS's table, for the ports of `addresses`; `None`: the OS has none, or does not show it.
pub(crate) fn look<'a>(addresses: impl IntoIterator<Item = &'a [SocketAddr]>) -> Option<Look> {
    let mut ports: HashMap<u16, Vec<Listener>> = HashMap::new();
    for address in addresses.into_iter().flatten() {
        ports.entry(address.port()).or_default();
    }
    let one = if ports.len() == 1 { ports.keys().next().copied() } else { None };
    let table = listeners::without_owners(one).ok()?;
    for listener in table.listeners {
        if let Some(of_port) = ports.get_mut(&listener.address.port()) {
            of_port.push(listener);
        }
    }
    Some(Look(ports))
}

impl Look {
    /// Whether a connect to one of the addresses would find a listener.
    pub(crate) fn anybody(&self, addresses: &[SocketAddr]) -> bool {
        addresses.iter().any(|&address| {
            self.0.get(&address.port()).is_some_and(|table| listener::reaches(table, address).is_some())
        })
    }
}

/// Whether the program that listens on `address` has accepted every connection so far; `None`: the OS does not tell. The listener's
/// own count is looked at, since finding the one connection among all of the host's can take milliseconds.
pub(crate) fn all_accepted(address: SocketAddr) -> Option<bool> {
    let table = listeners::without_owners(Some(address.port())).ok()?;
    Some(listener::reaches(&table.listeners, address)?.waiting? == 0)
}
