//! A driver of [`Race`] in simulated time: the test says what the resolver answers and what becomes of an attempt to
//! each address; the simulation hands that to the machine and checks at every step what holds for every race.
//!
//! Checked always: nothing starts before its time or waits beyond it, no timer without a purpose, never more pending
//! than allowed, no address twice (unless made again), each loser cancelled once and before the end, exactly one
//! socket kept, nothing after the end, and an end within a bounded number of steps.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part of this one")]

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use unstall_core::outcome::Outcome;
use unstall_core::race::{Action, AttemptId, Candidate, Config, End, Family, Race, Verdict};
use unstall_core::timeline::Reason;

/// More actions than any race in these tests needs: a race that takes more goes round in circles.
const MAX_STEPS: usize = 20_000;

pub const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A remote IPv4 address (of the range for benchmarks, RFC 2544).
pub fn v4(n: u16) -> SocketAddr {
    let [high, low] = n.to_be_bytes();
    SocketAddr::from((Ipv4Addr::new(198, 18, high, low), 443))
}

/// A remote IPv6 address (documentation prefix).
pub fn v6(n: u16) -> SocketAddr {
    SocketAddr::from((Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n), 443))
}

/// 127.0.0.1.
pub fn local4() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 443))
}

/// ::1.
pub fn local6() -> SocketAddr {
    SocketAddr::from((Ipv6Addr::LOCALHOST, 443))
}

pub fn candidate(address: SocketAddr) -> Candidate {
    let local = match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    Candidate { address, local }
}

pub fn candidates(addresses: &[SocketAddr]) -> Vec<Candidate> {
    addresses.iter().copied().map(candidate).collect()
}

/// `Config` with the default values but these.
pub fn config(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    change(&mut config);
    config
}

/// What becomes of one attempt.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It ends so long after its start.
    Ends(Duration, Outcome),
    /// It ends so long after its start, and the driver wants it again so long after that.
    Again(Duration, Duration),
    /// It never ends.
    Silent,
}

pub const fn connects(after_ms: u64) -> Fate {
    Fate::Ends(ms(after_ms), Outcome::Connected)
}

pub const fn refused(after_ms: u64) -> Fate {
    Fate::Ends(ms(after_ms), Outcome::Refused)
}

pub const fn fails(outcome: Outcome, after_ms: u64) -> Fate {
    Fate::Ends(ms(after_ms), outcome)
}

#[derive(Clone, Debug)]
enum Event {
    Answer(Family, Vec<Candidate>),
    FailedResolution(Outcome),
    Ended(AttemptId, Outcome),
    Again(AttemptId, Duration),
    Cancel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    pub at: Duration,
    pub id: AttemptId,
    pub address: SocketAddr,
    pub reason: Reason,
}

/// What happened in a race.
#[derive(Clone, Debug)]
pub struct Run {
    pub starts: Vec<Start>,
    pub cancels: Vec<(Duration, AttemptId, Outcome)>,
    pub end: End,
    /// When it ended.
    pub at: Duration,
    pub most_pending: usize,
}

impl Run {
    /// The starts, as (milliseconds, address, reason).
    pub fn starts(&self) -> Vec<(u128, SocketAddr, Reason)> {
        self.starts.iter().map(|start| (start.at.as_millis(), start.address, start.reason)).collect()
    }

    /// The addresses, in the order of their starts.
    pub fn tried(&self) -> Vec<SocketAddr> {
        self.starts.iter().map(|start| start.address).collect()
    }

    /// The starts' times in milliseconds.
    pub fn times(&self) -> Vec<u128> {
        self.starts.iter().map(|start| start.at.as_millis()).collect()
    }

    /// The address that won.
    pub fn winner(&self) -> Option<SocketAddr> {
        let End::Won(id) = self.end else { return None };
        Some(self.starts.iter().find(|start| start.id == id)?.address)
    }

    pub fn assert_won(&self, address: SocketAddr, at_ms: u64) {
        assert_eq!((self.winner(), self.at), (Some(address), ms(at_ms)), "{self:#?}");
    }

    pub fn assert_failed(&self, outcome: Outcome, at_ms: u64) {
        assert_eq!((self.end, self.at), (End::Failed(outcome), ms(at_ms)), "{self:#?}");
    }
}

/// An attempt as the simulation sees it.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    start: Duration,
    candidate: Candidate,
    reason: Reason,
    /// When it ended, was cancelled, or was given back to be made again.
    ended: Option<Duration>,
}

pub struct Sim {
    race: Race,
    now: Duration,
    events: Vec<(Duration, Event)>,
    fates: HashMap<SocketAddr, VecDeque<Fate>>,
    /// Whether everything that happens at one time is reported before the machine is asked again.
    batch: bool,
    open: (bool, bool),
    known: Vec<SocketAddr>,
    known_since: Option<Duration>,
    attempts: Vec<Attempt>,
    /// What waits to be made again, and when.
    again: Vec<(Duration, SocketAddr)>,
    over: bool,
    kept: Option<AttemptId>,
    run: Run,
}

impl Sim {
    fn with(race: Race) -> Self {
        let family = race.config().family;
        Self {
            race,
            now: Duration::ZERO,
            events: Vec::new(),
            fates: HashMap::new(),
            batch: true,
            open: (family != Family::V4, family != Family::V6),
            known: Vec::new(),
            known_since: None,
            attempts: Vec::new(),
            again: Vec::new(),
            over: false,
            kept: None,
            run: Run {
                starts: Vec::new(),
                cancels: Vec::new(),
                end: End::Failed(Outcome::Unknown),
                at: Duration::MAX,
                most_pending: 0,
            },
        }
    }

    /// All addresses are known at time 0.
    pub fn known(config: Config, addresses: &[SocketAddr]) -> Self {
        let candidates = candidates(addresses);
        let mut sim = Self::with(Race::with_candidates(config, &candidates));
        sim.learn(Family::Any, &candidates);
        sim
    }

    /// The addresses are still to come.
    pub fn asking(config: Config) -> Self {
        Self::with(Race::new(config))
    }

    fn event(mut self, at: Duration, event: Event) -> Self {
        self.events.push((at, event));
        self
    }

    /// Both families' answer.
    pub fn answer(self, at_ms: u64, addresses: &[SocketAddr]) -> Self {
        self.event(ms(at_ms), Event::Answer(Family::Any, candidates(addresses)))
    }

    pub fn answer_v6(self, at_ms: u64, addresses: &[SocketAddr]) -> Self {
        self.event(ms(at_ms), Event::Answer(Family::V6, candidates(addresses)))
    }

    pub fn answer_v4(self, at_ms: u64, addresses: &[SocketAddr]) -> Self {
        self.event(ms(at_ms), Event::Answer(Family::V4, candidates(addresses)))
    }

    pub fn failed_resolution(self, at_ms: u64, outcome: Outcome) -> Self {
        self.event(ms(at_ms), Event::FailedResolution(outcome))
    }

    pub fn cancel(self, at_ms: u64) -> Self {
        self.event(ms(at_ms), Event::Cancel)
    }

    /// What becomes of the next attempt to `address`; one that has no fate is silent.
    pub fn fate(mut self, address: SocketAddr, fate: Fate) -> Self {
        self.fates.entry(address).or_default().push_back(fate);
        self
    }

    pub fn fates(mut self, fates: impl IntoIterator<Item = (SocketAddr, Fate)>) -> Self {
        for (address, fate) in fates {
            self = self.fate(address, fate);
        }
        self
    }

    /// Ask the machine after every single report, also among those of one time.
    pub fn one_by_one(mut self) -> Self {
        self.batch = false;
        self
    }

    /// Runs the race to its end.
    pub fn run(mut self) -> Run {
        for _ in 0..MAX_STEPS {
            match self.race.next(self.now) {
                Action::Start { id, candidate, reason } => self.start(id, candidate, reason),
                Action::Cancel { id, outcome } => self.cancelled(id, outcome),
                Action::Wait { until } => self.wait(until),
                Action::Done(end) => return self.done(end),
            }
        }
        panic!("no end after {MAX_STEPS} steps: {:#?}", self.run);
    }

    fn start(&mut self, id: AttemptId, candidate: Candidate, reason: Reason) {
        assert!(!self.over, "started after the end");
        assert_eq!(id, AttemptId(self.attempts.len() as u32), "ids count the starts");
        let deadline = self.race.config().deadline;
        assert!(deadline.is_none_or(|deadline| self.now < deadline), "started at the deadline");
        if reason == Reason::BacklogRetry {
            let due =
                |&(at, address): &(Duration, SocketAddr)| address == candidate.address && at <= self.now;
            let index = self.again.iter().position(due).expect("made again, and when it is due");
            self.again.remove(index);
        } else {
            let earliest = self.earliest().expect("a candidate and room for it");
            assert!(earliest <= self.now, "{candidate:?} started at {:?}, not at {earliest:?}", self.now);
            let first = self.attempts.iter().all(|attempt| attempt.candidate.address != candidate.address);
            assert!(first, "{candidate:?} tried twice");
        }
        self.attempts.push(Attempt { start: self.now, candidate, reason, ended: None });
        self.run.starts.push(Start { at: self.now, id, address: candidate.address, reason });
        self.run.most_pending = self.run.most_pending.max(self.pending());
        assert!(self.pending() + self.again.len() <= self.race.config().max_pending, "too many pending");
        let fate = self.fates.get_mut(&candidate.address).and_then(VecDeque::pop_front);
        match fate.unwrap_or(Fate::Silent) {
            Fate::Ends(after, outcome) => self.events.push((self.now + after, Event::Ended(id, outcome))),
            Fate::Again(after, pause) => self.events.push((self.now + after, Event::Again(id, pause))),
            Fate::Silent => {}
        }
    }

    fn cancelled(&mut self, id: AttemptId, outcome: Outcome) {
        self.over = true;
        let attempt = &mut self.attempts[id.0 as usize];
        assert_eq!(attempt.ended, None, "cancelled {id:?}, which was not pending");
        attempt.ended = Some(self.now);
        self.run.cancels.push((self.now, id, outcome));
    }

    /// Jumps to what happens next and reports it.
    fn wait(&mut self, until: Option<Duration>) {
        assert!(!self.over, "waits after the end");
        let again = self.again.iter().map(|&(at, _)| at);
        let timers = again.chain(self.earliest()).chain(self.race.config().deadline);
        assert_eq!(until, timers.min(), "the timer at {:?}", self.now);
        assert!(until.is_none_or(|until| until > self.now), "waits until {until:?} at {:?}", self.now);
        let event = self.events.iter().map(|(at, _)| *at).min();
        self.now = event.into_iter().chain(until).min().expect("something to wait for");
        while let Some(index) = self.first_event().filter(|&index| self.events[index].0 <= self.now) {
            let (_, event) = self.events.remove(index);
            self.report(event);
            if !self.batch {
                break;
            }
        }
    }

    fn first_event(&self) -> Option<usize> {
        (0..self.events.len()).min_by_key(|&index| self.events[index].0)
    }

    fn report(&mut self, event: Event) {
        match event {
            Event::Answer(family, candidates) => {
                match family {
                    Family::Any => self.race.answer(self.now, &candidates),
                    _ => self.race.answer_family(self.now, family, &candidates),
                }
                self.learn(family, &candidates);
            }
            Event::FailedResolution(outcome) => {
                self.race.failed_resolution(self.now, outcome);
                self.open = (false, false);
            }
            Event::Cancel => {
                self.race.cancel(self.now);
                self.over = true;
            }
            Event::Ended(id, outcome) => {
                let wins = self.ends(id) && outcome == Outcome::Connected;
                let verdict = self.race.attempt_ended(self.now, id, outcome);
                assert_eq!(verdict, if wins { Verdict::Keep } else { Verdict::Close });
                if wins {
                    assert_eq!(self.kept.replace(id), None, "two winners");
                    self.over = true;
                }
            }
            Event::Again(id, pause) => {
                let at = self.now + pause;
                if self.ends(id) && self.race.config().deadline.is_none_or(|deadline| at < deadline) {
                    self.again.push((at, self.attempts[id.0 as usize].candidate.address));
                }
                assert_eq!(self.race.attempt_again(self.now, id, at), Verdict::Close);
            }
        }
    }

    /// Whether the end of this attempt is of interest, and that it ended.
    fn ends(&mut self, id: AttemptId) -> bool {
        let pending = self.attempts[id.0 as usize].ended.is_none();
        self.attempts[id.0 as usize].ended.get_or_insert(self.now);
        pending && !self.over
    }

    fn learn(&mut self, family: Family, candidates: &[Candidate]) {
        self.open.0 &= family == Family::V4;
        self.open.1 &= family == Family::V6;
        let allowed = self.race.config().family;
        for address in candidates.iter().map(|candidate| candidate.address) {
            let usable = family.allows(address) && allowed.allows(address);
            if usable && !self.known.contains(&address) {
                self.known.push(address);
                self.known_since.get_or_insert(self.now);
            }
        }
    }

    fn pending(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.ended.is_none()).count()
    }

    /// When the next candidate may start, if there is one and room for it.
    fn earliest(&self) -> Option<Duration> {
        let config = self.race.config();
        let tried: HashSet<_> = self.attempts.iter().map(|attempt| attempt.candidate.address).collect();
        if tried.len() == self.known.len() || self.pending() + self.again.len() >= config.max_pending {
            return None;
        }
        let first = |attempt: &&Attempt| attempt.reason != Reason::BacklogRetry;
        let Some(newest) = self.attempts.iter().rfind(first) else {
            let wait = if self.open.0 { config.resolution_delay } else { Duration::ZERO };
            return Some(self.known_since? + wait);
        };
        if newest.ended.is_some() {
            return newest.ended;
        }
        let mut pending = self.attempts.iter().filter(first).filter(|attempt| attempt.ended.is_none());
        let local = pending.all(|attempt| attempt.candidate.local);
        Some(newest.start + if local { config.local_attempt_delay } else { config.attempt_delay })
    }

    fn done(mut self, end: End) -> Run {
        self.run.at = self.now;
        assert_eq!(self.pending(), 0, "pending at the end");
        assert_eq!(self.kept.map(End::Won), Some(end).filter(|end| matches!(end, End::Won(_))), "the winner");
        self.over = true;
        // What comes later changes nothing.
        while let Some(index) = self.first_event() {
            let (at, event) = self.events.remove(index);
            self.now = self.now.max(at);
            self.report(event);
            assert_eq!(self.race.next(self.now), Action::Done(end), "after the end");
        }
        Run { end, at: self.run.at, ..self.run }
    }
}
