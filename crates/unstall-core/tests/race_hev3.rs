//! The DNS sequences of draft-ietf-happy-happyeyeballs-v3 section 4.2.2, its section 7 on late answers, and their
//! edges, in simulated time. The HTTPS answers of the draft are left out: a TCP connect does not ask for them, so what
//! the draft does once it has them is done here at once.

mod race_sim;

use race_sim::{Sim, config, connects, fails, ms, refused, v4, v6};
use unstall_core::outcome::Outcome;
use unstall_core::race::{Config, Family};
use unstall_core::timeline::Reason::{
    DnsCompleted, PolicyTimer, PreviousAttemptFailed, ResolutionDelayExpired,
};

const A: u16 = 1;
const B: u16 = 2;

fn asking() -> Sim {
    Sim::asking(Config::default())
}

#[test]
fn aaaa_slightly_before_a_starts_with_ipv6_and_goes_on_with_both() {
    let run =
        asking().answer_v6(30, &[v6(A), v6(B)]).answer_v4(32, &[v4(A), v4(B)]).fate(v4(B), connects(1)).run();
    assert_eq!(
        run.starts(),
        [
            (30, v6(A), DnsCompleted),
            (280, v4(A), PolicyTimer),
            (530, v6(B), PolicyTimer),
            (780, v4(B), PolicyTimer)
        ]
    );
}

#[test]
fn a_first_and_aaaa_10_ms_later_starts_with_ipv6_then() {
    let run =
        asking().answer_v4(30, &[v4(A), v4(B)]).answer_v6(40, &[v6(A), v6(B)]).fate(v4(A), connects(1)).run();
    assert_eq!(run.starts(), [(40, v6(A), DnsCompleted), (290, v4(A), PolicyTimer)]);
}

#[test]
fn a_first_and_aaaa_150_ms_later_starts_with_ipv4_after_the_resolution_delay() {
    let run = asking()
        .answer_v4(30, &[v4(A), v4(B)])
        .answer_v6(180, &[v6(A), v6(B)])
        .fate(v4(B), connects(1))
        .run();
    // The late addresses take the places that they would have had: v6 A, (v4 A,) v6 B, v4 B.
    assert_eq!(
        run.starts(),
        [
            (80, v4(A), ResolutionDelayExpired),
            (330, v6(A), PolicyTimer),
            (580, v6(B), PolicyTimer),
            (830, v4(B), PolicyTimer)
        ]
    );
}

/// The two sequences with a delayed or missing HTTPS answer and the one with hints: both families are there.
#[test]
fn both_at_once_start_at_once_with_ipv6() {
    let run = asking().answer_v6(30, &[v6(A)]).answer_v4(30, &[v4(A)]).fate(v4(A), connects(1)).run();
    assert_eq!(run.starts(), [(30, v6(A), DnsCompleted), (280, v4(A), PolicyTimer)]);
    let run = asking().answer_v4(30, &[v4(A)]).answer_v6(30, &[v6(A)]).fate(v4(A), connects(1)).run();
    assert_eq!(run.starts(), [(30, v6(A), DnsCompleted), (280, v4(A), PolicyTimer)]);
}

#[test]
fn on_an_ipv4_network_a_starts_at_once() {
    let run = Sim::asking(config(|config| config.family = Family::V4))
        .answer_v4(30, &[v4(A), v4(B)])
        .fate(v4(A), connects(1))
        .run();
    assert_eq!(run.starts(), [(30, v4(A), DnsCompleted)]);
}

#[test]
fn aaaa_at_the_very_end_of_the_resolution_delay_is_in_time() {
    let run = asking().answer_v4(30, &[v4(A)]).answer_v6(80, &[v6(A)]).fate(v6(A), connects(1)).run();
    assert_eq!(run.starts(), [(80, v6(A), DnsCompleted)]);
}

#[test]
fn a_negative_aaaa_ends_the_wait() {
    let run = asking().answer_v4(30, &[v4(A)]).answer_v6(50, &[]).fate(v4(A), connects(1)).run();
    assert_eq!(run.starts(), [(50, v4(A), DnsCompleted)]);
}

#[test]
fn a_negative_aaaa_before_a_leaves_nothing_to_wait_for() {
    let run = asking().answer_v6(30, &[]).answer_v4(500, &[v4(A)]).fate(v4(A), connects(1)).run();
    assert_eq!(run.starts(), [(500, v4(A), DnsCompleted)]);
}

#[test]
fn aaaa_never_comes() {
    let run = asking().answer_v4(30, &[v4(A), v4(B)]).fate(v4(A), refused(1)).fate(v4(B), connects(1)).run();
    assert_eq!(run.starts(), [(80, v4(A), ResolutionDelayExpired), (81, v4(B), PreviousAttemptFailed)]);
}

#[test]
fn a_negative_a_does_not_start_anything() {
    let run = asking().answer_v4(30, &[]).answer_v6(700, &[v6(A)]).fate(v6(A), connects(1)).run();
    assert_eq!(run.starts(), [(700, v6(A), DnsCompleted)]);
}

#[test]
fn a_second_a_answer_does_not_prolong_the_resolution_delay() {
    let run = asking().answer_v4(30, &[v4(A)]).answer_v4(60, &[v4(B)]).fate(v4(A), connects(0)).run();
    assert_eq!(run.starts(), [(80, v4(A), ResolutionDelayExpired)]);
}

#[test]
fn the_resolution_delay_is_configurable() {
    for delay in [0, 1, 200] {
        let run = Sim::asking(config(|config| config.resolution_delay = ms(delay)))
            .answer_v4(30, &[v4(A)])
            .fate(v4(A), connects(0))
            .run();
        run.assert_won(v4(A), 30 + delay);
    }
}

/// Section 7's example: one IPv6 attempt is in progress when IPv4 addresses come.
#[test]
fn late_ipv4_goes_ahead_of_the_remaining_ipv6() {
    let run = asking()
        .answer_v6(0, &[v6(A), v6(B), v6(3)])
        .answer_v4(200, &[v4(A), v4(B)])
        .fate(v6(3), connects(0))
        .run();
    assert_eq!(run.tried(), [v6(A), v4(A), v6(B), v4(B), v6(3)]);
    assert_eq!(run.times(), [0, 250, 500, 750, 1000]);
}

/// Section 7: an update does not move the timer.
#[test]
fn late_addresses_wait_for_the_timer_or_come_after_it() {
    let early = asking().answer_v6(0, &[v6(A)]).answer_v4(249, &[v4(A)]).fate(v4(A), connects(0)).run();
    assert_eq!(
        early.starts[1..].iter().map(|start| (start.at, start.reason)).collect::<Vec<_>>(),
        [(ms(250), PolicyTimer)]
    );
    let late = asking().answer_v6(0, &[v6(A)]).answer_v4(251, &[v4(A)]).fate(v4(A), connects(0)).run();
    assert_eq!(
        late.starts[1..].iter().map(|start| (start.at, start.reason)).collect::<Vec<_>>(),
        [(ms(251), DnsCompleted)]
    );
}

#[test]
fn a_failed_family_waits_for_the_other_answer() {
    let run = asking()
        .answer_v6(0, &[v6(A)])
        .fate(v6(A), refused(1))
        .answer_v4(40, &[v4(A)])
        .fate(v4(A), connects(0))
        .run();
    assert_eq!(run.starts(), [(0, v6(A), DnsCompleted), (40, v4(A), DnsCompleted)]);
}

#[test]
fn a_failed_family_and_a_negative_answer_end_the_race() {
    let run = asking().answer_v6(0, &[v6(A)]).fate(v6(A), refused(1)).answer_v4(40, &[]).run();
    run.assert_failed(Outcome::Refused, 40);
    let run = asking()
        .answer_v6(0, &[v6(A)])
        .fate(v6(A), refused(1))
        .failed_resolution(40, Outcome::TimedOut)
        .run();
    run.assert_failed(Outcome::Refused, 40);
}

#[test]
fn no_address_at_all() {
    asking().answer_v6(30, &[]).answer_v4(40, &[]).run().assert_failed(Outcome::NoName, 40);
    asking().answer(40, &[]).run().assert_failed(Outcome::NoName, 40);
    let outcomes = [Outcome::NoName, Outcome::TimedOut, Outcome::NotPermitted];
    for outcome in outcomes {
        asking().failed_resolution(40, outcome).run().assert_failed(outcome, 40);
    }
}

#[test]
fn failed_resolution_leaves_what_is_known() {
    let run = asking()
        .answer_v4(30, &[v4(A)])
        .failed_resolution(60, Outcome::TimedOut)
        .fate(v4(A), fails(Outcome::Unreachable, 5))
        .run();
    assert_eq!(run.starts(), [(60, v4(A), DnsCompleted)], "nothing to wait for any more");
    run.assert_failed(Outcome::Unreachable, 65);
}

#[test]
fn no_answer_until_the_deadline() {
    let config = config(|config| config.deadline = Some(ms(1_000)));
    Sim::asking(config.clone()).run().assert_failed(Outcome::TimedOut, 1_000);
    // One address failed, and the other answer is still to come.
    let run = Sim::asking(config).answer_v6(0, &[v6(A)]).fate(v6(A), refused(0)).run();
    run.assert_failed(Outcome::TimedOut, 1_000);
}
