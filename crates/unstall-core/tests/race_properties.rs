//! What holds for every race, on random ones: any addresses, answers, fates, limits and moments. Most of it the
//! simulation checks in every test (see `race_sim`); here are the laws of a whole race.

mod race_sim;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{prop_assert, prop_assert_eq, proptest};
use race_sim::{Fate, Run, Sim, candidates, local4, local6, ms, v4, v6};
use std::net::SocketAddr;
use unstall_core::outcome::Outcome;
use unstall_core::race::{Config, End, Family, Race};
use unstall_core::timeline::Reason;

/// How the addresses become known.
#[derive(Clone, Debug)]
enum Names {
    Known(Vec<SocketAddr>),
    Both(u64, Vec<SocketAddr>),
    Separate { v6: (u64, Vec<SocketAddr>), v4: (u64, Vec<SocketAddr>) },
    FirstThenFailed { v6: bool, at: u64, addresses: Vec<SocketAddr>, failed: u64 },
}

#[derive(Clone, Debug)]
struct Case {
    config: Config,
    names: Names,
    fates: Vec<(SocketAddr, Vec<Fate>)>,
    cancel: Option<u64>,
    one_by_one: bool,
}

fn pool() -> Vec<SocketAddr> {
    (1..=5).map(v4).chain((1..=5).map(v6)).chain([local4(), local6()]).collect()
}

fn addresses() -> impl Strategy<Value = Vec<SocketAddr>> {
    vec(proptest::sample::select(pool()), 0..14)
}

fn of_family(v6: bool) -> impl Strategy<Value = Vec<SocketAddr>> {
    addresses().prop_map(move |all| all.into_iter().filter(|address| address.is_ipv6() == v6).collect())
}

fn names() -> impl Strategy<Value = Names> {
    let at = || 0_u64..300;
    prop_oneof![
        addresses().prop_map(Names::Known),
        (at(), addresses()).prop_map(|(at, addresses)| Names::Both(at, addresses)),
        ((at(), of_family(true)), (at(), of_family(false))).prop_map(|(v6, v4)| Names::Separate { v6, v4 }),
        (any::<bool>(), at(), addresses(), at()).prop_map(|(v6, at, addresses, failed)| {
            let addresses = addresses.into_iter().filter(|address| address.is_ipv6() == v6).collect();
            Names::FirstThenFailed { v6, at, addresses, failed }
        }),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let family = proptest::sample::select(vec![Family::Any, Family::Any, Family::V4, Family::V6]);
    (0_u64..2_500, 0_u64..60, 0_u64..120, 0_usize..8, family, option::of(0_u64..4_000)).prop_map(
        |(attempt, local, resolution, max_pending, family, deadline)| {
            race_sim::config(|config| {
                config.attempt_delay = ms(attempt);
                config.local_attempt_delay = ms(local);
                config.resolution_delay = ms(resolution);
                config.max_pending = max_pending;
                config.family = family;
                config.deadline = deadline.map(ms);
            })
        },
    )
}

/// Times are coarse on purpose: two things often happen at one moment.
fn fate() -> impl Strategy<Value = Fate> {
    let failures: Vec<_> =
        Outcome::ALL.into_iter().filter(|&outcome| outcome != Outcome::Connected).collect();
    let after = || prop_oneof![Just(ms(0)), (0_u64..60).prop_map(|tens| ms(tens * 10))];
    prop_oneof![
        1 => after().prop_map(|after| Fate::Ends(after, Outcome::Connected)),
        3 => (after(), proptest::sample::select(failures)).prop_map(|(after, outcome)| Fate::Ends(after, outcome)),
        1 => (after(), after()).prop_map(|(after, pause)| Fate::Again(after, pause)),
        // Silent for as long as Linux tries by default.
        1 => Just(Fate::Ends(ms(127_000), Outcome::TimedOut)),
    ]
}

fn fates() -> impl Strategy<Value = Vec<(SocketAddr, Vec<Fate>)>> {
    let end = || (0_u64..200).prop_map(|after| Fate::Ends(ms(after), Outcome::Refused));
    pool()
        .into_iter()
        .map(|address| {
            // The last one ends, so that every race does.
            let list = (vec(fate(), 0..4), end()).prop_map(|(mut list, end)| {
                list.push(end);
                list
            });
            (Just(address), list)
        })
        .collect::<Vec<_>>()
}

fn case() -> impl Strategy<Value = Case> {
    (config(), names(), fates(), option::weighted(0.2, 0_u64..3_000), any::<bool>()).prop_map(
        |(config, names, fates, cancel, one_by_one)| Case { config, names, fates, cancel, one_by_one },
    )
}

impl Case {
    fn sim(&self) -> Sim {
        let config = self.config.clone();
        let mut sim = match &self.names {
            Names::Known(addresses) => Sim::known(config, addresses),
            Names::Both(at, addresses) => Sim::asking(config).answer(*at, addresses),
            Names::Separate { v6, v4 } => Sim::asking(config).answer_v6(v6.0, &v6.1).answer_v4(v4.0, &v4.1),
            Names::FirstThenFailed { v6, at, addresses, failed } => {
                let sim = Sim::asking(config);
                let sim = if *v6 { sim.answer_v6(*at, addresses) } else { sim.answer_v4(*at, addresses) };
                sim.failed_resolution((*at).max(*failed), Outcome::NoName)
            }
        };
        for (address, list) in &self.fates {
            sim = sim.fates(list.iter().map(|&fate| (*address, fate)));
        }
        if let Some(at) = self.cancel {
            sim = sim.cancel(at);
        }
        if self.one_by_one { sim.one_by_one() } else { sim }
    }

    fn run(&self) -> Run {
        self.sim().run()
    }

    /// What the names and the family leave to try, each once.
    fn usable(&self) -> Vec<SocketAddr> {
        let all = match &self.names {
            Names::Known(addresses)
            | Names::Both(_, addresses)
            | Names::FirstThenFailed { addresses, .. } => addresses.clone(),
            Names::Separate { v6, v4 } => [v6.1.clone(), v4.1.clone()].concat(),
        };
        let mut usable: Vec<SocketAddr> = Vec::new();
        for address in all {
            if self.config.family.allows(address) && !usable.contains(&address) {
                usable.push(address);
            }
        }
        usable
    }
}

/// The place of each address by arithmetic: the n-th of the leading family is 2n-th until the other one is used up.
fn places(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let Some(first) = addresses.first() else { return Vec::new() };
    let (leading, other): (Vec<SocketAddr>, Vec<_>) =
        addresses.iter().partition(|address| address.is_ipv6() == first.is_ipv6());
    let place = |index: usize, rest: &[SocketAddr]| index + index.min(rest.len());
    let mut placed: Vec<_> = leading.iter().enumerate().map(|(i, &a)| (place(i, &other), 0, a)).collect();
    placed.extend(other.iter().enumerate().map(|(i, &a)| (place(i, &leading[1..]), 1, a)));
    placed.sort();
    placed.into_iter().map(|(_, _, address)| address).collect()
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 400, ..Default::default() })]

    #[test]
    fn every_race_ends_with_one_winner_or_with_a_reason(case in case()) {
        let run = case.run();
        match run.end {
            End::Won(id) => {
                prop_assert!(run.starts.iter().any(|start| start.id == id));
                let cancelled = (run.at, Outcome::Cancelled);
                prop_assert!(run.cancels.iter().all(|&(at, _, outcome)| (at, outcome) == cancelled));
            }
            End::Failed(outcome) => {
                prop_assert!(!matches!(outcome, Outcome::Connected | Outcome::SelfConnected));
                let losers = if outcome == Outcome::TimedOut { outcome } else { Outcome::Cancelled };
                prop_assert!(run.cancels.iter().all(|&(at, _, outcome)| (at, outcome) == (run.at, losers)));
            }
        }
    }

    #[test]
    fn no_race_outlives_its_deadline_or_its_caller(case in case()) {
        let run = case.run();
        let limit = case.config.deadline.into_iter().chain(case.cancel.map(ms)).min();
        prop_assert!(limit.is_none_or(|limit| run.at <= limit), "{run:#?}");
    }

    #[test]
    fn a_race_that_nobody_ended_has_tried_every_address(case in case()) {
        let run = case.run();
        let ended = run.winner().is_some() || case.config.deadline == Some(run.at) || case.cancel.map(ms) == Some(run.at);
        let mut tried = run.tried();
        tried.sort_unstable();
        tried.dedup();
        let mut usable = case.usable();
        usable.sort_unstable();
        prop_assert!(tried.iter().all(|address| usable.contains(address)));
        if !ended {
            prop_assert_eq!(tried, usable);
        }
    }

    #[test]
    fn the_first_reason_is_an_answer_and_no_later_one_is_the_resolution_delay(case in case()) {
        let run = case.run();
        for (index, start) in run.starts.iter().enumerate() {
            let first = matches!(start.reason, Reason::DnsCompleted | Reason::ResolutionDelayExpired);
            prop_assert!(index > 0 || first);
            prop_assert!(index == 0 || start.reason != Reason::ResolutionDelayExpired);
        }
    }

    #[test]
    fn the_same_reports_give_the_same_race(case in case()) {
        let (one, two) = (case.run(), case.run());
        prop_assert_eq!((one.starts, one.cancels, one.end, one.at), (two.starts, two.cancels, two.end, two.at));
    }

    #[test]
    fn families_alternate_and_keep_their_own_order(addresses in addresses()) {
        let race = Race::with_candidates(Config::default(), &candidates(&addresses));
        let order: Vec<_> = race.candidates().map(|candidate| candidate.address).collect();
        let mut unique = Vec::new();
        for address in addresses {
            if !unique.contains(&address) {
                unique.push(address);
            }
        }
        prop_assert_eq!(order, places(&unique));
    }

    /// However the addresses arrive, before anything has started, the order is that of all of them.
    #[test]
    fn late_addresses_are_placed_as_if_present_from_the_start(six in of_family(true), four in of_family(false)) {
        let order = |first: (Family, &[SocketAddr]), second: (Family, &[SocketAddr])| -> Vec<SocketAddr> {
            let mut race = Race::new(Config::default());
            race.answer_family(ms(0), first.0, &candidates(first.1));
            // With IPv4 alone this starts nothing; with IPv6 it starts the first.
            let _action = race.next(ms(0));
            race.answer_family(ms(1), second.0, &candidates(second.1));
            race.candidates().map(|candidate| candidate.address).collect()
        };
        let six_first = order((Family::V6, &six), (Family::V4, &four));
        let four_first = order((Family::V4, &four), (Family::V6, &six));
        prop_assert_eq!(&six_first, &four_first);
        let at_once = Race::with_candidates(Config::default(), &candidates(&[six, four].concat()));
        prop_assert_eq!(six_first, at_once.candidates().map(|candidate| candidate.address).collect::<Vec<_>>());
    }
}
