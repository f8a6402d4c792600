//! What else a report can be written as: one table, from which the options of the command line and their help are made.

use super::{Report, csv, html, junit, markdown, prometheus};

/// A format of the whole report.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Format {
    /// Its name: the option is `--NAME FILE`.
    pub name: &'static str,
    /// What it is for, one line without a full stop.
    pub about: &'static str,
    /// The environment variable that gives the file where the option does not.
    pub variable: &'static str,
    render: fn(&Report) -> String,
}

impl Format {
    /// The report in this format, with a newline at its end.
    pub fn render(&self, report: &Report) -> String {
        (self.render)(report)
    }
}

/// Every format but JSON and text, which `doctor` prints on stdout.
pub const FORMATS: &[Format] = &[
    Format {
        name: "html",
        about: "the report as one page with charts, for a browser or to print",
        variable: "UNSTALL_HTML",
        render: html::render,
    },
    Format {
        name: "markdown",
        about: "the report as Markdown, to be pasted into an issue",
        variable: "UNSTALL_MARKDOWN",
        render: markdown::render,
    },
    Format {
        name: "csv",
        about: "every figure as a line of a table (RFC 4180)",
        variable: "UNSTALL_CSV",
        render: csv::render,
    },
    Format {
        name: "junit",
        about: "the checks as test cases, for CI servers (JUnit XML)",
        variable: "UNSTALL_JUNIT",
        render: junit::render,
    },
    Format {
        name: "prometheus",
        about: "every figure for node_exporter's textfile collector (name it NAME.prom)",
        variable: "UNSTALL_PROMETHEUS",
        render: prometheus::render,
    },
];

#[cfg(test)]
mod tests {
    use super::FORMATS;
    use crate::report::tests::{blind, report, sound};

    #[test]
    fn every_format_writes_every_report_to_its_last_newline() {
        for format in FORMATS {
            for report in [report(), sound(), blind()] {
                let text = format.render(&report);
                assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{}: {text:?}", format.name);
            }
        }
    }
}
