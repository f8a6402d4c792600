//! `unstall doctor --fix`: what it changes, and that it changes nothing else.
#![cfg(target_os = "linux")]

mod common;

use common::{Run, command, finish, unstall};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const BARE: &str = "10.0.0.1 a.example\n";

/// Runs the program where /etc/hosts is this file: in a mount namespace of its own. `None`: none can be made.
fn with_hosts(file: &Path, arguments: &[&str]) -> Option<Run> {
    let possible = Command::new("unshare").args(["--mount", "true"]).status();
    if !possible.is_ok_and(|status| status.success()) {
        leave_out();
        return None;
    }
    let program = command(arguments);
    let mut inside = Command::new("unshare");
    inside.args(["--mount", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\""]).arg(file);
    inside.arg(program.get_program()).args(program.get_args()).stdin(std::process::Stdio::null());
    Some(finish(inside))
}

fn leave_out() {
    if let Some(path) = std::env::var_os("UNSTALL_LEFT_OUT") {
        use std::io::Write;
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path).expect("the notes");
        writeln!(file, "LEFT OUT: unstall-cli/fix: no mount namespace here (run as root)").expect("a note");
    }
}

fn hosts() -> (TempDir, std::path::PathBuf) {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("hosts");
    fs::write(&file, BARE).expect("a file");
    (folder, file)
}

const FIX: [&str; 6] = ["doctor", "--check", "hosts-file", "--progress", "never", "--fix"];

#[test]
fn a_hosts_file_without_localhost_gets_it_and_loses_it_again() {
    let (folder, file) = hosts();
    let path = file.display().to_string();
    let Some(run) = with_hosts(&file, &[&FIX[..], &["--yes", "--hosts-file", &path]].concat()) else {
        return;
    };
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("  + 127.0.0.1 localhost\n  + ::1 localhost\n"), "{}", run.stderr);
    let fixed = fs::read_to_string(&file).expect("the file");
    assert!(fixed.starts_with(BARE) && fixed.contains("\n::1 localhost\n"), "{fixed}");
    assert_eq!(fs::read_to_string(folder.path().join("hosts.unstall-backup")).expect("the copy"), BARE);

    let undone = unstall(&["doctor", "--undo-fix", "--hosts-file", &path]);
    assert_eq!((undone.code, undone.stdout.as_str()), (Some(0), ""), "{}", undone.stderr);
    assert_eq!(fs::read_to_string(&file).expect("the file"), BARE);
    let again = unstall(&["doctor", "--undo-fix", "--hosts-file", &path]);
    assert!(again.stderr.contains("nothing was changed"), "{}", again.stderr);
}

#[test]
fn a_dry_run_shows_and_changes_nothing() {
    let (folder, file) = hosts();
    let path = file.display().to_string();
    let Some(run) = with_hosts(&file, &[&FIX[..], &["--dry-run", "--hosts-file", &path]].concat()) else {
        return;
    };
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stderr.contains("  + ::1 localhost\n") && run.stderr.contains("nothing was changed"),
        "{}",
        run.stderr
    );
    assert_eq!(fs::read_to_string(&file).expect("the file"), BARE);
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1, "no copy either");
}

#[test]
fn without_a_terminal_nobody_is_asked_and_nothing_is_measured() {
    let run = unstall(&FIX);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("there is no terminal to ask at"), "{}", run.stderr);
}

#[test]
fn where_nothing_is_to_be_put_right_nothing_is_touched() {
    let (folder, file) = hosts();
    fs::write(&file, "127.0.0.1 localhost\n::1 localhost\n").expect("a file");
    let path = file.display().to_string();
    let Some(run) = with_hosts(&file, &[&FIX[..], &["--yes", "--hosts-file", &path]].concat()) else {
        return;
    };
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("nothing was found that unstall changes by itself"), "{}", run.stderr);
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
}

#[test]
fn a_file_that_cannot_be_changed_is_said_and_left_as_it_was() {
    let run = unstall(&["doctor", "--undo-fix", "--hosts-file", "/nowhere/hosts"]);
    assert_eq!(run.code, Some(3));
    assert!(
        run.stderr.contains("cannot read /nowhere/hosts") && run.stderr.contains("nothing was changed"),
        "{}",
        run.stderr
    );
}
