//! Children: whatever makes one comes through CreateProcessInternalW, which is told to begin it suspended.
//!
//! Not followed: programs that a service starts for this one (runas, elevation), and those that Windows' own loader debugs for
//! this one, whose threads wait for the debugger.

use crate::install::CREATE_PROCESS;
use crate::state::{self, Busy, State};
use core::ffi::c_void;
use std::os::windows::io::BorrowedHandle;
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::System::Threading::{
    CREATE_SUSPENDED, DEBUG_ONLY_THIS_PROCESS, DEBUG_PROCESS, PROCESS_INFORMATION, ResumeThread, STARTUPINFOW,
};
use windows_sys::core::BOOL;

pub(crate) unsafe extern "system" fn create_process(
    token: HANDLE,
    application: *const u16,
    command_line: *mut u16,
    process_attributes: *const SECURITY_ATTRIBUTES,
    thread_attributes: *const SECURITY_ATTRIBUTES,
    inherit: BOOL,
    flags: u32,
    environment: *const c_void,
    directory: *const u16,
    startup: *const STARTUPINFOW,
    made: *mut PROCESS_INFORMATION,
    restricted: *mut HANDLE,
) -> BOOL {
    let Some(original) = CREATE_PROCESS.get() else { return 0 };
    let state = state::of_program();
    let begin = if state.is_some() { flags | CREATE_SUSPENDED } else { flags };
    // SAFETY: the caller's own arguments.
    let returned = unsafe {
        original(
            token,
            application,
            command_line,
            process_attributes,
            thread_attributes,
            inherit,
            begin,
            environment,
            directory,
            startup,
            made,
            restricted,
        )
    };
    let Some(state) = state else { return returned };
    if returned != 0 {
        let _busy = Busy::begin();
        // SAFETY: the call succeeded, so Windows has written it.
        let made = unsafe { made.read_unaligned() };
        follow(state, &made, flags);
        if flags & CREATE_SUSPENDED == 0 {
            // SAFETY: the child's first thread, which the caller does not know yet.
            unsafe { ResumeThread(made.hThread) };
        }
    }
    returned
}

fn follow(state: &State, made: &PROCESS_INFORMATION, flags: u32) {
    let result = if flags & (DEBUG_PROCESS | DEBUG_ONLY_THIS_PROCESS) == 0 {
        // SAFETY: the caller's handle, which it does not know yet and so cannot close.
        let process = unsafe { BorrowedHandle::borrow_raw(made.hProcess) };
        unstall_sys::run::prepare(process, made.dwProcessId, &state.settings)
            .map_err(|error| error.to_string())
    } else {
        Err("it is being debugged".to_owned())
    };
    if let (Err(why), Some(records)) = (result, &state.records) {
        records.not_followed(made.dwProcessId, &why);
    }
}
