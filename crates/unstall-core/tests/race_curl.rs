//! The rows of curl's unit test 2600 (curl/curl, tests/unit/unit2600.c): fake sockets that fail after a while, how
//! many of each family start, how long the whole takes at least and how many are pending at once; and the rows that
//! it lacks: success, instant refusal, cancel.
//!
//! Two rules differ from curl's: the order of families is the one given (curl always takes IPv6 first), and at the
//! limit of pending attempts the oldest stays (curl gives it up, so that the ninth address of row 10 starts at 160 ms).

mod race_sim;

use race_sim::{Run, Sim, config, connects, fails, ms, refused, v4, v6};
use std::net::SocketAddr;
use unstall_core::outcome::Outcome;
use unstall_core::race::{Config, Family};

struct Row {
    addresses: Vec<SocketAddr>,
    family: Family,
    delay: u64,
    fail_after: u64,
    /// How many IPv4 and IPv6 attempts start.
    started: (usize, usize),
    /// curl's least duration, and ours to the millisecond.
    duration: (u64, u64),
    most_pending: usize,
}

fn rows() -> Vec<Row> {
    let row = |addresses: &[SocketAddr], family, (delay, fail_after), started, duration, most_pending| Row {
        addresses: addresses.to_vec(),
        family,
        delay,
        fail_after,
        started,
        duration,
        most_pending,
    };
    let nine: Vec<_> = (1..=8).map(v6).chain([v4(1)]).collect();
    vec![
        row(&[v4(1)], Family::Any, (150, 250), (1, 0), (200, 250), 1),
        row(&[v4(1), v4(2)], Family::Any, (150, 250), (2, 0), (400, 400), 2),
        row(&[v6(1)], Family::Any, (150, 250), (0, 1), (200, 250), 1),
        row(&[v6(1), v6(2)], Family::Any, (150, 250), (0, 2), (400, 400), 2),
        row(&[v4(1), v6(1)], Family::Any, (150, 250), (1, 1), (350, 400), 2),
        row(&[v6(1), v4(1)], Family::Any, (150, 250), (1, 1), (350, 400), 2),
        row(&[v4(1), v6(1)], Family::V4, (150, 500), (1, 0), (400, 500), 1),
        row(&[v6(1), v4(1)], Family::V6, (150, 500), (0, 1), (400, 500), 1),
        row(&[v6(1), v4(1), v6(2), v6(3)], Family::Any, (50, 400), (1, 3), (550, 550), 4),
        // The seventh to ninth start when the first to third have failed, at 500, 520 and 540 ms.
        row(&nine, Family::Any, (20, 500), (1, 8), (550, 1040), 6),
    ]
}

fn delay(delay: u64) -> Config {
    config(|config| config.attempt_delay = ms(delay))
}

#[test]
fn unit2600() {
    for (number, row) in (1..).zip(rows()) {
        let config = config(|config| {
            config.attempt_delay = ms(row.delay);
            config.family = row.family;
        });
        let dead =
            row.addresses.iter().map(|&address| (address, fails(Outcome::Unreachable, row.fail_after)));
        let run = Sim::known(config, &row.addresses).fates(dead).run();
        let started = run.tried().iter().filter(|address| address.is_ipv4()).count();
        assert_eq!((started, run.starts.len() - started), row.started, "row {number}: {run:#?}");
        assert!(row.duration.1 >= row.duration.0, "row {number}: shorter than curl allows");
        run.assert_failed(Outcome::Unreachable, row.duration.1);
        assert_eq!(run.most_pending, row.most_pending, "row {number}: {run:#?}");
        let second = run.starts.get(1).map_or(ms(row.delay), |start| start.at);
        assert_eq!(second, ms(row.delay), "row {number}: the second waits for the delay");
    }
}

#[test]
fn at_the_limit_the_oldest_stays() {
    let addresses: Vec<_> = (1..=9).map(v6).collect();
    // The oldest is slow, but it is the one that connects.
    let run = Sim::known(delay(20), &addresses).fate(v6(1), connects(3_000)).run();
    run.assert_won(v6(1), 3_000);
    assert_eq!(run.times(), [0, 20, 40, 60, 80, 100], "six pending, and none given up for the seventh");
    assert_eq!(run.cancels.iter().map(|cancel| cancel.0).collect::<Vec<_>>(), [ms(3_000); 5]);
}

#[test]
fn success_ends_the_others() {
    let addresses = [v6(1), v4(1), v6(2)];
    let run = Sim::known(delay(150), &addresses).fate(v4(1), connects(100)).run();
    run.assert_won(v4(1), 250);
    assert_eq!(run.times(), [0, 150]);
    assert_eq!(run.cancels.len(), 1, "the first is cancelled, the third never starts");
}

#[test]
fn success_of_the_first_attempt_is_the_only_attempt() {
    let run = Sim::known(delay(150), &[v6(1), v4(1)]).fate(v6(1), connects(149)).run();
    run.assert_won(v6(1), 149);
    assert_eq!(run.tried(), [v6(1)]);
}

#[test]
fn instant_refusal_starts_the_next_at_once() {
    let run = Sim::known(delay(150), &[v6(1), v4(1)]).fate(v6(1), refused(0)).fate(v4(1), connects(0)).run();
    run.assert_won(v4(1), 0);
}

/// curl/curl#5083: a family that fails at once must not keep the other from its turn. curl waits for its timer as
/// long as any attempt is pending.
#[test]
fn instant_refusal_beside_a_silent_attempt_does_not_wait_for_the_timer() {
    let run: Run =
        Sim::known(delay(150), &[v6(1), v4(1), v6(2)]).fate(v4(1), refused(0)).fate(v6(2), connects(0)).run();
    run.assert_won(v6(2), 150);
}

#[test]
fn cancel_ends_every_attempt() {
    let run = Sim::known(delay(150), &[v6(1), v4(1), v6(2)]).cancel(200).run();
    run.assert_failed(Outcome::Cancelled, 200);
    assert_eq!(run.times(), [0, 150]);
    assert!(run.cancels.iter().all(|&(at, _, outcome)| (at, outcome) == (ms(200), Outcome::Cancelled)));
    assert_eq!(run.cancels.len(), 2);
}
