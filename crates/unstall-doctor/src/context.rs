//! What a person may set, and what a check is given.

use std::time::{Duration, Instant};
use unstall_core::race::Family;

/// How the doctor works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many samples a series takes where a sample costs microseconds; dearer series take a share of it. Default
    /// 100, at least 1.
    pub samples: usize,
    /// How long one connect, one exchange or one lookup may take before it counts as unanswered. Default 3 s: more than
    /// the 2.03 s that Windows takes to report a refusal. A refusal is waited for 2.6 s even when this is less, since a late
    /// refusal could not be told from one that never comes otherwise.
    pub timeout: Duration,
    /// Which of a target's addresses are tried. Default both families.
    pub family: Family,
    /// Which checks run.
    pub checks: crate::doctor::Selection,
    /// Whether the lab emulates another system around this process: what is measured is then labelled `emulated`.
    /// Default false.
    pub emulated: bool,
    /// The command line, for the report. Default empty.
    pub command: Vec<String>,
}

impl Options {
    /// The default of [`Options::samples`].
    pub const SAMPLES: usize = 100;
    /// The default of [`Options::timeout`].
    pub const TIMEOUT: Duration = Duration::from_secs(3);
}

impl Default for Options {
    fn default() -> Self {
        Self {
            samples: Self::SAMPLES,
            timeout: Self::TIMEOUT,
            family: Family::Any,
            checks: crate::doctor::Selection::All,
            emulated: false,
            command: Vec::new(),
        }
    }
}

/// The least time that a local address is given: more than the 2.03 s that Windows takes to refuse (published), so that
/// a refusal is told from silence whatever the caller's limit.
pub(crate) const LOCAL_PATIENCE: Duration = Duration::from_millis(2600);
/// More samples stretch a check's budget, at most so many times.
const STRETCH: f64 = 1000.0;
/// Longer than that nothing is waited for, so that no sum of times overflows.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// What a check is given: how many samples, and how long.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    samples: usize,
    timeout: Duration,
    /// When the check stops taking samples.
    deadline: Instant,
    /// How much later it may come back: after two operations in a row that were not answered, and a second for a
    /// busy machine.
    pub(crate) grace: Duration,
}

impl Context {
    pub(crate) fn new(options: &Options) -> Self {
        let timeout = options.timeout.min(LONGEST);
        Self {
            samples: options.samples.max(1),
            timeout,
            deadline: Instant::now(),
            grace: timeout.max(LOCAL_PATIENCE) * 2 + Duration::from_secs(1),
        }
    }

    /// The context of a check that starts now. More samples than the default stretch its budget.
    pub(crate) fn for_budget(&self, budget: Duration) -> Self {
        let stretch = (self.samples as f64 / Options::SAMPLES as f64).clamp(1.0, STRETCH);
        Self { deadline: Instant::now() + budget.mul_f64(stretch), ..self.clone() }
    }

    /// How many samples a series takes whose samples cost `share` times as much as a plain local connect; at least 3,
    /// unless fewer were asked for.
    pub(crate) fn samples(&self, share: usize) -> usize {
        (self.samples / share.max(1)).max(self.samples.min(3))
    }

    /// How long one operation may take before it counts as unanswered.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// How long a refusal may take before it counts as missing.
    pub(crate) fn refusal_timeout(&self) -> Duration {
        self.timeout.max(LOCAL_PATIENCE)
    }

    /// Whether another sample may be taken.
    pub(crate) fn has_time(&self) -> bool {
        Instant::now() < self.deadline
    }

    /// After how long a check that did not come back counts as hung.
    pub(crate) fn hard_limit(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now()) + self.grace
    }

    /// Up to `count` samples: at least one, and no more once the time is up. The first error ends the series.
    pub(crate) fn series<E>(
        &self,
        count: usize,
        mut sample: impl FnMut() -> Result<Duration, E>,
    ) -> Result<Vec<Duration>, E> {
        let mut samples = Vec::new();
        while samples.len() < count.max(1) && (samples.is_empty() || self.has_time()) {
            samples.push(sample()?);
        }
        Ok(samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(samples: usize, budget: Duration) -> Context {
        Context::new(&Options { samples, ..Options::default() }).for_budget(budget)
    }

    #[test]
    fn dear_series_take_a_share_and_never_less_than_three_of_enough() {
        assert_eq!(context(100, Duration::ZERO).samples(1), 100);
        assert_eq!(context(100, Duration::ZERO).samples(10), 10);
        assert_eq!(context(100, Duration::ZERO).samples(1000), 3);
        assert_eq!(context(2, Duration::ZERO).samples(10), 2);
        assert_eq!(context(0, Duration::ZERO).samples(1), 1);
    }

    #[test]
    fn a_series_takes_one_sample_even_without_time_and_stops_at_an_error() {
        let one = context(100, Duration::ZERO).series(5, || Ok::<_, ()>(Duration::ZERO));
        assert_eq!(one.map(|samples| samples.len()), Ok(1));
        let all = context(100, Duration::from_secs(60)).series(5, || Ok::<_, ()>(Duration::ZERO));
        assert_eq!(all.map(|samples| samples.len()), Ok(5));
        assert_eq!(context(1, Duration::ZERO).series(5, || Err(7)), Err(7));
    }

    #[test]
    fn more_samples_stretch_the_budget() {
        let second = Duration::from_secs(1);
        assert!(context(1000, second).hard_limit() > Duration::from_secs(16));
        assert!(context(10, second).hard_limit() <= Duration::from_secs(8));
    }

    #[test]
    fn absurd_wishes_overflow_nothing() {
        let options = Options { samples: usize::MAX, timeout: Duration::MAX, ..Options::default() };
        let context = Context::new(&options).for_budget(Duration::from_secs(5));
        assert!(context.hard_limit() < Duration::from_secs(3 * 24 * 3600));
        let mut left = 3;
        let stopped = context.series(context.samples(1), || {
            left -= 1;
            if left > 0 { Ok(Duration::ZERO) } else { Err(()) }
        });
        assert_eq!(stopped, Err(()));
    }

    #[test]
    fn a_refusal_is_waited_for_longer_than_the_slowest_that_is_known() {
        let timeout =
            |ms| Context::new(&Options { timeout: Duration::from_millis(ms), ..Options::default() });
        assert_eq!(timeout(1000).refusal_timeout(), Duration::from_millis(2600));
        assert_eq!(timeout(4000).refusal_timeout(), Duration::from_secs(4));
    }
}
