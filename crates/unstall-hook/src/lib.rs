//! The DLL that `unstall run` loads into a Windows program that it starts, and into that program's children.
//!
//! It takes the place of the functions that `install` lists, all of them or none, and changes what
//! `unstall_core::hook` decides: see there for the files, the settings and the records.
//!
//! - Nothing of a caller's memory is read before Windows has been asked whether it can be, or has read it itself.
//! - The last error of the caller's thread is what the call itself left.
//! - Functions of ours that are called while we work (a look-up uses sockets, a helper is a child) do nothing but pass on.
//!
//! Putting code into the functions of another program cannot be done in safe Rust; so unsafe code is allowed here.
#![cfg(windows)]
#![allow(unsafe_code, reason = "functions of another program are replaced")]

mod address;
mod children;
mod completions;
mod connect;
mod connect_ex;
mod install;
mod records;
mod so_error;
mod state;

use core::ffi::c_void;
use windows_sys::Win32::Foundation::{HMODULE, TRUE};
use windows_sys::Win32::System::LibraryLoader::DisableThreadLibraryCalls;
use windows_sys::Win32::System::SystemServices::DLL_PROCESS_ATTACH;
use windows_sys::core::BOOL;

/// Called by Windows when the DLL is loaded, which is before the program begins. Everything that this needs is loaded by
/// then, for the DLL is linked to it; nothing is loaded, waited for or started here. 0 has Windows unload the DLL.
///
/// # Safety
///
/// Only Windows calls it, with the DLL's own handle.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DllMain(module: HMODULE, reason: u32, _reserved: *mut c_void) -> BOOL {
    if reason != DLL_PROCESS_ATTACH {
        return TRUE;
    }
    // SAFETY: it is the handle of this DLL.
    unsafe { DisableThreadLibraryCalls(module) };
    let installed = std::panic::catch_unwind(|| {
        let settings = unstall_sys::run::own_settings().map_err(|error| error.to_string())?;
        state::set(settings);
        install::install()
    });
    BOOL::from(matches!(installed, Ok(Ok(()))))
}
