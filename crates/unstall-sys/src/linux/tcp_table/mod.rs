//! The kernel's TCP sockets, asked of sock_diag, and of /proc/net/tcp where that is not to be had.

mod proc_net;
mod sock_diag;

use crate::error::Error;
use std::io;
use std::net::SocketAddr;

/// The states that are asked for. The values are the kernel's (`include/net/tcp_states.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// Connected, both sides open.
    Established = 1,
    /// Closed by this side, kept for late segments.
    TimeWait = 6,
    /// Listening.
    Listen = 10,
}

impl State {
    const ALL: [Self; 3] = [Self::Established, Self::TimeWait, Self::Listen];

    fn from_kernel(value: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| *state as u8 == value)
    }
}

/// A connection that the server has answered and the client's last ACK has not completed: TCP_SYN_RECV.
#[cfg_attr(unstall_no_listener_table, allow(dead_code, reason = "for the listener table"))]
pub(crate) const SYN_RECEIVED: u8 = 3;

/// The kernel's state of the socket with these ends, or of the listener that its packets reach if there is none. `None`: neither.
///
/// # Errors
///
/// sock_diag is not to be had. /proc/net/tcp is no substitute: reading all of it takes longer than a connect.
#[cfg_attr(unstall_no_listener_table, allow(dead_code, reason = "for the listener table"))]
pub(crate) fn state(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u8>> {
    if cfg!(unstall_no_sock_diag) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    sock_diag::state(local, remote)
}

/// One socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) state: State,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Listening: how many connections wait to be accepted; connected: how many bytes wait to be read.
    pub(crate) receive_queue: u32,
    /// Listening: how many may wait. `None`: not told.
    pub(crate) backlog: Option<u32>,
    /// IPV6_V6ONLY of a listening IPv6 socket. `None`: not told, or IPv4.
    pub(crate) v6_only: Option<bool>,
    /// The number of the socket file; 0: no program has it (yet).
    pub(crate) inode: u64,
}

/// Where the rows came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    SockDiag,
    ProcNet,
}

/// [`each`] of one port where sock_diag tells, and an error elsewhere.
#[cfg_attr(unstall_no_listener_table, allow(dead_code, reason = "for the listener table"))]
pub(crate) fn each_quickly(states: &[State], port: u16, visit: &mut dyn FnMut(Row)) -> io::Result<()> {
    if cfg!(unstall_no_sock_diag) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    sock_diag::each(states, Some(port), visit)
}

/// Calls `visit` for every socket in one of `states`, of the local port alone if one is given.
pub(crate) fn each(states: &[State], port: Option<u16>, mut visit: impl FnMut(Row)) -> Result<Origin, Error> {
    if !cfg!(unstall_no_sock_diag) {
        // What arrived before a failure is kept back, so that no row is visited twice.
        let mut rows = Vec::new();
        if sock_diag::each(states, port, &mut |row| rows.push(row)).is_ok() {
            rows.into_iter().for_each(visit);
            return Ok(Origin::SockDiag);
        }
    }
    match proc_net::each(states, port, &mut visit) {
        Ok(()) => Ok(Origin::ProcNet),
        Err(error) => Err(Error::table("the table of TCP sockets", error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// The listener on `address`, as `each` shows it.
    fn row(address: SocketAddr, each: Each) -> Row {
        let mut rows = Vec::new();
        each(&[State::Listen], Some(address.port()), &mut |row| rows.push(row)).unwrap();
        rows.into_iter().find(|row| row.local == address).unwrap()
    }

    #[test]
    fn the_ends_of_a_connection_have_states() {
        for ip in ["127.0.0.1", "::1"] {
            let server = TcpListener::bind((ip, 0)).unwrap();
            let address = server.local_addr().unwrap();
            let client = std::net::TcpStream::connect(address).unwrap();
            let ends = (client.local_addr().unwrap(), address);
            assert_eq!(sock_diag::state(ends.0, ends.1).unwrap(), Some(State::Established as u8));
            assert_eq!(sock_diag::state(ends.1, ends.0).unwrap(), Some(State::Established as u8));
            let nobody = SocketAddr::new(ends.0.ip(), 1);
            assert_eq!(sock_diag::state(ends.1, nobody).unwrap(), Some(State::Listen as u8));
            drop(server);
            assert_eq!(sock_diag::state(ends.1, nobody).unwrap(), None);
        }
    }

    type Each = fn(&[State], Option<u16>, &mut dyn FnMut(Row)) -> io::Result<()>;

    /// The fallback sees what the kernel's listing sees, where it tells the same.
    #[test]
    fn both_sources_agree() {
        for ip in ["127.0.0.1", "::1"] {
            let server = TcpListener::bind((ip, 0)).unwrap();
            let address = server.local_addr().unwrap();
            let netlink = row(address, sock_diag::each);
            assert!(netlink.backlog.is_some());
            assert_eq!(row(address, proc_net::each), Row { backlog: None, v6_only: None, ..netlink });
        }
    }
}
