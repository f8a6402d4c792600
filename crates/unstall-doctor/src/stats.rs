//! Small helpers for durations.

use std::time::Duration;

/// A duration in whole nanoseconds, as reports hold it. Beyond 584 years it stays there.
pub(crate) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
