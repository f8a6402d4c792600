//! What goes to stdout and what to stderr, and what happens when nobody reads it.

mod common;

use common::{command, unstall, unstall_with};
use std::process::Stdio;

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_is_no_error() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let child =
        command(&["explain", "--markdown"]).stdout(writer).stderr(Stdio::piped()).spawn().expect("it starts");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has /dev/full");
    let child =
        command(&["explain", "--markdown"]).stdout(full).stderr(Stdio::piped()).spawn().expect("it starts");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("unstall: cannot write to stdout: "));
}

const ESCAPE: char = '\x1b';

#[test]
fn colour_is_for_terminals_and_for_who_asks_for_it() {
    let plain: [&[(&str, &str)]; 3] = [&[], &[("NO_COLOR", "1")], &[("TERM", "dumb")]];
    for settings in plain {
        let run = unstall_with(settings, &["--help"]);
        assert!(!run.stdout.contains(ESCAPE), "{settings:?}");
    }
    assert!(unstall_with(&[("CLICOLOR_FORCE", "1")], &["--help"]).stdout.contains(ESCAPE));
    let both = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
    assert!(!unstall_with(&both, &["--help"]).stdout.contains(ESCAPE));
}

#[test]
fn explaining_needs_nothing_and_says_something() {
    let list = unstall(&["explain", "--list"]);
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""));
    let starts = list.stdout.lines().filter(|line| !line.starts_with(' '));
    for id in starts.filter_map(|line| line.split_whitespace().next()) {
        let run = unstall(&["explain", id]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{id}");
        assert!(run.stdout.starts_with(id) && run.stdout.lines().count() > 2, "{id}: {}", run.stdout);
        // Commands stay whole, everything else is wrapped.
        assert!(
            run.stdout.lines().all(|line| line.len() <= 100 || line.starts_with("    ")),
            "{id}: {}",
            run.stdout
        );
    }
}

#[test]
#[cfg(unix)]
fn an_interrupt_ends_it_as_the_signal_does_and_leaves_stdout_empty() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader, Read};
    use std::os::unix::process::ExitStatusExt;
    let server = unstall::testing::silent().expect("a silent port");
    let mut command = command(&["doctor", "--json", "--timeout", "20s", &server.addr().to_string()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut progress = String::new();
    let mut stderr = BufReader::new(child.stderr.take().expect("its stderr"));
    stderr.read_line(&mut progress).expect("it says what it does");
    assert!(progress.starts_with("[1/"), "{progress}");
    kill_process(Pid::from_child(&child), Signal::INT).expect("the signal is sent");
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(2), "a shell shows 130 for this");
    let mut left = String::new();
    child.stdout.take().expect("its stdout").read_to_string(&mut left).expect("it is text");
    assert_eq!(left, "");
}
