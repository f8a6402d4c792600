//! Durations as reports hold and show them.

use crate::findings::Evidence;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use std::borrow::Cow;
use std::time::Duration;
use unstall_core::sample::Sample;
use unstall_core::signature::{self, Figure};
use unstall_core::text::Charset;
pub(crate) use unstall_core::text::duration as show;

/// A duration in whole nanoseconds, as reports hold it. Beyond 584 years it stays there.
pub(crate) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A share for people: `70 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A series of measurements that is never empty, so that every figure is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Figures(Sample);

impl Figures {
    /// The figures of a series; `None` of an empty one.
    pub(crate) fn of(samples: &[Duration]) -> Option<Self> {
        (!samples.is_empty()).then(|| Self(samples.to_vec().into()))
    }

    pub(crate) fn n(&self) -> usize {
        self.0.n()
    }

    /// The measurements as they came.
    pub(crate) fn values(&self) -> &[Duration] {
        self.0.values()
    }

    pub(crate) fn median(&self) -> Duration {
        self.0.median().unwrap_or_default()
    }

    /// How many of the samples last at least that long, 0.0 to 1.0.
    pub(crate) fn share_from(&self, limit: Duration) -> f64 {
        let long = self.values().iter().filter(|&&value| value >= limit).count();
        long as f64 / self.n() as f64
    }

    /// For people: `median 0.021 ms, p95 0.034 ms, max 0.052 ms, n 100`, and the groups if there are several.
    pub(crate) fn words(&self) -> String {
        let [median, p95, max] =
            [self.0.median(), self.0.p95(), self.0.max()].map(|value| show(value.unwrap_or_default()));
        let modes = self.0.modes();
        let groups: Vec<_> = modes.iter().map(ToString::to_string).collect();
        let groups =
            if groups.len() > 1 { format!("; in groups: {}", groups.join(", ")) } else { String::new() };
        format!("median {median}, p95 {p95}, max {max}, n {}{groups}", self.n())
    }

    /// How the measurements are spread over time: a line for each of the steps 1, 2, 5, 10 ... that has some.
    pub(crate) fn histogram(&self) -> Vec<String> {
        // ASCII: whether the reader's terminal shows more is not known here.
        self.0.histogram(30, Charset::Ascii).lines().map(str::to_owned).collect()
    }

    /// The figures as evidence: `what: median ...`.
    pub(crate) fn evidence(&self, what: &str) -> Evidence {
        Evidence::measured(format!("{what}: {}", self.words()), self.median(), self.n())
    }
}

/// What a measured time is known to point to, as published evidence.
pub(crate) fn known_causes(figure: &Figure) -> impl Iterator<Item = Evidence> + use<> {
    signature::causes(figure)
        .into_iter()
        .map(|known| Evidence::published(format!("{}: {}", known.figure, known.cause), known.source))
}

/// The JSON that [`Sample`] writes, of a series that is not empty.
#[derive(JsonSchema)]
#[schemars(rename = "Figures")]
#[expect(dead_code, reason = "describes the JSON, is never made")]
struct Written {
    /// How many measurements.
    n: usize,
    /// The shortest.
    min_ns: u64,
    /// The middle one; of an even number the lower.
    median_ns: u64,
    /// 95 in a hundred are not longer.
    p95_ns: u64,
    /// 99 in a hundred are not longer.
    p99_ns: u64,
    /// The longest.
    max_ns: u64,
    /// The groups that they fall into, from the shortest to the longest.
    modes: Vec<WrittenMode>,
    /// The measurements as they came.
    samples_ns: Vec<u64>,
}

/// A group of measurements around one time.
#[derive(JsonSchema)]
#[schemars(rename = "Mode")]
#[expect(dead_code, reason = "describes the JSON, is never made")]
struct WrittenMode {
    /// The median of the group.
    centre_ns: u64,
    /// Its shortest measurement.
    min_ns: u64,
    /// Its longest measurement.
    max_ns: u64,
    /// How many measurements it has.
    count: usize,
    /// Its part of all measurements, 0 to 1.
    share: f64,
}

impl JsonSchema for Figures {
    fn schema_name() -> Cow<'static, str> {
        Written::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Written::json_schema(generator)
    }
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
    fn words_tell_the_figures_and_the_groups() {
        assert_eq!(figures(&[1.0, 2.0, 3.0]).words(), "median 2.0 ms, p95 3.0 ms, max 3.0 ms, n 3");
        let mut two = vec![0.2; 90];
        two.extend([14.0; 210]);
        let words = figures(&two).words();
        assert!(
            words.ends_with("in groups: 0.20 ms (30 %, 90 measurements), 14.0 ms (70 %, 210 measurements)"),
            "{words}"
        );
        assert!(Figures::of(&[]).is_none());
    }

    #[test]
    fn a_share_counts_the_limit_itself() {
        assert!((figures(&[1.0, 5.0, 6.0, 4.9]).share_from(Duration::from_millis(5)) - 0.5).abs() < 1e-9);
    }
}
