//! Findings as a report holds them.

use super::entry::{FixEntry, FixKind, Place, Severity, Value, fill};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};
use std::time::Duration;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// Measured in this run, on this machine.
    Measured,
    /// Measured in this run, under the lab's emulation of another system or network.
    Emulated,
    /// Measured or documented by somebody else; the evidence names the source.
    Published,
}

impl Label {
    /// Its stable name.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Emulated => "emulated",
            Self::Published => "published",
        }
    }
}

impl Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// One fact behind a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Where the figure comes from.
    pub label: Label,
    /// The fact for people, with its number and unit.
    pub text: String,
    /// The duration in the text, in ns; null: the fact is no duration.
    pub value_ns: Option<u64>,
    /// How many measurements are behind it; null: it was read, not sampled.
    pub n: Option<u64>,
    /// Whose figure it is; null for our own.
    pub source: Option<String>,
}

impl Evidence {
    /// A fact that was read or seen on this machine.
    pub fn seen(text: impl Into<String>) -> Self {
        Self { label: Label::Measured, text: text.into(), value_ns: None, n: None, source: None }
    }

    /// A duration that was measured `n` times on this machine; the text names it, with its unit.
    pub fn measured(text: impl Into<String>, value: Duration, n: usize) -> Self {
        Self { value_ns: Some(crate::stats::ns(value)), n: Some(n as u64), ..Self::seen(text) }
    }

    /// A fact that somebody else published.
    pub fn published(text: impl Into<String>, source: impl Into<String>) -> Self {
        Self { label: Label::Published, source: Some(source.into()), ..Self::seen(text) }
    }
}

/// A way to put things right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fix {
    /// What to do.
    pub text: String,
    /// What to type on this machine; may be empty.
    pub commands: Vec<String>,
    /// Whether unstall could run the commands itself.
    pub kind: FixKind,
    /// Where the fix is made.
    pub place: Place,
    /// How to take it back; null: there is nothing to take back, or it depends on the case.
    pub undo: Option<String>,
}

impl Fix {
    pub(super) fn new(entry: &FixEntry, os: &str, values: &[Value<'_>]) -> Self {
        let commands = entry.commands.iter().filter(|command| command.os.is(os));
        Self {
            text: fill(entry.text, values),
            commands: commands.map(|command| fill(command.line, values)).collect(),
            kind: entry.kind,
            place: entry.place,
            undo: entry.undo.map(|undo| fill(undo, values)),
        }
    }
}

/// Something that stalls, or would, with what shows it and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable name, kebab case; `unstall explain ID` tells more.
    pub id: String,
    /// How bad it is.
    pub severity: Severity,
    /// What is the matter, one line.
    pub title: String,
    /// The check that found it.
    pub check: String,
    /// The target it was found at; null: it concerns this machine.
    pub target: Option<String>,
    /// What shows it.
    pub evidence: Vec<Evidence>,
    /// What happens and why, paragraphs separated by empty lines.
    pub why: String,
    /// Who notices it.
    pub affects: Vec<String>,
    /// The best fix; null: none is known.
    pub fix: Option<Fix>,
    /// Further fixes, best first.
    pub other_fixes: Vec<Fix>,
    /// Where it is documented or was reported.
    pub links: Vec<String>,
}

impl Finding {
    /// Adds a fact.
    #[must_use]
    pub fn with_evidence(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }

    /// Adds facts.
    #[must_use]
    pub fn with_all(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Sets the severity for this instance.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Leaves out the fixes of a place that cannot be where the fault is in this instance.
    #[must_use]
    pub fn without_fixes_at(mut self, place: Place) -> Self {
        let mut left = self.fix.take().into_iter().chain(self.other_fixes).filter(|fix| fix.place != place);
        self.fix = left.next();
        self.other_fixes = left.collect();
        self
    }

    /// Leaves out every fix but the last.
    #[must_use]
    pub fn with_last_fix_alone(mut self) -> Self {
        self.fix = self.other_fixes.pop().or(self.fix);
        self.other_fixes.clear();
        self
    }

    /// Everything in it that may have come from a template.
    pub(super) fn texts(&self) -> impl Iterator<Item = &String> {
        let fixes = self.fixes().flat_map(|fix| fix.commands.iter().chain([&fix.text]).chain(&fix.undo));
        [&self.title, &self.why].into_iter().chain(&self.affects).chain(fixes)
    }

    /// The best fix and then the others.
    pub fn fixes(&self) -> impl Iterator<Item = &Fix> {
        self.fix.iter().chain(&self.other_fixes)
    }
}
