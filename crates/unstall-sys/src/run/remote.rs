//! LoadLibraryW in another process of the same bitness.

use crate::windows::os_error;
use core::ffi::c_void;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{ERROR_DLL_INIT_FAILED, HANDLE, WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows_sys::Win32::System::Diagnostics::Debug::WriteProcessMemory;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAllocEx, VirtualFreeEx,
};
use windows_sys::Win32::System::Threading::{
    CreateRemoteThread, GetExitCodeThread, LPTHREAD_START_ROUTINE, WaitForSingleObject,
};
use windows_sys::w;

/// How long the DLL may take to load.
const PATIENCE_MS: u32 = 30_000;

/// Has a DLL loaded in another process: a copy of its path there, and a thread that begins with LoadLibraryW.
///
/// # Errors
///
/// What Windows says; ERROR_DLL_INIT_FAILED when the DLL did not load there, or did not want to stay.
pub fn load(process: BorrowedHandle<'_>, dll: &Path) -> io::Result<()> {
    let path: Vec<u16> = dll.as_os_str().encode_wide().chain([0]).collect();
    let copy = Copy::new(process.as_raw_handle(), &path)?;
    let start = load_library().ok_or_else(io::Error::last_os_error)?;
    // SAFETY: kernel32.dll lies at the same address in every process of a bitness, and LoadLibraryW takes one pointer.
    let thread = unsafe { CreateRemoteThread(copy.process, null(), 0, start, copy.address, 0, null_mut()) };
    if thread.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was made just now, and nobody else knows it.
    let thread = unsafe { OwnedHandle::from_raw_handle(thread) };
    // SAFETY: the thread is open.
    if unsafe { WaitForSingleObject(thread.as_raw_handle(), PATIENCE_MS) } != WAIT_OBJECT_0 {
        // Its path must stay, for it may still read it.
        std::mem::forget(copy);
        return Err(os_error(WAIT_TIMEOUT));
    }
    let mut code = 0;
    // SAFETY: the thread is open, and `code` is writable.
    unsafe { GetExitCodeThread(thread.as_raw_handle(), &raw mut code) };
    // The lower half of the module's address, which is a multiple of 64 KiB.
    if code == 0 { Err(os_error(ERROR_DLL_INIT_FAILED)) } else { Ok(()) }
}

/// Some memory of another process.
struct Copy {
    process: HANDLE,
    address: *mut c_void,
}

impl Copy {
    fn new(process: HANDLE, path: &[u16]) -> io::Result<Self> {
        let length = size_of_val(path);
        // SAFETY: memory of the other process, not of this one.
        let address =
            unsafe { VirtualAllocEx(process, null(), length, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE) };
        if address.is_null() {
            return Err(io::Error::last_os_error());
        }
        let copy = Self { process, address };
        // SAFETY: the path has that length, and so has the memory.
        let written =
            unsafe { WriteProcessMemory(process, address, path.as_ptr().cast(), length, null_mut()) };
        if written == 0 { Err(io::Error::last_os_error()) } else { Ok(copy) }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // SAFETY: it was allocated by `new`, in that process, and nobody reads it any more.
        unsafe { VirtualFreeEx(self.process, self.address, 0, MEM_RELEASE) };
    }
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
