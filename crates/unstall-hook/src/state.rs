//! What the process's hooks share.
#![allow(
    clippy::missing_const_for_thread_local,
    reason = "it is const, which the lint does not see on this target"
)]

use crate::records::Records;
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use unstall_core::hook::fixes::{Fix, Fixes};
use unstall_core::hook::settings::Settings;
use unstall_core::hook::so_error::Memory;
use windows_sys::Win32::Foundation::{GetLastError, SetLastError};

/// What there is once for each process.
pub(crate) struct State {
    pub(crate) settings: Settings,
    /// The true build number of Windows.
    pub(crate) build: u32,
    pub(crate) records: Option<Records>,
    memory: Mutex<Memory>,
    start: Instant,
}

static STATE: OnceLock<State> = OnceLock::new();

pub(crate) fn set(settings: Settings) {
    let records = settings.records.as_deref().map(Records::new);
    // The DLL is loaded once.
    let _ = STATE.set(State {
        build: unstall_sys::run::build(),
        records,
        memory: Mutex::new(Memory::new()),
        start: Instant::now(),
        settings,
    });
}

/// The state, for a call that comes from the program; `None`: it is our own work that calls. The last error is left alone, which a
/// look at a thread-local variable would clear (TlsGetValue does).
pub(crate) fn of_program() -> Option<&'static State> {
    // SAFETY: it reads a thread-local variable.
    let last_error = unsafe { GetLastError() };
    let busy = BUSY.with(Cell::get);
    // SAFETY: it sets a thread-local variable.
    unsafe { SetLastError(last_error) };
    if busy { None } else { STATE.get() }
}

/// Whether somebody wants records.
pub(crate) fn wants_records() -> bool {
    STATE.get().is_some_and(|state| state.records.is_some())
}

impl State {
    pub(crate) fn fixes(&self) -> Fixes {
        self.settings.fixes
    }

    pub(crate) fn has(&self, fix: Fix) -> bool {
        self.settings.fixes.has(fix)
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time that [`Memory`] counts.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

thread_local! {
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, this thread's calls of replaced functions are our own. Afterwards the thread's last error is what it was before.
pub(crate) struct Busy {
    last_error: u32,
    before: bool,
}

impl Busy {
    pub(crate) fn begin() -> Self {
        // SAFETY: it reads a thread-local variable.
        let last_error = unsafe { GetLastError() };
        Self { last_error, before: BUSY.with(|busy| busy.replace(true)) }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.with(|busy| busy.set(self.before));
        // SAFETY: it sets a thread-local variable.
        unsafe { SetLastError(self.last_error) };
    }
}
