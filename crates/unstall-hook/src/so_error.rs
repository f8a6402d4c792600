//! getsockopt, and the calls that tell that a connect has ended: select, WSAPoll, WSAEnumNetworkEvents.

use crate::install::{ENUM_EVENTS, GET_OPTION, POLL, SELECT};
use crate::records::Key;
use crate::state::{self, Busy, State};
use std::time::Duration;
use unstall_core::hook::fixes::Fix;
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Networking::WinSock::{
    FD_CONNECT, FD_CONNECT_BIT, FD_SET, POLLERR, POLLHUP, POLLNVAL, POLLWRNORM, SO_ERROR, SO_TYPE, SOCKET,
    SOCKET_ERROR, SOL_SOCKET, TIMEVAL, WSANETWORKEVENTS, WSAPOLLFD,
};
use windows_sys::Win32::System::Threading::GetCurrentThreadId;

pub(crate) unsafe extern "system" fn get_option(
    socket: SOCKET,
    level: i32,
    option: i32,
    value: *mut u8,
    length: *mut i32,
) -> i32 {
    let Some(original) = GET_OPTION.get() else { return SOCKET_ERROR };
    let state = if level == SOL_SOCKET && option == SO_ERROR { state::of_program() } else { None };
    let Some(state) = state else {
        // SAFETY: the caller's own arguments.
        return unsafe { original(socket, level, option, value, length) };
    };
    if is_success(state, socket) {
        // SO_TYPE is as long and never stalls: Winsock itself judges the socket, the buffer and its length.
        // SAFETY: the caller's own arguments.
        let returned = unsafe { original(socket, SOL_SOCKET, SO_TYPE, value, length) };
        if returned == 0 {
            // SAFETY: Winsock has just written a number of four bytes there.
            unsafe { value.cast::<i32>().write_unaligned(0) };
            return 0;
        }
    } else if state.settings.so_error_stall_ms > 0 {
        std::thread::sleep(Duration::from_millis(state.settings.so_error_stall_ms.into()));
    }
    // SAFETY: the caller's own arguments.
    let returned = unsafe { original(socket, level, option, value, length) };
    if returned == 0 {
        let _busy = Busy::begin();
        // SAFETY: Winsock has just written a number there: of four bytes, for a shorter buffer is an error.
        let code = unsafe { value.cast::<i32>().read_unaligned() };
        if code != 0 {
            told(state, socket, false, Some(code));
        }
    }
    returned
}

fn is_success(state: &State, socket: SOCKET) -> bool {
    let _busy = Busy::begin();
    state.has(Fix::NoSoErrorStall) && state.memory().is_success(socket as u64, thread(), state.now())
}

fn thread() -> u32 {
    // SAFETY: it reads a number.
    unsafe { GetCurrentThreadId() }
}

/// The program has been told something about a socket. `failure`: it speaks of one, with this code or an unknown one (-1).
fn told(state: &State, socket: SOCKET, writable: bool, failure: Option<i32>) {
    let begun = {
        let mut memory = state.memory();
        let begun = memory.is_begun(socket as u64);
        memory.told(socket as u64, writable, failure.is_some(), thread(), state.now());
        begun
    };
    let Some(records) = state.records.as_ref() else { return };
    match failure {
        // Its code comes with SO_ERROR, if the program asks.
        Some(-1) => {}
        Some(code) => records.ended(Key::Socket(socket), Some(code)),
        None if begun && writable => records.ended(Key::Socket(socket), Some(0)),
        None => {}
    }
}

/// Whether there is a connect whose end is waited for.
fn waits(state: &State) -> bool {
    !state.memory().is_empty()
}

pub(crate) unsafe extern "system" fn select(
    number: i32,
    read: *mut FD_SET,
    write: *mut FD_SET,
    except: *mut FD_SET,
    limit: *const TIMEVAL,
) -> i32 {
    let Some(original) = SELECT.get() else { return SOCKET_ERROR };
    // SAFETY: the caller's own arguments.
    let returned = unsafe { original(number, read, write, except, limit) };
    if returned <= 0 {
        return returned;
    }
    if let Some(state) = state::of_program() {
        let _busy = Busy::begin();
        if waits(state) {
            // SAFETY: the call succeeded, so Winsock has written the sets.
            let failed = unsafe { members(except) };
            for socket in &failed {
                told(state, *socket, false, Some(-1));
            }
            // SAFETY: as above.
            let writable = unsafe { members(write) };
            for socket in writable.iter().filter(|socket| !failed.contains(socket)) {
                told(state, *socket, true, None);
            }
        }
    }
    returned
}

/// The sockets in a set, which may be longer than its type says.
///
/// # Safety
///
/// Null, or a set that Winsock has written.
unsafe fn members(set: *const FD_SET) -> Vec<SOCKET> {
    if set.is_null() {
        return Vec::new();
    }
    // SAFETY: a pointer to a field of the set, of which nothing is read here.
    let count = unsafe { &raw const (*set).fd_count };
    // SAFETY: the caller's promise.
    let count = unsafe { count.read_unaligned() };
    // SAFETY: a pointer to a field of the set, of which nothing is read here.
    let first = unsafe { &raw const (*set).fd_array }.cast::<SOCKET>();
    (0..count as usize)
        .map(|index| {
            let socket = first.wrapping_add(index);
            // SAFETY: the set has that many members.
            unsafe { socket.read_unaligned() }
        })
        .collect()
}

pub(crate) unsafe extern "system" fn poll(sockets: *mut WSAPOLLFD, number: u32, limit: i32) -> i32 {
    let Some(original) = POLL.get() else { return SOCKET_ERROR };
    // SAFETY: the caller's own arguments.
    let returned = unsafe { original(sockets, number, limit) };
    if returned <= 0 {
        return returned;
    }
    if let Some(state) = state::of_program() {
        let _busy = Busy::begin();
        if waits(state) {
            for index in 0..number as usize {
                let entry = sockets.wrapping_add(index);
                // SAFETY: the call succeeded, so Winsock has read and written that many entries.
                let WSAPOLLFD { fd, revents, .. } = unsafe { entry.read_unaligned() };
                if revents & (POLLERR | POLLHUP | POLLNVAL) != 0 {
                    told(state, fd, false, Some(-1));
                } else if revents & POLLWRNORM != 0 {
                    told(state, fd, true, None);
                }
            }
        }
    }
    returned
}

pub(crate) unsafe extern "system" fn enum_events(
    socket: SOCKET,
    event: HANDLE,
    events: *mut WSANETWORKEVENTS,
) -> i32 {
    let Some(original) = ENUM_EVENTS.get() else { return SOCKET_ERROR };
    // SAFETY: the caller's own arguments.
    let returned = unsafe { original(socket, event, events) };
    if returned != 0 {
        return returned;
    }
    if let Some(state) = state::of_program() {
        let _busy = Busy::begin();
        // SAFETY: the call succeeded, so Winsock has written the events.
        let seen = unsafe { events.read_unaligned() };
        if seen.lNetworkEvents as u32 & FD_CONNECT != 0 {
            match seen.iErrorCode[FD_CONNECT_BIT as usize] {
                0 => told(state, socket, true, None),
                code => told(state, socket, false, Some(code)),
            }
        }
    }
    returned
}
