//! The report: what was measured and what was found, for programs (JSON, with a schema) and for people (text).

mod compare;
mod csv;
mod exit;
mod figures;
mod formats;
mod header;
mod html;
mod junit;
mod lines;
mod markdown;
mod metrics;
mod prometheus;
mod redact;
mod schema;
mod summary;
mod text;

pub use compare::{Change, ComparedFigure, ComparedFinding, Comparison, Unlike};
pub use exit::ExitStatus;
pub use formats::{FORMATS, Format};
pub use header::{Header, Host, SCHEMA_VERSION, Tool};
pub use lines::{Lines, Record};
pub use metrics::{Family, text as metrics};
pub use redact::Redactor;
pub use schema::schema;
pub use summary::{Counts, Summary, Verdict};
pub use text::{Style, Writer};

use crate::findings::{Finding, Label};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A run of the doctor. In the JSON every duration is an integer in nanoseconds whose name ends in `_ns`, and `null` is
/// "not measured".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Who made it, where and when.
    #[serde(flatten)]
    pub header: Header,
    /// What the figures of the checks are; those of findings have labels of their own.
    pub label: Label,
    /// What each check came to, in the order in which they ran.
    pub results: Vec<CheckResult>,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    /// In short.
    pub summary: Summary,
}

impl Report {
    /// The report as one JSON document, indented, with a newline at its end.
    pub fn to_json(&self) -> String {
        // A report holds strings, integers and JSON values: nothing that could fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// What a check came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// The check's stable name.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// The target, as it was typed; null: it is about this machine.
    pub target: Option<String>,
    /// Whether it ran.
    pub status: Status,
    /// Why it did not run; null when it did.
    pub why: Option<String>,
    /// How long it took.
    pub elapsed_ns: u64,
    /// What it measured, in lines for people; empty when its findings say it all.
    pub lines: Vec<String>,
    /// What it measured; null when it did not run.
    pub data: serde_json::Value,
}

/// Whether a check ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It measured something, and what it found is in the findings.
    Ran,
    /// It should have been possible, and was not: nothing is known.
    CouldNotRun,
    /// There is nothing to measure here.
    NotApplicable,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ran => "ran",
            Self::CouldNotRun => "could not run",
            Self::NotApplicable => "not applicable here",
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::findings::{Evidence, exchange, refusal, system};
    use crate::stats::tests::figures;
    use serde_json::json;

    fn result(id: &str, status: Status, lines: &[&str]) -> CheckResult {
        let why = match status {
            Status::Ran => None,
            Status::CouldNotRun => Some("/etc/hosts cannot be read: permission denied".to_owned()),
            Status::NotApplicable => Some("this system does not tell about its accept queues".to_owned()),
        };
        CheckResult {
            id: id.to_owned(),
            title: format!("check of {id}"),
            target: None,
            status,
            why,
            elapsed_ns: 1_000_000,
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
            data: if status == Status::Ran { json!({}) } else { json!(null) },
        }
    }

    fn assembled(results: Vec<CheckResult>, findings: Vec<Finding>) -> Report {
        let host = Host {
            os: "linux".to_owned(),
            kernel: Some("6.1.0".to_owned()),
            arch: "x86_64".to_owned(),
            clock_resolution_ns: Some(1),
        };
        let tool = Tool { name: "unstall".to_owned(), version: "0.1.0".to_owned() };
        let header = Header {
            schema_version: SCHEMA_VERSION,
            tool,
            host,
            started_at: "2026-01-02T03:04:05.678Z".to_owned(),
            command: vec!["unstall".to_owned(), "doctor".to_owned()],
        };
        let summary = Summary::of(&results, &findings);
        Report { header, label: Label::Measured, results, findings, summary }
    }

    /// A report with everything that a report can have, the same at each call.
    pub(crate) fn report() -> Report {
        let of = |check: &str, finding: Finding| Finding { check: check.to_owned(), ..finding };
        let slow = figures(&[2026.0, 2015.0, 2033.0]);
        let values: &[(&str, &dyn fmt::Display)] = &[("addresses", &"127.0.0.1, ::1"), ("time", &"2026 ms")];
        let slow = refusal::SLOW_REFUSAL
            .found_on("windows", values)
            .with_evidence(slow.evidence("closed port at 127.0.0.1, refused"))
            .with_evidence(Evidence::published("n x 505 ms, then refused", "Microsoft KB175523"));
        let silent = system::IPV6_LOOPBACK_SILENT
            .found_on("linux", &[("time", &"3000 ms")])
            .with_evidence(Evidence::seen("connect to ::1: timed out after 3000 ms"));
        let small = exchange::SMALL_WRITES_WAIT
            .found_on("linux", &[("time", &"44.0 ms"), ("fast", &"0.014 ms")])
            .with_evidence(figures(&[44.0; 10]).evidence("without TCP_NODELAY at 127.0.0.1"));
        let results = vec![
            result("ipv6", Status::Ran, &["::1: timed out (3000 ms)"]),
            result("refusal", Status::Ran, &["127.0.0.1 in 2026 ms, ::1 in 2026 ms"]),
            result(
                "small-writes",
                Status::Ran,
                &["127.0.0.1: 44.0 ms without TCP_NODELAY, 0.014 ms with it", "::1: the same"],
            ),
            result("clock", Status::Ran, &[]),
            result("hosts-file", Status::CouldNotRun, &[]),
            result("accept-queue", Status::NotApplicable, &[]),
        ];
        assembled(results, vec![of("ipv6", silent), of("refusal", slow), of("small-writes", small)])
    }

    /// A report of a machine where nothing stalls.
    pub(crate) fn sound() -> Report {
        assembled(vec![result("clock", Status::Ran, &["steps of 1 ns"])], Vec::new())
    }

    /// A report of a machine where nothing could be measured.
    pub(crate) fn blind() -> Report {
        let could_not = result("hosts-file", Status::CouldNotRun, &[]);
        assembled(vec![could_not, result("accept-queue", Status::NotApplicable, &[])], Vec::new())
    }

    #[test]
    fn a_report_survives_json() {
        for report in [report(), sound(), blind()] {
            assert_eq!(serde_json::from_str::<Report>(&report.to_json()).expect("JSON"), report);
        }
    }
}
