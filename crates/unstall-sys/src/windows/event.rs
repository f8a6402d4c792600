//! An event object: what completions signal and a wait waits for.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::null;
use std::time::Duration;
use windows_sys::Win32::Foundation::{HANDLE, WAIT_FAILED, WAIT_OBJECT_0};
use windows_sys::Win32::System::Threading::{CreateEventW, SetEvent, WaitForSingleObject};

/// The longest single wait: one less than INFINITE.
const LONGEST: u32 = u32::MAX - 1;

/// An event that a wait resets.
#[derive(Debug)]
pub(crate) struct Event(OwnedHandle);

impl Event {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: null asks for default rights and for no name.
        let handle = unsafe { CreateEventW(null(), 0, 0, null()) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was made just now, and nobody else knows it.
        Ok(Self(unsafe { OwnedHandle::from_raw_handle(handle) }))
    }

    pub(crate) fn handle(&self) -> HANDLE {
        self.0.as_raw_handle()
    }

    /// Signals it, for one wait.
    pub(crate) fn set(&self) {
        // SAFETY: the handle is open as long as `self`. It can only fail for one that is not an event.
        unsafe { SetEvent(self.handle()) };
    }

    /// Waits for a signal, at most `limit`, which is rounded up to a millisecond (and by Windows to a tick, 15.6 ms unless
    /// somebody asked for less). True: it came. A longer limit than 49 days is cut.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> io::Result<bool> {
        let milliseconds = limit.map_or(u32::MAX, |limit| {
            u32::try_from(limit.as_nanos().div_ceil(1_000_000)).unwrap_or(LONGEST).min(LONGEST)
        });
        // SAFETY: the handle is open as long as `self`.
        match unsafe { WaitForSingleObject(self.handle(), milliseconds) } {
            WAIT_FAILED => Err(io::Error::last_os_error()),
            other => Ok(other == WAIT_OBJECT_0),
        }
    }
}
