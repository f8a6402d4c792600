//! What a measured time points to: one table from figure to cause.
//!
//! A stall is nearly always a timer, and timers have known lengths. [`causes`] compares one measurement, with
//! what it was a measurement of, with the table; several causes may share a figure, and most figures have
//! none. A cause is a pointer, not a proof: the doctor looks for evidence before it calls it a finding.

mod table;

pub use table::SIGNATURES;

use crate::outcome::{Outcome, Platform};
use crate::sample::{Mode, Sample};
use std::time::Duration;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// A name resolution.
    Resolve,
    /// One connect to one address, from the SYN to its outcome.
    Connect,
    /// The time from a connect's start to its first attempt at the second address family.
    SecondFamily,
    /// A request and its answer on a connection that stands.
    Exchange,
}

/// One measured time, with what is known about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figure {
    /// What was measured.
    pub phase: Phase,
    /// The time.
    pub elapsed: Duration,
    /// How it ended; `None`: not known, or (for an exchange) it was answered.
    pub outcome: Option<Outcome>,
    /// The caller's time limit; `None`: it had none, or it is not known.
    pub limit: Option<Duration>,
    /// What the address answers to a client that waits long enough; `None`: not known.
    pub truth: Option<Outcome>,
    /// Where it was measured; `None`: not known, so the causes of every platform come into question.
    pub platform: Option<Platform>,
}

impl Figure {
    /// A time of which no more is known.
    pub const fn new(phase: Phase, elapsed: Duration) -> Self {
        Self { phase, elapsed, outcome: None, limit: None, truth: None, platform: None }
    }

    /// With how it ended.
    #[must_use]
    pub const fn outcome(mut self, outcome: Outcome) -> Self {
        self.outcome = Some(outcome);
        self
    }

    /// With the caller's time limit.
    #[must_use]
    pub const fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// With what the address answers to a client that waits long enough.
    #[must_use]
    pub const fn truth(mut self, truth: Outcome) -> Self {
        self.truth = Some(truth);
        self
    }

    /// With where it was measured.
    #[must_use]
    pub const fn platform(mut self, platform: Platform) -> Self {
        self.platform = Some(platform);
        self
    }
}

/// Which times a signature matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// From the first to the second time, in microseconds, both included.
    Between(u64, u64),
    /// Any of several such ranges.
    AnyOf(&'static [(u64, u64)]),
    /// The caller's whole time limit: no less, and not more than a twentieth or 50 ms beyond it.
    WholeLimit,
    /// [`Shape::WholeLimit`], with a limit that is below this time, in microseconds.
    WholeLimitBelow(u64),
    /// No single time: one mode with its centre in the first range and one in the second, in microseconds.
    Modes((u64, u64), (u64, u64)),
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signature {
    /// Stable name, in kebab case.
    pub id: &'static str,
    /// What must have been measured.
    pub phase: Phase,
    /// How it must have ended: one of these. Empty: it does not matter.
    pub outcomes: &'static [Outcome],
    /// What the address must answer to a client that waits long enough; `None`: it does not matter.
    pub truth: Option<Outcome>,
    /// Where it occurs. Empty: everywhere.
    pub platforms: &'static [Platform],
    /// Which times match.
    pub shape: Shape,
    /// The figure, as people quote it.
    pub figure: &'static str,
    /// The cause, in one sentence.
    pub cause: &'static str,
    /// Where the figure is from.
    pub source: &'static str,
}

/// Every cause that one measured time points to, in the table's order; empty: none.
///
/// ```
/// # use std::time::Duration;
/// # use unstall_core::outcome::Outcome;
/// # use unstall_core::signature::{Figure, Phase, causes};
/// let figure = Figure::new(Phase::Connect, Duration::from_millis(2031)).outcome(Outcome::Refused);
/// assert_eq!(causes(&figure)[0].id, "syn-resent-after-rst");
/// ```
pub fn causes(figure: &Figure) -> Vec<&'static Signature> {
    SIGNATURES.iter().filter(|signature| signature.matches(figure)).collect()
}

/// Every cause that the modes of a series point to, in the table's order; empty: none. The platform is where
/// it was measured; `None`: not known.
pub fn causes_of_modes(phase: Phase, sample: &Sample, platform: Option<Platform>) -> Vec<&'static Signature> {
    let modes = sample.modes();
    let matches = |signature: &&Signature| {
        signature.phase == phase && signature.occurs_on(platform) && signature.shape.matches_modes(&modes)
    };
    SIGNATURES.iter().filter(matches).collect()
}

impl Signature {
    /// Whether a measured time points to this cause.
    pub fn matches(&self, figure: &Figure) -> bool {
        self.phase == figure.phase
            && (self.outcomes.is_empty()
                || figure.outcome.is_some_and(|outcome| self.outcomes.contains(&outcome)))
            && (self.truth.is_none() || self.truth == figure.truth)
            && self.occurs_on(figure.platform)
            && self.shape.matches(figure)
    }

    fn occurs_on(&self, platform: Option<Platform>) -> bool {
        self.platforms.is_empty() || platform.is_none_or(|platform| self.platforms.contains(&platform))
    }
}

impl Shape {
    fn matches(self, figure: &Figure) -> bool {
        let within = |(from, to): (u64, u64)| within(figure.elapsed, from, to);
        match (self, figure.limit) {
            (Self::Between(from, to), _) => within((from, to)),
            (Self::AnyOf(ranges), _) => ranges.iter().copied().any(within),
            (Self::WholeLimit, Some(limit)) => is_whole(figure.elapsed, limit),
            (Self::WholeLimitBelow(bound), Some(limit)) => {
                limit < Duration::from_micros(bound) && is_whole(figure.elapsed, limit)
            }
            (Self::WholeLimit | Self::WholeLimitBelow(_), None) | (Self::Modes(..), _) => false,
        }
    }

    fn matches_modes(self, modes: &[Mode]) -> bool {
        let Self::Modes(fast, slow) = self else { return false };
        let any = |(from, to)| modes.iter().any(|mode| within(mode.centre, from, to));
        any(fast) && any(slow)
    }
}

fn within(time: Duration, from: u64, to: u64) -> bool {
    (Duration::from_micros(from)..=Duration::from_micros(to)).contains(&time)
}

fn is_whole(elapsed: Duration, limit: Duration) -> bool {
    let slack = (limit / 20).max(Duration::from_millis(50));
    elapsed >= limit && elapsed <= limit.saturating_add(slack)
}
