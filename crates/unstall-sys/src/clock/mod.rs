//! The clock that times are measured with.

use std::time::{Duration, Instant};

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as imp;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as imp;

/// The smallest step of the monotonic clock, as the OS states it. `None`: it does not.
pub fn resolution() -> Option<Duration> {
    imp::resolution()
}

/// The step in which waits end: on Windows the interval of the timer interrupt, 15.6 ms unless some program asked for less.
/// `None`: the OS does not tell, or has no such step.
pub fn tick() -> Option<Duration> {
    imp::tick()
}

/// Time since its start, on the OS's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Timer(Instant);

impl Timer {
    /// A timer that starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
