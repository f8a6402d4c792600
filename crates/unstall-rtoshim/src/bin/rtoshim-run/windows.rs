//! Start suspended, load the DLL from within, resume, wait.

use core::ffi::c_void;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Error;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, ExitCode};
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{HANDLE, WAIT_OBJECT_0};
use windows_sys::Win32::System::Diagnostics::Debug::WriteProcessMemory;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::Memory::{MEM_COMMIT, MEM_RESERVE, PAGE_READWRITE, VirtualAllocEx};
use windows_sys::Win32::System::Threading::{
    CREATE_SUSPENDED, CreateRemoteThread, GetExitCodeThread, LPTHREAD_START_ROUTINE, WaitForSingleObject,
};
use windows_sys::w;

/// How long the DLL may take to load.
const PATIENCE_MS: u32 = 30_000;

#[link(name = "ntdll")]
unsafe extern "system" {
    fn NtResumeProcess(process: HANDLE) -> i32;
}

pub(crate) fn run() -> Result<ExitCode, String> {
    let mut arguments = env::args_os().skip(1);
    let program = arguments.next().ok_or("usage: rtoshim-run PROGRAM [ARGUMENT...]")?;
    let dll = env::current_exe().map_err(|error| error.to_string())?.with_file_name("unstall_rtoshim.dll");
    let mut child = start(&program, arguments)?;
    let loaded = load(child.as_raw_handle(), dll.as_os_str());
    if let Err(error) = loaded {
        // It has not run yet, and must not without the DLL.
        let _ = child.kill();
        return Err(error);
    }
    // SAFETY: the process is open.
    let status = unsafe { NtResumeProcess(child.as_raw_handle()) };
    if status != 0 {
        let _ = child.kill();
        return Err(format!("cannot resume {}: status {status:#x}", program.to_string_lossy()));
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

fn start(program: &OsStr, arguments: impl Iterator<Item = OsString>) -> Result<Child, String> {
    let started = Command::new(program).args(arguments).creation_flags(CREATE_SUSPENDED).spawn();
    started.map_err(|error| format!("cannot start {}: {error}", program.to_string_lossy()))
}

/// Runs LoadLibraryW in the other process: a copy of the DLL's path there, and a thread that begins with that function.
fn load(process: HANDLE, dll: &OsStr) -> Result<(), String> {
    let failed = |what: &str| format!("{what} failed: {}", Error::last_os_error());
    let path: Vec<u16> = dll.encode_wide().chain([0]).collect();
    let length = size_of_val(path.as_slice());
    // SAFETY: memory of the other process, not of this one.
    let there = unsafe { VirtualAllocEx(process, null(), length, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE) };
    if there.is_null() {
        return Err(failed("VirtualAllocEx"));
    }
    // SAFETY: the path has that length, and so has the memory.
    if unsafe { WriteProcessMemory(process, there, path.as_ptr().cast(), length, null_mut()) } == 0 {
        return Err(failed("WriteProcessMemory"));
    }
    let load_library = load_library().ok_or_else(|| failed("GetProcAddress(LoadLibraryW)"))?;
    // SAFETY: kernel32.dll lies at the same address in every process of a session, and LoadLibraryW takes one pointer.
    let thread = unsafe { CreateRemoteThread(process, null(), 0, load_library, there, 0, null_mut()) };
    if thread.is_null() {
        return Err(failed("CreateRemoteThread"));
    }
    // SAFETY: it was made just now, and nobody else knows it.
    let thread = unsafe { OwnedHandle::from_raw_handle(thread) };
    // SAFETY: the thread is open.
    if unsafe { WaitForSingleObject(thread.as_raw_handle(), PATIENCE_MS) } != WAIT_OBJECT_0 {
        return Err("LoadLibraryW did not return".to_owned());
    }
    let mut code = 0;
    // SAFETY: the thread is open, and `code` is writable.
    unsafe { GetExitCodeThread(thread.as_raw_handle(), &raw mut code) };
    if code == 0 { Err(format!("{} cannot be loaded", dll.to_string_lossy())) } else { Ok(()) }
}

fn load_library() -> Option<LPTHREAD_START_ROUTINE> {
    // SAFETY: the name ends with a zero.
    let kernel = unsafe { GetModuleHandleW(w!("kernel32.dll")) };
    // SAFETY: as above.
    let function = unsafe { GetProcAddress(kernel, c"LoadLibraryW".as_ptr().cast()) }?;
    // SAFETY: it takes a pointer and returns a pointer, as a thread's function takes one and returns a number.
    let function = unsafe {
        std::mem::transmute::<
            unsafe extern "system" fn() -> isize,
            unsafe extern "system" fn(*mut c_void) -> u32,
        >(function)
    };
    Some(Some(function))
}
