//! Drawings of what a check measured: how a series of measurements is spread, and how long each address and each client took.

use crate::findings::Label;
use maud::{Markup, html};
use serde_json::Value;
use std::time::Duration;
use unstall_core::text::duration;

/// Sizes in the units of the drawing.
const WIDTH: f64 = 640.0;
const NAMES: f64 = 190.0;
const VALUES: f64 = 130.0;
const ROW: f64 = 22.0;
/// What can be seen of a bar however short.
const LEAST: f64 = 2.0;

/// Every chart that the data of a check has something for.
pub(super) fn of(data: &Value, label: Label) -> Markup {
    let mut found = Vec::new();
    series(data, "", &mut found);
    html! {
        @if let Some(addresses) = data.get("addresses").and_then(Value::as_array) {
            (bars("each address", &addresses.iter().filter_map(address).collect::<Vec<_>>(), label.id()))
        }
        @if let Some(clients) = data.get("clients").and_then(Value::as_array) {
            @for (name, key) in [("here", "here"), ("on Windows", "on_windows")] {
                (bars(name, &clients.iter().filter_map(|row| client(row, key)).collect::<Vec<_>>(), "predicted"))
            }
        }
        @if !found.is_empty() {
            div.histograms { @for (name, values) in &found { (histogram(name, values, label)) } }
        }
    }
}

/// A bar: whose it is, how long it took (`None`: not known), what it came to.
struct Bar<'a> {
    name: &'a str,
    ns: Option<u64>,
    outcome: &'a str,
}

fn address(row: &Value) -> Option<Bar<'_>> {
    let outcome = row.get("outcome").and_then(Value::as_str)?;
    Some(Bar { name: row.get("address")?.as_str()?, ns: row.get("elapsed_ns")?.as_u64(), outcome })
}

fn client<'a>(row: &'a Value, key: &str) -> Option<Bar<'a>> {
    let prediction = row.get(key)?;
    let outcome = prediction.get("result")?.as_str()?;
    Some(Bar { name: row.get("client")?.as_str()?, ns: prediction.get("after_ns")?.as_u64(), outcome })
}

fn bars(what: &str, rows: &[Bar<'_>], label: &str) -> Markup {
    let longest = rows.iter().filter_map(|row| row.ns).max().unwrap_or(0).max(1) as f64;
    let room = WIDTH - NAMES - VALUES;
    let height = rows.len() as f64 * ROW;
    let said = format!("{what}: {}", rows.iter().map(said).collect::<Vec<_>>().join(", "));
    html! {
        @if !rows.is_empty() {
            figure {
                figcaption { span.chip.(label) { (label) } " " (what) }
                svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(said) {
                    @for (index, row) in rows.iter().enumerate() {
                        @let top = index as f64 * ROW;
                        @let middle = top + ROW * 0.68;
                        text x=(NAMES - 8.0) y=(middle) text-anchor="end" { (row.name) }
                        @if let Some(ns) = row.ns {
                            @let length = (ns as f64 / longest * room).max(LEAST);
                            rect.(class(row.outcome)) x=(NAMES) y=(top + 4.0) width=(format!("{length:.1}")) height=(ROW - 8.0) {}
                            text x=(format!("{:.1}", NAMES + length + 6.0)) y=(middle) { (shown(ns)) " " (row.outcome) }
                        } @else {
                            text.dim x=(NAMES) y=(middle) { (row.outcome) }
                        }
                    }
                }
            }
        }
    }
}

fn said(row: &Bar<'_>) -> String {
    let time = row.ns.map_or_else(|| "time not known".to_owned(), shown);
    format!("{} {} {time}", row.name, row.outcome)
}

fn class(outcome: &str) -> &'static str {
    match outcome {
        "connected" => "good",
        "refused" | "failed" => "bad",
        _ => "other",
    }
}

/// Every series of single measurements in the data, with the path to it.
fn series(value: &Value, path: &str, found: &mut Vec<(String, Vec<u64>)>) {
    match value {
        Value::Object(members) => {
            if let Some(samples) = members.get("samples_ns").and_then(Value::as_array) {
                let values: Vec<u64> = samples.iter().filter_map(Value::as_u64).collect();
                if values.len() > 1 {
                    found.push((path.replace('_', " "), values));
                }
            }
            for (key, member) in members {
                let dot = if path.is_empty() { "" } else { ", " };
                series(member, &format!("{path}{dot}{key}"), found);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| {
            let name = ["address", "name", "family"].iter().find_map(|key| element.get(key)?.as_str());
            let path = name.map_or_else(|| path.to_owned(), |name| format!("{path} {name}"));
            series(element, &path, found);
        }),
        _ => {}
    }
}

/// The columns of a histogram: where each begins, and how many measurements it holds.
struct Columns {
    from: Vec<f64>,
    counts: Vec<usize>,
    most: f64,
}

/// How many columns a histogram has.
const COLUMNS: usize = 24;
/// From this ratio of the longest to the shortest on, columns have equal ratios in place of equal widths, so that microseconds and
/// seconds have room side by side.
const WIDE: f64 = 20.0;

impl Columns {
    /// `sorted` is not empty.
    fn of(sorted: &[u64]) -> Self {
        let bound = |value: Option<&u64>| value.copied().unwrap_or(0).max(1) as f64;
        let (least, most) = (bound(sorted.first()), bound(sorted.last()));
        let is_wide = most / least >= WIDE;
        let share = |column: usize| column as f64 / COLUMNS as f64;
        let edge = |column: usize| {
            if is_wide {
                least * (most / least).powf(share(column))
            } else {
                least + (most - least) * share(column)
            }
        };
        let from: Vec<f64> = (0..COLUMNS).map(edge).collect();
        let mut counts = vec![0; COLUMNS];
        for &value in sorted {
            let value = value.max(1) as f64;
            let column = from.iter().rposition(|from| *from <= value).unwrap_or(0);
            counts[column] += 1;
        }
        Self { from, counts, most }
    }
}

fn histogram(name: &str, values: &[u64], label: Label) -> Markup {
    const SPAN: f64 = 320.0;
    const HEIGHT: f64 = 72.0;
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let Columns { from, counts, most } = Columns::of(&sorted);
    let highest = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let wide = SPAN / COLUMNS as f64;
    let (median, longest) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() - 1]);
    let words = format!(
        "{name}: {} measurements, median {}, longest {}",
        values.len(),
        shown(median),
        shown(longest)
    );
    html! {
        figure.histogram {
            figcaption { span.chip.(label.id()) { (label.id()) } " " (words) }
            svg viewBox=(format!("0 0 {SPAN} {}", HEIGHT + 20.0)) role="img" aria-label=(words) {
                @for (index, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                    @let tall = (*count as f64 / highest * HEIGHT).max(LEAST);
                    rect x=(format!("{:.1}", index as f64 * wide + 0.5)) y=(format!("{:.1}", HEIGHT - tall))
                        width=(format!("{:.1}", wide - 1.0)) height=(format!("{tall:.1}")) {
                        title { (count) " from " (shown(from[index] as u64)) }
                    }
                }
                line x1="0" y1=(HEIGHT) x2=(SPAN) y2=(HEIGHT) {}
                text.dim x="0" y=(HEIGHT + 15.0) { (shown(from[0] as u64)) }
                text.dim x=(SPAN / 2.0) y=(HEIGHT + 15.0) text-anchor="middle" { (shown(from[COLUMNS / 2] as u64)) }
                text.dim x=(SPAN) y=(HEIGHT + 15.0) text-anchor="end" { (shown(most as u64)) }
            }
        }
    }
}

/// As everywhere, but what is shorter than a microsecond in nanoseconds.
fn shown(ns: u64) -> String {
    if ns < 1000 { format!("{ns} ns") } else { duration(Duration::from_nanos(ns)) }
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, Columns};

    #[test]
    fn every_measurement_has_a_column_from_the_shortest_to_the_longest() {
        let narrow = Columns::of(&[100, 100, 112, 123, 124]);
        assert_eq!(narrow.counts.iter().sum::<usize>(), 5);
        assert_eq!((narrow.counts[0], narrow.counts[12], narrow.counts[COLUMNS - 1]), (2, 1, 2));
        let wide = Columns::of(&[10_000, 2_026_000_000]);
        assert_eq!((wide.counts[0], wide.counts[COLUMNS - 1]), (1, 1));
        // Equal ratios: the middle is the geometric mean.
        assert!((wide.from[COLUMNS / 2] - 4_501_110.9).abs() < 1.0, "{}", wide.from[COLUMNS / 2]);
    }

    #[test]
    fn what_took_no_time_what_took_for_ever_and_what_never_varies_have_one_too() {
        for sorted in [&[0, 0][..], &[7, 7], &[0, u64::MAX], &[u64::MAX]] {
            assert_eq!(Columns::of(sorted).counts.iter().sum::<usize>(), sorted.len(), "{sorted:?}");
        }
    }
}
