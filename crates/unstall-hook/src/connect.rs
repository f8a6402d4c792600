//! connect, WSAConnect and closesocket, and what is done before any connect.

use crate::address;
use crate::install::{CLOSE, CONNECT, GET_OPTION, WSA_CONNECT};
use crate::records::{Key, Pending};
use crate::state::{self, Busy, State};
use std::os::windows::io::{BorrowedSocket, RawSocket};
use std::time::Instant;
use unstall_core::hook::fixes::{self, Fix};
use unstall_core::hook::record::Done;
use unstall_core::locality;
use unstall_core::syn::{SynRetransmissions, initial_rto};
use unstall_sys::{addresses, connect as sys, listeners};
use windows_sys::Win32::Networking::WinSock::{
    IPPROTO_TCP, QOS, SO_TYPE, SOCK_STREAM, SOCKADDR, SOCKADDR_STORAGE, SOCKET, SOCKET_ERROR, SOL_SOCKET,
    TCP_NODELAY, WSABUF, WSAEALREADY, WSAEINPROGRESS, WSAEWOULDBLOCK, WSAGetLastError, setsockopt,
};

/// What was done before a connect.
pub(crate) struct Prepared {
    /// Where it goes instead.
    pub(crate) instead: Option<SOCKADDR_STORAGE>,
    /// What is to be recorded; `None`: not a local connect, or nobody wants records.
    pub(crate) record: Option<Pending>,
}

/// What is done before a connect. The last error is left alone.
pub(crate) fn prepare(
    state: &State,
    socket: SOCKET,
    address: *const SOCKADDR,
    length: i32,
    api: &'static str,
) -> Prepared {
    let _busy = Busy::begin();
    let nothing = Prepared { instead: None, record: None };
    let Some(typed) = address::read(address, length) else { return nothing };
    if state.has(Fix::Nodelay) && is_stream(socket) {
        set_nodelay(socket);
    }
    let other = fixes::instead(state.fixes(), typed);
    let destination = other.unwrap_or(typed);
    let instead = other.map(|other| address::with_ip(address, other.ip()));
    if !locality::is_local_by(destination.ip(), addresses::is_own) {
        return Prepared { instead, record: None };
    }
    let wants = fixes::takes_retransmission_away(state.fixes(), state.build, true, || {
        listeners::look_first(destination)
    });
    let done = if wants && is_stream(socket) { take_retransmissions(state, socket) } else { Done::Nothing };
    let wanted = state.records.is_some() && is_stream(socket);
    let record = wanted.then(|| Pending { api, address: destination, done, start: Instant::now() });
    Prepared { instead, record }
}

/// The ioctl. What it says when it fails is in the records, and nothing else changes.
pub(crate) fn take_retransmissions(state: &State, socket: SOCKET) -> Done {
    let bytes = initial_rto(state.build, SynRetransmissions::NoneIfLocal, None);
    // SAFETY: the caller's socket, for the length of a call; if it is none, Winsock says so.
    let socket = unsafe { BorrowedSocket::borrow_raw(socket as RawSocket) };
    match sys::set_initial_rto(socket, bytes) {
        Ok(()) => Done::NoRetransmission,
        Err(_) => Done::NotSupported,
    }
}

fn is_stream(socket: SOCKET) -> bool {
    let (mut kind, mut length) = (0_i32, 4);
    let to: *mut i32 = &raw mut kind;
    let Some(get_option) = GET_OPTION.get() else { return false };
    // SAFETY: the value has the length that is passed with it.
    let code = unsafe { get_option(socket, SOL_SOCKET, SO_TYPE, to.cast(), &raw mut length) };
    code == 0 && kind == SOCK_STREAM
}

fn set_nodelay(socket: SOCKET) {
    let on = 1_u32.to_ne_bytes();
    // SAFETY: the value has the length that is passed with it. If it fails, the program is as it was without.
    unsafe { setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, on.as_ptr(), 4) };
}

/// What is done after connect or WSAConnect has returned. The last error is left alone.
fn finish(state: &State, socket: SOCKET, record: Option<Pending>, returned: i32) {
    // SAFETY: it reads a thread-local variable.
    let code = if returned == 0 { 0 } else { unsafe { WSAGetLastError() } };
    let _busy = Busy::begin();
    let id = socket as u64;
    match code {
        WSAEWOULDBLOCK => state.memory().begun(id),
        // It is under way already: nothing new.
        WSAEALREADY | WSAEINPROGRESS => return,
        _ => state.memory().forget(id),
    }
    if let (Some(records), Some(record)) = (&state.records, record) {
        if code == WSAEWOULDBLOCK {
            records.begun(Key::Socket(socket), record);
        } else {
            records.write(&record, Some(code));
        }
    }
}

/// The address to pass on: the caller's own, or the one that takes its place.
pub(crate) fn passed(prepared: &Prepared, address: *const SOCKADDR) -> *const SOCKADDR {
    prepared.instead.as_ref().map_or(address, |instead| std::ptr::from_ref(instead).cast())
}

pub(crate) unsafe extern "system" fn connect(socket: SOCKET, address: *const SOCKADDR, length: i32) -> i32 {
    let Some(original) = CONNECT.get() else { return SOCKET_ERROR };
    let Some(state) = state::of_program() else {
        // SAFETY: the caller's own arguments.
        return unsafe { original(socket, address, length) };
    };
    let prepared = prepare(state, socket, address, length, "connect");
    // SAFETY: the caller's own arguments, or a copy of the address that is as long.
    let returned = unsafe { original(socket, passed(&prepared, address), length) };
    finish(state, socket, prepared.record, returned);
    returned
}

pub(crate) unsafe extern "system" fn wsa_connect(
    socket: SOCKET,
    address: *const SOCKADDR,
    length: i32,
    data: *const WSABUF,
    answer: *mut WSABUF,
    qos: *const QOS,
    group_qos: *const QOS,
) -> i32 {
    let Some(original) = WSA_CONNECT.get() else { return SOCKET_ERROR };
    let Some(state) = state::of_program() else {
        // SAFETY: the caller's own arguments.
        return unsafe { original(socket, address, length, data, answer, qos, group_qos) };
    };
    let prepared = prepare(state, socket, address, length, "WSAConnect");
    let to = passed(&prepared, address);
    // SAFETY: the caller's own arguments, or a copy of the address that is as long.
    let returned = unsafe { original(socket, to, length, data, answer, qos, group_qos) };
    finish(state, socket, prepared.record, returned);
    returned
}

pub(crate) unsafe extern "system" fn close(socket: SOCKET) -> i32 {
    if let Some(state) = state::of_program() {
        let _busy = Busy::begin();
        state.memory().forget(socket as u64);
        if let Some(records) = &state.records {
            records.ended(Key::Socket(socket), None);
        }
    }
    // SAFETY: the caller's own argument.
    CLOSE.get().map_or(SOCKET_ERROR, |original| unsafe { original(socket) })
}
