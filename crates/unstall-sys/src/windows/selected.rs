//! Without ConnectEx: a non-blocking connect whose end, with its error code, Winsock reports through an event. Like a
//! completion, and unlike SO_ERROR, the report does not wait.

use super::event::Event;
use super::winsock::{last_error, raw, result};
use socket2::{SockAddr, SockRef};
use std::os::windows::io::{AsRawSocket, AsSocket};
use std::ptr::null_mut;
use windows_sys::Win32::Networking::WinSock::{
    FD_CONNECT, FD_CONNECT_BIT, WSAEWOULDBLOCK, WSAEnumNetworkEvents, WSAEventSelect, WSANETWORKEVENTS, connect,
};

/// Begins to connect `socket`. `event` is signalled when the connect has ended.
pub(crate) fn begin(socket: &impl AsRawSocket, address: &SockAddr, event: &Event) -> Result<(), i32> {
    select(socket, event.handle() as _, FD_CONNECT as i32)?;
    // SAFETY: the address has the length that is passed with it.
    let returned = unsafe { connect(raw(socket), address.as_ptr().cast(), address.len()) };
    match result(returned) {
        Err(code) if code != WSAEWOULDBLOCK => Err(code),
        _ => Ok(()),
    }
}

/// What the connect came to; `None`: it has not ended. It is told once.
pub(crate) fn outcome(socket: &impl AsRawSocket) -> Option<Result<(), i32>> {
    let mut events = WSANETWORKEVENTS::default();
    // SAFETY: `events` is writable and of the size that the function expects.
    if unsafe { WSAEnumNetworkEvents(raw(socket), null_mut::<core::ffi::c_void>() as _, &raw mut events) } != 0 {
        return Some(Err(last_error()));
    }
    if events.lNetworkEvents & FD_CONNECT as i32 == 0 {
        return None;
    }
    match events.iErrorCode[FD_CONNECT_BIT as usize] {
        0 => Some(Ok(())),
        code => Some(Err(code)),
    }
}

/// Makes the socket an ordinary, blocking one again.
pub(crate) fn finish(socket: &(impl AsRawSocket + AsSocket)) -> Result<(), i32> {
    select(socket, 0, 0)?;
    SockRef::from(socket).set_nonblocking(false).map_err(|error| error.raw_os_error().unwrap_or_default())
}

fn select(socket: &impl AsRawSocket, event: isize, what: i32) -> Result<(), i32> {
    // SAFETY: the event is open, or 0 for none.
    result(unsafe { WSAEventSelect(raw(socket), event, what) })
}
