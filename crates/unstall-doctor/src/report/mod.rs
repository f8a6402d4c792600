//! The report: what was measured and what was found, for programs (JSON, with a schema) and for people (text).

mod exit;
mod header;
mod schema;
mod summary;

pub use exit::ExitStatus;
pub use header::{Header, Host, SCHEMA_VERSION, Tool};
pub use schema::schema;
pub use summary::{Counts, Summary, Verdict};

use crate::findings::Finding;
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
