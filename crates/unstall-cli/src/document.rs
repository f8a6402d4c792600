//! The JSON documents that are not the doctor's: a connect's report, and what `--json` prints when the command line
//! makes no sense. Both have the envelope of every report: header, `results`, `findings`.

use crate::connect::many::Statistic;
use crate::emulated::Label;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::time::Duration;
use unstall::{Outcome, Reason, Timeline};
use unstall_clients::Survey;
use unstall_doctor::report::Header;
use unstall_doctor::{CheckInfo, Finding};

/// What `unstall connect --json` prints. Durations are integers in nanoseconds whose name ends in `_ns`; times count
/// from the start of the connect; `null` is "not measured".
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConnectReport {
    #[serde(flatten)]
    header: Header,
    /// What the figures are.
    label: Label,
    /// Each connect, in the order in which they were made.
    results: Vec<ConnectResult>,
    /// What explains it; empty: nothing to say.
    findings: Vec<Finding>,
    /// What the connects took, for each outcome.
    statistics: Vec<Statistic>,
}

/// One connect: its timeline, as the library writes it, and the failure in words.
#[derive(Debug, Serialize)]
struct ConnectResult {
    #[serde(flatten)]
    timeline: Timeline,
    error: Option<String>,
}

/// Written by hand, since the timeline's JSON is written by a crate that knows no schemas; nothing more and nothing less
/// is allowed, so that the tests notice when the two part.
impl JsonSchema for ConnectResult {
    fn schema_name() -> Cow<'static, str> {
        "ConnectResult".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let ns = |what: &str| json!({ "type": "integer", "minimum": 0, "description": what });
        let resolution = all_of(&json!({
            "start_ns": ns("When the question was asked."),
            "end_ns": ns("When the last answer came."),
            "addresses": { "type": "array", "items": { "type": "string" }, "description": "In the order in which they are tried." },
            "failure": or_null(&outcome("Why there are no addresses; null: there are.")),
            "os_error": or_null(&json!({ "type": "integer", "description": "The resolver's code." })),
            "operation": or_null(&json!({ "type": "string", "description": "The call that gave it." })),
            "error": or_null(&json!({ "type": "string", "description": "The code in words." })),
        }));
        let attempt = all_of(&json!({
            "address": { "type": "string", "description": "Where to." },
            "reason": { "enum": Reason::ALL.map(Reason::id), "description": "Why it started." },
            "start_ns": ns("When it started."),
            "end_ns": ns("When it ended."),
            "outcome": outcome("What it came to."),
            "os_error": or_null(&json!({ "type": "integer", "description": "errno or WSA code." })),
            "operation": or_null(&json!({ "type": "string", "description": "The call that gave it." })),
            "error": or_null(&json!({ "type": "string", "description": "The code in words." })),
            "prepared": { "description": "What was done about SYN retransmissions; null: the attempt never got that far." },
        }));
        let result = all_of(&json!({
            "target": { "type": "string", "description": "Host and port." },
            "outcome": outcome("What the connect came to."),
            "elapsed_ns": ns("How long the whole connect took."),
            "resolve_ns": or_null(&ns("How long the name took; null: there was none to resolve.")),
            "resolution": or_null(&resolution),
            "attempts": { "type": "array", "items": attempt, "description": "In the order in which they started." },
            "error": or_null(&json!({ "type": "string", "description": "The failure in one sentence; null: connected." })),
        }));
        result.try_into().unwrap_or_default()
    }
}

/// An object with all of these properties and no other.
fn all_of(properties: &Value) -> Value {
    let names: Vec<&String> = properties.as_object().into_iter().flat_map(serde_json::Map::keys).collect();
    json!({ "type": "object", "additionalProperties": false, "required": names, "properties": properties })
}

fn or_null(schema: &Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

fn outcome(what: &str) -> Value {
    json!({ "enum": Outcome::ALL.map(Outcome::id), "description": what })
}

/// What `unstall wait --json` prints. Times count from the start of the wait.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WaitReport {
    #[serde(flatten)]
    header: Header,
    /// What the figures are.
    label: Label,
    /// Each target, in the order given.
    results: Vec<WaitRow>,
    /// Empty: what each address did is in the results.
    findings: [(); 0],
    /// How it ended.
    end: &'static str,
    /// How long the whole wait took.
    elapsed_ns: u64,
}

/// One target of a wait.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WaitRow {
    /// Host and port.
    pub(crate) target: String,
    /// When it came to what was waited for; null: it did not.
    pub(crate) reached_ns: Option<u64>,
    /// The address that is a server; null: none is.
    pub(crate) answered: Option<String>,
    /// How many tries were made.
    pub(crate) tries: u32,
    /// What the last try saw of each address that it needed.
    pub(crate) addresses: Vec<WaitAddress>,
    /// Why there are no addresses: an outcome's id; null: there are.
    pub(crate) no_addresses: Option<&'static str>,
}

/// One address in the last try.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WaitAddress {
    /// Address and port.
    pub(crate) address: String,
    /// `up`, `closed_at_once`, `reset_at_once`, `no_byte`, `http_status`, `not_http`, or the outcome of a connect that failed.
    pub(crate) answer: &'static str,
    /// The status of its HTTP answer; null: there was none, or a good one.
    pub(crate) http_status: Option<u16>,
}

/// What `unstall clients --json` prints. Durations are integers in nanoseconds whose name ends in `_ns`; `null` is "not measured".
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ClientsReport {
    #[serde(flatten)]
    header: Header,
    /// What the figures are.
    label: Label,
    /// The survey, one element.
    results: [Survey; 1],
    /// What it comes to, each for all programs that it is about.
    findings: Vec<Finding>,
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
    /// Whether it runs on this system without being asked for by name.
    by_default: bool,
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
    /// A connect is its timeline, and the failure in words.
    pub(crate) fn new(
        header: Header,
        connects: Vec<(Timeline, Option<String>)>,
        statistics: Vec<Statistic>,
    ) -> Self {
        let results =
            connects.into_iter().map(|(timeline, error)| ConnectResult { timeline, error }).collect();
        Self { header, label: Label::here(), results, findings: Vec::new(), statistics }
    }
}

impl WaitReport {
    pub(crate) fn new(header: Header, results: Vec<WaitRow>, end: &'static str, elapsed: Duration) -> Self {
        Self {
            header,
            label: Label::here(),
            results,
            findings: [],
            end,
            elapsed_ns: elapsed.as_nanos() as u64,
        }
    }
}

impl ClientsReport {
    pub(crate) fn new(header: Header, survey: Survey, findings: Vec<Finding>) -> Self {
        Self { header, label: Label::here(), results: [survey], findings }
    }
}

impl CheckList {
    pub(crate) fn new(header: Header, checks: &[CheckInfo]) -> Self {
        let row = |check: &CheckInfo| CheckRow {
            id: check.id,
            title: check.title,
            about: check.about,
            subject: if check.of_target { "target" } else { "machine" },
            by_default: check.by_default,
        };
        Self { header, results: checks.iter().map(row).collect(), findings: [] }
    }
}

impl ErrorReport {
    pub(crate) fn new(header: Header, error: String) -> Self {
        Self { header, results: [], findings: [], error }
    }
}

/// A document as it is printed: indented, with a newline at its end.
pub(crate) fn to_json(document: &impl Serialize) -> String {
    // Strings, integers and lists: nothing that could fail.
    serde_json::to_string_pretty(document).unwrap_or_default() + "\n"
}
