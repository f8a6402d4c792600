//! Two reports side by side: what got better, what got worse, what cannot be told.
//!
//! A series (samples with a median and percentiles) has changed where the medians differ by a fifth and 0.02 ms at least and the later median
//! is beyond the earlier 95th percentile (or the earlier beyond the later). A single measurement knows nothing of its own noise: it has
//! changed where it is twice as long, or half, by 5 ms at least, is the same below 1 ms of difference, and in between nobody knows.

use super::figures::{Unit, figures};
use super::{Header, Report, SCHEMA_VERSION};
use crate::findings::{Finding, Label, Severity};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;
use unstall_core::text::duration;

/// How a figure or a finding differs between two reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Longer; or a finding that is new.
    Worse,
    /// Shorter; or a finding that is gone.
    Better,
    /// Not known in one of the reports, or too few measurements to tell.
    Unknown,
    /// No difference beyond noise.
    Same,
}

impl Change {
    const fn word(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Unknown => "unknown",
            Self::Same => "same",
        }
    }
}

/// A figure of both reports.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparedFigure {
    /// The check that measured it.
    pub check: String,
    /// The target it is about; null: the machine.
    pub target: Option<String>,
    /// Where it stands in the check's data.
    pub figure: String,
    /// In the first report; null: not known.
    pub before_ns: Option<u64>,
    /// In the second report; null: not known.
    pub after_ns: Option<u64>,
    /// The second by the first; null: not known.
    pub ratio: Option<f64>,
    /// What that means.
    pub change: Change,
}

/// A finding of one of the reports or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparedFinding {
    /// Its stable name.
    pub id: String,
    /// The target it is about; null: the machine.
    pub target: Option<String>,
    /// How bad it is.
    pub severity: Severity,
    /// What is the matter.
    pub title: String,
    /// `worse`: it is new; `better`: it is gone; `same`: both have it.
    pub change: Change,
}

/// Two reports side by side.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The first report.
    pub before: Header,
    /// The second.
    pub after: Header,
    /// What the figures of both are.
    pub label: Label,
    /// In what the machines differ, in words; empty: in nothing that is known.
    pub differences: Vec<String>,
    /// Durations, the worst change first.
    pub results: Vec<ComparedFigure>,
    /// Findings, new ones first.
    pub findings: Vec<ComparedFinding>,
}

/// Why two reports cannot be compared: one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unlike(String);

impl Comparison {
    /// Compares two reports.
    ///
    /// # Errors
    /// They are of different kinds: schema, label (measured or emulated) or targets.
    pub fn of(before: &Report, after: &Report) -> Result<Self, Unlike> {
        alike(before, after)?;
        let mut results = compared_figures(before, after);
        results.sort_by(|a, b| a.change.cmp(&b.change).then(size(b).total_cmp(&size(a))));
        let mut findings = compared_findings(before, after);
        findings.sort_by_key(|finding| (finding.change, std::cmp::Reverse(finding.severity)));
        Ok(Self {
            before: before.header.clone(),
            after: after.header.clone(),
            label: after.label,
            differences: differences(&before.header, &after.header),
            results,
            findings,
        })
    }

    /// Whether anything got worse: a figure, or a finding from `warn` on that is new.
    pub fn is_worse(&self) -> bool {
        self.results.iter().any(|figure| figure.change == Change::Worse)
            || self.findings.iter().any(|it| it.change == Change::Worse && it.severity > Severity::Info)
    }

    /// For people, with the names of the two reports.
    pub fn text(&self, names: [&str; 2]) -> String {
        let mut text = String::new();
        for (word, name, header) in [("before", names[0], &self.before), ("after", names[1], &self.after)] {
            let kernel = header.host.kernel.as_deref().unwrap_or("(kernel unknown)");
            let _ = writeln!(
                text,
                "{word:<9} {name}: {} {} on {} {kernel}, {}",
                header.tool.name, header.tool.version, header.host.os, header.started_at
            );
        }
        for difference in &self.differences {
            let _ = writeln!(text, "{:<9} {difference}", "differ");
        }
        text.push('\n');
        self.findings_text(&mut text);
        self.figures_text(&mut text);
        let _ = writeln!(text, "summary   {}", self.summary());
        text
    }

    fn findings_text(&self, text: &mut String) {
        for finding in &self.findings {
            let word = match finding.change {
                Change::Worse => "new",
                Change::Better => "gone",
                _ => "still",
            };
            let at = finding.target.as_ref().map_or_else(String::new, |target| format!("{target}: "));
            let _ = writeln!(text, "{word:<9} {} {}: {at}{}", finding.severity, finding.id, finding.title);
        }
        if !self.findings.is_empty() {
            text.push('\n');
        }
    }

    fn figures_text(&self, text: &mut String) {
        let shown: Vec<&ComparedFigure> =
            self.results.iter().filter(|row| row.change < Change::Same).collect();
        let show = |ns: Option<u64>| {
            ns.map_or_else(|| "unknown".to_owned(), |ns| duration(Duration::from_nanos(ns)))
        };
        for row in &shown {
            let at = row.target.as_ref().map_or_else(String::new, |target| format!("{target} "));
            let ratio = row.ratio.map_or_else(String::new, |ratio| format!(", {ratio:.2} times"));
            let _ = writeln!(
                text,
                "{:<9} {at}{} {}: {} -> {}{ratio}",
                row.change.word(),
                row.check,
                row.figure,
                show(row.before_ns),
                show(row.after_ns)
            );
        }
        if !shown.is_empty() {
            text.push('\n');
        }
    }

    fn summary(&self) -> String {
        let figures = |change| self.results.iter().filter(|row| row.change == change).count();
        let findings = |change| self.findings.iter().filter(|row| row.change == change).count();
        format!(
            "findings: {} new, {} gone, {} in both; durations ({}): {} longer, {} shorter, {} the same, {} that cannot be told",
            findings(Change::Worse),
            findings(Change::Better),
            findings(Change::Same),
            self.label,
            figures(Change::Worse),
            figures(Change::Better),
            figures(Change::Same),
            figures(Change::Unknown)
        )
    }
}

/// How many times longer or shorter.
fn size(row: &ComparedFigure) -> f64 {
    row.ratio.map_or(0.0, |ratio| ratio.max(f64::MIN_POSITIVE).ln().abs())
}

fn alike(before: &Report, after: &Report) -> Result<(), Unlike> {
    for report in [before, after] {
        if report.header.schema_version != SCHEMA_VERSION {
            return Err(Unlike(format!(
                "a report of schema version {} cannot be compared by this program, which knows version {SCHEMA_VERSION}",
                report.header.schema_version
            )));
        }
    }
    if before.label != after.label {
        return Err(Unlike(format!(
            "one report is {} and the other {}: such figures say nothing about each other",
            before.label, after.label
        )));
    }
    let [of_before, of_after] = [targets(before), targets(after)];
    if of_before != of_after {
        return Err(Unlike(format!(
            "one report is about {} and the other about {}; compare reports of the same",
            of_before.join(", "),
            of_after.join(", ")
        )));
    }
    Ok(())
}

fn targets(report: &Report) -> Vec<&str> {
    let mut targets: Vec<&str> =
        report.results.iter().map(|result| result.target.as_deref().unwrap_or("a machine")).collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

fn differences(before: &Header, after: &Header) -> Vec<String> {
    let kernel = |header: &Header| header.host.kernel.clone().unwrap_or_else(|| "unknown".to_owned());
    let pairs = [
        ("systems", before.host.os.clone(), after.host.os.clone()),
        ("kernels", kernel(before), kernel(after)),
        ("processors", before.host.arch.clone(), after.host.arch.clone()),
        ("versions of unstall", before.tool.version.clone(), after.tool.version.clone()),
    ];
    let different = pairs.into_iter().filter(|(_, before, after)| before != after);
    different.map(|(what, before, after)| format!("{what}: {before} and {after}")).collect()
}

/// A duration: of a series with how far it spreads.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Duration95 {
    value: Option<f64>,
    /// `None`: a single measurement.
    p95: Option<f64>,
}

type Key = (String, Option<String>, String);

/// The durations of a report that can be compared: medians, and what was measured once.
fn durations(report: &Report) -> BTreeMap<Key, Duration95> {
    let all: BTreeMap<Key, Option<f64>> = figures(report)
        .into_iter()
        .filter(|figure| figure.unit == Unit::Nanoseconds && figure.label == report.label.id())
        .map(|it| ((it.check.to_owned(), it.target.map(str::to_owned), it.name), it.value))
        .collect();
    let sibling = |key: &Key, name: &str| {
        let (check, target, figure) = key;
        let stem = figure.strip_suffix("median")?;
        all.get(&(check.clone(), target.clone(), format!("{stem}{name}"))).copied().flatten()
    };
    let within_series = |figure: &str| {
        ["min", "p95", "p99", "max", "limit"]
            .iter()
            .any(|name| figure == *name || figure.ends_with(&format!(".{name}")))
            || figure.contains("modes[")
    };
    let wanted = all.iter().filter(|((.., figure), _)| !within_series(figure));
    wanted.map(|(key, value)| (key.clone(), Duration95 { value: *value, p95: sibling(key, "p95") })).collect()
}

fn compared_figures(before: &Report, after: &Report) -> Vec<ComparedFigure> {
    let (before, after) = (durations(before), durations(after));
    let in_both = before.iter().filter_map(|(key, old)| Some((key, *old, *after.get(key)?)));
    in_both
        .map(|((check, target, figure), old, new)| ComparedFigure {
            check: check.clone(),
            target: target.clone(),
            figure: figure.clone(),
            before_ns: old.value.map(|ns| ns as u64),
            after_ns: new.value.map(|ns| ns as u64),
            ratio: old.value.zip(new.value).filter(|(old, _)| *old > 0.0).map(|(old, new)| new / old),
            change: judge(old, new),
        })
        .collect()
}

/// Milliseconds in nanoseconds.
const MS: f64 = 1e6;

fn judge(old: Duration95, new: Duration95) -> Change {
    let (Some(before), Some(after)) = (old.value, new.value) else { return Change::Unknown };
    let difference = (after - before).abs();
    let ratio = before.max(after) / before.min(after).max(1.0);
    let direction = if after > before { Change::Worse } else { Change::Better };
    match (old.p95, new.p95) {
        (Some(p95_before), Some(p95_after)) => {
            let beyond = after > p95_before || before > p95_after;
            if ratio >= 1.2 && difference >= 0.02 * MS && beyond { direction } else { Change::Same }
        }
        _ if difference < MS => Change::Same,
        _ if ratio >= 2.0 && difference >= 5.0 * MS => direction,
        _ => Change::Unknown,
    }
}

fn compared_findings(before: &Report, after: &Report) -> Vec<ComparedFinding> {
    let is_in = |finding: &Finding, report: &Report| {
        report.findings.iter().any(|other| (&other.id, &other.target) == (&finding.id, &finding.target))
    };
    let row = |finding: &Finding, change| ComparedFinding {
        id: finding.id.clone(),
        target: finding.target.clone(),
        severity: finding.severity,
        title: finding.title.clone(),
        change,
    };
    let gone = before.findings.iter().filter(|it| !is_in(it, after)).map(|it| row(it, Change::Better));
    let there =
        after.findings.iter().map(|it| row(it, if is_in(it, before) { Change::Same } else { Change::Worse }));
    gone.chain(there).collect()
}

#[cfg(test)]
mod tests {
    use super::{Change, Comparison, Duration95, judge};
    use crate::findings::Label;
    use crate::report::Report;
    use crate::report::tests::{report, sound};
    use serde_json::json;

    fn series(median: f64, p95: f64) -> Duration95 {
        Duration95 { value: Some(median * 1e6), p95: Some(p95 * 1e6) }
    }

    fn single(ms: f64) -> Duration95 {
        Duration95 { value: Some(ms * 1e6), p95: None }
    }

    #[test]
    fn a_series_changes_only_beyond_its_own_noise() {
        assert_eq!(judge(series(0.10, 0.30), series(2026.0, 2033.0)), Change::Worse);
        assert_eq!(judge(series(2026.0, 2033.0), series(0.10, 0.30)), Change::Better);
        assert_eq!(judge(series(0.10, 0.30), series(0.25, 0.40)), Change::Same, "within the p95");
        assert_eq!(judge(series(0.010, 0.011), series(0.020, 0.021)), Change::Same, "10 us");
        assert_eq!(judge(series(10.0, 10.1), series(11.0, 11.1)), Change::Same, "a tenth");
    }

    #[test]
    fn one_measurement_tells_large_changes_and_nothing_else() {
        assert_eq!(judge(single(0.1), single(0.9)), Change::Same);
        assert_eq!(judge(single(2.0), single(4.5)), Change::Unknown);
        assert_eq!(judge(single(100.0), single(150.0)), Change::Unknown);
        assert_eq!(judge(single(0.1), single(2026.0)), Change::Worse);
        assert_eq!(judge(single(0.1), Duration95 { value: None, p95: None }), Change::Unknown);
    }

    fn with(median: u64) -> Report {
        let mut report = sound();
        report.results[0].data = json!({
            "refused": { "median_ns": median, "p95_ns": median + 1000, "min_ns": 1, "samples_ns": [median] },
        });
        report
    }

    #[test]
    fn what_got_worse_comes_first_and_decides() {
        let comparison = Comparison::of(&with(13_000), &with(2_026_000_000)).expect("alike");
        assert!(comparison.is_worse());
        assert_eq!(comparison.results.len(), 1, "{:?}", comparison.results);
        let row = &comparison.results[0];
        assert_eq!((row.figure.as_str(), row.change), ("refused.median", Change::Worse));
        let text = comparison.text(["a.json", "b.json"]);
        assert!(
            text.contains("worse     clock refused.median: 0.013 ms -> 2026 ms, 155846.15 times\n"),
            "{text}"
        );
        assert!(!Comparison::of(&with(2_026_000_000), &with(13_000)).expect("alike").is_worse());
    }

    #[test]
    fn findings_come_and_go() {
        let mut fixed = report();
        fixed.findings.remove(0);
        let better = Comparison::of(&report(), &fixed).expect("alike");
        assert!(!better.is_worse() && better.findings[0].change == Change::Better, "{:?}", better.findings);
        let worse = Comparison::of(&fixed, &report()).expect("alike");
        assert!(worse.is_worse() && worse.findings[0].change == Change::Worse);
        assert!(!Comparison::of(&report(), &report()).expect("alike").is_worse());
    }

    #[test]
    fn unlike_reports_are_refused_with_the_reason() {
        let refused = |change: fn(&mut Report)| {
            let mut other = sound();
            change(&mut other);
            Comparison::of(&sound(), &other).expect_err("unlike").to_string()
        };
        assert!(refused(|it| it.header.schema_version = 2).contains("schema version 2"));
        assert!(refused(|it| it.label = Label::Emulated).contains("measured and the other emulated"));
        assert!(
            refused(|it| it.results[0].target = Some("a:1".to_owned()))
                .contains("a machine and the other about a:1")
        );
    }

    #[test]
    fn two_machines_may_be_compared_and_it_is_said() {
        let mut other = sound();
        other.header.host.kernel = Some("6.18".to_owned());
        let comparison = Comparison::of(&sound(), &other).expect("alike");
        assert_eq!(comparison.differences, ["kernels: 6.1.0 and 6.18"]);
    }
}
