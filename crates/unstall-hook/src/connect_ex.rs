//! ConnectEx, which has no name to find it by: whoever asks WSAIoctl for its address gets another one.

use crate::connect::{passed, prepare};
use crate::install::IOCTL;
use crate::records::Key;
use crate::state::{self, Busy, State};
use core::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use windows_sys::Win32::Foundation::ERROR_IO_PENDING;
use windows_sys::Win32::Networking::WinSock::{
    LPWSAOVERLAPPED_COMPLETION_ROUTINE, SIO_GET_EXTENSION_FUNCTION_POINTER, SOCKADDR, SOCKET, SOCKET_ERROR,
    WSAGetLastError, WSAID_CONNECTEX,
};
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::core::{BOOL, GUID};

type ConnectEx = unsafe extern "system" fn(
    SOCKET,
    *const SOCKADDR,
    i32,
    *const c_void,
    u32,
    *mut u32,
    *mut OVERLAPPED,
) -> BOOL;

/// How many providers' functions can be replaced; further ones are left alone.
const PROVIDERS: usize = 8;

/// Each provider's own function. 0: none yet.
static ORIGINALS: [AtomicUsize; PROVIDERS] = [const { AtomicUsize::new(0) }; PROVIDERS];

/// The function that takes the place of each, since nothing but its own address tells which one was called.
const REPLACEMENTS: [ConnectEx; PROVIDERS] = [
    connect_ex::<0>,
    connect_ex::<1>,
    connect_ex::<2>,
    connect_ex::<3>,
    connect_ex::<4>,
    connect_ex::<5>,
    connect_ex::<6>,
    connect_ex::<7>,
];

pub(crate) unsafe extern "system" fn ioctl(
    socket: SOCKET,
    code: u32,
    input: *const c_void,
    input_length: u32,
    output: *mut c_void,
    output_length: u32,
    written: *mut u32,
    overlapped: *mut OVERLAPPED,
    routine: LPWSAOVERLAPPED_COMPLETION_ROUTINE,
) -> i32 {
    let Some(original) = IOCTL.get() else { return SOCKET_ERROR };
    // SAFETY: the caller's own arguments.
    let returned = unsafe {
        original(socket, code, input, input_length, output, output_length, written, overlapped, routine)
    };
    let asks_for_pointer = code == SIO_GET_EXTENSION_FUNCTION_POINTER
        && input_length as usize >= size_of::<GUID>()
        && output_length as usize >= size_of::<ConnectEx>();
    if returned == 0 && asks_for_pointer && state::of_program().is_some() {
        let _busy = Busy::begin();
        // SAFETY: the call succeeded, so Winsock has read a GUID there.
        let asked = unsafe { input.cast::<GUID>().read_unaligned() };
        if same(&asked, &WSAID_CONNECTEX) {
            // SAFETY: the call succeeded, so Winsock has written a pointer there.
            unsafe { replace(output.cast()) };
        }
    }
    returned
}

fn same(a: &GUID, b: &GUID) -> bool {
    (a.data1, a.data2, a.data3, a.data4) == (b.data1, b.data2, b.data3, b.data4)
}

/// # Safety
///
/// `answer` points to the address of a ConnectEx, which the caller may change.
unsafe fn replace(answer: *mut usize) {
    // SAFETY: the caller's promise.
    let function = unsafe { answer.read_unaligned() };
    if function == 0 || REPLACEMENTS.iter().any(|ours| *ours as usize == function) {
        return;
    }
    let place = ORIGINALS.iter().position(|original| {
        let taken = original.compare_exchange(0, function, Ordering::AcqRel, Ordering::Acquire);
        taken.is_ok() || taken == Err(function)
    });
    if let Some(place) = place {
        // SAFETY: the caller's promise.
        unsafe { answer.write_unaligned(REPLACEMENTS[place] as usize) };
    }
}

unsafe extern "system" fn connect_ex<const PROVIDER: usize>(
    socket: SOCKET,
    address: *const SOCKADDR,
    length: i32,
    buffer: *const c_void,
    buffer_length: u32,
    sent: *mut u32,
    overlapped: *mut OVERLAPPED,
) -> BOOL {
    let original = ORIGINALS[PROVIDER].load(Ordering::Acquire);
    // SAFETY: this function is handed out only in exchange for the ConnectEx that is kept in its place, for good.
    let original = unsafe { std::mem::transmute::<usize, ConnectEx>(original) };
    let Some(state) = state::of_program() else {
        // SAFETY: the caller's own arguments.
        return unsafe { original(socket, address, length, buffer, buffer_length, sent, overlapped) };
    };
    let prepared = prepare(state, socket, address, length, "ConnectEx");
    // Before the call, for its end may be seen by another thread before it returns.
    let key = Key::Overlapped(overlapped as usize);
    if let (Some(records), Some(record)) = (&state.records, prepared.record) {
        let _busy = Busy::begin();
        records.begun(key, record);
    }
    let to = passed(&prepared, address);
    // SAFETY: the caller's own arguments, or a copy of the address that is as long.
    let returned = unsafe { original(socket, to, length, buffer, buffer_length, sent, overlapped) };
    finish(state, socket, key, returned);
    returned
}

/// One that ended at once; the end of others is seen where the program sees it.
fn finish(state: &State, socket: SOCKET, key: Key, returned: BOOL) {
    // SAFETY: it reads a thread-local variable.
    let code = if returned == 0 { unsafe { WSAGetLastError() } } else { 0 };
    let _busy = Busy::begin();
    state.memory().forget(socket as u64);
    if code as u32 != ERROR_IO_PENDING {
        if let Some(records) = &state.records {
            records.ended(key, Some(code));
        }
    }
}
