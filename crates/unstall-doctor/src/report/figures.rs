//! The figures of a report, one by one: what the checks hold as JSON, flattened.

use super::Report;
use serde_json::Value;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Nanoseconds,
    /// A number, a share or a count.
    One,
}

/// One figure that a check measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure<'a> {
    pub(super) check: &'a str,
    pub(super) target: Option<&'a str>,
    /// Where it stands in the check's data: `addresses[127.0.0.1:9].elapsed`.
    pub(super) name: String,
    /// `None`: not known.
    pub(super) value: Option<f64>,
    pub(super) unit: Unit,
    pub(super) label: &'static str,
}

/// A check whose figures are computed from answers and published delays, not measured.
const PREDICTED: &str = "target-client-delays";
/// Single measurements: their quantiles stand beside them.
const SAMPLES: &str = "samples_ns";
/// What tells the elements of a list apart.
const NAMES: &[&str] = &["address", "client", "name", "id", "family"];

/// Every figure, in the order of the checks.
pub(super) fn figures(report: &Report) -> Vec<Figure<'_>> {
    let mut figures = Vec::new();
    for result in &report.results {
        let label = if result.id == PREDICTED { "predicted" } else { report.label.id() };
        let mut found = Vec::new();
        walk(&result.data, "", &mut found);
        figures.extend(found.into_iter().map(|(name, value, unit)| Figure {
            check: &result.id,
            target: result.target.as_deref(),
            name,
            value,
            unit,
            label,
        }));
    }
    figures
}

type Found = Vec<(String, Option<f64>, Unit)>;

fn walk(value: &Value, path: &str, found: &mut Found) {
    match value {
        Value::Object(members) => {
            let dot = if path.is_empty() { "" } else { "." };
            for (key, member) in members.iter().filter(|(key, _)| *key != SAMPLES) {
                match (key.strip_suffix("_ns"), member) {
                    (Some(name), Value::Number(_) | Value::Null) => {
                        found.push((format!("{path}{dot}{name}"), member.as_f64(), Unit::Nanoseconds));
                    }
                    _ => walk(member, &format!("{path}{dot}{key}"), found),
                }
            }
        }
        Value::Array(elements) => {
            let names: Vec<Option<&str>> = elements.iter().map(name).collect();
            for (index, (element, name)) in elements.iter().zip(&names).enumerate() {
                // A name that two have tells neither.
                let alone = name.filter(|_| names.iter().filter(|other| *other == name).count() == 1);
                let name = alone.map_or_else(|| index.to_string(), str::to_owned);
                walk(element, &format!("{path}[{name}]"), found);
            }
        }
        Value::Number(number) => found.push((path.to_owned(), number.as_f64(), Unit::One)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// What an element of a list is about.
fn name(element: &Value) -> Option<&str> {
    NAMES.iter().find_map(|key| element.get(key)?.as_str())
}

#[cfg(test)]
mod tests {
    use super::{Unit, walk};
    use serde_json::json;

    #[test]
    fn figures_are_found_at_any_depth_and_keep_what_is_not_known() {
        let mut found = Vec::new();
        let data = json!({
            "port": 9,
            "name": "localhost",
            "hard_ns": null,
            "error": null,
            "addresses": [{ "address": "[::1]:9", "elapsed_ns": 7, "ok": true }, { "elapsed_ns": 8 }],
            "series": { "median_ns": 5, "samples_ns": [4, 5, 6] },
            "range": [1, 2],
            "twice": [{ "name": "a", "x": 1 }, { "name": "a", "x": 2 }],
        });
        walk(&data, "", &mut found);
        let figure = |name: &str, value, unit| (name.to_owned(), value, unit);
        let expected = [
            figure("addresses[[::1]:9].elapsed", Some(7.0), Unit::Nanoseconds),
            figure("addresses[1].elapsed", Some(8.0), Unit::Nanoseconds),
            figure("hard", None, Unit::Nanoseconds),
            figure("port", Some(9.0), Unit::One),
            figure("range[0]", Some(1.0), Unit::One),
            figure("range[1]", Some(2.0), Unit::One),
            figure("series.median", Some(5.0), Unit::Nanoseconds),
            figure("twice[0].x", Some(1.0), Unit::One),
            figure("twice[1].x", Some(2.0), Unit::One),
        ];
        assert_eq!(found, expected);
    }
}
