//! What this kernel can do, read from it.

use crate::error::Error;
use crate::schedule::{Settings, Timers};
use rustix::time::{ClockId, clock_getres};
use std::fs;

const LINEAR: &str = "/proc/sys/net/ipv4/tcp_syn_linear_timeouts";
const RETRIES: &str = "/proc/sys/net/ipv4/tcp_syn_retries";

/// The timers, as far as they can be set. To be read in the lab's network namespace.
pub(super) fn timers() -> Result<Timers, Error> {
    let Some(linear) = number(LINEAR) else {
        return Err(Error::Missing {
            what: format!(
                "this kernel ({}) has no net.ipv4.tcp_syn_linear_timeouts (6.5), which even steps between SYNs need",
                release()
            ),
            remedy: "use a kernel of 6.5 or newer, or --profile linux".to_owned(),
        });
    };
    // Every kernel has it; 6 is the default.
    let settings = Settings { linear, retries: number(RETRIES).unwrap_or(6) };
    Ok(Timers { hz: hz(), settings })
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
    fn hz_is_what_the_tick_says() {
        assert_eq!([10_000_000, 4_000_000, 3_333_333, 999_848].map(hz_from_tick), [100, 250, 300, 1000]);
        assert!([100, 250, 300, 1000].contains(&hz()), "{} on this machine", hz());
    }
}
