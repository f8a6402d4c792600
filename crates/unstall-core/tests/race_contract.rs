//! What a driver may rely on: the deadline, reports at odd moments, no allocation.

mod race_sim;

use race_sim::{Sim, candidate, candidates, config, connects, local4, local6, ms, refused, v4, v6};
use std::time::Duration;
use unstall_core::outcome::Outcome;
use unstall_core::race::{Action, AttemptId, Candidate, Config, End, Race, Verdict};
use unstall_core::timeline::Reason;

fn deadline(deadline_ms: u64) -> Config {
    config(|config| config.deadline = Some(ms(deadline_ms)))
}

#[test]
fn the_deadline_ends_every_pending_attempt_as_timed_out() {
    let run = Sim::known(deadline(300), &[v6(1), v4(1), v6(2)]).run();
    run.assert_failed(Outcome::TimedOut, 300);
    assert_eq!(run.times(), [0, 250]);
    assert!(run.cancels.iter().all(|&(at, _, outcome)| (at, outcome) == (ms(300), Outcome::TimedOut)));
    assert_eq!(run.cancels.len(), 2);
}

/// A refusal is a refusal, whatever the deadline.
#[test]
fn an_outcome_at_the_very_moment_of_the_deadline_counts() {
    Sim::known(deadline(300), &[v6(1)]).fate(v6(1), refused(300)).run().assert_failed(Outcome::Refused, 300);
    Sim::known(deadline(300), &[v6(1)]).fate(v6(1), connects(300)).run().assert_won(v6(1), 300);
}

#[test]
fn nothing_starts_at_the_deadline() {
    // The timer of the second and the deadline are one moment, and so are the refusal of the first and the deadline.
    Sim::known(deadline(250), &[v6(1), v4(1)]).run().assert_failed(Outcome::TimedOut, 250);
    let run = Sim::known(deadline(100), &[v6(1), v4(1)]).fate(v6(1), refused(100)).run();
    run.assert_failed(Outcome::TimedOut, 100);
    assert_eq!(run.starts.len(), 1);
    let run = Sim::known(deadline(0), &[v6(1)]).run();
    run.assert_failed(Outcome::TimedOut, 0);
    assert!(run.starts.is_empty());
}

#[test]
fn a_failure_of_everything_does_not_wait_for_the_deadline() {
    Sim::known(deadline(300), &[v6(1)]).fate(v6(1), refused(7)).run().assert_failed(Outcome::Refused, 7);
}

/// The driver's timer was late, and the connection is there.
#[test]
fn a_driver_that_wakes_up_late_loses_nothing() {
    let mut race = Race::with_candidates(deadline(300), &[candidate(v6(1))]);
    assert!(matches!(race.next(ms(0)), Action::Start { .. }));
    assert_eq!(race.attempt_ended(ms(316), AttemptId(0), Outcome::Connected), Verdict::Keep);
    assert_eq!(race.next(ms(316)), Action::Done(End::Won(AttemptId(0))));
}

#[test]
fn once_the_deadline_was_noticed_a_connection_is_too_late() {
    let mut race = Race::with_candidates(deadline(300), &[candidate(v6(1))]);
    assert!(matches!(race.next(ms(0)), Action::Start { .. }));
    assert_eq!(race.next(ms(301)), Action::Cancel { id: AttemptId(0), outcome: Outcome::TimedOut });
    assert_eq!(race.attempt_ended(ms(301), AttemptId(0), Outcome::Connected), Verdict::Close);
    assert_eq!(race.next(ms(301)), Action::Done(End::Failed(Outcome::TimedOut)));
}

#[test]
fn timers_wait_for_the_nearest_of_them() {
    let mut race = Race::with_candidates(deadline(100), &candidates(&[v6(1), v4(1)]));
    assert!(matches!(race.next(ms(0)), Action::Start { .. }));
    assert_eq!(race.next(ms(0)), Action::Wait { until: Some(ms(100)) });
    let mut race = Race::with_candidates(deadline(400), &candidates(&[v6(1), v4(1)]));
    assert!(matches!(race.next(ms(0)), Action::Start { .. }));
    assert_eq!(race.next(ms(0)), Action::Wait { until: Some(ms(250)) });
    assert!(matches!(race.next(ms(250)), Action::Start { .. }));
    assert_eq!(race.next(ms(250)), Action::Wait { until: Some(ms(400)) }, "no candidate is left");
    let mut race = Race::new(Config::default());
    assert_eq!(race.next(ms(0)), Action::Wait { until: None }, "only an answer helps");
}

/// A driver that asks late gets one start, and the next delay counts from there.
#[test]
fn a_late_question_does_not_make_up_for_lost_starts() {
    let mut race = Race::with_candidates(Config::default(), &candidates(&[v6(1), v4(1), v6(2)]));
    assert!(matches!(race.next(ms(0)), Action::Start { .. }));
    assert!(matches!(race.next(ms(900)), Action::Start { reason: Reason::PolicyTimer, .. }));
    assert_eq!(race.next(ms(900)), Action::Wait { until: Some(ms(1_150)) });
}

/// The reason is the condition that was met last, also when the driver asks later than that.
#[test]
fn a_late_question_is_told_the_right_reason() {
    let mut race = Race::with_candidates(Config::default(), &candidates(&[v6(1), v4(1), v6(2)]));
    for now in [ms(0), ms(250)] {
        assert!(matches!(race.next(now), Action::Start { .. }));
    }
    // The timer ran out at 500 ms; that an older attempt failed at 510 ms made no difference.
    assert_eq!(race.attempt_ended(ms(510), AttemptId(0), Outcome::Refused), Verdict::Close);
    assert!(matches!(race.next(ms(510)), Action::Start { reason: Reason::PolicyTimer, .. }));
}

#[test]
fn times_beyond_the_clock_do_not_overflow() {
    let config = config(|config| {
        config.resolution_delay = Duration::MAX;
        config.deadline = Some(Duration::MAX);
    });
    let mut race = Race::new(config);
    race.answer_family(ms(1), unstall_core::race::Family::V4, &candidates(&[v4(1)]));
    assert_eq!(race.next(ms(1)), Action::Wait { until: Some(Duration::MAX) });
    let mut race = Race::with_candidates(Config::default(), &candidates(&[v6(1), v4(1)]));
    let late = Duration::MAX.saturating_sub(ms(1));
    assert!(matches!(race.next(late), Action::Start { .. }));
    assert_eq!(race.next(late), Action::Wait { until: Some(Duration::MAX) });
}

#[test]
fn done_stays_done() {
    let mut race = Race::with_candidates(Config::default(), &[candidate(local4())]);
    assert!(matches!(race.next(ms(0)), Action::Start { .. }));
    assert_eq!(race.attempt_ended(ms(1), AttemptId(0), Outcome::Connected), Verdict::Keep);
    for now in [ms(1), ms(2), ms(10_000)] {
        assert_eq!(race.next(now), Action::Done(End::Won(AttemptId(0))));
        race.answer(now, &candidates(&[local6(), v4(1)]));
        race.failed_resolution(now, Outcome::NoName);
        assert_eq!(
            race.attempt_ended(now, AttemptId(0), Outcome::Connected),
            Verdict::Keep,
            "still the winner"
        );
    }
}

#[test]
fn a_second_report_of_a_failure_changes_nothing() {
    let mut race = Race::with_candidates(Config::default(), &candidates(&[v6(1), v4(1)]));
    assert!(matches!(race.next(ms(0)), Action::Start { .. }));
    assert_eq!(race.attempt_ended(ms(1), AttemptId(0), Outcome::Refused), Verdict::Close);
    let once = race.clone();
    assert_eq!(race.attempt_ended(ms(2), AttemptId(0), Outcome::TimedOut), Verdict::Close);
    assert_eq!(race.attempt_ended(ms(2), AttemptId(0), Outcome::Connected), Verdict::Close);
    assert_eq!(race, once);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "never started")]
fn an_unknown_id_is_a_bug_of_the_driver() {
    let mut race = Race::with_candidates(Config::default(), &[candidate(v6(1))]);
    let _close = race.attempt_ended(ms(0), AttemptId(0), Outcome::Refused);
}

#[test]
#[cfg(not(debug_assertions))]
fn an_unknown_id_is_ignored() {
    let mut race = Race::with_candidates(Config::default(), &[candidate(v6(1))]);
    let before = race.clone();
    assert_eq!(race.attempt_ended(ms(0), AttemptId(0), Outcome::Connected), Verdict::Close);
    assert_eq!(race.attempt_again(ms(0), AttemptId(0), ms(1)), Verdict::Close);
    assert_eq!(race, before);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "a failed resolution")]
fn a_resolution_does_not_fail_with_success() {
    Race::new(Config::default()).failed_resolution(ms(0), Outcome::Connected);
}

// The counting allocator cannot run where thread-local variables themselves allocate.
#[cfg(not(all(windows, target_env = "gnu")))]
#[test]
fn a_race_takes_no_memory_for_eight_addresses() {
    let addresses: Vec<Candidate> = candidates(&[v6(1), v6(2), v6(3), v6(4), v4(1), v4(2), v4(3), v4(4)]);
    let mut starts = 0;
    let used = allocation_counter::measure(|| {
        let mut race = Race::with_candidates(config(|config| config.max_pending = 8), &addresses);
        let mut now = Duration::ZERO;
        loop {
            match race.next(now) {
                Action::Start { .. } => starts += 1,
                Action::Wait { until: Some(until) } => now = until,
                Action::Wait { until: None } => race.cancel(now),
                Action::Cancel { .. } => {}
                Action::Done(_) => break,
            }
        }
    });
    assert_eq!(starts, 8);
    assert_eq!(used.count_total, 0, "{used:?}");
}

/// With more addresses there is an allocation for the list, and none per attempt.
// The counting allocator cannot run where thread-local variables themselves allocate.
#[cfg(not(all(windows, target_env = "gnu")))]
#[test]
fn many_refused_addresses_take_no_memory_for_attempts() {
    let addresses: Vec<Candidate> = (0..100).map(|n| candidate(v4(n))).collect();
    let mut race = Race::with_candidates(Config::default(), &addresses);
    let mut starts = 0;
    let used = allocation_counter::measure(|| {
        while let Action::Start { id, .. } = race.next(ms(0)) {
            starts += 1;
            let _close = race.attempt_ended(ms(0), id, Outcome::Refused);
        }
    });
    assert_eq!(starts, 100);
    assert_eq!(used.count_total, 0, "{used:?}");
    assert_eq!(race.next(ms(0)), Action::Done(End::Failed(Outcome::Refused)));
}

#[test]
fn ids_count_the_starts() {
    let run = Sim::known(Config::default(), &[local6(), local4(), v4(1)])
        .fates([local6(), local4(), v4(1)].map(|address| (address, refused(1))))
        .run();
    assert_eq!(run.starts.iter().map(|start| start.id.0).collect::<Vec<_>>(), [0, 1, 2]);
}
