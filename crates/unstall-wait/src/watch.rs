//! Who listens on this host, for all watched targets in one look.

use std::collections::HashMap;
use std::net::SocketAddr;
use unstall_core::listener::{self, Listener};
use unstall_sys::listeners;

/// Up to so many addresses are asked for one by one, which takes some microseconds each on Linux; more are looked up in the whole
/// table, which takes longer the more sockets the host has.
const FEW: usize = 16;

/// Who listens, as one look found it.
pub(crate) enum Look {
    /// The addresses that have a listener, of a few.
    Few(Vec<SocketAddr>),
    /// The listeners of each port that was asked for.
    Many(HashMap<u16, Vec<Listener>>),
}

/// Looks for listeners on `addresses`; `None`: the OS does not tell.
pub(crate) fn look(addresses: &[SocketAddr]) -> Option<Look> {
    if addresses.len() <= FEW { few(addresses) } else { many(addresses) }
}

fn few(addresses: &[SocketAddr]) -> Option<Look> {
    let mut found = Vec::new();
    for &address in addresses {
        if listeners::anybody(address)? {
            found.push(address);
        }
    }
    Some(Look::Few(found))
}

fn many(addresses: &[SocketAddr]) -> Option<Look> {
    let mut ports: HashMap<u16, Vec<Listener>> =
        addresses.iter().map(|address| (address.port(), Vec::new())).collect();
    for listener in listeners::without_owners(None).ok()?.listeners {
        if let Some(of_port) = ports.get_mut(&listener.address.port()) {
            of_port.push(listener);
        }
    }
    Some(Look::Many(ports))
}

impl Look {
    /// Whether a connect to one of the addresses would find a listener.
    pub(crate) fn anybody(&self, addresses: impl IntoIterator<Item = SocketAddr>) -> bool {
        addresses.into_iter().any(|address| match self {
            Self::Few(found) => found.contains(&address),
            Self::Many(ports) => {
                ports.get(&address.port()).is_some_and(|table| listener::reaches(table, address).is_some())
            }
        })
    }
}

/// Whether the program that listens on `address` has accepted every connection so far; `None`: the OS does not tell. The listener's
/// own count is looked at, since finding the one connection among all of the host's can take milliseconds.
pub(crate) fn all_accepted(address: SocketAddr) -> Option<bool> {
    let table = listeners::without_owners(Some(address.port())).ok()?;
    Some(listener::reaches(&table.listeners, address)?.waiting? == 0)
}
