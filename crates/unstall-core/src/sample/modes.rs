//! Finding the groups in a series of times.
//!
//! The series is unimodal until the opposite is significant: between two modes there must be a valley, a
//! stretch of the logarithmic scale that holds fewer values than it could if the density only rose to one
//! peak and fell from it. Under that hypothesis a valley is at least as dense as the thinner of the two peaks
//! beside it. So, given the `m` values of a peak's window and the `v` of a valley `k` times as wide, `m` is
//! at most binomial with `m + v` trials and probability 1 / (1 + k); the probability of so many or more is
//! compared with [`SIGNIFICANCE`], for the thinner peak. The test is exact for small counts, needs no
//! bandwidth fitted to the data, and a long tail is no second mode to it: its values thin out, and a valley
//! in front of thin values is not significant.

use super::Sample;
use crate::text;
use std::fmt;
use std::time::Duration;

/// The least share of the measurements that makes a mode, 2 %: rarer ones are outliers of the mode beside
/// them.
pub const LEAST_SHARE: f64 = 0.02;

/// How improbable a valley must be. Many windows are compared, which raises the chance of a false mode, but
/// they share most of their values: with this bound a false mode is found in about 2 of 10,000 series
/// (tests/sample.rs).
const SIGNIFICANCE: f64 = 1e-4;

/// Buckets per octave: each is 9 % wide.
const PER_OCTAVE: usize = 8;

/// How wide a peak's window may be, in buckets: a quarter of an octave to two.
const PEAKS: [usize; 4] = [2, 4, 8, 16];

/// How wide a valley may be, in buckets: half an octave to eight.
const VALLEYS: [usize; 5] = [4, 8, 16, 32, 64];

/// A group of measurements around one time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Mode {
    /// The median of the group.
    #[cfg_attr(feature = "serde", serde(rename = "centre_ns", with = "text::ns"))]
    pub centre: Duration,
    /// Its shortest measurement.
    #[cfg_attr(feature = "serde", serde(rename = "min_ns", with = "text::ns"))]
    pub min: Duration,
    /// Its longest measurement.
    #[cfg_attr(feature = "serde", serde(rename = "max_ns", with = "text::ns"))]
    pub max: Duration,
    /// How many measurements it has.
    pub count: usize,
    /// Its part of all measurements, 0 to 1.
    pub share: f64,
}

/// `14.6 ms (70 %, 210 of 300)` without knowing the 300: `14.6 ms (70 %, 210 measurements)`.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = (self.share * 100.0).round();
        write!(f, "{} ({percent} %, {} measurements)", text::duration(self.centre), self.count)
    }
}

impl Sample {
    /// The groups that the measurements fall into, from the shortest to the longest: one for a unimodal
    /// series, none without measurements. Two groups are told apart from a distance of about a factor of 2
    /// on, if each has at least [`LEAST_SHARE`] and enough measurements to be no chance: about 8 for groups 5
    /// octaves apart.
    ///
    /// A coarse clock makes no modes: values that are all multiples of one step are taken for times spread
    /// over the steps around them.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use unstall_core::sample::Sample;
    /// let fast = (0..90).map(|i| Duration::from_micros(190 + i % 23));
    /// let slow = (0..210).map(|i| Duration::from_micros(13_000 + 20 * (i % 97)));
    /// let modes = fast.chain(slow).collect::<Sample>().modes();
    /// assert_eq!(modes.len(), 2);
    /// assert_eq!((modes[0].count, modes[1].count), (90, 210));
    /// ```
    pub fn modes(&self) -> Vec<Mode> {
        let sorted = self.sorted();
        if sorted.is_empty() {
            return Vec::new();
        }
        let scale = logarithms(&sorted);
        let ln_factorials = ln_factorials(sorted.len());
        let mut cuts = vec![0, sorted.len()];
        split(&scale, 0, sorted.len(), &ln_factorials, &mut cuts);
        cuts.sort_unstable();
        cuts.windows(2).map(|cut| mode(&sorted[cut[0]..cut[1]], sorted.len())).collect()
    }
}

fn mode(group: &[Duration], of: usize) -> Mode {
    let count = group.len();
    Mode {
        centre: group[(count - 1) / 2],
        min: group[0],
        max: group[count - 1],
        count,
        share: count as f64 / of as f64,
    }
}

/// The values' places on the scale of buckets, sorted as they are. Equal values of a coarse clock are spread
/// evenly over the step around them.
fn logarithms(sorted: &[Duration]) -> Vec<f64> {
    let step = sorted.iter().fold(0, |step, value| gcd(step, value.as_nanos())).max(1) as f64;
    let mut scale = Vec::with_capacity(sorted.len());
    for group in sorted.chunk_by(|a, b| a == b) {
        let middle = group[0].as_nanos() as f64;
        for index in 0..group.len() {
            let within = (index as f64 + 0.5) / group.len() as f64 - 0.5;
            let value = (middle + within * step).abs().max(1.0);
            scale.push(value.log2() * PER_OCTAVE as f64);
        }
    }
    // Around 0 the spreading has folded negative values over.
    scale.sort_unstable_by(f64::total_cmp);
    scale
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Cuts `scale[from..to]` at its most significant valley, and both sides again.
fn split(scale: &[f64], from: usize, to: usize, ln_factorials: &[f64], cuts: &mut Vec<usize>) {
    let least = ((scale.len() as f64 * LEAST_SHARE).ceil() as usize).max(2);
    let Some(cut) = best_valley(&scale[from..to], least, ln_factorials) else { return };
    let cut = from + cut;
    cuts.push(cut);
    split(scale, from, cut, ln_factorials, cuts);
    split(scale, cut, to, ln_factorials, cuts);
}

/// The index at which to cut, or `None`: no valley is significant.
fn best_valley(scale: &[f64], least: usize, ln_factorials: &[f64]) -> Option<usize> {
    let origin = scale.first()?.floor();
    let len = (scale.last()?.floor() - origin) as usize + 1;
    // below[i]: how many values lie in the buckets before i.
    let mut below = vec![0; len + 1];
    for value in scale {
        below[(value.floor() - origin) as usize + 1] += 1;
    }
    for i in 0..len {
        below[i + 1] += below[i];
    }
    let mut best: Option<(f64, usize)> = None;
    for peak in PEAKS {
        let (left, right) = (highest_before(&below, peak), highest_after(&below, peak));
        for valley in VALLEYS {
            for start in 0..len.saturating_sub(valley - 1) {
                let end = start + valley;
                let thinner = left[start].min(right[end]);
                let inside = below[end] - below[start];
                let p = tail(thinner, inside, valley as f64 / peak as f64, ln_factorials);
                if p > SIGNIFICANCE || best.is_some_and(|(least_p, _)| p >= least_p) {
                    continue;
                }
                let cut = widest_gap(scale, below[start], below[end]);
                if cut >= least && scale.len() - cut >= least {
                    best = Some((p, cut));
                }
            }
        }
    }
    best.map(|(_, cut)| cut)
}

/// For every bucket: the most values that a window of `width` buckets has which ends before or at it.
fn highest_before(below: &[usize], width: usize) -> Vec<usize> {
    let mut highest = 0;
    (0..below.len())
        .map(|end| {
            highest = highest.max(below[end] - below[end.saturating_sub(width)]);
            highest
        })
        .collect()
}

/// For every bucket: the most values that a window of `width` buckets has which begins at or after it.
fn highest_after(below: &[usize], width: usize) -> Vec<usize> {
    let last = below.len() - 1;
    let mut highest = 0;
    let mut after: Vec<usize> = (0..below.len())
        .rev()
        .map(|start| {
            highest = highest.max(below[(start + width).min(last)] - below[start]);
            highest
        })
        .collect();
    after.reverse();
    after
}

/// Where to cut between the values `from - 1` and `to`: at the widest gap.
fn widest_gap(scale: &[f64], from: usize, to: usize) -> usize {
    let gap = |cut: &usize| scale[*cut] - scale[*cut - 1];
    (from.max(1)..=to.min(scale.len() - 1)).max_by(|a, b| gap(a).total_cmp(&gap(b))).unwrap_or(0)
}

/// The logarithms of 0! to n!.
fn ln_factorials(n: usize) -> Vec<f64> {
    let mut sum = 0.0;
    std::iter::once(0.0)
        .chain((1..=n).map(|i| {
            sum += (i as f64).ln();
            sum
        }))
        .collect()
}

/// The probability that of all values in a peak's window and in a valley `wider` times as wide, `peak` or
/// more fall into the window, when the valley is at least as dense: the upper tail of the binomial
/// distribution with the chance 1 / (1 + wider).
fn tail(peak: usize, valley: usize, wider: f64, ln_factorials: &[f64]) -> f64 {
    let all = peak + valley;
    let chance = 1.0 / (1.0 + wider);
    if peak as f64 <= all as f64 * chance {
        return 1.0;
    }
    // Beyond the mean the terms fall; the first one is computed by logarithms, the others by their ratio.
    let choose = ln_factorials[all] - ln_factorials[peak] - ln_factorials[valley];
    let mut term = (choose + peak as f64 * chance.ln() + valley as f64 * (1.0 - chance).ln()).exp();
    let mut sum = 0.0;
    for count in peak..=all {
        sum += term;
        term *= (all - count) as f64 / (count as f64 + 1.0) / wider;
        if term < sum * 1e-9 {
            break;
        }
    }
    sum
}
