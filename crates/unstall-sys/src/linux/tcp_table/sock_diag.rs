//! sock_diag(7): the kernel's own listing, over netlink. Two structures of fixed layout and one attribute are all that is
//! read, so the parser is here and not in a dependency.

use super::{Row, State};
use rustix::fd::OwnedFd;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use unstall_core::locality::unmap_socket;

// include/uapi/linux/netlink.h, sock_diag.h, inet_diag.h
const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_DUMP: u16 = 0x300;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const IPPROTO_TCP: u8 = 6;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const REQUEST: usize = HEADER + 56;
const MESSAGE: usize = 72;
const INET_DIAG_SKV6ONLY: u16 = 11;

/// The kernel fills at most this much per read.
const BUFFER: usize = 32 * 1024;

pub(super) fn each(states: &[State], port: Option<u16>, visit: &mut dyn FnMut(Row)) -> io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(SOCK_DIAG))?;
    let mut buffer = vec![0; BUFFER];
    for family in [AF_INET, AF_INET6] {
        let request = request(family, states, port);
        sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        receive(&socket, &mut buffer, port, visit)?;
    }
    Ok(())
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2`.
fn request(family: u8, states: &[State], port: Option<u16>) -> [u8; REQUEST] {
    let mask = states.iter().fold(0_u32, |mask, state| mask | 1 << *state as u8);
    let mut request = [0; REQUEST];
    request[0..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&(NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    request[HEADER] = family;
    request[HEADER + 1] = IPPROTO_TCP;
    request[HEADER + 4..HEADER + 8].copy_from_slice(&mask.to_ne_bytes());
    request[HEADER + 8..HEADER + 10].copy_from_slice(&port.unwrap_or(0).to_be_bytes());
    request
}

/// One socket, found by its two ends.
pub(super) fn state(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u8>> {
    let (local, remote) = (unmap_socket(local), unmap_socket(remote));
    let family = if local.is_ipv4() { AF_INET } else { AF_INET6 };
    let mut request = request(family, &[], None);
    request[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    // The states are a filter for listings alone.
    request[HEADER + 4..HEADER + 8].copy_from_slice(&u32::MAX.to_ne_bytes());
    request[HEADER + 8..HEADER + 10].copy_from_slice(&local.port().to_be_bytes());
    request[HEADER + 10..HEADER + 12].copy_from_slice(&remote.port().to_be_bytes());
    put_ip(&mut request[HEADER + 12..HEADER + 28], local);
    put_ip(&mut request[HEADER + 28..HEADER + 44], remote);
    // INET_DIAG_NOCOOKIE: whichever socket it is.
    request[HEADER + 48..HEADER + 56].fill(0xFF);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(SOCK_DIAG))?;
    sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut buffer = [0; 1024];
    let (length, _) = rustix::io::retry_on_intr(|| recv(&socket, &mut buffer[..], RecvFlags::empty()))?;
    match split_message(&buffer[..length]) {
        Some((SOCK_DIAG_BY_FAMILY, body, _)) => Ok(body.get(1).copied()),
        Some((NLMSG_ERROR, body, _)) => match status(body) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            result => result.and(Err(io::ErrorKind::InvalidData.into())),
        },
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn put_ip(place: &mut [u8], address: SocketAddr) {
    match address {
        SocketAddr::V4(v4) => place[..4].copy_from_slice(&v4.ip().octets()),
        SocketAddr::V6(v6) => place.copy_from_slice(&v6.ip().octets()),
    }
}

fn receive(
    socket: &OwnedFd,
    buffer: &mut [u8],
    port: Option<u16>,
    visit: &mut dyn FnMut(Row),
) -> io::Result<()> {
    loop {
        let (length, _) = rustix::io::retry_on_intr(|| recv(socket, &mut *buffer, RecvFlags::empty()))?;
        let mut rest = &buffer[..length];
        while let Some((kind, body, next)) = split_message(rest) {
            match kind {
                NLMSG_DONE => return status(body),
                NLMSG_ERROR => return status(body).and(Err(io::ErrorKind::InvalidData.into())),
                SOCK_DIAG_BY_FAMILY => {
                    // A kernel may leave the choice of the port to us.
                    if let Some(row) =
                        row(body).filter(|row| port.is_none_or(|port| port == row.local.port()))
                    {
                        visit(row);
                    }
                }
                _ => {}
            }
            rest = next;
        }
        if !rest.is_empty() || length == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// The first message of `bytes`: its type, its body, and what follows. `None`: no whole message is left.
fn split_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let kind = u16_at(bytes, 4)?;
    let body = bytes.get(HEADER..length)?;
    let next = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((kind, body, next))
}

/// The error number, negative, that a message of the end or of an error starts with.
fn status(body: &[u8]) -> io::Result<()> {
    let code = body.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
    if code < 0 { Err(io::Error::from_raw_os_error(-code)) } else { Ok(()) }
}

/// `struct inet_diag_msg`. `None`: a state or family that was not asked for.
fn row(body: &[u8]) -> Option<Row> {
    let family = *body.first()?;
    let state = State::from_kernel(*body.get(1)?)?;
    let interface = u32_at(body, 40)?;
    let local = address(family, body.get(8..24)?, port_at(body, 4)?, interface)?;
    let remote = address(family, body.get(24..40)?, port_at(body, 6)?, interface)?;
    Some(Row {
        state,
        local,
        remote,
        receive_queue: u32_at(body, 56)?,
        backlog: if state == State::Listen { u32_at(body, 60) } else { None },
        v6_only: attribute(body.get(MESSAGE..)?, INET_DIAG_SKV6ONLY)
            .and_then(<[u8]>::first)
            .map(|value| *value != 0),
        inode: u32_at(body, 68)?.into(),
    })
}

fn address(family: u8, bytes: &[u8], port: u16, interface: u32) -> Option<SocketAddr> {
    match family {
        AF_INET => {
            let ip: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
            Some(SocketAddrV4::new(Ipv4Addr::from(ip), port).into())
        }
        AF_INET6 => {
            let ip = Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?);
            // The interface means something for link-local addresses alone.
            let zone = if ip.is_unicast_link_local() { interface } else { 0 };
            Some(SocketAddrV6::new(ip, port, 0, zone).into())
        }
        _ => None,
    }
}

/// The content of the attribute `kind`.
fn attribute(mut bytes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16_at(bytes, 0)?);
        let content = bytes.get(4..length)?;
        if u16_at(bytes, 2)? == kind {
            return Some(content);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn port_at(bytes: &[u8], at: usize) -> Option<u16> {
    u16_at(bytes, at).map(u16::from_be)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A listener on [::1]:8080 with V6ONLY, after an attribute of another kind, as the kernel writes it.
    fn message() -> Vec<u8> {
        let mut body = vec![0; MESSAGE];
        body[0] = AF_INET6;
        body[1] = State::Listen as u8;
        body[4..6].copy_from_slice(&8080_u16.to_be_bytes());
        body[8..24].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
        body[56..60].copy_from_slice(&3_u32.to_ne_bytes());
        body[60..64].copy_from_slice(&128_u32.to_ne_bytes());
        body[68..72].copy_from_slice(&4242_u32.to_ne_bytes());
        for (kind, value) in [(8_u16, 1), (INET_DIAG_SKV6ONLY, 1)] {
            body.extend(5_u16.to_ne_bytes());
            body.extend(kind.to_ne_bytes());
            body.extend([value, 0, 0, 0]);
        }
        let mut message = Vec::new();
        message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        message.extend([0; 10]);
        message.extend(body);
        message
    }

    #[test]
    fn a_row_is_read_from_its_fixed_places() {
        let bytes = message();
        let (kind, body, rest) = split_message(&bytes).unwrap();
        assert_eq!((kind, rest.len()), (SOCK_DIAG_BY_FAMILY, 0));
        let row = row(body).unwrap();
        assert_eq!(row.local, "[::1]:8080".parse().unwrap());
        assert_eq!((row.state, row.receive_queue, row.backlog), (State::Listen, 3, Some(128)));
        assert_eq!((row.v6_only, row.inode), (Some(true), 4242));
    }

    /// The kernel is asked for one port and these states alone; else a host with many sockets would send them all.
    #[test]
    fn a_request_names_family_states_and_port() {
        let request = request(AF_INET6, &[State::Listen, State::Established], Some(8080));
        assert_eq!(u32_at(&request, 0), Some(72));
        assert_eq!((request[HEADER], request[HEADER + 1]), (AF_INET6, IPPROTO_TCP));
        assert_eq!(u32_at(&request, HEADER + 4), Some(1 << 10 | 1 << 1));
        assert_eq!(port_at(&request, HEADER + 8), Some(8080));
    }

    #[test]
    fn bytes_that_are_no_message_are_no_row() {
        let whole = message();
        for length in 0..whole.len() {
            assert_eq!(split_message(&whole[..length]), None, "{length}");
            // A body that ends early gives a row only when the row is whole.
            let body = &whole[HEADER.min(length)..length];
            assert_eq!(row(body).is_some(), body.len() >= MESSAGE, "{length}");
        }
        // Lengths that cannot be: shorter than the header, longer than there is, of an attribute without an end.
        for length in [0_u32, 1, 15, 10_000, u32::MAX] {
            let mut bytes = whole.clone();
            bytes[0..4].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(split_message(&bytes), None, "{length}");
        }
        for length in [0_u16, 3, 4, u16::MAX] {
            let attributes = [length.to_ne_bytes(), 8_u16.to_ne_bytes()].concat();
            assert_eq!(attribute(&attributes, INET_DIAG_SKV6ONLY), None);
        }
    }

    #[test]
    fn the_end_of_a_listing_tells_an_error() {
        assert!(status(&0_i32.to_ne_bytes()).is_ok());
        assert!(status(&[]).is_ok());
        let error = status(&(-libc::ENOENT).to_ne_bytes()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }
}
