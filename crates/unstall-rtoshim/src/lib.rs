//! Test only. Wine does not know `SIO_TCP_INITIAL_RTO`; this DLL makes it work, as far as a lab of unstall understands it, and
//! writes down who sets it when.
//!
//! Loaded into a program by `rtoshim-run`, it takes the place of four functions of Winsock:
//!
//! | function | what happens |
//! |---|---|
//! | `WSAIoctl` with `SIO_TCP_INITIAL_RTO` | the socket's TTL and hop limit become what asks the lab for that many retries |
//! | `connect`, `WSAConnect`, ConnectEx, `listen` | nothing; they are logged |
//!
//! The log is the file that `UNSTALL_RTOSHIM_LOG` names, one line for each call, in the order of the calls:
//! `ioctl socket=84 bytes=FFFFFE00 code=0`, `ConnectEx socket=84`, `listen socket=92`.
//!
//! Putting code into the functions of another program cannot be done in safe Rust; so unsafe code is allowed here.
#![cfg(windows)]
#![allow(unsafe_code, reason = "functions of another program are replaced")]

mod hooks;
mod log;
mod retries;

use core::ffi::c_void;
use windows_sys::Win32::Foundation::{HMODULE, TRUE};
use windows_sys::Win32::System::LibraryLoader::DisableThreadLibraryCalls;
use windows_sys::Win32::System::SystemServices::DLL_PROCESS_ATTACH;
use windows_sys::core::BOOL;

/// Called by Windows when the DLL is loaded.
///
/// # Safety
///
/// Only Windows calls it, with the DLL's own handle.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DllMain(module: HMODULE, reason: u32, _reserved: *mut c_void) -> BOOL {
    if reason == DLL_PROCESS_ATTACH {
        // SAFETY: it is the handle of this DLL.
        unsafe { DisableThreadLibraryCalls(module) };
        match hooks::install() {
            Ok(()) => log::line(format_args!("loaded")),
            Err(error) => {
                log::line(format_args!("not loaded: {error}"));
                return 0;
            }
        }
    }
    TRUE
}
