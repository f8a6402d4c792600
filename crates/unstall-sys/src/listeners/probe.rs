//! Any Unix: whether a port belongs to somebody, asked by binding it.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, bind, socket, sockopt};
use std::net::SocketAddr;
use unstall_core::locality::unspecified_to_loopback;

/// Whether somebody has the port; `None`: it cannot be told (a port that only root may bind, no descriptor left).
///
/// Without SO_REUSEADDR a bind fails for a port that a listener has, whether on this address or on all. It also fails for one
/// whose connections linger, which is taken for a listener here: that is the side on which no connection is lost.
pub(super) fn is_taken(destination: SocketAddr) -> Option<bool> {
    let address = unspecified_to_loopback(destination);
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket(family, SocketType::STREAM, None).ok()?;
    if address.is_ipv6() && matches!(address.ip().to_canonical(), std::net::IpAddr::V6(_)) {
        sockopt::set_ipv6_v6only(&socket, true).ok()?;
    }
    match bind(&socket, &address) {
        Ok(()) => Some(false),
        Err(Errno::ADDRINUSE) => Some(true),
        Err(_) => None,
    }
}
