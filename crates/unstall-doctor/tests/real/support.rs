//! What the tests share: private namespaces, reports of single checks, tests that are left out.

use crate::schema::validate;
pub(crate) use crate::testing::left_out;
use std::process::Command;
use std::time::Duration;
use unstall_doctor::{Doctor, Options, Report, Selection, Severity};

/// Tells the inner process which test it runs.
const INSIDE: &str = "UNSTALL_TEST_INSIDE";
/// The exit status of a set-up that failed.
const CANNOT: i32 = 97;
/// How a set-up fails where the machine lacks something. What fails otherwise is a mistake in the set-up.
const LACKING: &[&str] = &[
    "not found",
    "ot permitted",
    "ermission denied",
    "not supported",
    "No such file",
    "Could not process rule",
];

/// Runs a test in network, mount and user namespaces of its own, with loopback up: the test's binary is started again
/// inside, after the commands of `setup`. What the commands change is gone with the process.
///
/// `test` is the calling test as the harness names it, `module::test`. Where namespaces or a command of the set-up are not
/// available, the test is left out.
pub(crate) fn in_namespace(test: &str, setup: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if std::env::var(INSIDE).as_deref() == Ok(test) {
        return body();
    }
    let script = format!(
        "sh -ec 'ip link set lo up\n{setup}' || exit {CANNOT}\nexec \"$0\" --exact {test} --nocapture --test-threads=1"
    );
    assert!(!setup.contains('\''), "the set-up stands in single quotes");
    let program = std::env::current_exe().expect("the test's own path");
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--mount", "sh", "-c", &script]).arg(program);
    for proxy in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(proxy).env_remove(proxy.to_ascii_uppercase());
    }
    let output = match command.env(INSIDE, test).envs(variables.iter().copied()).output() {
        Ok(output) => output,
        Err(error) => return left_out(test, &format!("unshare cannot be run: {error}")),
    };
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (words(&output.stdout), words(&output.stderr));
    let inside = format!("inside the namespace:\n{stdout}\n{stderr}");
    match output.status.code() {
        Some(CANNOT) if LACKING.iter().any(|words| stderr.contains(words)) => left_out(test, stderr.trim()),
        Some(1) if stderr.starts_with("unshare:") => left_out(test, stderr.trim()),
        _ => assert!(output.status.success() && stdout.contains("1 passed"), "{inside}"),
    }
}

/// A report of these checks (none: all), with few samples.
pub(crate) fn report(checks: &[&str]) -> Report {
    let checks = Selection::only(checks).expect("known checks");
    let report = Doctor::new(Options { samples: 20, checks, ..Options::default() }).run(|_| ());
    validate(&report);
    report
}

/// A report of a target with this time limit.
pub(crate) fn target_report(target: &str, timeout: Duration) -> Report {
    let options = Options { timeout, ..Options::default() };
    let targets = [(target.to_owned(), target.parse().expect("a target"))];
    let report = Doctor::new(options).run_targets(&targets, |_| ());
    validate(&report);
    report
}

/// What was found, as `severity id`, the worst first.
pub(crate) fn found(report: &Report) -> Vec<String> {
    report.findings.iter().map(|finding| format!("{} {}", finding.severity, finding.id)).collect()
}

/// [`found`] from warn on.
pub(crate) fn faults(report: &Report) -> Vec<String> {
    let severe = report.findings.iter().filter(|finding| finding.severity >= Severity::Warn);
    severe.map(|finding| format!("{} {}", finding.severity, finding.id)).collect()
}
