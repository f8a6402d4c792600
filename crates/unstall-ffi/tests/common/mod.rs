//! C programs: compiled, linked to the library that Cargo made for the tests, run.
#![allow(dead_code, reason = "each test file uses its share of it")]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// What a C program that is linked to the static library needs besides, on Linux (`rustc --print native-static-libs`).
const LIBRARIES: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

/// Warnings are errors, and there are many kinds of them.
pub(crate) const STRICT: [&str; 5] = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"];

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

/// Whether a program can be run; notes the test as left out if not.
pub(crate) fn is_installed(test: &str, program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        left_out(test, &format!("{program} is not installed"));
    }
    found
}

/// A file of this package.
pub(crate) fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The folder in which Cargo puts the libraries for the tests: that of the test programs.
pub(crate) fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    test.parent().expect("a program is in a folder").to_owned()
}

/// A folder for programs; gone when the test ends.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Compiles a C file of this package into a program in `folder` that has the library in it.
pub(crate) fn compile(folder: &TempDir, compiler: &str, source: &str, flags: &[&str]) -> PathBuf {
    let source = file(source);
    let program = folder.path().join(source.file_stem().expect("a file"));
    let mut command = Command::new(compiler);
    command.arg(&source).arg("-o").arg(&program).arg("-I").arg(file("include")).args(STRICT).arg("-g");
    command.arg(libraries().join("libunstall_ffi.a")).args(flags).args(LIBRARIES);
    succeed(&mut command);
    program
}

/// Runs a command that must succeed, and returns what it wrote to stdout.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Everything a program wrote.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}
