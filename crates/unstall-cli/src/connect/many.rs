//! `unstall connect -n`: the same connect many times, and what they have in common.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;
use unstall::Timeline;
use unstall_core::sample::Sample;
use unstall_core::text::{Charset, duration};
use unstall_doctor::report::Style;

/// What connects of one outcome took. Durations are integers in nanoseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Statistic {
    /// What they came to.
    pub(crate) outcome: String,
    /// How many there were.
    pub(crate) n: usize,
    /// The shortest.
    pub(crate) min_ns: u64,
    /// The middle one; of an even number the lower.
    pub(crate) median_ns: u64,
    /// 95 in a hundred were not longer.
    pub(crate) p95_ns: u64,
    /// 99 in a hundred were not longer.
    pub(crate) p99_ns: u64,
    /// The longest.
    pub(crate) max_ns: u64,
}

/// What connects came to so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// By outcome, in the order of the outcomes' names.
    samples: BTreeMap<&'static str, Sample>,
    winners: BTreeMap<SocketAddr, usize>,
    /// Which connect took longest, counted from 1, and what it did.
    slowest: Option<(usize, Timeline)>,
    n: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, timeline: &Timeline) {
        self.n += 1;
        self.samples.entry(timeline.outcome.id()).or_default().push(timeline.elapsed);
        if let Some(winner) = timeline.winner() {
            *self.winners.entry(winner.address).or_default() += 1;
        }
        if self.slowest.as_ref().is_none_or(|(_, slowest)| timeline.elapsed > slowest.elapsed) {
            self.slowest = Some((self.n, timeline.clone()));
        }
    }

    pub(crate) fn n(&self) -> usize {
        self.n
    }

    pub(crate) fn statistics(&self) -> Vec<Statistic> {
        let ns = |time: Option<Duration>| time.unwrap_or_default().as_nanos() as u64;
        let row = |(outcome, sample): (&&'static str, &Sample)| Statistic {
            outcome: (*outcome).to_owned(),
            n: sample.n(),
            min_ns: ns(sample.min()),
            median_ns: ns(sample.median()),
            p95_ns: ns(sample.p95()),
            p99_ns: ns(sample.p99()),
            max_ns: ns(sample.max()),
        };
        self.samples.iter().map(row).collect()
    }

    /// For people. `took`: how long all of them took together.
    pub(crate) fn text(&self, target: &str, took: Duration, style: Style) -> String {
        let counts: Vec<String> =
            self.samples.iter().map(|(outcome, it)| format!("{} {outcome}", it.n())).collect();
        let plural = if self.n == 1 { "" } else { "s" };
        let mut text =
            format!("{target}: {} connect{plural} in {}: {}\n", self.n, duration(took), counts.join(", "));
        let width = self.samples.keys().map(|outcome| outcome.len()).max().unwrap_or(0).max(9);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "\n{:width$} {:>7}{:>12}{:>12}{:>12}{:>12}{:>12}",
            "", "n", "min", "median", "p95", "p99", "max"
        );
        for (outcome, sample) in &self.samples {
            let _ = write!(text, "{outcome:width$} {:>7}", sample.n());
            for time in [sample.min(), sample.median(), sample.p95(), sample.p99(), sample.max()] {
                let _ = write!(text, "{:>12}", time.map_or_else(String::new, duration));
            }
            text.push('\n');
        }
        for (outcome, sample) in self.samples.iter().filter(|(_, sample)| sample.n() > 1) {
            let _ = write!(text, "\n{outcome}\n{}", histogram(sample, style.width, style.charset));
        }
        if self.winners.len() > 1 {
            let won: Vec<String> = self.winners.iter().map(|(address, n)| format!("{address} {n}")).collect();
            let _ = writeln!(text, "\nconnected to {}", won.join(", "));
        }
        if let Some((number, timeline)) = &self.slowest {
            let bars = super::in_colour(timeline, style);
            let _ = write!(text, "\nthe slowest, number {number}:\n{bars}");
        }
        text
    }
}

/// The columns beside the bars: two times of 8, dots between, the count.
const BESIDE: usize = 32;

fn histogram(sample: &Sample, width: usize, charset: Charset) -> String {
    sample.histogram(width.saturating_sub(BESIDE).clamp(10, 50), charset)
}

/// When the next connect is due, `number` of them having been started (`None`: now). A connect that is late does not make the
/// others late: they keep to the rhythm.
pub(crate) fn pause(number: usize, every: Duration, elapsed: Duration) -> Option<Duration> {
    let due = every.checked_mul(u32::try_from(number).unwrap_or(u32::MAX)).unwrap_or(Duration::MAX);
    due.checked_sub(elapsed).filter(|pause| !pause.is_zero())
}

#[cfg(test)]
mod tests {
    use super::{Tally, pause};
    use std::time::Duration;
    use unstall::{Outcome, Timeline};
    use unstall_doctor::report::Style;

    const MS: Duration = Duration::from_millis(1);

    fn timeline(outcome: Outcome, ms: u32) -> Timeline {
        Timeline {
            target: "127.0.0.1:9".parse().expect("a target"),
            resolution: None,
            attempts: Vec::new().into(),
            outcome,
            elapsed: MS * ms,
        }
    }

    #[test]
    fn each_outcome_has_its_own_figures_and_the_slowest_is_shown() {
        let mut tally = Tally::default();
        for ms in 1..=98 {
            tally.add(&timeline(Outcome::Connected, ms));
        }
        tally.add(&timeline(Outcome::Refused, 2026));
        tally.add(&timeline(Outcome::Refused, 2025));
        let statistics = tally.statistics();
        let of = |index: usize| {
            (statistics[index].outcome.as_str(), statistics[index].n, statistics[index].max_ns)
        };
        assert_eq!((of(0), of(1)), (("connected", 98, 98_000_000), ("refused", 2, 2_026_000_000)));
        let text = tally.text("localhost:9", MS * 9000, Style::default());
        assert!(
            text.starts_with("localhost:9: 100 connects in 9000 ms: 98 connected, 2 refused\n"),
            "{text}"
        );
        assert!(text.contains("\nthe slowest, number 99:\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_late_connect_does_not_make_the_next_ones_late() {
        assert_eq!(pause(1, MS * 100, MS * 30), Some(MS * 70));
        assert_eq!(pause(2, MS * 100, MS * 230), None);
        assert_eq!(pause(3, MS * 100, MS * 230), Some(MS * 70));
        assert_eq!(pause(5, Duration::ZERO, MS), None);
        assert_eq!(pause(usize::MAX, Duration::MAX, MS), Duration::MAX.checked_sub(MS));
    }
}
