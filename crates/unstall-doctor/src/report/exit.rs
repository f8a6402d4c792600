//! From a report to the exit status.

use super::{Report, Status};
use crate::findings::Severity;

/// What the process tells its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExitStatus {
    /// 0: nothing was found at or above the severity asked for.
    Clean,
    /// 1: something was.
    Found,
    /// 3: nothing could be measured.
    NotMeasured,
}

impl ExitStatus {
    /// The exit status of a report, with `fail_on` the least severity that fails.
    pub fn of(report: &Report, fail_on: Severity) -> Self {
        if report.findings.iter().any(|finding| finding.severity >= fail_on) {
            Self::Found
        } else if report.results.iter().any(|result| result.status == Status::Ran) {
            Self::Clean
        } else {
            Self::NotMeasured
        }
    }

    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Found => 1,
            Self::NotMeasured => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{blind, report, sound};

    fn codes(report: &Report) -> [u8; 3] {
        Severity::ALL.map(|fail_on| ExitStatus::of(report, fail_on).code())
    }

    #[test]
    fn what_is_below_the_limit_does_not_fail() {
        assert_eq!(codes(&report()), [1, 1, 1]);
        let mut info_alone = report();
        info_alone.findings.retain(|finding| finding.severity == Severity::Info);
        assert_eq!(codes(&info_alone), [1, 0, 0]);
        let mut no_error = report();
        no_error.findings.retain(|finding| finding.severity != Severity::Error);
        assert_eq!(codes(&no_error), [1, 1, 0]);
        assert_eq!(codes(&sound()), [0, 0, 0]);
    }

    #[test]
    fn nothing_measured_is_neither_sound_nor_found() {
        assert_eq!(codes(&blind()), [3, 3, 3]);
        let mut nothing = sound();
        nothing.results.clear();
        assert_eq!(codes(&nothing), [3, 3, 3]);
    }
}
