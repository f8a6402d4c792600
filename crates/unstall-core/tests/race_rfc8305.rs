//! RFC 8305 section by section, in simulated time. Section 3 (asynchronous answers) is in `race_hev3.rs`, whose draft
//! keeps it and has the timelines.

mod race_sim;

use race_sim::{Sim, candidate, candidates, config, connects, fails, local4, local6, ms, refused, v4, v6};
use unstall_core::outcome::Outcome;
use unstall_core::race::{Config, Family, Race};
use unstall_core::timeline::Reason::{DnsCompleted, PolicyTimer, PreviousAttemptFailed};

mod section_4_sorting_addresses {
    use super::*;
    use std::net::SocketAddr;

    fn order(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
        let race = Race::with_candidates(Config::default(), &candidates(addresses));
        race.candidates().map(|candidate| candidate.address).collect()
    }

    #[test]
    fn families_alternate_after_the_first_address() {
        let sorted = [v6(1), v6(2), v6(3), v4(1), v4(2)];
        assert_eq!(order(&sorted), [v6(1), v4(1), v6(2), v4(2), v6(3)]);
    }

    /// The OS has sorted by RFC 6724, its administrator's rules included.
    #[test]
    fn the_first_family_is_the_one_of_the_sorted_list() {
        assert_eq!(order(&[v4(1), v4(2), v6(1), v6(2)]), [v4(1), v6(1), v4(2), v6(2)]);
        assert_eq!(order(&[local4(), local6()]), [local4(), local6()]);
        assert_eq!(order(&[local6(), local4()]), [local6(), local4()]);
    }

    #[test]
    fn one_family_keeps_its_order() {
        assert_eq!(order(&[v6(3), v6(1), v6(2)]), [v6(3), v6(1), v6(2)]);
        assert_eq!(order(&[v4(3), v4(1), v4(2)]), [v4(3), v4(1), v4(2)]);
    }

    #[test]
    fn what_is_left_of_the_longer_family_comes_last() {
        assert_eq!(order(&[v6(1), v4(1), v4(2), v4(3)]), [v6(1), v4(1), v4(2), v4(3)]);
        assert_eq!(order(&[v6(1), v6(2), v4(1), v6(3)]), [v6(1), v4(1), v6(2), v6(3)]);
    }

    #[test]
    fn duplicates_are_dropped_before_the_families_alternate() {
        let sorted = [v6(1), v6(1), v6(2), v4(1), v6(1), v4(1), v4(2)];
        assert_eq!(order(&sorted), [v6(1), v4(1), v6(2), v4(2)]);
    }

    #[test]
    fn two_zones_are_two_addresses() {
        let zone = |zone| -> SocketAddr { format!("[fe80::1%{zone}]:80").parse().unwrap() };
        assert_eq!(order(&[zone(1), zone(2), zone(1)]), [zone(1), zone(2)]);
    }

    #[test]
    fn an_address_that_was_tried_is_not_tried_again_when_a_later_answer_repeats_it() {
        let run = Sim::asking(Config::default())
            .answer_v6(0, &[v6(1)])
            .fate(v6(1), refused(0))
            .answer_v6(10, &[v6(1), v6(2)])
            .fate(v6(2), connects(0))
            .run();
        assert_eq!(run.tried(), [v6(1), v6(2)]);
    }

    #[test]
    fn separate_answers_lead_with_ipv6() {
        let run = Sim::asking(Config::default())
            .answer_v4(0, &[v4(1)])
            .answer_v6(0, &[v6(1)])
            .fate(v4(1), connects(0))
            .run();
        assert_eq!(run.tried(), [v6(1), v4(1)]);
    }

    #[test]
    fn a_late_answer_with_both_families_does_not_change_which_leads() {
        let run = Sim::asking(Config::default())
            .answer_v6(0, &[v6(1)])
            .answer(10, &[v4(1), v6(2), v4(2)])
            .fate(v4(2), connects(0))
            .run();
        assert_eq!(run.tried(), [v6(1), v4(1), v6(2), v4(2)]);
    }
}

mod section_5_connection_attempts {
    use super::*;

    #[test]
    fn attempts_are_not_simultaneous() {
        let run = Sim::known(Config::default(), &[v6(1), v4(1), v6(2)]).fate(v6(2), connects(0)).run();
        assert_eq!(
            run.starts(),
            [(0, v6(1), DnsCompleted), (250, v4(1), PolicyTimer), (500, v6(2), PolicyTimer)]
        );
    }

    #[test]
    fn a_new_attempt_does_not_affect_earlier_ones() {
        let run = Sim::known(Config::default(), &[v6(1), v4(1), v6(2)]).fate(v6(1), connects(10_000)).run();
        run.assert_won(v6(1), 10_000);
        assert!(run.cancels.iter().all(|cancel| cancel.0 == ms(10_000)), "none was cancelled before");
    }

    #[test]
    fn the_first_to_succeed_cancels_the_others_and_untried_addresses_are_ignored() {
        let run = Sim::known(Config::default(), &[v6(1), v4(1), v6(2)]).fate(v4(1), connects(100)).run();
        run.assert_won(v4(1), 350);
        let cancels: Vec<_> = run.cancels.iter().map(|&(at, id, outcome)| (at, id.0, outcome)).collect();
        assert_eq!(cancels, [(ms(350), 0, Outcome::Cancelled)]);
        assert_eq!(run.starts.len(), 2);
    }

    #[test]
    fn a_failure_of_the_newest_starts_the_next_at_once() {
        let run = Sim::known(Config::default(), &[v6(1), v4(1), v6(2)])
            .fate(v4(1), fails(Outcome::Unreachable, 3))
            .fate(v6(2), connects(0))
            .run();
        assert_eq!(
            run.starts(),
            [(0, v6(1), DnsCompleted), (250, v4(1), PolicyTimer), (253, v6(2), PreviousAttemptFailed)]
        );
    }

    #[test]
    fn a_failure_of_an_older_one_does_not_hurry_the_next() {
        let run = Sim::known(Config::default(), &[v6(1), v4(1), v6(2)])
            .fate(v6(1), refused(300))
            .fate(v6(2), connects(0))
            .run();
        assert_eq!(
            run.starts(),
            [(0, v6(1), DnsCompleted), (250, v4(1), PolicyTimer), (500, v6(2), PolicyTimer)]
        );
    }

    #[test]
    fn when_the_newest_has_failed_an_older_pending_one_is_not_waited_for() {
        let run = Sim::known(Config::default(), &[v6(1), v4(1), v6(2), v4(2)])
            .fate(v4(1), refused(0))
            .fate(v6(2), refused(0))
            .fate(v4(2), connects(0))
            .run();
        assert_eq!(run.times(), [0, 250, 250, 250]);
    }

    #[test]
    fn at_the_limit_the_next_starts_when_one_ends() {
        let addresses: Vec<_> = (0..8).map(v6).collect();
        let limit = config(|config| config.max_pending = 2);
        let run = Sim::known(limit, &addresses)
            .fate(v6(0), refused(900))
            .fate(v6(1), refused(300))
            .fate(v6(2), refused(1000))
            .fate(v6(3), connects(0))
            .run();
        assert_eq!(
            run.starts(),
            [
                (0, v6(0), DnsCompleted),
                (250, v6(1), PolicyTimer),
                // The newest failed, and made room.
                (550, v6(2), PreviousAttemptFailed),
                // An older one failed long after the timer, and made room.
                (900, v6(3), PreviousAttemptFailed)
            ]
        );
        assert_eq!(run.most_pending, 2);
    }

    /// Room alone is not enough: the timer of the newest runs.
    #[test]
    fn at_the_limit_an_older_failure_still_waits_for_the_timer() {
        let limit = config(|config| config.max_pending = 2);
        let run = Sim::known(limit, &[v6(0), v6(1), v6(2)])
            .fate(v6(0), refused(300))
            .fate(v6(2), connects(0))
            .run();
        assert_eq!(
            run.starts(),
            [(0, v6(0), DnsCompleted), (250, v6(1), PolicyTimer), (500, v6(2), PolicyTimer)]
        );
    }

    #[test]
    fn a_limit_of_none_is_a_limit_of_one() {
        let limit = config(|config| config.max_pending = 0);
        let run = Sim::known(limit, &[v6(0), v6(1)]).fate(v6(0), refused(700)).fate(v6(1), connects(0)).run();
        assert_eq!(run.starts(), [(0, v6(0), DnsCompleted), (700, v6(1), PreviousAttemptFailed)]);
    }
}

/// Not in the RFC: what never leaves the host answers in microseconds or not at all.
mod local_attempt_delay {
    use super::*;

    #[test]
    fn while_all_pending_attempts_are_local_the_next_starts_after_10_ms() {
        let run = Sim::known(Config::default(), &[local6(), local4(), v6(1)]).fate(v6(1), connects(0)).run();
        assert_eq!(run.times(), [0, 10, 20]);
    }

    #[test]
    fn one_remote_pending_attempt_needs_the_whole_delay() {
        let run =
            Sim::known(Config::default(), &[v6(1), local4(), local6()]).fate(local6(), connects(0)).run();
        assert_eq!(run.times(), [0, 250, 500]);
    }

    #[test]
    fn when_the_remote_one_has_failed_those_left_are_local() {
        let run = Sim::known(Config::default(), &[v6(1), local4(), local6()])
            .fate(v6(1), fails(Outcome::Unreachable, 255))
            .fate(local6(), connects(0))
            .run();
        assert_eq!(run.times(), [0, 250, 260]);
    }

    #[test]
    fn the_delay_is_configurable() {
        let config = config(|config| config.local_attempt_delay = ms(40));
        let run = Sim::known(config, &[local6(), local4()]).fate(local4(), connects(0)).run();
        assert_eq!(run.times(), [0, 40]);
    }

    /// The caller knows its own addresses; an address does not show it.
    #[test]
    fn local_is_what_the_caller_says() {
        let mut own = candidate(v6(1));
        own.local = true;
        let mut race = Race::with_candidates(Config::default(), &[own, candidate(v4(1))]);
        let _start = race.next(ms(0));
        let wait = race.next(ms(0));
        assert_eq!(wait, unstall_core::race::Action::Wait { until: Some(ms(10)) });
    }
}

mod families {
    use super::*;

    #[test]
    fn a_family_that_is_not_allowed_is_not_tried() {
        for (family, tried) in [(Family::V4, v4(1)), (Family::V6, v6(1))] {
            let run = Sim::known(config(|config| config.family = family), &[v6(1), v4(1)])
                .fates([(v6(1), refused(1)), (v4(1), refused(1))])
                .run();
            assert_eq!(run.tried(), [tried]);
            run.assert_failed(Outcome::Refused, 1);
        }
    }

    #[test]
    fn with_one_family_only_its_answer_is_waited_for() {
        let v6_alone = config(|config| config.family = Family::V6);
        Sim::asking(v6_alone.clone()).answer_v6(30, &[]).run().assert_failed(Outcome::NoName, 30);
        let run = Sim::asking(v6_alone)
            .answer_v4(10, &[v4(1)])
            .answer_v6(400, &[v6(1)])
            .fate(v6(1), connects(0))
            .run();
        assert_eq!(run.starts(), [(400, v6(1), DnsCompleted)]);
        let v4_alone = config(|config| config.family = Family::V4);
        Sim::asking(v4_alone).answer_v4(30, &[]).run().assert_failed(Outcome::NoName, 30);
    }

    #[test]
    fn an_answer_for_one_family_brings_none_of_the_other() {
        let run = Sim::asking(Config::default())
            .answer_v6(0, &[v4(1), v6(1)])
            .answer_v4(1, &[v4(2), v6(2)])
            .fate(v6(1), refused(0))
            .fate(v4(2), connects(0))
            .run();
        assert_eq!(run.tried(), [v6(1), v4(2)]);
    }

    /// The name has no usable address; an address that was given is not available.
    #[test]
    fn nothing_that_is_allowed() {
        let v6_alone = config(|config| config.family = Family::V6);
        Sim::asking(v6_alone.clone()).answer(30, &[v4(1)]).run().assert_failed(Outcome::NoName, 30);
        Sim::known(v6_alone.clone(), &[v4(1)]).run().assert_failed(Outcome::NotAvailable, 0);
        Sim::known(v6_alone, &[]).run().assert_failed(Outcome::NoName, 0);
    }
}
