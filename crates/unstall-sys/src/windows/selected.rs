//! Without ConnectEx: a non-blocking connect whose end, with its error code, Winsock reports through an event. Like a
//! completion, and unlike SO_ERROR, the report does not wait.

use super::event::Event;
use super::winsock::{last_error, raw, result};
use socket2::{SockAddr, SockRef};
use std::os::windows::io::OwnedSocket;
use windows_sys::Win32::Networking::WinSock::{
    FD_CONNECT_BIT, WSAEVENT, WSAEWOULDBLOCK, WSAEnumNetworkEvents, WSAEventSelect, WSANETWORKEVENTS, connect,
};

/// FD_CONNECT, in the type in which events are passed.
const CONNECT: i32 = 1 << FD_CONNECT_BIT;

/// No event object.
const NONE: WSAEVENT = 0;

/// Begins to connect `socket`. `event` is signalled when the connect has ended.
pub(crate) fn begin(socket: &OwnedSocket, address: &SockAddr, event: &Event) -> Result<(), i32> {
    select(socket, event.handle() as WSAEVENT, CONNECT)?;
    // SAFETY: the address has the length that is passed with it.
    let returned = unsafe { connect(raw(socket), address.as_ptr().cast(), address.len()) };
    match result(returned) {
        Err(code) if code != WSAEWOULDBLOCK => Err(code),
        _ => Ok(()),
    }
}

/// What the connect came to; `None`: it has not ended. It is told once.
pub(crate) fn outcome(socket: &OwnedSocket) -> Option<Result<(), i32>> {
    let mut events = WSANETWORKEVENTS::default();
    // SAFETY: `events` is writable and of the size that the function expects; no event is to be reset.
    if unsafe { WSAEnumNetworkEvents(raw(socket), NONE, &raw mut events) } != 0 {
        return Some(Err(last_error()));
    }
    if events.lNetworkEvents & CONNECT == 0 {
        return None;
    }
    match events.iErrorCode[FD_CONNECT_BIT as usize] {
        0 => Some(Ok(())),
        code => Some(Err(code)),
    }
}

/// The socket of a connect that succeeded, made an ordinary, blocking one again.
pub(crate) fn finish(socket: OwnedSocket) -> Result<OwnedSocket, i32> {
    select(&socket, NONE, 0)?;
    match SockRef::from(&socket).set_nonblocking(false) {
        Ok(()) => Ok(socket),
        Err(_) => Err(last_error()),
    }
}

fn select(socket: &OwnedSocket, event: WSAEVENT, what: i32) -> Result<(), i32> {
    // SAFETY: the event is open, or none.
    result(unsafe { WSAEventSelect(raw(socket), event, what) })
}
