//! From the four bytes of the ioctl to the TTL and hop limit that the lab understands.

use core::ffi::c_void;
use windows_sys::Win32::Networking::WinSock::{
    AF_INET6, IP_TTL, IPPROTO_IP, IPPROTO_IPV6, IPV6_UNICAST_HOPS, SO_PROTOCOL_INFOW, SOCK_STREAM, SOCKET,
    SOL_SOCKET, WSAEFAULT, WSAEOPNOTSUPP, WSAPROTOCOL_INFOW, getsockopt, setsockopt,
};

/// `TCP_INITIAL_RTO_NO_SYN_RETRANSMISSIONS`.
const NONE: u8 = 0xFE;

/// The TTL of a socket that asks for no retry, as `unstall-lab` has it.
const TTL_NONE: u8 = 254;

/// The TTL of a socket that asks for n retries is this and n more.
const TTL_BASE: u8 = 200;

/// What the ioctl does: 0, or Winsock's error code.
pub(crate) fn apply(socket: SOCKET, input: &[u8]) -> i32 {
    let Some(retransmissions) = input.get(..4).map(|input| input[2]) else { return WSAEFAULT };
    let Some(is_ipv6) = family(socket) else { return WSAEOPNOTSUPP };
    let ttl = match retransmissions {
        NONE => TTL_NONE,
        1..=8 => TTL_BASE + retransmissions,
        // The default, or what Windows takes for it.
        _ => return 0,
    };
    // A socket of both families sends IPv4 with IP_TTL to an IPv4-mapped address; on others the option may fail.
    let v4 = set(socket, IPPROTO_IP, IP_TTL, ttl);
    let code = if is_ipv6 { set(socket, IPPROTO_IPV6, IPV6_UNICAST_HOPS, ttl) } else { v4 };
    if code == 0 { 0 } else { WSAEOPNOTSUPP }
}

/// Whether a TCP socket is an IPv6 one; `None`: it is no TCP socket.
fn family(socket: SOCKET) -> Option<bool> {
    let mut info = WSAPROTOCOL_INFOW::default();
    let mut length = length_of::<WSAPROTOCOL_INFOW>();
    let to: *mut WSAPROTOCOL_INFOW = &raw mut info;
    // SAFETY: the buffer has the length that is passed with it.
    let code = unsafe { getsockopt(socket, SOL_SOCKET, SO_PROTOCOL_INFOW, to.cast(), &raw mut length) };
    (code == 0 && info.iSocketType == SOCK_STREAM).then_some(info.iAddressFamily == i32::from(AF_INET6))
}

fn set(socket: SOCKET, level: i32, option: i32, value: u8) -> i32 {
    let value = u32::from(value);
    let from: *const c_void = (&raw const value).cast();
    // SAFETY: the value has the length that is passed with it.
    unsafe { setsockopt(socket, level, option, from.cast(), length_of::<u32>()) }
}

/// A size as Winsock takes it.
#[expect(clippy::cast_possible_wrap, reason = "small types only")]
const fn length_of<T>() -> i32 {
    size_of::<T>() as i32
}
