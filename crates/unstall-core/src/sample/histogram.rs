//! A histogram in text, on a logarithmic scale.

use super::Sample;
use crate::text::{self, Charset};
use std::fmt::Write as _;
use std::time::Duration;

impl Sample {
    /// How many measurements lie between the steps 1, 2, 5, 10, 20, 50 ... of time: (from, to, count), from
    /// the first step that has any to the last, empty ones in between included. `from` belongs to the step,
    /// `to` does not (but for `Duration::MAX`).
    pub fn buckets(&self) -> Vec<(Duration, Duration, usize)> {
        let mut buckets: Vec<(Duration, Duration, usize)> = Vec::new();
        let Some(first) = self.min() else { return buckets };
        for value in self.sorted() {
            while buckets.last().is_none_or(|(_, to, _)| value >= *to && *to < Duration::MAX) {
                let from = buckets.last().map_or_else(|| step_at_or_below(first), |(_, to, _)| *to);
                buckets.push((from, step_after(from), 0));
            }
            if let Some((.., count)) = buckets.last_mut() {
                *count += 1;
            }
        }
        buckets
    }

    /// [`Self::buckets`] as text, one line each, with bars of at most `width` cells. Every bucket that has a
    /// measurement has at least one cell. Empty without measurements.
    pub fn histogram(&self, width: usize, charset: Charset) -> String {
        let buckets = self.buckets();
        let most = buckets.iter().map(|(.., count)| *count).max().unwrap_or(0);
        let digits = most.to_string().len();
        let mut lines = String::new();
        for (from, to, count) in buckets {
            let cells = (count * width).div_ceil(most.max(1));
            let bar = charset.row(width, 0..cells);
            let range = format!("{:>8} .. {:>8}", text::duration(from), text::duration(to));
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "{range} {bar} {count:>digits$}");
        }
        lines
    }
}

/// The steps as powers of ten of a nanosecond: below the first of them everything is in one step.
const LEADING: [u64; 3] = [1, 2, 5];

fn steps() -> impl Iterator<Item = Duration> {
    let steps = (0..20).flat_map(|power| LEADING.map(|digit| 10_u64.checked_pow(power)?.checked_mul(digit)));
    std::iter::once(Duration::ZERO).chain(steps.flatten().map(Duration::from_nanos))
}

fn step_at_or_below(value: Duration) -> Duration {
    steps().take_while(|step| *step <= value).last().unwrap_or(Duration::ZERO)
}

fn step_after(step: Duration) -> Duration {
    steps().find(|next| *next > step).unwrap_or(Duration::MAX)
}
