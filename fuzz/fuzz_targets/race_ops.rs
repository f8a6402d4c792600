//! Any reports in any order: the race keeps its invariants.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use unstall_core::outcome::Outcome;
use unstall_core::race::{Action, AttemptId, Candidate, Config, End, Family, Race, Verdict};
use unstall_core::timeline::Reason;

/// What a driver may tell the machine. Attempts are named by their number, modulo those that were started.
#[derive(Arbitrary, Debug)]
enum Op {
    Answer(Vec<Address>),
    AnswerFamily(FamilyOp, Vec<Address>),
    FailedResolution(Failure),
    Ended(u8, Ended),
    Again(u8, u16),
    Cancel,
    Pass(u16),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Address(u8);

#[derive(Arbitrary, Clone, Copy, Debug)]
enum FamilyOp {
    Any,
    V4,
    V6,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Failure(u8);

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Ended {
    Connected,
    Failed(Failure),
}

#[derive(Arbitrary, Debug)]
struct Case {
    family: FamilyOp,
    attempt_delay: u16,
    local_attempt_delay: u8,
    resolution_delay: u8,
    max_pending: u8,
    deadline: Option<u16>,
    known: Option<Vec<Address>>,
    ops: Vec<Op>,
}

impl Address {
    /// Few addresses, so that some come twice; every second one is local.
    fn candidate(self) -> Candidate {
        let last = self.0 % 8;
        let ip = if self.0 & 0x80 == 0 {
            Ipv4Addr::new(127, 0, 0, last).into()
        } else {
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last.into()).into()
        };
        Candidate { address: SocketAddr::new(ip, 80), local: last % 2 == 0 }
    }
}

impl FamilyOp {
    fn family(self) -> Family {
        match self {
            Self::Any => Family::Any,
            Self::V4 => Family::V4,
            Self::V6 => Family::V6,
        }
    }
}

impl Failure {
    fn outcome(self) -> Outcome {
        // All but the first, which is `connected`.
        Outcome::ALL[1 + usize::from(self.0) % (Outcome::ALL.len() - 1)]
    }
}

/// The race, and what an onlooker knows about it.
struct Onlooker {
    race: Race,
    now: Duration,
    started: u32,
    pending: HashSet<AttemptId>,
    /// Attempts that are to be made again; they keep their place.
    to_repeat: usize,
    tried: HashSet<SocketAddr>,
    known: HashSet<SocketAddr>,
    winner: Option<AttemptId>,
    done: Option<End>,
}

impl Onlooker {
    fn learn(&mut self, addresses: &[Address]) -> Vec<Candidate> {
        let candidates: Vec<_> = addresses.iter().map(|address| address.candidate()).collect();
        self.known.extend(candidates.iter().map(|candidate| candidate.address));
        candidates
    }

    fn tell(&mut self, op: &Op) {
        let now = self.now;
        match op {
            Op::Answer(addresses) => {
                let candidates = self.learn(addresses);
                self.race.answer(now, &candidates);
            }
            Op::AnswerFamily(family, addresses) => {
                let candidates = self.learn(addresses);
                self.race.answer_family(now, family.family(), &candidates);
            }
            // A resolution ends as no connect does; the race passes on what it is told.
            Op::FailedResolution(failure) => match failure.outcome() {
                Outcome::SelfConnected => {}
                outcome => self.race.failed_resolution(now, outcome),
            },
            Op::Ended(number, ended) => {
                let Some(id) = self.attempt(*number) else { return };
                let outcome = match ended {
                    Ended::Connected => Outcome::Connected,
                    Ended::Failed(failure) => failure.outcome(),
                };
                let first = self.pending.remove(&id) && self.winner.is_none() && self.done.is_none();
                let verdict = self.race.attempt_ended(now, id, outcome);
                self.judge(id, verdict, first && outcome == Outcome::Connected);
            }
            Op::Again(number, after) => {
                let Some(id) = self.attempt(*number) else { return };
                let at = now + Duration::from_millis(u64::from(*after));
                let live = self.pending.remove(&id) && self.winner.is_none() && self.done.is_none();
                let verdict = self.race.attempt_again(now, id, at);
                self.judge(id, verdict, false);
                let before_deadline = self.race.config().deadline.is_none_or(|deadline| at < deadline);
                self.to_repeat += usize::from(live && before_deadline);
            }
            Op::Cancel => self.race.cancel(now),
            Op::Pass(ms) => self.now += Duration::from_millis(u64::from(*ms)),
        }
    }

    fn attempt(&self, number: u8) -> Option<AttemptId> {
        Some(AttemptId(u32::from(number).checked_rem(self.started)?))
    }

    fn judge(&mut self, id: AttemptId, verdict: Verdict, may_win: bool) {
        let keeps = verdict == Verdict::Keep;
        if keeps && self.winner.is_none() {
            assert!(may_win, "{id:?} won without connecting in time");
            self.winner = Some(id);
        }
        assert!(!keeps || self.winner == Some(id), "a second winner: {id:?}");
    }

    /// Asks until there is nothing to do.
    fn ask(&mut self) {
        // Each address starts once, each repetition once, each attempt is cancelled once.
        for _ in 0..1_000 {
            match self.race.next(self.now) {
                Action::Start { id, candidate, reason } => self.see_start(id, candidate, reason),
                Action::Cancel { id, outcome } => {
                    assert!(self.done.is_none() && self.pending.remove(&id), "{id:?} is not pending");
                    assert!(matches!(outcome, Outcome::Cancelled | Outcome::TimedOut));
                }
                Action::Wait { until } => {
                    assert!(self.done.is_none() && self.winner.is_none(), "waits after the end");
                    assert!(until.is_none_or(|until| until > self.now), "waits for what has passed");
                    return;
                }
                Action::Done(end) => return self.see_end(end),
            }
        }
        panic!("it does not come to rest");
    }

    fn see_start(&mut self, id: AttemptId, candidate: Candidate, reason: Reason) {
        let config = self.race.config();
        assert!(self.done.is_none() && self.winner.is_none(), "{id:?} starts after the end");
        assert!(config.deadline.is_none_or(|deadline| self.now < deadline), "{id:?} starts after the deadline");
        assert_eq!(id, AttemptId(self.started));
        assert!(self.known.contains(&candidate.address) && config.family.allows(candidate.address));
        let new = self.tried.insert(candidate.address);
        assert_eq!(new, reason != Reason::BacklogRetry, "{candidate:?} {reason:?}");
        if !new {
            self.to_repeat = self.to_repeat.checked_sub(1).expect("a repetition that somebody asked for");
        }
        self.started += 1;
        self.pending.insert(id);
        let live = self.pending.len() + self.to_repeat;
        assert!(live <= config.max_pending, "{live} pending at once");
    }

    fn see_end(&mut self, end: End) {
        assert!(self.pending.is_empty() || self.done.is_some(), "{:?} still pending", self.pending);
        assert!(self.done.is_none_or(|before| before == end), "the end changed");
        match end {
            End::Won(id) => assert_eq!(self.winner, Some(id)),
            End::Failed(outcome) => {
                assert_eq!(self.winner, None);
                assert!(!matches!(outcome, Outcome::Connected | Outcome::SelfConnected), "{outcome:?}");
            }
        }
        self.done = Some(end);
    }
}

fn run(case: &Case) {
    let ms = |ms: u64| Duration::from_millis(ms);
    let mut config = Config::default();
    config.family = case.family.family();
    config.attempt_delay = ms(case.attempt_delay.into());
    config.local_attempt_delay = ms(case.local_attempt_delay.into());
    config.resolution_delay = ms(case.resolution_delay.into());
    config.max_pending = usize::from(case.max_pending % 8);
    config.deadline = case.deadline.map(|deadline| ms(deadline.into()));
    let mut known = HashSet::new();
    let race = match &case.known {
        Some(addresses) => {
            let candidates: Vec<_> = addresses.iter().map(|address| address.candidate()).collect();
            known.extend(candidates.iter().map(|candidate| candidate.address));
            Race::with_candidates(config, &candidates)
        }
        None => Race::new(config),
    };
    let mut onlooker = Onlooker {
        race,
        known,
        now: Duration::ZERO,
        started: 0,
        pending: HashSet::new(),
        to_repeat: 0,
        tried: HashSet::new(),
        winner: None,
        done: None,
    };
    onlooker.ask();
    for op in &case.ops {
        onlooker.tell(op);
        onlooker.ask();
    }
}

fuzz_target!(|data: &[u8]| {
    if let Ok(case) = Case::arbitrary(&mut Unstructured::new(data)) {
        run(&case);
    }
});
