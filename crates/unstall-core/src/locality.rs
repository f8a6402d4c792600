//! Which addresses and names never leave this host.
//!
//! Local are 127.0.0.0/8 and ::1 (RFC 1122 section 3.2.1.3, RFC 4291 section 2.5.3), their IPv4-mapped forms,
//! the unspecified addresses as destinations, the host's own addresses, and the names of RFC 6761 section
//! 6.3. `Ipv6Addr::is_loopback` alone is false for ::ffff:127.0.0.1, so every question here is asked after
//! [`unmap`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// An IPv4-mapped address (::ffff:0:0/96) as the IPv4 address that its packets carry; any other address
/// unchanged.
pub const fn unmap(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// [`unmap`] for the address of a socket address. Scope id and flow information of other IPv6 addresses are
/// kept.
pub fn unmap_socket(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddr::new(IpAddr::V4(v4), v6.port()),
            None => address,
        },
        SocketAddr::V4(_) => address,
    }
}

/// Whether it is a loopback address: all of 127.0.0.0/8, ::1, and their mapped forms.
pub const fn is_loopback(address: IpAddr) -> bool {
    unmap(address).is_loopback()
}

/// Whether packets to this destination never leave the host.
///
/// `own` are the host's own addresses, as far as the caller knows them; an empty list is fine and means that
/// only loopback and unspecified addresses are recognised. Scopes are not compared: a link-local address that
/// the host owns on one link may belong to another host on another link, see [`is_local_socket`].
///
/// ```
/// # use unstall_core::locality::is_local;
/// assert!(is_local("::ffff:127.8.9.10".parse().unwrap(), &[]));
/// assert!(!is_local("192.0.2.7".parse().unwrap(), &[]));
/// assert!(is_local("192.0.2.7".parse().unwrap(), &["192.0.2.7".parse().unwrap()]));
/// ```
pub fn is_local(address: IpAddr, own: &[IpAddr]) -> bool {
    is_local_by(address, |address| own.iter().any(|mine| unmap(*mine) == address))
}

/// [`is_local`], asking `is_own` (with an unmapped address) only when the address alone does not tell.
pub fn is_local_by(address: IpAddr, is_own: impl FnOnce(IpAddr) -> bool) -> bool {
    let address = unmap(address);
    address.is_loopback() || address.is_unspecified() || is_own(address)
}

/// [`is_local`] for a socket address, whose scope id counts: a link-local destination is one of the host's
/// own only on the same interface. `own` are the host's addresses with their scope ids; ports are not looked
/// at. A scope id of 0, on either side, is unknown and matches none.
pub fn is_local_socket(destination: SocketAddr, own: &[SocketAddr]) -> bool {
    let destination = unmap_socket(destination);
    let same = |mine: SocketAddr| match (unmap_socket(mine), destination) {
        (SocketAddr::V6(mine), SocketAddr::V6(theirs)) if theirs.ip().is_unicast_link_local() => {
            mine.ip() == theirs.ip() && mine.scope_id() == theirs.scope_id() && theirs.scope_id() != 0
        }
        (mine, theirs) => mine.ip() == theirs.ip(),
    };
    is_local_by(destination.ip(), |_| own.iter().any(|mine| same(*mine)))
}

/// Whether RFC 6761 section 6.3 makes this name loopback, so that no resolver may be asked for it:
/// `localhost`, and every name below it, in any case, with or without the trailing dot.
///
/// ```
/// # use unstall_core::locality::is_localhost_name;
/// assert!(is_localhost_name("localhost.") && is_localhost_name("App.LocalHost"));
/// assert!(!is_localhost_name("mylocalhost") && !is_localhost_name("localhost.example"));
/// ```
pub fn is_localhost_name(name: &str) -> bool {
    const LOCALHOST: &str = "localhost";
    let name = name.strip_suffix('.').unwrap_or(name);
    let Some(start) = name.len().checked_sub(LOCALHOST.len()) else { return false };
    let Some((below, last)) = name.split_at_checked(start) else { return false };
    last.eq_ignore_ascii_case(LOCALHOST) && (below.is_empty() || below.len() > 1 && below.ends_with('.'))
}

/// 0.0.0.0 and :: as destinations, as the loopback address that Linux takes them for; any other address
/// unchanged.
///
/// Windows answers WSAEADDRNOTAVAIL to them, so whoever wants the same everywhere connects to what this
/// returns (Go and libuv do the same).
pub fn unspecified_to_loopback(destination: SocketAddr) -> SocketAddr {
    match destination {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => {
            SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), v4.port())
        }
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            SocketAddrV6::new(Ipv6Addr::LOCALHOST, v6.port(), v6.flowinfo(), 0).into()
        }
        SocketAddr::V6(v6) if v6.ip().to_ipv4_mapped().is_some_and(|v4| v4.is_unspecified()) => {
            let loopback = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
            SocketAddrV6::new(loopback, v6.port(), v6.flowinfo(), 0).into()
        }
        other => other,
    }
}
