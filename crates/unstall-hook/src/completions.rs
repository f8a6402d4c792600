//! Where the end of a ConnectEx is seen, for the records alone: these functions are replaced only if somebody wants a report.

use crate::install::{OVERLAPPED_RESULT, QUEUED, QUEUED_EX};
use crate::records::Key;
use crate::state::{self, Busy};
use windows_sys::Win32::Foundation::{GetLastError, HANDLE, RtlNtStatusToDosError, WAIT_TIMEOUT};
use windows_sys::Win32::Networking::WinSock::{
    SOCKET, WSA_IO_INCOMPLETE, WSAEADDRNOTAVAIL, WSAECONNREFUSED, WSAENETUNREACH, WSAETIMEDOUT,
    WSAGetLastError,
};
use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_ENTRY};
use windows_sys::core::BOOL;

/// Winsock's code for the error with which a completion ends.
fn winsock_code(code: u32) -> i32 {
    /// ERROR_SEM_TIMEOUT, ERROR_CONNECTION_REFUSED, ERROR_NETWORK_UNREACHABLE, ERROR_HOST_UNREACHABLE.
    const KNOWN: [(u32, i32); 5] = [
        (121, WSAETIMEDOUT),
        (1225, WSAECONNREFUSED),
        (1231, WSAENETUNREACH),
        (1232, WSAENETUNREACH),
        (1214, WSAEADDRNOTAVAIL),
    ];
    let known = KNOWN.into_iter().find(|(windows, _)| *windows == code);
    known.map_or_else(|| i32::try_from(code).unwrap_or(i32::MAX), |(_, winsock)| winsock)
}

fn ended(overlapped: *mut OVERLAPPED, code: u32) {
    if let Some(records) = state::of_program().and_then(|state| state.records.as_ref()) {
        let _busy = Busy::begin();
        records.ended(Key::Overlapped(overlapped as usize), Some(winsock_code(code)));
    }
}

pub(crate) unsafe extern "system" fn queued(
    port: HANDLE,
    bytes: *mut u32,
    key: *mut usize,
    overlapped: *mut *mut OVERLAPPED,
    limit: u32,
) -> BOOL {
    let Some(original) = QUEUED.get() else { return 0 };
    // SAFETY: the caller's own arguments.
    let returned = unsafe { original(port, bytes, key, overlapped, limit) };
    // SAFETY: it reads a thread-local variable.
    let code = if returned == 0 { unsafe { GetLastError() } } else { 0 };
    if returned != 0 || code != WAIT_TIMEOUT && !overlapped.is_null() {
        // SAFETY: Windows has written it, or set it to null.
        let overlapped = unsafe { overlapped.read_unaligned() };
        if !overlapped.is_null() {
            ended(overlapped, code);
        }
    }
    returned
}

pub(crate) unsafe extern "system" fn queued_ex(
    port: HANDLE,
    entries: *mut OVERLAPPED_ENTRY,
    room: u32,
    number: *mut u32,
    limit: u32,
    alertable: BOOL,
) -> BOOL {
    let Some(original) = QUEUED_EX.get() else { return 0 };
    // SAFETY: the caller's own arguments.
    let returned = unsafe { original(port, entries, room, number, limit, alertable) };
    if returned == 0 {
        return returned;
    }
    // SAFETY: the call succeeded, so Windows has written the number.
    let number = unsafe { number.read_unaligned() };
    for index in 0..number as usize {
        let entry = entries.wrapping_add(index);
        // SAFETY: the call succeeded, so Windows has written that many entries.
        let overlapped = unsafe { entry.read_unaligned() }.lpOverlapped;
        let known = state::of_program().and_then(|state| state.records.as_ref());
        if !known.is_some_and(|records| records.knows(Key::Overlapped(overlapped as usize))) {
            continue;
        }
        // SAFETY: a pointer to a field, of which nothing is read here.
        let status = unsafe { &raw const (*overlapped).Internal };
        // SAFETY: it is the OVERLAPPED of a ConnectEx that has just ended, and the program has not been told so yet.
        let status = unsafe { status.read_unaligned() };
        let busy = Busy::begin();
        // SAFETY: it looks a number up.
        let code = unsafe { RtlNtStatusToDosError(i32::from_ne_bytes((status as u32).to_ne_bytes())) };
        drop(busy);
        ended(overlapped, code);
    }
    returned
}

pub(crate) unsafe extern "system" fn overlapped_result(
    socket: SOCKET,
    overlapped: *const OVERLAPPED,
    bytes: *mut u32,
    wait: BOOL,
    flags: *mut u32,
) -> BOOL {
    let Some(original) = OVERLAPPED_RESULT.get() else { return 0 };
    // SAFETY: the caller's own arguments.
    let returned = unsafe { original(socket, overlapped, bytes, wait, flags) };
    // SAFETY: it reads a thread-local variable.
    let code = if returned == 0 { unsafe { WSAGetLastError() } } else { 0 };
    if code != WSA_IO_INCOMPLETE {
        ended(overlapped.cast_mut(), code as u32);
    }
    returned
}
