//! The functions that take the place of Winsock's.

use crate::{log, retries};
use core::ffi::c_void;
use detour::{Function, HookableWith, TypedDetour};
use std::ffi::CStr;
use std::fmt::Write;
use std::sync::OnceLock;
use windows_sys::Win32::Networking::WinSock::{
    LPWSAOVERLAPPED_COMPLETION_ROUTINE, QOS, SIO_GET_EXTENSION_FUNCTION_POINTER, SIO_TCP_INITIAL_RTO,
    SOCKADDR, SOCKET, SOCKET_ERROR, WSABUF, WSAID_CONNECTEX, WSASetLastError,
};
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::Win32::System::LibraryLoader::{GetProcAddress, LoadLibraryW};
use windows_sys::core::{BOOL, GUID};
use windows_sys::w;

type Ioctl = unsafe extern "system" fn(
    SOCKET,
    u32,
    *const c_void,
    u32,
    *mut c_void,
    u32,
    *mut u32,
    *mut OVERLAPPED,
    LPWSAOVERLAPPED_COMPLETION_ROUTINE,
) -> i32;
type Connect = unsafe extern "system" fn(SOCKET, *const SOCKADDR, i32) -> i32;
type WsaConnect = unsafe extern "system" fn(
    SOCKET,
    *const SOCKADDR,
    i32,
    *const WSABUF,
    *mut WSABUF,
    *const QOS,
    *const QOS,
) -> i32;
type ConnectEx = unsafe extern "system" fn(
    SOCKET,
    *const SOCKADDR,
    i32,
    *const c_void,
    u32,
    *mut u32,
    *mut OVERLAPPED,
) -> BOOL;
type Listen = unsafe extern "system" fn(SOCKET, i32) -> i32;

static IOCTL: OnceLock<TypedDetour<Ioctl>> = OnceLock::new();
static CONNECT: OnceLock<TypedDetour<Connect>> = OnceLock::new();
static WSA_CONNECT: OnceLock<TypedDetour<WsaConnect>> = OnceLock::new();
static LISTEN: OnceLock<TypedDetour<Listen>> = OnceLock::new();
/// ConnectEx has no name to find it by: whoever asks for its address gets another.
static CONNECT_EX: OnceLock<ConnectEx> = OnceLock::new();

/// Replaces every function that has a name.
pub(crate) fn install() -> Result<(), String> {
    // SAFETY: the types are those of the functions' documentation, here and below.
    let target = unsafe { std::mem::transmute::<*const c_void, Ioctl>(export(c"WSAIoctl")?) };
    replace(&IOCTL, target, ioctl)?;
    // SAFETY: as above.
    let target = unsafe { std::mem::transmute::<*const c_void, Connect>(export(c"connect")?) };
    replace(&CONNECT, target, connect)?;
    // SAFETY: as above.
    let target = unsafe { std::mem::transmute::<*const c_void, WsaConnect>(export(c"WSAConnect")?) };
    replace(&WSA_CONNECT, target, wsa_connect)?;
    // SAFETY: as above.
    let target = unsafe { std::mem::transmute::<*const c_void, Listen>(export(c"listen")?) };
    replace(&LISTEN, target, listen)
}

fn export(name: &CStr) -> Result<*const c_void, String> {
    // SAFETY: the name ends with a zero.
    let module = unsafe { LoadLibraryW(w!("ws2_32.dll")) };
    // SAFETY: as above; a null module has no functions.
    let function = unsafe { GetProcAddress(module, name.as_ptr().cast()) };
    function.map(|function| function as *const c_void).ok_or_else(|| format!("no {name:?}"))
}

fn replace<F: Function + HookableWith<F>>(
    slot: &OnceLock<TypedDetour<F>>,
    target: F,
    with: F,
) -> Result<(), String> {
    // SAFETY: both have the same type, and the DLL, with `with` in it, is never unloaded.
    let detour = unsafe { TypedDetour::new(target, with) }.map_err(|error| error.to_string())?;
    if slot.set(detour).is_err() {
        return Ok(());
    }
    let Some(detour) = slot.get() else { return Ok(()) };
    // SAFETY: the slot is set, so that `with` finds the function that it replaces.
    unsafe { detour.enable() }.map_err(|error| error.to_string())
}

/// The function whose place was taken.
fn original<F: Function>(slot: &OnceLock<TypedDetour<F>>) -> Option<F> {
    // SAFETY: the detour lives as long as the process.
    slot.get().map(|detour| unsafe { detour.trampoline() })
}

unsafe extern "system" fn ioctl(
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
    if code == SIO_TCP_INITIAL_RTO {
        let input = if input.is_null() {
            &[]
        } else {
            // SAFETY: the caller says that so many bytes are there.
            unsafe { std::slice::from_raw_parts(input.cast::<u8>(), input_length as usize) }
        };
        return initial_rto(socket, input, written);
    }
    let Some(original) = original(&IOCTL) else { return SOCKET_ERROR };
    // SAFETY: the caller's own arguments.
    let returned = unsafe {
        original(socket, code, input, input_length, output, output_length, written, overlapped, routine)
    };
    let asks_for_pointer = code == SIO_GET_EXTENSION_FUNCTION_POINTER
        && input_length as usize >= size_of::<GUID>()
        && output_length as usize >= size_of::<ConnectEx>();
    if returned == 0 && asks_for_pointer {
        // SAFETY: the call succeeded, so both buffers are there with at least these lengths.
        unsafe { replace_connect_ex(input.cast(), output.cast()) };
    }
    returned
}

/// The ioctl, done and logged. Leaves the last error as a call of Winsock does.
fn initial_rto(socket: SOCKET, input: &[u8], written: *mut u32) -> i32 {
    let code = retries::apply(socket, input);
    let bytes = input.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    });
    log::line(format_args!("ioctl socket={socket} bytes={bytes} code={code}"));
    if !written.is_null() {
        // SAFETY: the caller says that a number can be written there.
        unsafe { *written = 0 };
    }
    // SAFETY: it sets a thread-local variable.
    unsafe { WSASetLastError(code) };
    if code == 0 { 0 } else { SOCKET_ERROR }
}

/// # Safety
///
/// `asked` points to a GUID, and `answer` to a function pointer where that is ConnectEx's.
unsafe fn replace_connect_ex(asked: *const GUID, answer: *mut ConnectEx) {
    // SAFETY: the caller's promise.
    let asked = unsafe { asked.read_unaligned() };
    let same = (asked.data1, asked.data2, asked.data3, asked.data4)
        == (WSAID_CONNECTEX.data1, WSAID_CONNECTEX.data2, WSAID_CONNECTEX.data3, WSAID_CONNECTEX.data4);
    if same {
        // SAFETY: the caller's promise.
        let original = unsafe { answer.read_unaligned() };
        // Wine has one provider, and so one ConnectEx.
        CONNECT_EX.get_or_init(|| original);
        // SAFETY: the caller's promise.
        unsafe { answer.write_unaligned(connect_ex) };
    }
}

unsafe extern "system" fn connect(socket: SOCKET, address: *const SOCKADDR, length: i32) -> i32 {
    log::line(format_args!("connect socket={socket}"));
    // SAFETY: the caller's own arguments.
    original(&CONNECT).map_or(SOCKET_ERROR, |original| unsafe { original(socket, address, length) })
}

unsafe extern "system" fn wsa_connect(
    socket: SOCKET,
    address: *const SOCKADDR,
    length: i32,
    data: *const WSABUF,
    answer: *mut WSABUF,
    qos: *const QOS,
    group_qos: *const QOS,
) -> i32 {
    log::line(format_args!("WSAConnect socket={socket}"));
    let Some(original) = original(&WSA_CONNECT) else { return SOCKET_ERROR };
    // SAFETY: the caller's own arguments.
    unsafe { original(socket, address, length, data, answer, qos, group_qos) }
}

unsafe extern "system" fn connect_ex(
    socket: SOCKET,
    address: *const SOCKADDR,
    length: i32,
    buffer: *const c_void,
    buffer_length: u32,
    sent: *mut u32,
    overlapped: *mut OVERLAPPED,
) -> BOOL {
    log::line(format_args!("ConnectEx socket={socket}"));
    let Some(original) = CONNECT_EX.get() else { return 0 };
    // SAFETY: the caller's own arguments.
    unsafe { original(socket, address, length, buffer, buffer_length, sent, overlapped) }
}

unsafe extern "system" fn listen(socket: SOCKET, backlog: i32) -> i32 {
    log::line(format_args!("listen socket={socket}"));
    // SAFETY: the caller's own arguments.
    original(&LISTEN).map_or(SOCKET_ERROR, |original| unsafe { original(socket, backlog) })
}
