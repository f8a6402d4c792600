//! A series of measurements: percentiles, modes, a histogram.
//!
//! The raw measurements are kept, in the order in which they came: a series here has some hundred values, so
//! every figure is exact and can be computed again by whoever reads the report. (The crate hdrhistogram is
//! made for millions of values in little memory; it rounds them into buckets and forgets their order, and it
//! does not find modes.)
//!
//! A mean is not offered. The stalls that this project is after make two groups of times, 0.2 ms and 14 ms or
//! 0.3 ms and 2 s, and a mean names a time that no connect took; [`Sample::modes`] names the groups.

mod histogram;
mod modes;

pub use modes::{LEAST_SHARE, Mode};

use std::time::Duration;

/// A series of measured times.
///
/// ```
/// # use std::time::Duration;
/// # use unstall_core::sample::Sample;
/// let sample: Sample = [3, 1, 2, 40].map(Duration::from_millis).into_iter().collect();
/// assert_eq!(sample.median(), Some(Duration::from_millis(2)));
/// assert_eq!(sample.max(), Some(Duration::from_millis(40)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Sample {
    values: Vec<Duration>,
}

impl Sample {
    /// No measurements yet.
    pub const fn new() -> Self {
        Self { values: Vec::new() }
    }

    /// Adds a measurement.
    pub fn push(&mut self, value: Duration) {
        self.values.push(value);
    }

    /// The measurements in the order in which they came.
    pub fn values(&self) -> &[Duration] {
        &self.values
    }

    /// How many measurements there are.
    pub fn n(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The shortest; `None`: no measurements.
    pub fn min(&self) -> Option<Duration> {
        self.values.iter().min().copied()
    }

    /// The longest; `None`: no measurements.
    pub fn max(&self) -> Option<Duration> {
        self.values.iter().max().copied()
    }

    /// [`Self::percentile`] 50: of an even number of measurements the lower middle one.
    pub fn median(&self) -> Option<Duration> {
        self.percentile(50)
    }

    /// [`Self::percentile`] 95.
    pub fn p95(&self) -> Option<Duration> {
        self.percentile(95)
    }

    /// [`Self::percentile`] 99. Below 100 measurements that is the longest.
    pub fn p99(&self) -> Option<Duration> {
        self.percentile(99)
    }

    /// The nearest-rank percentile: the least measurement that at least `percent` in a hundred do not exceed.
    /// Always one that was measured, nothing is interpolated. 0 is the minimum; above 100 is taken for 100.
    /// `None`: no measurements.
    pub fn percentile(&self, percent: u8) -> Option<Duration> {
        let mut sorted = self.values.clone();
        let rank = (sorted.len() * usize::from(percent.min(100))).div_ceil(100);
        let index = rank.max(1) - 1;
        if index >= sorted.len() {
            return None;
        }
        Some(*sorted.select_nth_unstable(index).1)
    }

    fn sorted(&self) -> Vec<Duration> {
        let mut sorted = self.values.clone();
        sorted.sort_unstable();
        sorted
    }
}

impl From<Vec<Duration>> for Sample {
    fn from(values: Vec<Duration>) -> Self {
        Self { values }
    }
}

impl FromIterator<Duration> for Sample {
    fn from_iter<I: IntoIterator<Item = Duration>>(values: I) -> Self {
        Self { values: values.into_iter().collect() }
    }
}

impl Extend<Duration> for Sample {
    fn extend<I: IntoIterator<Item = Duration>>(&mut self, values: I) {
        self.values.extend(values);
    }
}

#[cfg(feature = "serde")]
mod json {
    use super::{Mode, Sample};
    use crate::text::ns;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    /// What is written: the figures, for readers without a program, and the raw values.
    #[derive(Serialize)]
    struct Written<'a> {
        n: usize,
        min_ns: Option<u64>,
        median_ns: Option<u64>,
        p95_ns: Option<u64>,
        p99_ns: Option<u64>,
        max_ns: Option<u64>,
        modes: &'a [Mode],
        samples_ns: Vec<u64>,
    }

    /// What is read back: the raw values; the figures follow from them.
    #[derive(Deserialize)]
    struct Read {
        samples_ns: Vec<u64>,
    }

    impl Serialize for Sample {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let modes = self.modes();
            Written {
                n: self.n(),
                min_ns: self.min().map(ns::of),
                median_ns: self.median().map(ns::of),
                p95_ns: self.p95().map(ns::of),
                p99_ns: self.p99().map(ns::of),
                max_ns: self.max().map(ns::of),
                modes: &modes,
                samples_ns: self.values.iter().copied().map(ns::of).collect(),
            }
            .serialize(serializer)
        }
    }

    impl<'de> Deserialize<'de> for Sample {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let read = Read::deserialize(deserializer)?;
            Ok(read.samples_ns.into_iter().map(Duration::from_nanos).collect())
        }
    }
}
