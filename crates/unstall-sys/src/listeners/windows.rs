//! Windows: GetExtendedTcpTable, and the owners' names from one snapshot of all processes, which needs no rights on them.
//! The table has neither backlogs nor IPV6_V6ONLY.

use super::{Peers, ServerSide, Source, Table};
use crate::error::Error;
use crate::windows::tcp_table::{self, Class, ESTABLISHED, NAME};
use crate::windows::{processes, version, winsock};
use socket2::SockRef;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::OnceLock;
use unstall_core::listener::{Listener, Owner};
use unstall_core::locality;
use windows_sys::Win32::Networking::WinSock::{WSAEACCES, WSAEADDRINUSE};

pub(super) fn table(port: Option<u16>, with_owners: bool) -> Result<Table, Error> {
    let rows = tcp_table::rows(Class::Listeners).map_err(|error| Error::table(NAME, error))?;
    let names = if with_owners { processes::names() } else { BTreeMap::new() };
    let listeners = rows
        .into_iter()
        .filter(|row| port.is_none_or(|port| row.local.port() == port))
        .map(|row| Listener {
            address: row.local,
            v6_only: None,
            waiting: None,
            backlog: None,
            owner: names.get(&row.pid).map(|name| Owner { pid: row.pid, name: name.clone() }),
        })
        .collect();
    Ok(Table { source: Source::ExtendedTcpTable, listeners })
}

pub(super) fn quickly(port: u16) -> Result<Vec<Listener>, Error> {
    table(Some(port), false).map(|table| table.listeners)
}

pub(super) fn peers(port: u16) -> Result<Peers, Error> {
    let rows = tcp_table::rows(Class::All).map_err(|error| Error::table(NAME, error))?;
    let ours = rows.iter().filter(|row| row.state == ESTABLISHED && row.local.port() == port);
    Ok(Peers { established: ours.count() as u32, waiting: None, to_themselves: None })
}

/// Whether somebody has the port; `None`: it cannot be told.
///
/// A bind for exclusive use fails for a port that anybody has, whether on this address or on all.
pub(super) fn is_taken(destination: SocketAddr) -> Option<bool> {
    let address = locality::unmap_socket(locality::unspecified_to_loopback(destination));
    let socket = winsock::stream(address).ok()?;
    winsock::set_exclusive(&socket).ok()?;
    match SockRef::from(&socket).bind(&address.into()) {
        Ok(()) => Some(false),
        // WSAEACCES: somebody has it for exclusive use.
        Err(error) => match error.raw_os_error() {
            Some(WSAEADDRINUSE | WSAEACCES) => Some(true),
            _ => None,
        },
    }
}

pub(super) fn anybody(_destination: SocketAddr) -> Option<bool> {
    None
}

pub(super) fn is_quick() -> bool {
    static QUICK: OnceLock<bool> = OnceLock::new();
    *QUICK.get_or_init(|| version::wine().is_none())
}

/// A full queue is reset here, so there is no half of a connection.
pub(super) fn server_side(_client: SocketAddr, _server: SocketAddr) -> ServerSide {
    ServerSide::Unknown
}
