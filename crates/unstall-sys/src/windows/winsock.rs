//! Winsock's start, its last error, and stream sockets.

use std::net::SocketAddr;
use std::os::windows::io::{AsRawSocket, FromRawSocket, OwnedSocket, RawSocket};
use std::ptr::null;
use std::sync::OnceLock;
use windows_sys::Win32::Networking::WinSock::{
    AF_INET, AF_INET6, INVALID_SOCKET, IPPROTO_TCP, SO_EXCLUSIVEADDRUSE, SOCK_STREAM, SOCKET, SOL_SOCKET,
    WSA_FLAG_NO_HANDLE_INHERIT, WSA_FLAG_OVERLAPPED, WSADATA, WSAGetLastError, WSASocketW, WSAStartup,
    setsockopt,
};

/// Winsock 2.2, which every Windows since 98 has.
const VERSION: u16 = 0x0202;

/// Starts Winsock, once per process. It is never stopped: the OS does that when the process ends, and a stop would end the
/// sockets that others still use.
pub(crate) fn startup() -> Result<(), i32> {
    static CODE: OnceLock<i32> = OnceLock::new();
    let code = *CODE.get_or_init(|| {
        let mut data = WSADATA::default();
        // SAFETY: `data` is writable and large enough; nothing of it is used.
        unsafe { WSAStartup(VERSION, &raw mut data) }
    });
    if code == 0 { Ok(()) } else { Err(code) }
}

/// The error code of this thread's last failed call of Winsock.
pub(crate) fn last_error() -> i32 {
    // SAFETY: it reads a thread-local variable.
    unsafe { WSAGetLastError() }
}

/// A new TCP socket of the family of `address`: overlapped, blocking, not inherited by programs that this one starts.
pub(crate) fn stream(address: SocketAddr) -> Result<OwnedSocket, i32> {
    startup()?;
    let family = if address.is_ipv4() { AF_INET } else { AF_INET6 };
    let flags = WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT;
    // SAFETY: no pointer but null, which asks for no particular provider.
    let socket = unsafe { WSASocketW(family.into(), SOCK_STREAM, IPPROTO_TCP, null(), 0, flags) };
    if socket == INVALID_SOCKET {
        return Err(last_error());
    }
    // SAFETY: it was made just now, and nobody else knows it.
    Ok(unsafe { OwnedSocket::from_raw_socket(socket as RawSocket) })
}

/// Lets a bind fail when anybody has the port, on this address or on all (SO_EXCLUSIVEADDRUSE).
pub(crate) fn set_exclusive(socket: &OwnedSocket) -> Result<(), i32> {
    const SIZE: i32 = 4;
    let on = 1_i32.to_ne_bytes();
    // SAFETY: the value has the length that is passed with it.
    result(unsafe { setsockopt(raw(socket), SOL_SOCKET, SO_EXCLUSIVEADDRUSE, on.as_ptr(), SIZE) })
}

/// The socket as Winsock's functions take it.
pub(crate) fn raw(socket: &impl AsRawSocket) -> SOCKET {
    socket.as_raw_socket() as SOCKET
}

/// What a call that returns 0 or SOCKET_ERROR came to.
pub(crate) fn result(returned: i32) -> Result<(), i32> {
    if returned == 0 { Ok(()) } else { Err(last_error()) }
}
