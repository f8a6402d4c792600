//! The system's monotonic clock, which two processes have in common.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Now.
pub(super) fn now_ns() -> u64 {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).map_or(u64::MAX, nanoseconds)
}

/// A time as reports hold it.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
