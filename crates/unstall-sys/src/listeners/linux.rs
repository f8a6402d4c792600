//! Linux: the kernel's TCP table, and the owners from the descriptors below /proc.

pub(super) use super::probe::is_taken;
use super::{Peers, ServerSide, Source, Table};
use crate::error::Error;
use crate::linux::owners::owners;
use crate::linux::tcp_table::{self, Origin, Row, State};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use unstall_core::listener::{Listener, reaches};
use unstall_core::locality::unspecified_to_loopback;

pub(super) fn table(port: Option<u16>, with_owners: bool) -> Result<Table, Error> {
    let mut listeners = Vec::new();
    let mut inodes = Vec::new();
    let origin = tcp_table::each(&[State::Listen], port, |row| {
        inodes.push(row.inode);
        listeners.push(listener(row));
    })?;
    if with_owners {
        let mut owners = owners(&inodes);
        for (listener, inode) in listeners.iter_mut().zip(&inodes) {
            listener.owner = owners.remove(inode);
        }
    }
    let source = match origin {
        Origin::SockDiag => Source::SockDiag,
        Origin::ProcNet => Source::ProcNet,
    };
    Ok(Table { source, listeners })
}

fn listener(row: Row) -> Listener {
    Listener {
        address: row.local,
        v6_only: row.v6_only,
        waiting: Some(row.receive_queue),
        backlog: row.backlog,
        owner: None,
    }
}

pub(super) fn quickly(port: u16) -> io::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    tcp_table::each_quickly(&[State::Listen], port, &mut |row| listeners.push(listener(row)))?;
    Ok(listeners)
}

pub(super) fn peers(port: u16) -> Result<Peers, Error> {
    let mut peers = Peers { established: 0, waiting: Some(0), to_themselves: Some(0) };
    tcp_table::each(&[State::Established], Some(port), |row| {
        peers.established += 1;
        let to_itself = u32::from(row.local == row.remote);
        peers.to_themselves = peers.to_themselves.map(|count| count + to_itself);
        // Only accept gives a connection its socket file.
        peers.waiting = peers.waiting.map(|waiting| waiting + u32::from(row.inode == 0));
    })?;
    Ok(peers)
}

pub(super) fn anybody(destination: SocketAddr) -> Option<bool> {
    let destination = unspecified_to_loopback(destination);
    // No connection comes from port 0, so what is found is the listener.
    let nobody = match destination {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    if let Ok(found) = tcp_table::state(destination, nobody) {
        return Some(found == Some(State::Listen as u8));
    }
    // Slower, and so nothing for a connect that waits.
    let listeners = table(Some(destination.port()), false).ok()?.listeners;
    // Of an IPv6 wildcard /proc does not tell whether it takes IPv4.
    reaches(&listeners, destination).map_or(Some(false), |listener| listener.accepts(destination))
}

pub(super) fn server_side(client: SocketAddr, server: SocketAddr) -> ServerSide {
    match tcp_table::state(server, client) {
        Ok(Some(tcp_table::SYN_RECEIVED)) => ServerSide::Half,
        // The kernel looks for a listener where it finds no connection.
        Ok(None) => ServerSide::Missing,
        Ok(Some(state)) if state == State::Listen as u8 => ServerSide::Missing,
        Ok(Some(_)) => ServerSide::Whole,
        Err(_) => ServerSide::Unknown,
    }
}
