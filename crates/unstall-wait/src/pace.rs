//! How often: pure arithmetic on what the last look or try has cost.

use std::time::Duration;

/// Part of one core that looking may take: a sixty-fourth, 1.6 %.
const DUTY: u32 = 64;

/// What waking up costs beside the look itself, about.
const WAKE: Duration = Duration::from_micros(10);

/// The shortest pause between two looks: a person or a script cannot tell 2 ms from nothing.
pub(crate) const SHORTEST: Duration = Duration::from_millis(2);

/// The first pause between two tries of an address of another host; it doubles from there.
const FIRST_REMOTE: Duration = Duration::from_millis(10);

/// How often the table of listeners is doubted: a watched target is tried that often even so, since its name may have got another
/// address or the port be forwarded by a rule of the kernel's, where nobody listens.
pub(crate) const DOUBT: Duration = Duration::from_secs(1);

/// How long a connection must be held before it counts, where nothing tells that the server itself has accepted it: a proxy has
/// found out by then that its backend is down.
pub(crate) const LONG_HOLD: Duration = Duration::from_millis(100);

/// How long, from the moment on in which the server has accepted.
pub(crate) const SHORT_HOLD: Duration = Duration::from_millis(1);

/// How soon it is looked again whether the server has accepted; the pause doubles up to [`SHORT_HOLD`]. A server that waits in accept
/// takes some tens of microseconds.
pub(crate) const FIRST_LOOK: Duration = Duration::from_micros(100);

/// The pause after a look, or a try, that took `cost`, when `sharing` targets are looked at in turn.
pub(crate) fn local(cost: Duration, sharing: usize, interval: Duration) -> Duration {
    let sharing = u32::try_from(sharing).unwrap_or(u32::MAX);
    (cost + WAKE)
        .saturating_mul(DUTY)
        .saturating_mul(sharing.max(1))
        .max(SHORTEST)
        .min(interval.max(SHORTEST))
}

/// The pause after the `failures`-th failure in a row of a target on another host.
pub(crate) fn remote(failures: u32, interval: Duration) -> Duration {
    let doublings = failures.saturating_sub(1).min(20);
    FIRST_REMOTE.saturating_mul(1 << doublings).min(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(500);

    #[test]
    fn looking_takes_less_than_two_per_cent_of_a_core_whatever_it_costs() {
        for micros in [1, 20, 100, 1000, 5000] {
            let cost = Duration::from_micros(micros);
            let duty = cost.as_secs_f64() / local(cost, 1, INTERVAL).as_secs_f64();
            assert!(duty < 0.02, "{micros} us: {duty}");
        }
        assert_eq!(local(Duration::from_micros(15), 1, INTERVAL), SHORTEST);
        assert_eq!(local(Duration::from_micros(90), 10, INTERVAL), Duration::from_millis(64));
    }

    #[test]
    fn no_pause_is_longer_than_the_interval_nor_shorter_than_the_shortest() {
        assert_eq!(local(Duration::from_secs(1), 1000, INTERVAL), INTERVAL);
        assert_eq!(local(Duration::ZERO, 0, Duration::ZERO), SHORTEST);
    }

    #[test]
    fn another_host_is_asked_ever_more_rarely() {
        let pauses: Vec<u128> = (1..=8).map(|failures| remote(failures, INTERVAL).as_millis()).collect();
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 500, 500]);
        assert_eq!(remote(u32::MAX, INTERVAL), INTERVAL);
    }
}
