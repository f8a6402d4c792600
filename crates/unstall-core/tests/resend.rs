//! The schedule of SYNs that are sent again by us, and what is decided with it.

use proptest::prelude::*;
use std::time::Duration;
use unstall_core::resend::{EARLY, Next, Schedule};
use unstall_core::syn::{SynRetransmissions, TIMEOUT_PER_RTT, initial_rto};

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[test]
fn attempts_last_until_the_next_moment_or_the_end() {
    let lasts =
        |schedule: Schedule, count| (0..count).map(|n| schedule.lasts(n).as_secs()).collect::<Vec<_>>();
    assert_eq!(lasts(Schedule::WINDOWS, 5), [1, 2, 4, 8, 6]);
    assert_eq!(lasts(Schedule::linux(0, 6), 7), [1, 2, 4, 8, 16, 32, 64]);
    assert_eq!(lasts(Schedule::linux(4, 6), 7), [1, 1, 1, 1, 1, 2, 4]);
    assert_eq!(Schedule::linux(0, 6).patience, secs(127));
    assert_eq!(Schedule::linux(4, 6).patience, secs(131));
}

#[test]
fn each_attempt_ends_just_before_the_next_moment() {
    let schedule = Schedule::linux(0, 1);
    let end = secs(1).saturating_sub(EARLY);
    assert_eq!(schedule.next(0, Duration::ZERO), Next::In(end));
    assert_eq!(schedule.next(0, end), Next::Now);
    assert_eq!(schedule.next(0, secs(9)), Next::Now, "a driver that is late sends late");
    assert_eq!(schedule.next(1, secs(1)), Next::GiveUpIn(secs(2)));
    assert_eq!(schedule.next(1, secs(3)), Next::GiveUp);
}

/// Windows gives a single SYN up after 3 x Rtt. It must not do so before the attempt is over, nor long after.
#[test]
fn windows_is_told_to_wait_for_as_long_as_the_attempt_lasts() {
    for n in 0..=4 {
        let lasts = Schedule::WINDOWS.lasts(n);
        let [low, high, retransmissions, _] =
            initial_rto(22_631, SynRetransmissions::NoneAnywhere, Some(lasts));
        assert_eq!(retransmissions, 0xFE);
        let given_up =
            Duration::from_millis(u64::from(u16::from_le_bytes([low, high])) * u64::from(TIMEOUT_PER_RTT));
        assert!(given_up >= lasts && given_up <= lasts + Duration::from_millis(3), "{n}: {given_up:?}");
    }
}

proptest! {
    /// Whatever the settings: moments rise, and their number is that of the OS.
    #[test]
    fn moments_rise(linear in 0_u32..300, retries in 0_u32..300) {
        let schedule = Schedule::linux(linear, retries);
        let moments: Vec<Duration> = (0..=linear + retries).map_while(|n| schedule.moment(n)).collect();
        prop_assert!(moments.windows(2).all(|pair| pair[0] < pair[1] || pair[1] > secs(1 << 29)));
        prop_assert_eq!(schedule.moment(linear + retries + 1), None);
        prop_assert_eq!(moments[0], Duration::ZERO);
    }

    /// It ends: what is asked at the time that it named is never put off again.
    #[test]
    fn a_time_that_was_named_is_the_time(n in 0_u32..12, elapsed in 0_u64..200_000) {
        let (schedule, elapsed) = (Schedule::linux(4, 6), Duration::from_millis(elapsed));
        match schedule.next(n, elapsed) {
            Next::In(after) => prop_assert_eq!(schedule.next(n, elapsed + after), Next::Now),
            Next::GiveUpIn(after) => prop_assert_eq!(schedule.next(n, elapsed + after), Next::GiveUp),
            Next::Now | Next::GiveUp => {}
        }
    }
}
