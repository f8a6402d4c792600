//! One port, bound on the loopback address of each family that the host has.

use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU16;

/// How many ports are tried until one is free on both families.
const TRIES: usize = 64;

/// Bound sockets that do not listen.
pub(super) struct Ports {
    pub(super) v4: Socket,
    /// `None`: the host has no ::1.
    pub(super) v6: Option<Socket>,
    pub(super) port: NonZeroU16,
}

impl Ports {
    /// A port that was free on both families.
    pub(super) fn bind() -> io::Result<Self> {
        let mut last = None;
        for _ in 0..TRIES {
            let v4 = bound(loopback_v4(0))?;
            let port = v4.local_addr()?.as_socket().and_then(|address| NonZeroU16::new(address.port()));
            let port = port.ok_or_else(|| io::Error::other("the OS bound a socket to no port"))?;
            match bound(loopback_v6(port.get())) {
                Ok(v6) => return Ok(Self { v4, v6: Some(v6), port }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = Some(error),
                Err(_) if bound(loopback_v6(0)).is_err() => return Ok(Self { v4, v6: None, port }),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
    }

    /// What is bound, in the order of [`into_sockets`](Self::into_sockets).
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let v6 = self.v6.is_some().then(|| loopback_v6(self.port.get()));
        [loopback_v4(self.port.get())].into_iter().chain(v6).collect()
    }

    pub(super) fn into_sockets(self) -> Vec<Socket> {
        [self.v4].into_iter().chain(self.v6).collect()
    }
}

pub(super) fn loopback_v4(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

pub(super) fn loopback_v6(port: u16) -> SocketAddr {
    (Ipv6Addr::LOCALHOST, port).into()
}

/// Without `SO_REUSEADDR`, so that nobody else gets the port.
fn bound(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.bind(&address.into())?;
    Ok(socket)
}
