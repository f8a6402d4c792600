//! The six cases of CPython's staggered race (python/cpython, Lib/test/test_asyncio/test_staggered.py; the same in
//! aiohappyeyeballs), in simulated time. A delay of `None` there means that the next one waits for a failure: the
//! longest delay here.

mod race_sim;

use race_sim::{Sim, config, connects, fails, ms, v4, v6};
use unstall_core::outcome::Outcome;
use unstall_core::race::{Config, MAX_ATTEMPT_DELAY};

fn delay(delay_ms: Option<u64>) -> Config {
    config(|config| config.attempt_delay = delay_ms.map_or(MAX_ATTEMPT_DELAY, ms))
}

#[test]
fn empty() {
    Sim::known(delay(None), &[]).run().assert_failed(Outcome::NoName, 0);
}

#[test]
fn one_successful() {
    let run =
        Sim::known(delay(None), &[v4(0), v4(1)]).fate(v4(0), connects(0)).fate(v4(1), connects(0)).run();
    run.assert_won(v4(0), 0);
    assert_eq!(run.tried(), [v4(0)]);
}

#[test]
fn first_error_second_successful() {
    let run = Sim::known(delay(None), &[v4(0), v4(1)])
        .fate(v4(0), fails(Outcome::Unreachable, 0))
        .fate(v4(1), connects(0))
        .run();
    run.assert_won(v4(1), 0);
    assert!(run.cancels.is_empty());
}

#[test]
fn first_timeout_second_successful() {
    let run = Sim::known(delay(Some(100)), &[v4(0), v4(1)])
        .fate(v4(0), connects(10_000))
        .fate(v4(1), connects(0))
        .run();
    run.assert_won(v4(1), 100);
    assert_eq!(run.cancels.len(), 1);
}

#[test]
fn none_successful() {
    for delay_ms in [None, Some(0), Some(100), Some(1_000)] {
        let run = Sim::known(delay(delay_ms), &[v4(0), v6(1)])
            .fate(v4(0), fails(Outcome::NotAvailable, 0))
            .fate(v6(1), fails(Outcome::NotAvailable, 0))
            .run();
        run.assert_failed(Outcome::NotAvailable, 0);
        assert_eq!(run.starts.len(), 2);
    }
}

#[test]
fn long_delay_early_failure() {
    // 10 s there; the longest delay that the RFC recommends here.
    let run = Sim::known(delay(Some(10_000)), &[v4(0), v4(1)])
        .fate(v4(0), fails(Outcome::Unreachable, 100))
        .fate(v4(1), connects(0))
        .run();
    run.assert_won(v4(1), 100);
}
