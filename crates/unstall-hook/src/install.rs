//! Which functions are replaced, and how: all of them in one transaction, while every other thread of the process is suspended, or none.

use crate::{children, completions, connect, connect_ex, so_error, state};
use core::ffi::c_void;
use detour::{Function, HookableWith, Threads, Transaction, TypedDetour};
use std::ffi::CStr;
use std::sync::OnceLock;
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Networking::WinSock::{
    FD_SET, LPWSAOVERLAPPED_COMPLETION_ROUTINE, QOS, SOCKADDR, SOCKET, TIMEVAL, WSABUF, WSANETWORKEVENTS,
    WSAPOLLFD,
};
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_ENTRY};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::Threading::{PROCESS_INFORMATION, STARTUPINFOW};
use windows_sys::core::{BOOL, PCWSTR};
use windows_sys::w;

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
type Close = unsafe extern "system" fn(SOCKET) -> i32;
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
type GetOption = unsafe extern "system" fn(SOCKET, i32, i32, *mut u8, *mut i32) -> i32;
type Select = unsafe extern "system" fn(i32, *mut FD_SET, *mut FD_SET, *mut FD_SET, *const TIMEVAL) -> i32;
type Poll = unsafe extern "system" fn(*mut WSAPOLLFD, u32, i32) -> i32;
type EnumEvents = unsafe extern "system" fn(SOCKET, HANDLE, *mut WSANETWORKEVENTS) -> i32;
type CreateProcess = unsafe extern "system" fn(
    HANDLE,
    *const u16,
    *mut u16,
    *const SECURITY_ATTRIBUTES,
    *const SECURITY_ATTRIBUTES,
    BOOL,
    u32,
    *const c_void,
    *const u16,
    *const STARTUPINFOW,
    *mut PROCESS_INFORMATION,
    *mut HANDLE,
) -> BOOL;
type Queued = unsafe extern "system" fn(HANDLE, *mut u32, *mut usize, *mut *mut OVERLAPPED, u32) -> BOOL;
type QueuedEx = unsafe extern "system" fn(HANDLE, *mut OVERLAPPED_ENTRY, u32, *mut u32, u32, BOOL) -> BOOL;
type OverlappedResult =
    unsafe extern "system" fn(SOCKET, *const OVERLAPPED, *mut u32, BOOL, *mut u32) -> BOOL;

pub(crate) static CONNECT: Slot<Connect> = Slot::new();
pub(crate) static WSA_CONNECT: Slot<WsaConnect> = Slot::new();
pub(crate) static CLOSE: Slot<Close> = Slot::new();
pub(crate) static IOCTL: Slot<Ioctl> = Slot::new();
pub(crate) static GET_OPTION: Slot<GetOption> = Slot::new();
pub(crate) static SELECT: Slot<Select> = Slot::new();
pub(crate) static POLL: Slot<Poll> = Slot::new();
pub(crate) static ENUM_EVENTS: Slot<EnumEvents> = Slot::new();
pub(crate) static CREATE_PROCESS: Slot<CreateProcess> = Slot::new();
pub(crate) static QUEUED: Slot<Queued> = Slot::new();
pub(crate) static QUEUED_EX: Slot<QueuedEx> = Slot::new();
pub(crate) static OVERLAPPED_RESULT: Slot<OverlappedResult> = Slot::new();

const WINSOCK: PCWSTR = w!("ws2_32.dll");
const KERNEL: PCWSTR = w!("kernel32.dll");
const KERNEL_BASE: PCWSTR = w!("kernelbase.dll");

/// Replaces the functions.
pub(crate) fn install() -> Result<(), String> {
    CONNECT.fill(WINSOCK, c"connect", connect::connect)?;
    WSA_CONNECT.fill(WINSOCK, c"WSAConnect", connect::wsa_connect)?;
    CLOSE.fill(WINSOCK, c"closesocket", connect::close)?;
    IOCTL.fill(WINSOCK, c"WSAIoctl", connect_ex::ioctl)?;
    GET_OPTION.fill(WINSOCK, c"getsockopt", so_error::get_option)?;
    SELECT.fill(WINSOCK, c"select", so_error::select)?;
    POLL.fill(WINSOCK, c"WSAPoll", so_error::poll)?;
    ENUM_EVENTS.fill(WINSOCK, c"WSAEnumNetworkEvents", so_error::enum_events)?;
    CREATE_PROCESS
        .fill(KERNEL_BASE, c"CreateProcessInternalW", children::create_process)
        .or_else(|_| CREATE_PROCESS.fill(KERNEL, c"CreateProcessInternalW", children::create_process))?;
    let mut transaction = Transaction::new();
    CONNECT.enable(&mut transaction);
    WSA_CONNECT.enable(&mut transaction);
    CLOSE.enable(&mut transaction);
    IOCTL.enable(&mut transaction);
    GET_OPTION.enable(&mut transaction);
    SELECT.enable(&mut transaction);
    POLL.enable(&mut transaction);
    ENUM_EVENTS.enable(&mut transaction);
    CREATE_PROCESS.enable(&mut transaction);
    if state::wants_records() {
        QUEUED.fill(KERNEL, c"GetQueuedCompletionStatus", completions::queued)?;
        QUEUED_EX.fill(KERNEL, c"GetQueuedCompletionStatusEx", completions::queued_ex)?;
        OVERLAPPED_RESULT.fill(WINSOCK, c"WSAGetOverlappedResult", completions::overlapped_result)?;
        QUEUED.enable(&mut transaction);
        QUEUED_EX.enable(&mut transaction);
        OVERLAPPED_RESULT.enable(&mut transaction);
    }
    // SAFETY: every other thread is suspended while the functions are changed.
    unsafe { transaction.commit(Threads::All) }.map_err(|error| error.to_string())
}

/// A function whose place is taken, and how to call it.
pub(crate) struct Slot<F: Function>(OnceLock<TypedDetour<F>>);

impl<F: Function> Slot<F> {
    const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The function as it was.
    pub(crate) fn get(&self) -> Option<F> {
        // SAFETY: the DLL, with the detour in it, stays as long as the process once it is installed.
        self.0.get().map(|detour| unsafe { detour.trampoline() })
    }

    /// Prepares the replacement. The process is not changed yet.
    fn fill(&self, module: PCWSTR, name: &CStr, with: F) -> Result<(), String>
    where
        F: HookableWith<F>,
    {
        let address =
            export(module, name).ok_or_else(|| format!("there is no {}", name.to_string_lossy()))?;
        // SAFETY: a function's address, as the type of the function of that name in its documentation; both are one pointer.
        let target = unsafe { std::mem::transmute_copy::<*const c_void, F>(&address) };
        // SAFETY: both have the same type, and the DLL, with `with` in it, is not unloaded once it is installed.
        let detour = unsafe { TypedDetour::new(target, with) }.map_err(|error| error.to_string())?;
        self.0.set(detour).map_err(|_| "installed twice".to_owned())
    }

    fn enable<'a>(&'a self, transaction: &mut Transaction<'a>) {
        if let Some(detour) = self.0.get() {
            transaction.enable(detour);
        }
    }
}

fn export(module: PCWSTR, name: &CStr) -> Option<*const c_void> {
    // SAFETY: the name ends with a zero.
    let module = unsafe { GetModuleHandleW(module) };
    if module.is_null() {
        return None;
    }
    // SAFETY: the module is loaded, and the name ends with a zero.
    let function = unsafe { GetProcAddress(module, name.as_ptr().cast()) };
    function.map(|function| function as *const c_void)
}
