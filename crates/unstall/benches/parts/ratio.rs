//! Rows of two times and their ratio.

use std::time::Duration;

/// Pairs of measurements in a row.
const PAIRS: usize = 200;

pub(crate) fn head(what: &str) {
    println!("{PAIRS} pairs of {what}");
    println!("{:<40}{:>10}{:>10}{:>8}   quartiles    bound", "", "theirs", "unstall", "ratio");
}

/// Measures both in turn, each as often first as second.
pub(crate) fn row(
    what: &str,
    bound: Option<f64>,
    theirs: impl FnMut() -> Duration,
    ours: impl FnMut() -> Duration,
) {
    row_of(PAIRS, what, bound, theirs, ours);
}

pub(crate) fn row_of(
    pairs: usize,
    what: &str,
    bound: Option<f64>,
    mut theirs: impl FnMut() -> Duration,
    mut ours: impl FnMut() -> Duration,
) {
    let pairs: Vec<(f64, f64)> = (0..pairs)
        .map(|pair| {
            let before = (pair % 2 == 1).then(&mut ours);
            let theirs = theirs();
            let ours = before.unwrap_or_else(&mut ours);
            (theirs.as_secs_f64() * 1e6, ours.as_secs_f64() * 1e6)
        })
        .collect();
    let theirs = quantile(pairs.iter().map(|pair| pair.0), 0.5);
    let ours = quantile(pairs.iter().map(|pair| pair.1), 0.5);
    let ratio = |at| quantile(pairs.iter().map(|pair| pair.1 / pair.0), at);
    let (low, middle, high) = (ratio(0.25), ratio(0.5), ratio(0.75));
    println!(
        "{what:<40}{theirs:>10.2}{ours:>10.2}{middle:>8.3}   {low:.3}-{high:.3}  {}",
        verdict(middle, bound)
    );
}

/// Whether a ratio keeps its bound.
pub(crate) fn verdict(ratio: f64, bound: Option<f64>) -> String {
    let word = |bound| if ratio <= bound { "met" } else { "MISSED" };
    bound.map_or(String::new(), |bound| format!("<= {bound:.2} {}", word(bound)))
}

pub(crate) fn quantile(values: impl Iterator<Item = f64>, at: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * at).round() as usize]
}
