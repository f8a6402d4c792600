//! The rules of gRPC proposal A61 (grpc/proposal, A61-IPv4-IPv6-dualstack-backends.md) for pick_first, in simulated
//! time: the attempt delay and its bounds, the reaction to a failure, and that every address must have failed before
//! the whole has.

mod race_sim;

use race_sim::{Sim, config, connects, ms, refused, v4, v6};
use std::time::Duration;
use unstall_core::outcome::Outcome;
use unstall_core::race::{Config, MAX_ATTEMPT_DELAY, MIN_ATTEMPT_DELAY, Race};

#[test]
fn the_attempt_delay_is_clamped() {
    // (asked for, A61 from 100 ms to 2 s, here from the RFC's absolute minimum of 10 ms to 2 s)
    let rows = [
        (ms(0), 100, 10),
        (ms(9), 100, 10),
        (ms(10), 100, 10),
        (ms(50), 100, 50),
        (ms(100), 100, 100),
        (ms(250), 250, 250),
        (ms(2_000), 2_000, 2_000),
        (ms(2_001), 2_000, 2_000),
        (Duration::MAX, 2_000, 2_000),
    ];
    for (asked, a61, here) in rows {
        let config = config(|config| config.attempt_delay = asked);
        assert_eq!(Race::new(config.clone()).config().attempt_delay, ms(here));
        let run = Sim::known(config, &[v6(1), v4(1)]).fate(v4(1), connects(0)).run();
        run.assert_won(v4(1), here);
        assert!(here <= a61, "never later than A61");
    }
    assert_eq!((MIN_ATTEMPT_DELAY, MAX_ATTEMPT_DELAY), (ms(10), ms(2_000)));
}

#[test]
fn the_local_attempt_delay_is_clamped_to_the_same_bounds() {
    for (asked, here) in [(0, 10), (9, 10), (10, 10), (11, 11), (2_000, 2_000), (3_000, 2_000)] {
        let config = config(|config| config.local_attempt_delay = ms(asked));
        assert_eq!(Race::new(config).config().local_attempt_delay, ms(here));
    }
}

#[test]
fn the_defaults() {
    let config = Config::default();
    assert_eq!(config.attempt_delay, ms(250));
    assert_eq!(config.local_attempt_delay, ms(10));
    assert_eq!(config.resolution_delay, ms(50));
    assert_eq!(config.max_pending, 6);
    assert_eq!(config.deadline, None);
    assert_eq!(*Race::new(config.clone()).config(), config, "all in bounds");
}

#[test]
fn a_failure_starts_the_next_without_waiting_for_the_timer() {
    let run = Sim::known(Config::default(), &[v6(1), v6(2), v6(3)])
        .fate(v6(1), refused(30))
        .fate(v6(2), refused(30))
        .fate(v6(3), connects(30))
        .run();
    run.assert_won(v6(3), 90);
}

#[test]
fn the_timer_starts_anew_with_each_attempt() {
    let run = Sim::known(Config::default(), &[v6(1), v6(2), v6(3)])
        .fate(v6(1), refused(100))
        .fate(v6(3), connects(0))
        .run();
    assert_eq!(run.times(), [0, 100, 350]);
}

#[test]
fn every_address_must_fail_before_the_whole_does() {
    let run = Sim::known(Config::default(), &[v6(1), v6(2), v6(3)])
        .fate(v6(1), refused(5_000))
        .fate(v6(2), refused(10))
        .fate(v6(3), refused(10))
        .run();
    assert_eq!(run.times(), [0, 250, 260]);
    run.assert_failed(Outcome::Refused, 5_000);
}
