//! Who listens: the rows of a listener table and which of them a connect to an address reaches.
//!
//! The rules are Linux's (`__inet_lookup_listener` and `compute_score` in net/ipv4/inet_hashtables.c, the
//! same for IPv6), which the other kernels share as far as addresses go: a listener bound to the very address
//! before a wildcard; among equals a socket of the destination's family before an IPv6 one that takes IPv4
//! too. An unspecified destination is the loopback address, as in
//! [`crate::locality::unspecified_to_loopback`].

use crate::locality::{unmap, unmap_socket, unspecified_to_loopback};
use crate::outcome::Platform;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The process that owns a listening socket, as far as this user may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// Name of the program, without its path.
    pub name: String,
}

/// One listening TCP socket.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Listener {
    /// The address and port that it is bound to; 0.0.0.0 and :: are wildcards.
    pub address: SocketAddr,
    /// For an IPv6 wildcard: whether it refuses IPv4 (IPV6_V6ONLY). `None`: the OS does not tell.
    pub v6_only: Option<bool>,
    /// Connections that wait to be accepted. `None`: the OS does not tell.
    pub waiting: Option<u32>,
    /// How many may wait: the backlog, as the kernel clamped it. `None`: the OS does not tell.
    pub backlog: Option<u32>,
    /// The process; `None`: not visible to this user.
    pub owner: Option<Owner>,
}

/// How closely a listener's address fits a destination. The order of the variants is the kernel's preference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// Not at all.
    No,
    /// An IPv6 wildcard of which the OS does not tell whether it takes IPv4.
    Perhaps,
    /// An IPv6 socket's wildcard that takes IPv4.
    DualStack,
    /// The wildcard of the destination's family.
    Wildcard,
    /// The very address, by an IPv6 socket for an IPv4 destination.
    Mapped,
    /// The very address.
    Exact,
}

impl Listener {
    /// Whether it is bound to every address of its family, or of both.
    pub fn is_wildcard(&self) -> bool {
        unmap(self.address.ip()).is_unspecified()
    }

    /// Whether a connect to `destination` can reach it, were it the only listener. `None`: it is an IPv6
    /// wildcard, the destination is IPv4, and the OS does not tell whether it takes that.
    pub fn accepts(&self, destination: SocketAddr) -> Option<bool> {
        match self.fit(destination) {
            Fit::No => Some(false),
            Fit::Perhaps => None,
            Fit::DualStack | Fit::Wildcard | Fit::Mapped | Fit::Exact => Some(true),
        }
    }

    fn fit(&self, destination: SocketAddr) -> Fit {
        let destination = unmap_socket(unspecified_to_loopback(destination));
        let bound = unmap_socket(self.address);
        if bound.port() != destination.port() {
            return Fit::No;
        }
        match (bound, destination) {
            (SocketAddr::V4(bound), SocketAddr::V4(destination)) if bound.ip() == destination.ip() => {
                if self.address.is_ipv4() { Fit::Exact } else { Fit::Mapped }
            }
            (SocketAddr::V6(bound), SocketAddr::V6(destination)) if bound.ip() == destination.ip() => {
                // A scope id of 0 is one that the table or the caller does not tell.
                let scopes = [bound.scope_id(), destination.scope_id()];
                if scopes[0] == scopes[1] || scopes.contains(&0) { Fit::Exact } else { Fit::No }
            }
            _ if !bound.ip().is_unspecified() => Fit::No,
            (SocketAddr::V6(_), SocketAddr::V4(_)) => match self.v6_only {
                Some(true) => Fit::No,
                Some(false) => Fit::DualStack,
                None => Fit::Perhaps,
            },
            (SocketAddr::V4(_), SocketAddr::V6(_)) => Fit::No,
            // An IPv6 socket bound to ::ffff:0.0.0.0.
            (SocketAddr::V4(_), SocketAddr::V4(_)) if self.address.is_ipv6() => Fit::DualStack,
            _ => Fit::Wildcard,
        }
    }

    /// Whether no further connection fits into the accept queue, so that a SYN is dropped (Linux) or reset
    /// (Windows). `None`: the OS does not tell the figures or its rule is not known.
    ///
    /// | platform | full when | source |
    /// | --- | --- | --- |
    /// | Linux | waiting > backlog, so a backlog of n holds n + 1 | `sk_acceptq_is_full`, include/net/sock.h |
    /// | FreeBSD | waiting > 3/2 backlog | `sonewconn`, sys/kern/uipc_socket.c |
    /// | others | not known | |
    pub fn queue_full(&self, platform: Platform) -> Option<bool> {
        Some(u64::from(self.waiting?) >= self.room(platform)?)
    }

    /// How many connections the accept queue holds, so that a burst above that meets a full one. `None`: the OS does not tell the
    /// backlog, or its rule (see [`Listener::queue_full`]) is not known.
    pub fn room(&self, platform: Platform) -> Option<u64> {
        let backlog = u64::from(self.backlog?);
        match platform {
            Platform::Linux => Some(backlog + 1),
            Platform::Bsd => Some(backlog * 3 / 2 + 1),
            Platform::Apple | Platform::Windows => None,
        }
    }
}

/// The listener that a connect to `destination` reaches. Of several that fit equally well (`SO_REUSEPORT`)
/// the kernel picks one by a hash; here it is the first. A listener of which the OS does not tell whether it
/// takes IPv4 counts only if no other fits; [`Listener::accepts`] is `None` for it.
///
/// ```
/// # use unstall_core::listener::{Listener, reaches};
/// let listener = |address: &str, v6_only| Listener {
///     address: address.parse().unwrap(),
///     v6_only,
///     waiting: None,
///     backlog: None,
///     owner: None,
/// };
/// let table = [listener("[::]:80", Some(false)), listener("127.0.0.1:80", None)];
/// assert_eq!(reaches(&table, "127.0.0.1:80".parse().unwrap()), Some(&table[1]));
/// assert_eq!(reaches(&table, "127.0.0.2:80".parse().unwrap()), Some(&table[0]));
/// ```
pub fn reaches(table: &[Listener], destination: SocketAddr) -> Option<&Listener> {
    let mut best = (Fit::No, None);
    for listener in table {
        let fit = listener.fit(destination);
        if fit > best.0 {
            best = (fit, Some(listener));
        }
    }
    best.1
}

/// Every listener on that port, on any address.
pub fn all_for_port(table: &[Listener], port: u16) -> impl Iterator<Item = &Listener> {
    table.iter().filter(move |listener| listener.address.port() == port)
}

/// The listener that the other family reaches on the same port: for 127.0.0.1 the one at ::1, and the other
/// way round; for any other address, one that takes connects to addresses of the other family.
///
/// `None` also when it is the same listener that `destination` itself reaches.
pub fn same_port_other_family(table: &[Listener], destination: SocketAddr) -> Option<&Listener> {
    let destination = unmap_socket(unspecified_to_loopback(destination));
    let here = reaches(table, destination);
    let counterpart =
        if destination.is_ipv4() { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { IpAddr::V4(Ipv4Addr::LOCALHOST) };
    let port = destination.port();
    let there = if destination.ip().is_loopback() {
        reaches(table, SocketAddr::new(counterpart, port))
    } else {
        all_for_port(table, port).find(|listener| {
            listener.accepts(destination) == Some(false)
                && unmap(listener.address.ip()).is_ipv4() != destination.is_ipv4()
        })
    };
    there.filter(|there| here.is_none_or(|here| !std::ptr::eq(here, *there)))
}

/// One address on a port with several listeners, and which of them it reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach<'a> {
    /// The address: one that a listener is bound to; for a wildcard, the loopback address of each family it
    /// takes.
    pub destination: SocketAddr,
    /// Who answers there.
    pub listener: &'a Listener,
    /// Who would, if `listener` were not there.
    pub hidden: Vec<&'a Listener>,
}

/// Which address reaches which listener, where more than one listens on a port; empty otherwise.
pub fn overlaps(table: &[Listener], port: u16) -> Vec<Reach<'_>> {
    if all_for_port(table, port).nth(1).is_none() {
        return Vec::new();
    }
    let mut destinations: Vec<SocketAddr> = Vec::new();
    for listener in all_for_port(table, port) {
        let bound = unmap_socket(listener.address);
        // Whether an IPv6 wildcard takes IPv4 is for `reaches` to say.
        let also = listener.is_wildcard().then(|| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
        for destination in [Some(unspecified_to_loopback(bound)), also].into_iter().flatten() {
            if !destinations.contains(&destination) {
                destinations.push(destination);
            }
        }
    }
    let reach = |destination| {
        let listener = reaches(table, destination)?;
        let hidden = all_for_port(table, port)
            .filter(|other| !std::ptr::eq(*other, listener) && other.accepts(destination) != Some(false))
            .collect();
        Some(Reach { destination, listener, hidden })
    };
    destinations.into_iter().filter_map(reach).collect()
}

/// Whether different processes listen on that port. `None`: more than one listener, and not every owner is
/// visible while those that are do not differ.
pub fn different_owners(table: &[Listener], port: u16) -> Option<bool> {
    let mut listeners = all_for_port(table, port);
    let Some(first) = listeners.next() else { return Some(false) };
    let others: Vec<_> = listeners.collect();
    if others.is_empty() {
        return Some(false);
    }
    let mut pids: Vec<u32> =
        others.iter().chain([&first]).filter_map(|listener| Some(listener.owner.as_ref()?.pid)).collect();
    let known = pids.len() == others.len() + 1;
    pids.dedup();
    match pids[..] {
        [] | [_] => known.then_some(false),
        _ => Some(true),
    }
}
