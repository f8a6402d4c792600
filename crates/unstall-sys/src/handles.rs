//! Windows' handles: how many this process has open, which tells whether something was left behind.

use std::io;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessHandleCount};

/// How many handles this process has open.
///
/// # Errors
///
/// What Windows says.
pub fn open() -> io::Result<u32> {
    let mut count = 0;
    // SAFETY: the pseudo handle needs no closing.
    let process = unsafe { GetCurrentProcess() };
    // SAFETY: the pseudo handle of this process, and a number to write to.
    let told = unsafe { GetProcessHandleCount(process, &raw mut count) };
    if told == 0 { Err(io::Error::last_os_error()) } else { Ok(count) }
}
