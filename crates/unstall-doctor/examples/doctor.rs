//! Checks this machine and prints the report; with an argument `--json` as JSON.

use unstall_doctor::report::Style;
use unstall_doctor::{Doctor, ExitStatus, Options, Severity};

fn main() -> std::process::ExitCode {
    let report = Doctor::new(Options::default()).run(|_event| ());
    if std::env::args().any(|argument| argument == "--json") {
        print!("{}", report.to_json());
    } else {
        print!("{}", report.text(Style::default()));
    }
    ExitStatus::of(&report, Severity::Warn).code().into()
}
