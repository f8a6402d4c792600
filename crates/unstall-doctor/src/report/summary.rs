//! A report in short: the verdict, and the one thing to do next.

use super::{CheckResult, Status};
use crate::findings::{Finding, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing stalls, as far as was measured.
    Sound,
    /// Something stalls, or does not work.
    Found,
    /// No check could run.
    NotMeasured,
}

/// How many of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Findings of severity error.
    pub error: usize,
    /// Findings of severity warn.
    pub warn: usize,
    /// Findings of severity info.
    pub info: usize,
    /// Checks that ran.
    pub ran: usize,
    /// Checks that could not run.
    pub could_not_run: usize,
    /// Checks with nothing to measure here.
    pub not_applicable: usize,
}

/// A report in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// What it came to.
    pub verdict: Verdict,
    /// How many of what.
    pub counts: Counts,
    /// One sentence.
    pub text: String,
    /// The one most useful thing to do next; null: nothing to do.
    pub next_step: Option<String>,
    /// The finding that the next step is for; null: none.
    pub next_finding: Option<String>,
}

impl Summary {
    /// The summary of a run. `findings` come worst first.
    pub(crate) fn of(results: &[CheckResult], findings: &[Finding]) -> Self {
        let counts = Counts::of(results, findings);
        let verdict = counts.verdict();
        let worst = findings.first().filter(|finding| finding.severity > Severity::Info);
        Self {
            verdict,
            counts,
            text: counts.text(verdict),
            next_step: worst.map(next_step).or_else(|| could_not(results)),
            next_finding: worst.map(|finding| finding.id.clone()),
        }
    }
}

impl Counts {
    fn of(results: &[CheckResult], findings: &[Finding]) -> Self {
        let severe = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let with = |status| results.iter().filter(|result| result.status == status).count();
        Self {
            error: severe(Severity::Error),
            warn: severe(Severity::Warn),
            info: severe(Severity::Info),
            ran: with(Status::Ran),
            could_not_run: with(Status::CouldNotRun),
            not_applicable: with(Status::NotApplicable),
        }
    }

    fn verdict(self) -> Verdict {
        match self {
            Self { error, warn, .. } if error + warn > 0 => Verdict::Found,
            Self { ran: 0, .. } => Verdict::NotMeasured,
            _ => Verdict::Sound,
        }
    }

    fn text(self, verdict: Verdict) -> String {
        let some = |count: usize, word: &str| (count > 0).then(|| counted(count, word));
        let checks = counted(self.ran, "check");
        let found: Vec<_> =
            [some(self.error, "error"), some(self.warn, "warning")].into_iter().flatten().collect();
        let verdict = match verdict {
            Verdict::Sound => format!("nothing that stalls was found by {checks}"),
            Verdict::Found => format!("{} found by {checks}", found.join(" and ")),
            Verdict::NotMeasured => "nothing could be measured".to_owned(),
        };
        let info = some(self.info, "thing").map(|things| format!("{things} worth knowing, no fault"));
        let blocked = some(self.could_not_run, "check").filter(|_| self.ran > 0);
        let blocked = blocked.map(|checks| format!("{checks} could not run"));
        [Some(verdict), info, blocked].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// `1 check`, `2 checks`.
fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn next_step(finding: &Finding) -> String {
    finding
        .fix
        .as_ref()
        .map_or_else(|| format!("read `unstall explain {}`", finding.id), |fix| fix.text.clone())
}

fn could_not(results: &[CheckResult]) -> Option<String> {
    let blocked = results.iter().find(|result| result.status == Status::CouldNotRun)?;
    let why = blocked.why.as_deref().unwrap_or("the reason is not known");
    Some(format!("find out why the check `{}` could not run: {why}", blocked.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{blind, report, sound};

    #[test]
    fn the_next_step_is_the_best_fix_of_the_worst_finding() {
        let summary = report().summary;
        assert_eq!(summary.verdict, Verdict::Found);
        assert_eq!(summary.next_finding.as_deref(), Some("ipv6-loopback-silent"));
        assert_eq!(summary.next_step, report().findings[0].fix.as_ref().map(|fix| fix.text.clone()));
        assert_eq!(
            summary.text,
            "1 error and 1 warning found by 4 checks; 1 thing worth knowing, no fault; 1 check could not run"
        );
    }

    #[test]
    fn only_what_there_is_is_counted() {
        let warnings = Counts { warn: 2, ran: 1, ..Counts::default() };
        assert_eq!(warnings.text(Verdict::Found), "2 warnings found by 1 check");
        let sound = Counts { ran: 12, not_applicable: 1, ..Counts::default() };
        assert_eq!(sound.text(Verdict::Sound), "nothing that stalls was found by 12 checks");
        let blind = Counts { could_not_run: 1, ..Counts::default() };
        assert_eq!(blind.text(Verdict::NotMeasured), "nothing could be measured");
    }

    #[test]
    fn information_alone_is_sound_and_needs_no_step() {
        let mut report = report();
        report.results.retain(|result| result.status == Status::Ran);
        report.findings.retain(|finding| finding.severity == Severity::Info);
        let summary = Summary::of(&report.results, &report.findings);
        assert_eq!((summary.verdict, summary.next_step), (Verdict::Sound, None));
        assert_eq!(sound().summary.next_step, None);
    }

    #[test]
    fn what_could_not_run_is_the_next_step_when_nothing_was_found() {
        let summary = blind().summary;
        assert_eq!(summary.verdict, Verdict::NotMeasured);
        assert!(
            summary
                .next_step
                .expect("a step")
                .contains("`hosts-file` could not run: /etc/hosts cannot be read")
        );
    }
}
