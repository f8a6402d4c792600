//! The doctor: runs the selected checks one after the other and makes the report.
//!
//! One after the other, since checks that ran side by side would disturb each other's timing.

use crate::checks::{self, Ran, Row, host, list_checks};
use crate::context::{Context, Options};
use crate::findings::{Finding, Label, Unknown};
use crate::report::{CheckResult, Header, Report, Summary};
use std::sync::Arc;
use unstall_core::target::Target;

/// Which checks run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Selection {
    /// Every one that runs by default on this system (see [`crate::CheckInfo::by_default`]).
    #[default]
    All,
    /// These alone, in the table's order.
    Only(Vec<&'static str>),
}

impl Selection {
    /// The checks with these ids; none given means all.
    ///
    /// # Errors
    /// When there is no check with one of the ids; the error suggests the nearest.
    pub fn only<T: AsRef<str>>(ids: &[T]) -> Result<Self, Unknown> {
        if ids.is_empty() {
            return Ok(Self::All);
        }
        let known = list_checks();
        let find = |id: &str| {
            let found = known.iter().find(|check| check.id == id);
            found
                .map(|check| check.id)
                .ok_or_else(|| Unknown::among("check", id, known.iter().map(|check| check.id)))
        };
        ids.iter().map(|id| find(id.as_ref())).collect::<Result<_, _>>().map(Self::Only)
    }

    fn has<S: ?Sized + Send + Sync + 'static>(&self, row: &Row<S>) -> bool {
        match self {
            Self::All => row.is_by_default(),
            Self::Only(ids) => ids.contains(&row.id),
        }
    }
}

/// What happens while the doctor works.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The run starts.
    Begun {
        /// The head of the report.
        header: &'a Header,
    },
    /// A check starts.
    Started {
        /// How many checks have finished.
        done: usize,
        /// How many there are.
        total: usize,
        /// The check's id.
        id: &'static str,
        /// What it is called.
        title: &'static str,
        /// The target it is about, as the person typed it; `None`: this machine.
        target: Option<&'a str>,
    },
    /// A check has finished.
    Finished {
        /// What it came to.
        result: &'a CheckResult,
        /// What it found.
        findings: &'a [Finding],
    },
}

/// Finds what stalls.
///
/// ```no_run
/// use unstall_doctor::{Doctor, Options};
///
/// let report = Doctor::new(Options::default()).run(|_event| ());
/// println!("{}", report.summary.text);
/// ```
#[derive(Clone, Debug)]
pub struct Doctor {
    options: Options,
}

impl Doctor {
    /// A doctor that works with these options.
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// Checks this machine. `on_event` hears of every check as it starts and finishes.
    pub fn run(&self, mut on_event: impl FnMut(Event<'_>)) -> Report {
        let mut session = Session::new(&self.options, host::CHECKS.len());
        on_event(Event::Begun { header: &session.header });
        session.checks(host::CHECKS, &Arc::new(()), None, &mut on_event);
        session.report()
    }

    /// Checks targets, one after the other. A target is given with what the person typed for it.
    pub fn run_targets(&self, targets: &[(String, Target)], mut on_event: impl FnMut(Event<'_>)) -> Report {
        let mut session = Session::new(&self.options, checks::target::CHECKS.len() * targets.len());
        on_event(Event::Begun { header: &session.header });
        for (typed, target) in targets {
            let subject = Arc::new(checks::target::Subject::new(target.clone(), self.options.family));
            session.checks(checks::target::CHECKS, &subject, Some(typed), &mut on_event);
        }
        session.report()
    }
}

/// One run: what has been found so far.
struct Session<'a> {
    options: &'a Options,
    header: Header,
    context: Context,
    total: usize,
    results: Vec<CheckResult>,
    findings: Vec<Finding>,
}

impl<'a> Session<'a> {
    fn new(options: &'a Options, total: usize) -> Self {
        Self {
            options,
            header: Header::now(options.command.clone()),
            context: Context::new(options),
            total,
            results: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Runs the selected checks of a table.
    fn checks<S: Send + Sync + 'static>(
        &mut self,
        rows: &'static [Row<S>],
        subject: &Arc<S>,
        target: Option<&str>,
        on_event: &mut impl FnMut(Event<'_>),
    ) {
        self.total -= rows.iter().filter(|row| !self.options.checks.has(row)).count();
        for row in rows.iter().filter(|row| self.options.checks.has(row)) {
            let (done, total) = (self.results.len(), self.total);
            on_event(Event::Started { done, total, id: row.id, title: row.title, target });
            let Ran { result, findings } = checks::run(row, &self.context, subject, target);
            let findings = self.labelled(findings);
            on_event(Event::Finished { result: &result, findings: &findings });
            self.results.push(result);
            self.findings.extend(findings);
        }
    }

    /// What was measured under the lab is called emulated.
    fn labelled(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        if self.options.emulated {
            let facts = findings.iter_mut().flat_map(|finding| &mut finding.evidence);
            facts.filter(|fact| fact.label == Label::Measured).for_each(|fact| fact.label = Label::Emulated);
        }
        findings
    }

    fn report(self) -> Report {
        let mut findings = self.findings;
        // The worst first; among equals the order of the checks.
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let summary = Summary::of(&self.results, &findings);
        let label = if self.options.emulated { Label::Emulated } else { Label::Measured };
        Report { header: self.header, label, results: self.results, findings, summary }
    }
}
