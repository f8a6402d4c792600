//! What this kernel can do, read from it.

use crate::error::Error;
use crate::schedule::{Settings, Timers};
use rustix::time::{ClockId, clock_getres};
use std::fs;

const LINEAR: &str = "/proc/sys/net/ipv4/tcp_syn_linear_timeouts";
const RETRIES: &str = "/proc/sys/net/ipv4/tcp_syn_retries";

/// The timers, as far as they can be set. To be read in the lab's network namespace.
pub(super) fn timers() -> Result<Timers, Error> {
    // Every kernel has the retries; 6 is their default.
    timers_of(hz(), number(LINEAR), number(RETRIES).unwrap_or(6), &release())
}

fn timers_of(hz: u32, linear: Option<u32>, retries: u32, release: &str) -> Result<Timers, Error> {
    let linear = linear.ok_or_else(|| Error::Missing {
        what: format!(
            "this kernel ({release}) has no net.ipv4.tcp_syn_linear_timeouts (6.5), which even steps between SYNs need"
        ),
        remedy: "use a kernel of 6.5 or newer, or --profile linux".to_owned(),
    })?;
    Ok(Timers { hz, settings: Settings { linear, retries } })
}

fn number(path: &str) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Jiffies in a second: the coarse clock advances once in a jiffy and says so.
fn hz() -> u32 {
    let resolution = clock_getres(ClockId::MonotonicCoarse);
    hz_from_tick(resolution.tv_nsec)
}

/// HZ from the length of a jiffy in nanoseconds, which is rounded.
fn hz_from_tick(nanoseconds: i64) -> u32 {
    let hz = 1_000_000_000.0 / nanoseconds.max(1) as f64;
    hz.round().clamp(24.0, 10_000.0) as u32
}

/// The kernel's version, for messages.
pub(super) fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_kernel_is_named_with_what_to_do() {
        let error = timers_of(250, None, 6, "6.1.0-13-amd64").expect_err("too old");
        assert_eq!(error.exit_code(), 125);
        assert_eq!(
            error.to_string(),
            "this kernel (6.1.0-13-amd64) has no net.ipv4.tcp_syn_linear_timeouts (6.5), which even steps between SYNs \
             need; use a kernel of 6.5 or newer, or --profile linux"
        );
        assert!(timers_of(250, Some(4), 6, "6.5.0").is_ok());
    }

    #[test]
    fn hz_is_what_the_tick_says() {
        assert_eq!([10_000_000, 4_000_000, 3_333_333, 999_848].map(hz_from_tick), [100, 250, 300, 1000]);
        assert!([100, 250, 300, 1000].contains(&hz()), "{} on this machine", hz());
    }
}
