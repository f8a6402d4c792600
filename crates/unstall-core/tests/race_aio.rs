//! The kinds of case in the suite of aiohappyeyeballs (aio-libs/aiohappyeyeballs, tests/test_impl.py and
//! test_staggered.py), in simulated time. Many of them are one kind here: whether socket(), an option, bind() or
//! connect() fails, the attempt has failed at once.

mod race_sim;

use race_sim::{Sim, config, connects, fails, local4, local6, ms, refused, v4, v6};
use unstall_core::outcome::Outcome;
use unstall_core::race::{Action, AttemptId, Config, End, Race, Verdict};

/// What a failing socket(), setsockopt(), bind() or connect() can come to before a packet is sent.
const AT_ONCE: [Outcome; 5] = [
    Outcome::NotAvailable,
    Outcome::NotPermitted,
    Outcome::Exhausted,
    Outcome::Unreachable,
    Outcome::Unknown,
];

#[test]
fn one_address_that_fails() {
    for outcome in AT_ONCE {
        Sim::known(Config::default(), &[v4(1)])
            .fate(v4(1), fails(outcome, 0))
            .run()
            .assert_failed(outcome, 0);
    }
}

#[test]
fn one_address_that_connects() {
    Sim::known(Config::default(), &[v4(1)]).fate(v4(1), connects(3)).run().assert_won(v4(1), 3);
}

#[test]
fn the_first_family_fails_at_once_and_the_other_connects() {
    for outcome in AT_ONCE {
        for [first, second] in [[v6(1), v4(1)], [v4(1), v6(1)]] {
            let run = Sim::known(Config::default(), &[first, second])
                .fate(first, fails(outcome, 0))
                .fate(second, connects(2))
                .run();
            run.assert_won(second, 2);
        }
    }
}

/// A local bind address of one family fails every attempt of the other.
#[test]
fn every_address_of_one_family_fails_at_once() {
    let addresses = [v6(1), v6(2), v6(3), v4(1), v4(2)];
    let dead = [v6(1), v6(2), v6(3)].map(|address| (address, fails(Outcome::NotAvailable, 0)));
    let run = Sim::known(Config::default(), &addresses).fates(dead).fate(v4(2), connects(0)).run();
    assert_eq!(run.tried(), [v6(1), v4(1), v6(2), v4(2)]);
    // v4 1 is silent, and after its delay v6 2 fails at once.
    run.assert_won(v4(2), 250);
}

#[test]
fn all_fail_alike() {
    for outcome in AT_ONCE {
        let all = [v6(1), v4(1), v6(2)].map(|address| (address, fails(outcome, 1)));
        let run = Sim::known(Config::default(), &[v6(1), v4(1), v6(2)]).fates(all).run();
        run.assert_failed(outcome, 3);
        assert_eq!(run.starts.len(), 3);
    }
}

/// There the errors are joined into one text; here the one that tells most speaks for the whole (and the timeline has
/// them all), whichever comes first.
#[test]
fn all_fail_differently() {
    use Outcome::{
        Cancelled, Exhausted, NoName, NotAvailable, NotPermitted, Refused, SelfConnected, TimedOut, Unknown,
        Unreachable,
    };
    let from_most_telling =
        [TimedOut, NotPermitted, Exhausted, Refused, Unknown, Unreachable, NotAvailable, NoName, Cancelled];
    for (rank, &more) in from_most_telling.iter().enumerate() {
        for &less in &from_most_telling[rank..] {
            for [first, second] in [[more, less], [less, more]] {
                let run = Sim::known(Config::default(), &[v6(1), v4(1)])
                    .fate(v6(1), fails(first, 0))
                    .fate(v4(1), fails(second, 0))
                    .run();
                run.assert_failed(more, 0);
            }
        }
    }
    let also_ranked = [SelfConnected, Outcome::Connected];
    assert_eq!(from_most_telling.len() + also_ranked.len(), Outcome::ALL.len(), "every outcome has its rank");
    for (other, whole) in [(Unknown, Refused), (Exhausted, Exhausted), (SelfConnected, Refused)] {
        for [first, second] in [[SelfConnected, other], [other, SelfConnected]] {
            let run = Sim::known(Config::default(), &[local6(), local4()])
                .fate(local6(), fails(first, 0))
                .fate(local4(), fails(second, 0))
                .run();
            run.assert_failed(whole, 0);
        }
    }
}

#[test]
fn a_slow_first_address_is_overtaken() {
    let run = Sim::known(config(|config| config.attempt_delay = ms(300)), &[v6(1), v4(1)])
        .fate(v6(1), connects(1_000))
        .fate(v4(1), connects(10))
        .run();
    run.assert_won(v4(1), 310);
    assert_eq!(run.cancels.len(), 1);
}

#[test]
fn a_slow_first_address_may_still_win() {
    let run = Sim::known(config(|config| config.attempt_delay = ms(300)), &[v6(1), v4(1)])
        .fate(v6(1), connects(305))
        .fate(v4(1), connects(10))
        .run();
    run.assert_won(v6(1), 305);
}

#[test]
fn a_slow_failure_after_the_second_has_started() {
    let run = Sim::known(Config::default(), &[v6(1), v4(1)])
        .fate(v6(1), refused(400))
        .fate(v4(1), connects(400))
        .run();
    run.assert_won(v4(1), 650);
    assert!(run.cancels.is_empty(), "the loser had failed");
}

/// aio-libs/aiohappyeyeballs#143: two winners really happen.
#[test]
fn of_two_winners_the_second_is_closed() {
    let mut race = two_pending();
    assert_eq!(race.attempt_ended(ms(11), AttemptId(1), Outcome::Connected), Verdict::Keep);
    assert_eq!(race.attempt_ended(ms(11), AttemptId(0), Outcome::Connected), Verdict::Close);
    assert_eq!(race.next(ms(11)), Action::Done(End::Won(AttemptId(1))), "nothing is left to cancel");
}

#[test]
fn a_winner_that_comes_after_its_own_cancel_is_closed() {
    let mut race = two_pending();
    assert_eq!(race.attempt_ended(ms(11), AttemptId(1), Outcome::Connected), Verdict::Keep);
    assert_eq!(race.next(ms(11)), Action::Cancel { id: AttemptId(0), outcome: Outcome::Cancelled });
    assert_eq!(race.attempt_ended(ms(11), AttemptId(0), Outcome::Connected), Verdict::Close);
    assert_eq!(race.next(ms(11)), Action::Done(End::Won(AttemptId(1))));
}

/// There, that the exception of a cancelled task is not swallowed.
#[test]
fn the_callers_cancel_is_the_end_whatever_comes_after_it() {
    let mut race = two_pending();
    race.cancel(ms(11));
    assert_eq!(race.attempt_ended(ms(11), AttemptId(1), Outcome::Connected), Verdict::Close);
    assert_eq!(race.next(ms(11)), Action::Cancel { id: AttemptId(0), outcome: Outcome::Cancelled });
    race.cancel(ms(12));
    assert_eq!(race.next(ms(12)), Action::Done(End::Failed(Outcome::Cancelled)));
}

#[test]
fn a_cancel_after_the_winner_does_not_take_it_away() {
    let mut race = two_pending();
    assert_eq!(race.attempt_ended(ms(11), AttemptId(0), Outcome::Connected), Verdict::Keep);
    race.cancel(ms(11));
    assert_eq!(race.next(ms(11)), Action::Cancel { id: AttemptId(1), outcome: Outcome::Cancelled });
    assert_eq!(race.next(ms(11)), Action::Done(End::Won(AttemptId(0))));
}

/// ::1 and 127.0.0.1, pending since 0 and 10 ms.
fn two_pending() -> Race {
    let mut race = Race::with_candidates(Config::default(), &race_sim::candidates(&[local6(), local4()]));
    for now in [ms(0), ms(10)] {
        assert!(matches!(race.next(now), Action::Start { .. }));
    }
    assert_eq!(race.next(ms(10)), Action::Wait { until: None });
    race
}
