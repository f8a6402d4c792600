//! For tests that this machine may not be able to run.

use std::io::Write;

/// Says on standard error, and in the file that the environment variable UNSTALL_LEFT_OUT names, that a test was
/// left out and why.
pub(crate) fn left_out(test: &str, why: &str) {
    let line = format!("LEFT OUT: {test}: {}", why.replace('\n', "; "));
    // Not eprintln!, which the test harness would swallow.
    let _ = writeln!(std::io::stderr(), "{line}");
    if let Some(path) = std::env::var_os("UNSTALL_LEFT_OUT") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "{line}"));
    }
}
