//! An address made again (`Race::attempt_again`), in simulated time: a listener whose accept queue is full is tried
//! afresh, and nobody else waits for it.

mod race_sim;

use race_sim::{Fate, Sim, candidates, config, connects, local4, local6, ms, refused, v4, v6};
use unstall_core::outcome::Outcome;
use unstall_core::race::{Action, AttemptId, Config, End, Race, Verdict};
use unstall_core::timeline::Reason::{
    BacklogRetry, DnsCompleted, PolicyTimer, PreviousAttemptFailed, SynRetry,
};

/// Ends at once and is made again so many milliseconds later.
const fn full(pause_ms: u64) -> Fate {
    Fate::Again(ms(0), ms(pause_ms))
}

#[test]
fn the_same_address_starts_again_when_it_is_due() {
    let run = Sim::known(Config::default(), &[local4()])
        .fates([1, 2, 4].map(|pause| (local4(), full(pause))))
        .fate(local4(), connects(0))
        .run();
    assert_eq!(
        run.starts(),
        [
            (0, local4(), DnsCompleted),
            (1, local4(), BacklogRetry),
            (3, local4(), BacklogRetry),
            (7, local4(), BacklogRetry)
        ]
    );
    assert_eq!(run.end, End::Won(AttemptId(3)), "each has a name of its own");
}

#[test]
fn it_may_fail_in_the_end() {
    let run = Sim::known(Config::default(), &[local4()])
        .fates([(local4(), full(5)), (local4(), full(5)), (local4(), refused(0))])
        .run();
    run.assert_failed(Outcome::Refused, 10);
}

#[test]
fn the_next_candidate_starts_at_once_and_the_one_after_it_is_not_delayed_either() {
    let run = Sim::known(Config::default(), &[local6(), v4(1), v6(2)])
        .fates([1, 2, 4, 8, 16, 32, 64, 128].map(|pause| (local6(), full(pause))))
        .fate(v6(2), connects(0))
        .run();
    let others: Vec<_> = run.starts().into_iter().filter(|start| start.2 != BacklogRetry).collect();
    assert_eq!(
        others,
        [(0, local6(), DnsCompleted), (0, v4(1), PreviousAttemptFailed), (250, v6(2), PolicyTimer)]
    );
    assert_eq!(run.starts.len(), 3 + 7, "1, 3, 7, 15, 31, 63 and 127 ms");
}

/// An attempt that was made again is pending, and the next candidate has waited for it already.
#[test]
fn a_candidate_that_comes_later_does_not_wait_for_it() {
    let run = Sim::asking(Config::default())
        .answer_v6(0, &[local6()])
        .fate(local6(), full(5))
        .answer_v4(100, &[v4(1), v4(2)])
        .fate(v4(2), connects(0))
        .run();
    assert_eq!(
        run.starts(),
        [
            (0, local6(), DnsCompleted),
            (5, local6(), BacklogRetry),
            (100, v4(1), DnsCompleted),
            (350, v4(2), PolicyTimer)
        ]
    );
}

/// A remote one would make the delay 250 ms, if it counted.
#[test]
fn it_does_not_count_for_which_delay_applies() {
    let run = Sim::known(Config::default(), &[v6(1), local4(), local6()])
        .fate(v6(1), full(2))
        .fate(local6(), connects(0))
        .run();
    assert_eq!(run.times(), [0, 0, 2, 10]);
}

#[test]
fn its_failure_does_not_hurry_the_next() {
    let run = Sim::known(Config::default(), &[local6(), v4(1), v6(2)])
        .fate(local6(), full(100))
        .fate(local6(), refused(0))
        .fate(v6(2), connects(0))
        .run();
    assert_eq!(run.times(), [0, 0, 100, 250]);
}

#[test]
fn an_older_attempt_made_again_does_not_hurry_the_next() {
    let run = Sim::known(Config::default(), &[v6(1), v4(1), v6(2)])
        .fate(v6(1), Fate::Again(ms(300), ms(1_000)))
        .fate(v6(2), connects(0))
        .run();
    assert_eq!(run.times(), [0, 250, 500]);
}

#[test]
fn while_it_waits_the_race_goes_on() {
    let run = Sim::known(Config::default(), &[local6(), local4()])
        .fates([(local6(), full(50)), (local6(), connects(0)), (local4(), refused(0))])
        .run();
    run.assert_won(local6(), 50);
}

#[test]
fn it_keeps_its_place_at_the_limit() {
    let limit = config(|config| config.max_pending = 1);
    let run = Sim::known(limit, &[local6(), local4()])
        .fates([(local6(), full(50)), (local6(), refused(0)), (local4(), connects(0))])
        .run();
    assert_eq!(
        run.starts(),
        [(0, local6(), DnsCompleted), (50, local6(), BacklogRetry), (50, local4(), PreviousAttemptFailed)]
    );
    assert_eq!(run.most_pending, 1);
}

#[test]
fn a_winner_ends_what_waits_without_a_cancel() {
    let run = Sim::known(Config::default(), &[local6(), local4()])
        .fate(local6(), full(50))
        .fate(local4(), connects(20))
        .run();
    run.assert_won(local4(), 20);
    assert!(run.cancels.is_empty(), "there is no socket to close");
}

#[test]
fn an_attempt_made_again_is_cancelled_like_any_other() {
    let run = Sim::known(Config::default(), &[local6(), v4(1)])
        .fate(local6(), full(50))
        .fate(v4(1), connects(70))
        .run();
    let cancels: Vec<_> = run.cancels.iter().map(|&(_, id, outcome)| (id.0, outcome)).collect();
    assert_eq!(cancels, [(2, Outcome::Cancelled)]);
}

#[test]
fn the_deadline_ends_what_waits() {
    let deadline = config(|config| config.deadline = Some(ms(30)));
    let run = Sim::known(deadline, &[local6(), local4()])
        .fates([(local6(), full(29)), (local6(), full(29)), (local4(), refused(0))])
        .run();
    // Made again at 29 ms; the next time would be 58 ms, so it has failed, and with it everything.
    assert_eq!(run.times(), [0, 0, 29]);
    run.assert_failed(Outcome::TimedOut, 29);
}

#[test]
fn nothing_is_made_again_at_the_deadline_or_after_it() {
    for (pause, starts) in [(29, 2), (30, 1), (31, 1)] {
        let deadline = config(|config| config.deadline = Some(ms(30)));
        let run = Sim::known(deadline, &[local6()]).fate(local6(), full(pause)).run();
        assert_eq!(run.starts.len(), starts, "pause of {pause} ms");
        // No use to wait for a deadline when nothing can come before it.
        run.assert_failed(Outcome::TimedOut, if starts == 2 { 30 } else { 0 });
    }
}

#[test]
fn what_cannot_be_made_again_makes_way_for_the_next() {
    let deadline = config(|config| config.deadline = Some(ms(30)));
    let run = Sim::known(deadline, &[local6(), local4()])
        .fate(local6(), full(40))
        .fate(local4(), connects(0))
        .run();
    run.assert_won(local4(), 0);
}

#[test]
fn two_that_are_due_start_one_after_the_other() {
    let run = Sim::known(Config::default(), &[local6(), local4()])
        .fates([local6(), local4()].map(|address| (address, full(10))))
        .fates([(local6(), refused(0)), (local4(), connects(0))])
        .run();
    assert_eq!(run.tried(), [local6(), local4(), local6(), local4()]);
    run.assert_won(local4(), 10);
}

/// Somebody listens there.
#[test]
fn of_two_that_are_due_the_one_made_again_goes_first() {
    let run = Sim::known(Config::default(), &[local6(), v4(1), v6(1)])
        .fates([(local6(), full(250)), (local6(), refused(0)), (v6(1), connects(0))])
        .run();
    assert_eq!(run.tried(), [local6(), v4(1), local6(), v6(1)]);
    assert_eq!(run.times(), [0, 0, 250, 250]);
}

#[test]
fn a_time_that_has_passed_means_now() {
    let mut race = Race::with_candidates(Config::default(), &candidates(&[local4()]));
    assert!(matches!(race.next(ms(0)), Action::Start { .. }));
    assert_eq!(race.attempt_again(ms(5), AttemptId(0), ms(3)), Verdict::Close);
    let start = race.next(ms(5));
    assert!(matches!(start, Action::Start { id: AttemptId(1), reason: BacklogRetry, .. }), "{start:?}");
}

#[test]
fn an_attempt_given_back_is_over_for_good() {
    let mut race = Race::with_candidates(Config::default(), &candidates(&[local4()]));
    assert!(matches!(race.next(ms(0)), Action::Start { .. }));
    assert_eq!(race.attempt_again(ms(1), AttemptId(0), ms(9)), Verdict::Close);
    let waiting = race.clone();
    // Reported a second time, in every way.
    assert_eq!(race.attempt_ended(ms(2), AttemptId(0), Outcome::Connected), Verdict::Close);
    assert_eq!(race.attempt_ended(ms(2), AttemptId(0), Outcome::Refused), Verdict::Close);
    assert_eq!(race.attempt_again(ms(2), AttemptId(0), ms(3)), Verdict::Close);
    assert_eq!(race, waiting);
}

#[test]
fn after_the_end_nothing_is_made_again() {
    let mut race = Race::with_candidates(Config::default(), &candidates(&[local6(), local4()]));
    for now in [ms(0), ms(10)] {
        assert!(matches!(race.next(now), Action::Start { .. }));
    }
    assert_eq!(race.attempt_ended(ms(11), AttemptId(1), Outcome::Connected), Verdict::Keep);
    assert_eq!(race.attempt_again(ms(11), AttemptId(0), ms(12)), Verdict::Close);
    assert_eq!(
        race.attempt_again(ms(11), AttemptId(1), ms(12)),
        Verdict::Keep,
        "the winner stays the winner"
    );
    assert_eq!(race.next(ms(12)), Action::Done(End::Won(AttemptId(1))));
}

/// The same wait with another socket: unlike one that failed it lets nobody start before the attempt delay.
#[test]
fn a_renewed_attempt_does_not_hurry_the_next() {
    let mut race = Race::with_candidates(Config::default(), &candidates(&[local6(), local4()]));
    assert!(matches!(race.next(ms(0)), Action::Start { .. }));
    race.attempt_renewed(ms(2), AttemptId(0), BacklogRetry);
    let start = race.next(ms(2));
    assert!(
        matches!(start, Action::Start { id: AttemptId(1), candidate, reason: BacklogRetry } if candidate.address == local6()),
        "{start:?}"
    );
    assert_eq!(race.next(ms(2)), Action::Wait { until: Some(ms(10)) });
    let next = race.next(ms(10));
    assert!(
        matches!(next, Action::Start { id: AttemptId(2), reason: PolicyTimer, candidate } if candidate.address == local4()),
        "{next:?}"
    );
    // A renewal says why, and the old name is over for good.
    race.attempt_renewed(ms(12), AttemptId(1), SynRetry);
    assert!(matches!(race.next(ms(12)), Action::Start { id: AttemptId(3), reason: SynRetry, .. }));
    assert_eq!(race.attempt_ended(ms(13), AttemptId(1), Outcome::Connected), Verdict::Close);
    assert_eq!(race.attempt_ended(ms(13), AttemptId(3), Outcome::Connected), Verdict::Keep);
}

#[test]
fn one_that_waits_to_be_renewed_ends_with_the_deadline() {
    let deadline = config(|config| config.deadline = Some(ms(30)));
    let mut race = Race::with_candidates(deadline, &candidates(&[local4()]));
    assert!(matches!(race.next(ms(0)), Action::Start { .. }));
    race.attempt_renewed(ms(40), AttemptId(0), SynRetry);
    assert_eq!(race.next(ms(5)), Action::Wait { until: Some(ms(30)) });
    assert_eq!(race.next(ms(30)), Action::Done(End::Failed(Outcome::TimedOut)));
}
