//! Durations as reports hold and show them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A duration in whole nanoseconds, as reports hold it. Beyond 584 years it stays there.
pub(crate) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What a series of measurements looks like. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Figures {
    /// How many samples.
    pub(crate) n: usize,
    pub(crate) min_ns: u64,
    pub(crate) median_ns: u64,
    /// 95 of 100 samples are not above it.
    pub(crate) p95_ns: u64,
    pub(crate) max_ns: u64,
    /// The samples as they came.
    pub(crate) samples_ns: Vec<u64>,
}

impl Figures {
    /// The figures of a series; `None` of an empty one.
    pub(crate) fn of(samples: &[Duration]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        let at = |percent: usize| ns(sorted[(percent * sorted.len()).div_ceil(100).max(1) - 1]);
        (!sorted.is_empty()).then(|| Self {
            n: sorted.len(),
            min_ns: ns(sorted[0]),
            median_ns: at(50),
            p95_ns: at(95),
            max_ns: at(100),
            samples_ns: samples.iter().copied().map(ns).collect(),
        })
    }

    pub(crate) fn median(&self) -> Duration {
        Duration::from_nanos(self.median_ns)
    }

    /// How many of the samples last at least that long, 0.0 to 1.0.
    pub(crate) fn share_from(&self, limit: Duration) -> f64 {
        let long = self.samples_ns.iter().filter(|&&sample| sample >= ns(limit)).count();
        long as f64 / self.n as f64
    }

    /// For people: `median 0.021 ms, p95 0.034 ms, max 0.052 ms, n 100`.
    pub(crate) fn words(&self) -> String {
        let [median, p95, max] =
            [self.median_ns, self.p95_ns, self.max_ns].map(|value| show(Duration::from_nanos(value)));
        format!("median {median}, p95 {p95}, max {max}, n {}", self.n)
    }
}

/// A duration for people: three digits at most, in ns, us, ms or s.
pub(crate) fn show(duration: Duration) -> String {
    let nanos = duration.as_nanos() as f64;
    let (value, unit) = match nanos {
        n if n < 1e3 => return format!("{n:.0} ns"),
        n if n < 9.95e4 => (n / 1e3, "us"),
        n if n < 9.995e8 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    match value {
        v if v < 9.995 => format!("{v:.2} {unit}"),
        v if v < 99.95 => format!("{v:.1} {unit}"),
        v => format!("{v:.0} {unit}"),
    }
}

/// A share for people: `70 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Figures of so many ms each, for tests of judges.
    pub(crate) fn figures(ms: &[f64]) -> Figures {
        let samples: Vec<_> = ms.iter().map(|ms| Duration::from_secs_f64(ms / 1e3)).collect();
        Figures::of(&samples).expect("no samples")
    }

    #[test]
    fn percentiles_are_samples_by_nearest_rank() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let figures = figures(&hundred);
        let ms = |ns: u64| ns / 1_000_000;
        assert_eq!(
            [figures.min_ns, figures.median_ns, figures.p95_ns, figures.max_ns].map(ms),
            [1, 50, 95, 100]
        );
        assert_eq!(figures.samples_ns[0], 100_000_000, "samples stay in the order in which they came");
        assert!(Figures::of(&[]).is_none());
    }

    #[test]
    fn a_share_counts_the_limit_itself() {
        assert!((figures(&[1.0, 5.0, 6.0, 4.9]).share_from(Duration::from_millis(5)) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn durations_are_shown_in_three_digits() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (99_000, "99.0 us"),
            (99_900, "0.10 ms"),
            (44_000_000, "44.0 ms"),
            (506_000_000, "506 ms"),
            (999_600_000, "1.00 s"),
            (2_026_000_000, "2.03 s"),
            (127_000_000_000, "127 s"),
        ];
        for (nanos, words) in cases {
            assert_eq!(show(Duration::from_nanos(nanos)), words, "{nanos}");
        }
    }
}
