//! The report for Prometheus: the text format 0.0.4, as node_exporter's textfile collector reads it.
//!
//! What is not known is left out, for a gauge cannot be null.

use super::figures::{Unit, figures};
use super::metrics::{Family, text};
use super::{Report, Status};

pub(super) fn render(report: &Report) -> String {
    text(&[
        info(report),
        started(report),
        checks(report),
        durations(report),
        counts(report),
        findings(report),
    ]) + &text(&values(report))
}

fn info(report: &Report) -> Family {
    let header = &report.header;
    Family::new("unstall_doctor_info", "Who made the report, and where; always 1.").with(
        &[
            ("version", &header.tool.version),
            ("os", &header.host.os),
            ("kernel", header.host.kernel.as_deref().unwrap_or("unknown")),
            ("arch", &header.host.arch),
            ("label", report.label.id()),
        ],
        1.0,
    )
}

fn started(report: &Report) -> Family {
    let family =
        Family::new("unstall_doctor_start_time_seconds", "When the report was begun, in seconds since 1970.");
    match report.header.started_at.parse::<jiff::Timestamp>() {
        Ok(at) => family.with(&[], at.as_nanosecond() as f64 / 1e9),
        Err(_) => family,
    }
}

fn checks(report: &Report) -> Family {
    let family = Family::new("unstall_check_ran", "Whether a check ran: 1, or 0 with the reason.");
    report.results.iter().fold(family, |family, result| {
        let target = result.target.as_deref().unwrap_or_default();
        let ran = if result.status == Status::Ran { 1.0 } else { 0.0 };
        family.with(&[("check", &result.id), ("target", target), ("status", &result.status.to_string())], ran)
    })
}

fn durations(report: &Report) -> Family {
    let family = Family::new("unstall_check_duration_seconds", "How long a check took.");
    report.results.iter().fold(family, |family, result| {
        let target = result.target.as_deref().unwrap_or_default();
        family.with(&[("check", &result.id), ("target", target)], result.elapsed_ns as f64 / 1e9)
    })
}

fn counts(report: &Report) -> Family {
    let counts = report.summary.counts;
    [("error", counts.error), ("warn", counts.warn), ("info", counts.info)].iter().fold(
        Family::new("unstall_findings", "How many findings there are of each severity."),
        |family, (severity, count)| family.with(&[("severity", severity)], *count as f64),
    )
}

fn findings(report: &Report) -> Family {
    let family = Family::new("unstall_finding", "A finding; always 1. `unstall explain ID` tells more.");
    report.findings.iter().fold(family, |family, finding| {
        let target = finding.target.as_deref().unwrap_or_default();
        let severity = finding.severity.to_string();
        let labels = [
            ("id", finding.id.as_str()),
            ("severity", &severity),
            ("check", &finding.check),
            ("target", target),
        ];
        family.with(&labels, 1.0)
    })
}

/// What the checks measured: durations, and everything else.
fn values(report: &Report) -> [Family; 2] {
    let mut seconds = Family::new("unstall_figure_seconds", "A duration that a check measured.");
    let mut numbers = Family::new("unstall_figure", "A number that a check measured or read.");
    for figure in figures(report) {
        let Some(value) = figure.value else { continue };
        let target = figure.target.unwrap_or_default();
        let labels =
            [("check", figure.check), ("target", target), ("figure", &figure.name), ("label", figure.label)];
        match figure.unit {
            Unit::Nanoseconds => seconds = seconds.with(&labels, value / 1e9),
            Unit::One => numbers = numbers.with(&labels, value),
        }
    }
    [seconds, numbers]
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::report::metrics::tests::parse;
    use crate::report::tests::{report, sound};
    use serde_json::json;

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut report = sound();
        report.results[0].data = json!({ "median_ns": 1500, "max_ns": null, "n": 3 });
        let samples = parse(&render(&report));
        let figures: Vec<_> =
            samples.iter().filter(|(name, ..)| name.starts_with("unstall_figure")).collect();
        assert_eq!(figures.len(), 2, "{figures:?}");
        assert!((figures[0].2 - 1.5e-6).abs() < 1e-15 && figures[0].1.contains("figure=\"median\""));
    }

    #[test]
    fn the_report_is_there_by_severity_and_by_finding() {
        let samples = parse(&render(&report()));
        let of = |name: &str| samples.iter().filter(|sample| sample.0 == name).count();
        assert_eq!((of("unstall_findings"), of("unstall_finding"), of("unstall_check_ran")), (3, 3, 6));
    }
}
