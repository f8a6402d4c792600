//! Any Unix: clock_getres.

use rustix::time::{ClockId, clock_getres};
use std::time::Duration;

pub(super) fn resolution() -> Option<Duration> {
    let step = clock_getres(ClockId::Monotonic);
    Some(Duration::new(step.tv_sec.try_into().ok()?, step.tv_nsec.try_into().ok()?))
}

pub(super) fn tick() -> Option<Duration> {
    None
}
