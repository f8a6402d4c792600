//! Fast refusal for a socket that somebody else connects.

use crate::guard::guard;
use crate::{NO_SOCKET, UnstallSocket, last};
use socket2::{SockAddr, SockAddrStorage, socklen_t};
use std::ffi::c_void;
use std::mem::size_of;
use std::net::SocketAddr;
use std::ptr;
use unstall::Prepared;

/// What was done about a socket. Whatever it is, the socket can be connected as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum UnstallPrepared {
    /// Nothing, because this OS reports a refusal at once by itself (every Unix).
    NotNeeded = 0,
    /// The first reset is final (Windows 10 build 16299 and later).
    NoRetransmission = 1,
    /// One retransmission is left, about 510 ms: the least that Windows before build 16299 can do.
    OneRetransmission = 2,
    /// Nothing, because the address is not one of this host.
    NotLocal = 3,
    /// The OS did not take the option; `unstall_last_os_error` says why.
    NotSupported = 4,
    /// An argument makes no sense; nothing was done.
    InvalidArgument = 5,
    /// It is not known what was done.
    Unknown = 6,
    /// Nothing, because somebody listens at the address: when the accept queue is full for a moment, the OS's own retransmission gets
    /// the connect through.
    Listening = 7,
    /// Nothing, because it is not known whether somebody listens at the address.
    ListenersUnknown = 8,
}

/// Prepares a socket that is not connected yet, so that its connect to `address` is refused at once where the OS would
/// otherwise wait (Windows: 2 s). Call it right before the connect; the result can be ignored. It looks first: where somebody
/// listens, nothing is done.
///
/// `address` is a `struct sockaddr_in` or `struct sockaddr_in6` of `length` bytes, as for `connect`. The socket remains
/// the caller's.
///
/// # Safety
/// `address` is null or points to `length` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unstall_prepare(
    socket: UnstallSocket,
    address: *const c_void,
    length: usize,
) -> UnstallPrepared {
    guard(UnstallPrepared::Unknown, || {
        // SAFETY: the caller promises it.
        let address = unsafe { read_address(address, length) };
        let Some(address) = address.filter(|_| is_socket(socket)) else {
            last::os_error(0);
            return UnstallPrepared::InvalidArgument;
        };
        // SAFETY: it is not the number that stands for none, and is used within this call only. If it is no open socket the OS
        // says so.
        let prepared = unsafe { prepare(socket, address) };
        last::os_error(if let Prepared::NotSupported(code) = prepared { code } else { 0 });
        named(prepared)
    })
}

#[cfg(not(windows))]
fn is_socket(socket: UnstallSocket) -> bool {
    socket > NO_SOCKET
}

#[cfg(windows)]
fn is_socket(socket: UnstallSocket) -> bool {
    socket != NO_SOCKET
}

/// # Safety
/// `socket` is not the number that stands for none.
#[cfg(not(windows))]
unsafe fn prepare(socket: UnstallSocket, address: SocketAddr) -> Prepared {
    // SAFETY: the caller promises it.
    let socket = unsafe { std::os::fd::BorrowedFd::borrow_raw(socket) };
    unstall::prepare(&socket, address)
}

/// # Safety
/// `socket` is not the number that stands for none.
#[cfg(windows)]
unsafe fn prepare(socket: UnstallSocket, address: SocketAddr) -> Prepared {
    // SAFETY: the caller promises it.
    let socket = unsafe { std::os::windows::io::BorrowedSocket::borrow_raw(socket as _) };
    unstall::prepare(&socket, address)
}

/// The address; `None`: it is of another family than IPv4 and IPv6, or too short for its own.
///
/// # Safety
/// `address` is null or points to `length` readable bytes.
unsafe fn read_address(address: *const c_void, length: usize) -> Option<SocketAddr> {
    if address.is_null() || !(size_of::<socklen_t>()..=size_of::<SockAddrStorage>()).contains(&length) {
        return None;
    }
    let stated = socklen_t::try_from(length).ok()?;
    let mut storage = SockAddrStorage::zeroed();
    // SAFETY: `length` bytes are readable by the caller's promise and fit; any bytes are valid for an address.
    unsafe { ptr::copy_nonoverlapping(address.cast::<u8>(), (&raw mut storage).cast::<u8>(), length) };
    // SAFETY: the storage is initialised, of the family's bytes at least as zeros.
    let read = unsafe { SockAddr::new(storage, stated) }.as_socket()?;
    (length >= SockAddr::from(read).len() as usize).then_some(read)
}

fn named(prepared: Prepared) -> UnstallPrepared {
    match prepared {
        Prepared::NotNeeded => UnstallPrepared::NotNeeded,
        Prepared::NoRetransmission => UnstallPrepared::NoRetransmission,
        Prepared::OneRetransmission => UnstallPrepared::OneRetransmission,
        Prepared::NotLocal => UnstallPrepared::NotLocal,
        Prepared::NotSupported(_) => UnstallPrepared::NotSupported,
        Prepared::Listening => UnstallPrepared::Listening,
        Prepared::ListenersUnknown => UnstallPrepared::ListenersUnknown,
        _ => UnstallPrepared::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(address: &SockAddr, length: usize) -> Option<SocketAddr> {
        // SAFETY: no more than the address has.
        unsafe { read_address(address.as_ptr().cast(), length.min(address.len() as usize)) }
    }

    #[test]
    fn addresses_are_read_as_connect_reads_them() {
        for text in ["127.0.0.1:9", "[::1]:80", "[fe80::1%3]:80"] {
            let address: SocketAddr = text.parse().expect("an address");
            let raw = SockAddr::from(address);
            let length = raw.len() as usize;
            assert_eq!(read(&raw, length), Some(address));
            assert_eq!(read(&raw, length - 1), None, "{text}, too short");
            assert_eq!(read(&raw, 0), None);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let zeros = [0u8; 256];
        // SAFETY: there are 256 bytes, and null is allowed.
        let of = |length| unsafe { read_address(zeros.as_ptr().cast(), length) };
        assert_eq!([of(0), of(1), of(16), of(28), of(129), of(256)], [None; 6]);
        // SAFETY: null is allowed.
        assert_eq!(unsafe { read_address(ptr::null(), 16) }, None);
    }
}
