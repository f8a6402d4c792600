//! The report as a table, one line for each check, figure and fact (RFC 4180).
//!
//! Durations are whole nanoseconds (unit `ns`). An empty value is one that is not known.

use super::Report;
use super::figures::{Unit, figures};

const HEAD: [&str; 11] =
    ["started_at", "kind", "check", "target", "name", "value", "unit", "label", "n", "source", "text"];

pub(super) fn render(report: &Report) -> String {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    let mut line = |fields: [&str; HEAD.len()]| {
        // Into memory, and every line has as many fields as the first: nothing that could fail.
        let _ = writer.write_record(fields);
    };
    line(HEAD);
    let at = report.header.started_at.as_str();
    let target = |target: &Option<String>| target.clone().unwrap_or_default();
    for result in &report.results {
        let elapsed = result.elapsed_ns.to_string();
        let text = result
            .why
            .as_deref()
            .map_or_else(|| result.status.to_string(), |why| format!("{}: {why}", result.status));
        let of = target(&result.target);
        line([at, "check", &result.id, &of, "elapsed", &elapsed, "ns", report.label.id(), "", "", &text]);
    }
    for figure in figures(report) {
        let value = figure.value.map(|value| value.to_string()).unwrap_or_default();
        let unit = if figure.unit == Unit::Nanoseconds { "ns" } else { "" };
        let of = figure.target.unwrap_or_default();
        line([at, "figure", figure.check, of, &figure.name, &value, unit, figure.label, "", "", ""]);
    }
    for finding in &report.findings {
        let of = target(&finding.target);
        for fact in &finding.evidence {
            let value = fact.value_ns.map(|value| value.to_string()).unwrap_or_default();
            let unit = if fact.value_ns.is_some() { "ns" } else { "" };
            let n = fact.n.map(|n| n.to_string()).unwrap_or_default();
            let source = fact.source.as_deref().unwrap_or_default();
            let label = fact.label.id();
            line([
                at,
                "finding",
                &finding.check,
                &of,
                &finding.id,
                &value,
                unit,
                label,
                &n,
                source,
                &fact.text,
            ]);
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{HEAD, render};
    use crate::report::tests::{report, sound};
    use serde_json::json;

    fn read(text: &str) -> Vec<csv::StringRecord> {
        csv::Reader::from_reader(text.as_bytes()).records().map(|record| record.expect("a line")).collect()
    }

    #[test]
    fn every_check_and_every_fact_has_its_line() {
        let report = report();
        let lines = read(&render(&report));
        let count = |kind| lines.iter().filter(|line| &line[1] == kind).count();
        assert_eq!(count("check"), report.results.len());
        assert_eq!(
            count("finding"),
            report.findings.iter().map(|finding| finding.evidence.len()).sum::<usize>()
        );
    }

    #[test]
    fn commas_quotes_and_line_ends_stay_in_their_field() {
        let mut report = sound();
        report.results[0].why = Some("a, \"b\"\nc".to_owned());
        report.results[0].data = json!({ "p95_ns": 12, "unknown_ns": null });
        let lines = read(&render(&report));
        assert_eq!(lines[0].len(), HEAD.len());
        assert_eq!(&lines[0][10], "ran: a, \"b\"\nc");
        assert_eq!((&lines[1][4], &lines[1][5], &lines[1][6], &lines[1][7]), ("p95", "12", "ns", "measured"));
        assert_eq!((&lines[2][4], &lines[2][5]), ("unknown", ""), "what is not known is no 0");
    }
}
