//! What the tests share: the lab as a program, and a note for every test that this machine cannot run.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// The example `lab`, which `cargo test` builds with the tests.
pub(crate) fn lab_program() -> PathBuf {
    let tests = std::env::current_exe().expect("the path of this test");
    let program = tests.ancestors().nth(2).expect("target directory").join("examples/lab");
    assert!(program.exists(), "{} is missing: cargo build -p unstall-lab --example lab", program.display());
    program
}

/// The lab's own client.
pub(crate) fn client() -> unstall_lab::Program {
    unstall_lab::Program::new(lab_program()).argument("client")
}

/// `lab` with these words.
pub(crate) fn lab(words: &[&str]) -> Command {
    let mut command = Command::new(lab_program());
    command.args(words);
    command
}

/// Says that a test was left out, and why, where whoever runs the tests looks for it.
pub(crate) fn left_out(test: &str, why: &str) {
    let line = format!("LEFT OUT: {test}: {why}");
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("UNSTALL_LEFT_OUT") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        written.expect("the file that UNSTALL_LEFT_OUT names can be written");
    }
}

/// Whether this process may do everything; notes the test as left out if not.
pub(crate) fn is_root(test: &str) -> bool {
    let privilege = unstall_lab::Privilege::now().expect("the kernel tells");
    if privilege != unstall_lab::Privilege::Full {
        left_out(test, "needs root");
    }
    privilege == unstall_lab::Privilege::Full
}

/// Whether a program is installed; notes the test as left out if not.
pub(crate) fn is_installed(test: &str, program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if !found {
        left_out(test, &format!("{program} is not installed"));
    }
    found
}
