//! The report as it happens: one JSON object a line, which OpenTelemetry's collectors take as log records.
//!
//! The fields are those of OpenTelemetry's log data model, the attributes those of its semantic conventions where it has one; what it has
//! none for begins with `unstall.`.

use super::{CheckResult, Header, SCHEMA_VERSION, Status, Summary, Verdict};
use crate::findings::{Finding, Label, Severity};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// One line of `--json-lines`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Record {
    /// The version of the JSON report.
    pub schema_version: u32,
    /// When it happened, in nanoseconds since 1970, as a string of digits (OTLP's JSON form).
    pub time_unix_nano: String,
    /// What happened: `unstall.start`, `unstall.check`, `unstall.finding`, `unstall.summary`, `unstall.wait.target`, `unstall.wait.end`.
    pub event_name: &'static str,
    /// OpenTelemetry's number: 9 INFO, 13 WARN, 17 ERROR.
    pub severity_number: u8,
    /// The same in words.
    pub severity_text: &'static str,
    /// For people.
    pub body: String,
    /// Who made it, and where.
    pub resource: Map<String, Value>,
    /// Everything else.
    pub attributes: Map<String, Value>,
}

/// Makes the records of one run.
#[derive(Clone, Debug)]
pub struct Lines {
    resource: Map<String, Value>,
    label: Label,
}

impl Lines {
    /// For a run with this header; `label` says what its figures are.
    pub fn new(header: &Header, label: Label) -> Self {
        let resource = map(json!({
            "service.name": header.tool.name,
            "service.version": header.tool.version,
            "os.type": header.host.os,
            "os.version": header.host.kernel,
            "host.arch": header.host.arch,
        }));
        Self { resource, label }
    }

    /// A record of any event. `attributes` is a JSON object.
    pub fn record(
        &self,
        at: Timestamp,
        event_name: &'static str,
        severity: Severity,
        body: impl Into<String>,
        attributes: Value,
    ) -> Record {
        let (severity_number, severity_text) = match severity {
            Severity::Info => (9, "INFO"),
            Severity::Warn => (13, "WARN"),
            Severity::Error => (17, "ERROR"),
        };
        let mut attributes = map(attributes);
        attributes.insert("unstall.label".to_owned(), json!(self.label.id()));
        Record {
            schema_version: SCHEMA_VERSION,
            time_unix_nano: at.as_nanosecond().to_string(),
            event_name,
            severity_number,
            severity_text,
            body: body.into(),
            resource: self.resource.clone(),
            attributes,
        }
    }

    /// The run begins.
    pub fn start(&self, at: Timestamp, header: &Header) -> Record {
        let attributes = json!({ "process.command_args": header.command });
        self.record(at, "unstall.start", Severity::Info, "unstall begins", attributes)
    }

    /// A check is over.
    pub fn check(&self, at: Timestamp, result: &CheckResult) -> Record {
        let severity = if result.status == Status::CouldNotRun { Severity::Warn } else { Severity::Info };
        let words: Vec<&str> = result.lines.iter().map(String::as_str).chain(result.why.as_deref()).collect();
        let body = format!("{}: {}", result.title, words.join("; "));
        let attributes = json!({
            "unstall.check": result.id,
            "unstall.target": result.target,
            "unstall.status": result.status,
            "unstall.elapsed_ns": result.elapsed_ns,
            "unstall.data": result.data,
        });
        self.record(at, "unstall.check", severity, body, attributes)
    }

    /// Something was found.
    pub fn finding(&self, at: Timestamp, finding: &Finding) -> Record {
        let attributes = json!({
            "unstall.finding": finding.id,
            "unstall.check": finding.check,
            "unstall.target": finding.target,
            "unstall.evidence": finding.evidence,
            "unstall.fix": finding.fix.as_ref().map(|fix| &fix.text),
        });
        self.record(at, "unstall.finding", finding.severity, finding.title.as_str(), attributes)
    }

    /// The run is over.
    pub fn summary(&self, at: Timestamp, summary: &Summary) -> Record {
        let severity = match summary.verdict {
            Verdict::Sound => Severity::Info,
            Verdict::Found | Verdict::NotMeasured => Severity::Warn,
        };
        let attributes = json!({
            "unstall.verdict": summary.verdict,
            "unstall.counts": summary.counts,
            "unstall.next_step": summary.next_step,
            "unstall.next_finding": summary.next_finding,
        });
        self.record(at, "unstall.summary", severity, summary.text.as_str(), attributes)
    }
}

impl Record {
    /// The record as one line, with its end.
    pub fn to_line(&self) -> String {
        // Strings, numbers and JSON values: nothing that could fail.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

fn map(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value { map } else { Map::new() }
}

#[cfg(test)]
mod tests {
    use super::Lines;
    use crate::findings::Label;
    use crate::report::tests::report;
    use jiff::Timestamp;
    use serde_json::{Value, json};

    #[test]
    fn a_finding_is_a_log_record_of_its_severity() {
        let report = report();
        let lines = Lines::new(&report.header, Label::Emulated);
        let line = lines.finding(Timestamp::UNIX_EPOCH, &report.findings[0]).to_line();
        assert_eq!(line.matches('\n').count(), 1);
        let record: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(record["severity_number"], 17);
        assert_eq!(record["time_unix_nano"], json!("0"));
        assert_eq!(record["attributes"]["unstall.finding"], "ipv6-loopback-silent");
        assert_eq!(record["attributes"]["unstall.label"], "emulated");
        assert_eq!(record["resource"]["service.name"], "unstall");
    }

    #[test]
    fn a_check_that_could_not_run_is_a_warning_and_says_why() {
        let report = report();
        let lines = Lines::new(&report.header, Label::Measured);
        let record = lines.check(Timestamp::UNIX_EPOCH, &report.results[4]);
        assert_eq!((record.severity_number, record.severity_text), (13, "WARN"));
        assert!(record.body.contains("/etc/hosts cannot be read"), "{}", record.body);
        assert_eq!(record.attributes["unstall.data"], Value::Null);
    }
}
