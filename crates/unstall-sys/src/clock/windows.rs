//! Windows: the performance counter, and the interrupt that ends waits.

use std::time::Duration;
use windows_sys::Win32::System::Performance::QueryPerformanceFrequency;

/// NtQueryTimerResolution counts in 100 ns.
const UNIT: u64 = 100;

#[link(name = "ntdll")]
unsafe extern "system" {
    fn NtQueryTimerResolution(coarsest: *mut u32, finest: *mut u32, current: *mut u32) -> i32;
}

pub(super) fn resolution() -> Option<Duration> {
    let mut frequency = 0;
    // SAFETY: `frequency` is writable.
    if unsafe { QueryPerformanceFrequency(&raw mut frequency) } == 0 {
        return None;
    }
    let frequency = u64::try_from(frequency).ok().filter(|frequency| *frequency > 0)?;
    Some(Duration::from_nanos(1_000_000_000_u64.div_ceil(frequency)))
}

pub(super) fn tick() -> Option<Duration> {
    let (mut coarsest, mut finest, mut current) = (0, 0, 0);
    // SAFETY: all three are writable.
    let status = unsafe { NtQueryTimerResolution(&raw mut coarsest, &raw mut finest, &raw mut current) };
    (status == 0 && current > 0).then(|| Duration::from_nanos(u64::from(current) * UNIT))
}
