//! The rows of Go's `TestDialParallel` and `TestDialerPartialDeadline` (golang/go, src/net/dial_test.go), in
//! simulated time.
//!
//! Go races two lists, the family of the first address and the other one, and dials each list in turn. Here there is
//! one list, so a row is given as its first list followed by its second, and ends as soon as in Go or sooner; the one
//! row that does not says why.

mod race_sim;

use race_sim::{Fate, Sim, config, connects, local4, local6, ms, refused, v4, v6};
use std::net::SocketAddr;
use std::time::Duration;
use unstall_core::outcome::Outcome;
use unstall_core::race::Config;

/// Go's `fallbackDelay` in this test.
const DELAY: u64 = 200;

/// How long a closed port takes to refuse: at once, and Go's bounds for Unix, macOS and (before its fix) Windows.
const REFUSALS: [u64; 4] = [0, 95, 150, 1500];

/// Which of the listeners on 127.0.0.1 and ::1 is closed.
#[derive(Clone, Copy, PartialEq)]
enum Down {
    Neither,
    V4,
    V6,
}

struct Row {
    addresses: Vec<SocketAddr>,
    down: Down,
    connects: bool,
    /// How long it takes in Go, from how long a refusal takes.
    go: fn(refusal: u64) -> u64,
    /// How long it takes here.
    here: fn(refusal: u64) -> u64,
}

fn rows() -> [Row; 13] {
    let (dead4, dead6) = (v4(254), v6(254));
    let row = |addresses: &[SocketAddr], down, connects, go, here| Row {
        addresses: addresses.to_vec(),
        down,
        connects,
        go,
        here,
    };
    [
        row(&[local4()], Down::Neither, true, |_| 0, |_| 0),
        row(&[local6()], Down::Neither, true, |_| 0, |_| 0),
        row(&[local4(), local6(), dead6], Down::V6, true, |_| 0, |_| 0),
        row(&[local6(), local4(), dead4], Down::V4, true, |_| 0, |_| 0),
        row(&[dead4, local6()], Down::Neither, true, |_| DELAY, |_| DELAY),
        row(&[local4(), local6()], Down::V4, true, |refusal| refusal, |refusal| refusal.min(DELAY)),
        row(&[local6(), local4()], Down::V6, true, |refusal| refusal, |refusal| refusal.min(DELAY)),
        // The second list is started before the first is through in Go; here 127.0.0.1 is third, after dead6.
        row(&[dead4, dead6, local6(), local4()], Down::V6, true, |refusal| DELAY + refusal, |_| 2 * DELAY),
        row(
            &[local4(), local6()],
            Down::V4,
            true,
            |refusal| refusal.min(DELAY),
            |refusal| refusal.min(DELAY),
        ),
        row(
            &[local6(), local4()],
            Down::V6,
            true,
            |refusal| refusal.min(DELAY),
            |refusal| refusal.min(DELAY),
        ),
        row(&[local4()], Down::V4, false, |refusal| refusal, |refusal| refusal),
        row(&[], Down::Neither, false, |_| 0, |_| 0),
        row(&vec![local6(); 1000], Down::Neither, true, |_| 0, |_| 0),
    ]
}

/// Go has one delay for every address.
fn go_delay() -> Config {
    config(|config| {
        config.attempt_delay = ms(DELAY);
        config.local_attempt_delay = ms(DELAY);
    })
}

fn sim(row: &Row, config: Config, refusal: u64) -> Sim {
    let fate = |closed| if closed { refused(refusal) } else { connects(0) };
    Sim::known(config, &row.addresses)
        .fate(local4(), fate(row.down == Down::V4))
        .fate(local6(), fate(row.down == Down::V6))
}

#[test]
fn dial_parallel() {
    for refusal in REFUSALS {
        for (number, row) in (1..).zip(rows().iter()) {
            let run = sim(row, go_delay(), refusal).run();
            assert_eq!(run.winner().is_some(), row.connects, "row {number}: {run:#?}");
            assert_eq!(run.at, ms((row.here)(refusal)), "row {number}, refused in {refusal} ms: {run:#?}");
            let one_list = number == 8;
            assert!(one_list || run.at <= ms((row.go)(refusal)), "row {number} is slower than Go");
        }
    }
}

#[test]
fn dial_parallel_among_local_addresses_with_the_default_delays() {
    // Go would wait 200 (by default 300) ms for a loopback address that does not answer.
    for row in rows().iter().filter(|row| row.addresses.len() == 2 && row.down != Down::Neither) {
        let run = sim(row, Config::default(), 1500).run();
        assert_eq!(run.at, ms(10));
        assert!(run.winner().is_some());
    }
}

#[test]
fn dial_parallel_cancelled_after_5_ms() {
    for refusal in REFUSALS {
        for (number, row) in (1..).zip(rows().iter()) {
            let uncancelled = ms((row.here)(refusal));
            let run = sim(row, go_delay(), refusal).cancel(5).run();
            // Go allows 100 ms for it.
            assert_eq!(run.at, uncancelled.min(ms(5)), "row {number}");
            if uncancelled > ms(5) {
                run.assert_failed(Outcome::Cancelled, 5);
                let cancelled: Vec<_> = run.cancels.iter().map(|&(at, _, outcome)| (at, outcome)).collect();
                assert_eq!(cancelled, [(ms(5), Outcome::Cancelled)], "row {number}: one attempt was pending");
            }
        }
    }
}

#[test]
fn a_thousand_addresses_are_one_attempt_if_the_first_connects() {
    let addresses: Vec<_> = (0..1000).map(|n| if n % 2 == 0 { v4(n) } else { v6(n) }).collect();
    let run = Sim::known(Config::default(), &addresses).fate(v4(0), connects(0)).run();
    run.assert_won(v4(0), 0);
    assert_eq!(run.tried(), [v4(0)]);
}

/// `TestDialParallelSpuriousConnection`: two connect; the second is closed.
#[test]
fn of_two_connections_one_is_kept() {
    // That the second gets `Verdict::Close` the simulation checks.
    let both = [(local4(), connects(20)), (local6(), connects(10))];
    let run = Sim::known(Config::default(), &[local4(), local6()]).fates(both).run();
    run.assert_won(local4(), 20);
    assert!(run.cancels.is_empty(), "both had ended: {run:#?}");
    let run = Sim::known(Config::default(), &[local4(), local6()]).fates(both).one_by_one().run();
    run.assert_won(local4(), 20);
    assert_eq!(run.cancels.len(), 1);
}

/// `TestDialerFallbackDelay`: configured delays, in ns, and when the second address starts.
#[test]
fn fallback_delay() {
    let second_start = |delay: Option<Duration>| {
        let config = config(|config| config.attempt_delay = delay.unwrap_or(config.attempt_delay));
        Sim::known(config, &[v6(1), v4(1)]).fate(v4(1), connects(0)).run().starts[1].at
    };
    // Go obeys 1 ns; the RFC's minimum is 10 ms.
    assert_eq!(second_start(Some(Duration::from_nanos(1))), ms(10));
    assert_eq!(second_start(Some(ms(200))), ms(200));
    // Go's default is RFC 6555's 300 ms.
    assert_eq!(second_start(None), ms(250));
}

/// A row of `TestDialerPartialDeadline`: the time left (in ms; `None` without a deadline), the number of addresses
/// and what the first of them is given.
struct Share {
    left: Option<i64>,
    addresses: u16,
    first: Option<u64>,
}

/// Go divides what is left of the deadline among the addresses that are left, at least 2 s for each, because it tries
/// them in turn and a silent one would leave nothing for the next. In a race the next one does not wait for that, so
/// the deadline is not divided: every attempt may use all of what is left. What Go's rows demand holds: nobody who is
/// tried gets less than its share, without a deadline there is none, and from the deadline on there is nothing.
#[test]
fn partial_deadline() {
    let share = |left, addresses, first| Share { left, addresses, first };
    let rows = [
        share(Some(12_000), 1, Some(12_000)),
        share(Some(12_000), 2, Some(6_000)),
        share(Some(12_000), 3, Some(4_000)),
        share(Some(12_000), 999, Some(2_000)),
        share(Some(1_900), 999, Some(1_900)),
        share(None, 1, None),
        share(Some(1), 1, Some(1)),
        share(Some(0), 1, None),
        share(Some(-1), 1, None),
    ];
    for (number, row) in rows.iter().enumerate() {
        let addresses: Vec<_> = (0..row.addresses).map(v4).collect();
        // Time counts from the start of the connect: a deadline that has passed is one at 0.
        let deadline = row.left.map(|left| u64::try_from(left).unwrap_or(0));
        let config = config(|config| config.deadline = deadline.map(ms));
        let sim = Sim::known(config, &addresses);
        let Some(deadline) = deadline else {
            // The kernel gives up after 127 s, and until then nobody else does.
            sim.fate(v4(0), Fate::Ends(ms(127_000), Outcome::TimedOut))
                .run()
                .assert_failed(Outcome::TimedOut, 127_000);
            continue;
        };
        let run = sim.run();
        run.assert_failed(Outcome::TimedOut, deadline);
        let Some(first) = row.first else {
            assert!(run.starts.is_empty(), "row {number}: nothing starts at the deadline");
            continue;
        };
        assert_eq!(run.cancels.len(), run.starts.len());
        // Of 999 silent addresses Go tries six in 12 s as well.
        assert!(row.addresses != 999 || deadline < 12_000 || run.starts.len() == 6, "row {number}");
        for &(at, id, outcome) in &run.cancels {
            assert_eq!((at, outcome), (ms(deadline), Outcome::TimedOut), "row {number}");
            let share = run.starts[id.0 as usize].at + ms(first);
            // With less than 2 s left Go has something for the first one only.
            let has_share = id.0 == 0 || row.left >= Some(2_000);
            assert!(at >= share || !has_share, "row {number}: {id:?} was ended at {at:?}");
        }
    }
}
