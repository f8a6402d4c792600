//! The JSON documents that are not the doctor's: a connect's report, and what `--json` prints when the command line
//! makes no sense. Both have the envelope of every report: header, `results`, `findings`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use unstall::{Attempt, Operation, OsError, Outcome, Prepared, Reason, Timeline};
use unstall_doctor::report::Header;
use unstall_doctor::{CheckInfo, Finding};

/// What `unstall connect --json` prints. Durations are integers in nanoseconds whose name ends in `_ns`; times count
/// from the start of the connect; `null` is "not measured".
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConnectReport {
    #[serde(flatten)]
    header: Header,
    /// The connect, one element.
    results: Vec<ConnectResult>,
    /// What explains it; empty: nothing to say.
    findings: Vec<Finding>,
}

/// One connect.
#[derive(Debug, Serialize, JsonSchema)]
struct ConnectResult {
    /// Where to, as host and port.
    target: String,
    /// What the connect came to.
    #[schemars(schema_with = "outcomes")]
    outcome: Outcome,
    /// How long the whole connect took.
    elapsed_ns: u64,
    /// How long the name took; null: there was none to resolve.
    resolve_ns: Option<u64>,
    /// Every attempt, in the order in which they started.
    attempts: Vec<AttemptResult>,
    /// The failure in one sentence; null: connected.
    error: Option<String>,
}

/// One attempt.
#[derive(Debug, Serialize, JsonSchema)]
struct AttemptResult {
    /// Where to.
    address: SocketAddr,
    /// Why it started.
    #[schemars(with = "String")]
    reason: Reason,
    /// When it started.
    start_ns: u64,
    /// When it ended.
    end_ns: u64,
    /// What it came to.
    #[schemars(schema_with = "outcomes")]
    outcome: Outcome,
    /// The error code behind the outcome; null: there was none.
    os_error: Option<OsErrorResult>,
    /// What was done about SYN retransmissions; null: the attempt never got that far.
    #[schemars(with = "Option<Value>")]
    prepared: Option<Prepared>,
}

/// An error code of the OS.
#[derive(Debug, Serialize, JsonSchema)]
struct OsErrorResult {
    /// The call that failed.
    #[schemars(with = "String")]
    operation: Operation,
    /// errno or WSA code; for `resolve` the EAI code.
    code: i32,
}

/// What `unstall doctor --list-checks --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckList {
    #[serde(flatten)]
    header: Header,
    /// The checks, those of this machine first, in the order in which they run.
    results: Vec<CheckRow>,
    /// Empty: nothing was measured.
    findings: [(); 0],
}

/// One check.
#[derive(Debug, Serialize, JsonSchema)]
struct CheckRow {
    /// Stable name, for `--check`.
    id: &'static str,
    /// What it is called while it runs.
    title: &'static str,
    /// What it measures and can find.
    about: &'static str,
    /// Whether it is about a target or this machine.
    subject: &'static str,
}

/// What `--json` prints when the command line makes no sense (exit code 2).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorReport {
    #[serde(flatten)]
    header: Header,
    /// Empty: nothing was done.
    results: [(); 0],
    /// Empty: nothing was done.
    findings: [(); 0],
    /// What is wrong, for people.
    error: String,
}

impl ConnectReport {
    pub(crate) fn new(header: Header, timeline: &Timeline, error: Option<String>) -> Self {
        let resolution = timeline.resolution.as_ref();
        let result = ConnectResult {
            target: timeline.target.to_string(),
            outcome: timeline.outcome,
            elapsed_ns: nanoseconds(timeline.elapsed),
            resolve_ns: resolution
                .map(|resolution| nanoseconds(resolution.end.saturating_sub(resolution.start))),
            attempts: timeline.attempts.iter().map(AttemptResult::new).collect(),
            error,
        };
        Self { header, results: vec![result], findings: Vec::new() }
    }
}

impl AttemptResult {
    fn new(attempt: &Attempt) -> Self {
        Self {
            address: attempt.address,
            reason: attempt.reason,
            start_ns: nanoseconds(attempt.start),
            end_ns: nanoseconds(attempt.end),
            outcome: attempt.outcome,
            os_error: attempt.os_error.map(OsErrorResult::from),
            prepared: attempt.prepared,
        }
    }
}

impl From<OsError> for OsErrorResult {
    fn from(error: OsError) -> Self {
        Self { operation: error.operation, code: error.code }
    }
}

/// The schema of an outcome: one of the known names.
fn outcomes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Outcome::ALL.map(Outcome::id) })
}

impl CheckList {
    pub(crate) fn new(header: Header, checks: &[CheckInfo]) -> Self {
        let row = |check: &CheckInfo| CheckRow {
            id: check.id,
            title: check.title,
            about: check.about,
            subject: if check.of_target { "target" } else { "machine" },
        };
        Self { header, results: checks.iter().map(row).collect(), findings: [] }
    }
}

impl ErrorReport {
    pub(crate) fn new(header: Header, error: String) -> Self {
        Self { header, results: [], findings: [], error }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A document as it is printed: indented, with a newline at its end.
pub(crate) fn to_json(document: &impl Serialize) -> String {
    // Strings, integers and lists: nothing that could fail.
    serde_json::to_string_pretty(document).unwrap_or_default() + "\n"
}
