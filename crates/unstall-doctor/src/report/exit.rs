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
