//! Other processes: opening, their kind, letting them go.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Security::{GetTokenInformation, TOKEN_QUERY, TokenIsAppContainer};
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, IsWow64Process, OpenProcess, OpenProcessToken, PROCESS_CREATE_THREAD,
    PROCESS_QUERY_INFORMATION, PROCESS_VM_OPERATION, PROCESS_VM_READ, PROCESS_VM_WRITE,
};

#[link(name = "ntdll")]
unsafe extern "system" {
    fn NtResumeProcess(process: HANDLE) -> i32;
}

/// A process with the rights that loading a DLL needs.
///
/// # Errors
///
/// There is no such process, or it is protected.
pub fn open(id: u32) -> io::Result<OwnedHandle> {
    let rights = PROCESS_CREATE_THREAD
        | PROCESS_QUERY_INFORMATION
        | PROCESS_VM_OPERATION
        | PROCESS_VM_READ
        | PROCESS_VM_WRITE;
    // SAFETY: no pointer is passed.
    let process = unsafe { OpenProcess(rights, 0, id) };
    if process.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was opened just now, and nobody else knows it.
    Ok(unsafe { OwnedHandle::from_raw_handle(process) })
}

/// Whether a process is a 32-bit or a 64-bit one.
///
/// # Errors
///
/// What Windows says.
pub fn bits(process: BorrowedHandle<'_>) -> io::Result<u32> {
    if is_wow64(process.as_raw_handle())? {
        return Ok(32);
    }
    // SAFETY: the pseudo handle needs no closing.
    let this = unsafe { GetCurrentProcess() };
    // One that is not emulated is as the OS is; a 32-bit program of ours is emulated on a 64-bit OS.
    Ok(if cfg!(target_pointer_width = "64") || is_wow64(this)? { 64 } else { 32 })
}

fn is_wow64(process: HANDLE) -> io::Result<bool> {
    let mut answer = 0;
    // SAFETY: the process is open, and `answer` is writable.
    let told = unsafe { IsWow64Process(process, &raw mut answer) };
    if told == 0 { Err(io::Error::last_os_error()) } else { Ok(answer != 0) }
}

/// Whether a process runs in an AppContainer. False where Windows does not tell.
pub fn is_app_container(process: BorrowedHandle<'_>) -> bool {
    let mut token: HANDLE = std::ptr::null_mut();
    // SAFETY: the process is open, and `token` is writable.
    if unsafe { OpenProcessToken(process.as_raw_handle(), TOKEN_QUERY, &raw mut token) } == 0 {
        return false;
    }
    // SAFETY: it was opened just now, and nobody else knows it.
    let token = unsafe { OwnedHandle::from_raw_handle(token) };
    let (mut answer, mut length) = (0_u32, 0);
    let to: *mut u32 = &raw mut answer;
    // SAFETY: the answer is a number of four bytes, as is said.
    let told = unsafe {
        GetTokenInformation(token.as_raw_handle(), TokenIsAppContainer, to.cast(), 4, &raw mut length)
    };
    told != 0 && answer != 0
}

/// Lets a suspended process go.
///
/// # Errors
///
/// It has ended.
pub fn resume(process: BorrowedHandle<'_>) -> io::Result<()> {
    // SAFETY: the process is open.
    let status = unsafe { NtResumeProcess(process.as_raw_handle()) };
    if status >= 0 { Ok(()) } else { Err(io::Error::other(format!("NtResumeProcess: status {status:#x}"))) }
}

/// Leaves Ctrl-C and Ctrl-Break to the other programs of this console: they get them all the same, and this one waits for them. Unlike
/// ignoring them, a handler is not inherited.
pub fn ignore_interrupts() {
    // SAFETY: the function lives as long as the program. Without it the first Ctrl-C ends this program, and the other gets it as well.
    unsafe { SetConsoleCtrlHandler(Some(handled), 1) };
}

unsafe extern "system" fn handled(_event: u32) -> i32 {
    1
}
