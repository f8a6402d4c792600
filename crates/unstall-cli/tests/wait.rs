//! `unstall wait` as a script uses it: exit codes, text, JSON, the command that follows.

mod common;

use common::{document, unstall};
use std::thread;
use std::time::Duration;
use unstall::testing;

#[test]
fn a_server_is_0_and_says_which_address_it_is() {
    let server = testing::v4_only().expect("a server");
    let name = format!("localhost:{}", server.port());
    let run = unstall(&["wait", &name]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let start = format!("{name}: {} listens, after ", server.addr());
    assert!(run.stdout.starts_with(&start), "{}", run.stdout);
}

#[test]
fn the_time_limit_is_124_and_says_what_each_address_did() {
    let refused = testing::refused().expect("a port");
    let run = unstall(&["wait", "--timeout", "50ms", &refused.target().to_string()]);
    assert_eq!(run.code, Some(124));
    let said = format!("{} refused", refused.addr());
    assert!(run.stdout.contains(": no server after ") && run.stdout.contains(&said), "{}", run.stdout);
}

#[test]
fn json_is_one_document_of_its_schema() {
    let server = testing::v4_only().expect("a server");
    let refused = testing::refused().expect("a port");
    let targets = [server.target().to_string(), refused.target().to_string()];
    let run =
        unstall(&["wait", "--json", "--progress", "never", "--timeout", "50ms", &targets[0], &targets[1]]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(124), ""));
    let document = document(&run, "wait");
    assert_eq!(document["end"], "timed_out");
    assert_eq!(document["results"][0]["answered"], server.addr().to_string());
    assert!(document["results"][1]["reached_ns"].is_null());
    assert_eq!(document["results"][1]["addresses"][0]["answer"], "refused");
}

#[test]
fn several_targets_are_told_of_as_they_come() {
    let servers = [testing::v4_only().expect("a server"), testing::v4_only().expect("a server")];
    let targets = servers.each_ref().map(|server| server.target().to_string());
    let run = unstall(&["wait", &targets[0], &targets[1]]);
    assert_eq!((run.code, run.stderr.lines().count(), run.stdout.lines().count()), (Some(0), 2, 2));
}

#[test]
fn free_is_the_reverse() {
    let refused = testing::refused().expect("a port");
    let run = unstall(&["wait", "--free", &refused.target().to_string()]);
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.contains(": free after "), "{}", run.stdout);
}

#[test]
fn bad_usage_is_2() {
    for arguments in [
        &["wait"][..],
        &["wait", ":0"],
        &["wait", "--stable", "0", ":80"],
        &["wait", "--http", "x", ":80"],
        &["wait", "--http", "/x", "--first-byte", ":80"],
        &["wait", "--free", "--first-byte", ":80"],
        &["wait", "--all", "--any", ":80"],
        &["wait", "-6", "127.0.0.1:80"],
        &["wait", "--timeout", "soon", ":80"],
        &["wait", "--", "true"],
    ] {
        let run = unstall(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{arguments:?}");
    }
}

#[test]
#[cfg(unix)]
fn the_command_runs_when_it_listens_and_its_code_is_ours() {
    let server = testing::late(Duration::from_millis(100)).expect("a server");
    let target = server.target().to_string();
    let run = unstall(&["wait", &target, "--", "sh", "-c", "echo came; exit 7"]);
    assert_eq!(run.code, Some(7));
    assert!(run.stdout.ends_with("came\n"), "{}", run.stdout);
    let missing = unstall(&["wait", &target, "--", "/no/such/program"]);
    assert_eq!(missing.code, Some(127));
    assert!(missing.stderr.starts_with("unstall: cannot run /no/such/program: "), "{}", missing.stderr);
    let no_program = unstall(&["wait", &target, "--", "/etc"]);
    assert_eq!(no_program.code, Some(126));
}

#[test]
#[cfg(unix)]
fn the_command_does_not_run_when_nothing_came() {
    let refused = testing::refused().expect("a port");
    let run = unstall(&["wait", "--timeout", "50ms", &refused.target().to_string(), "--", "echo", "came"]);
    assert_eq!(run.code, Some(124));
    assert!(!run.stdout.contains("came"), "{}", run.stdout);
}

#[test]
fn ten_waits_at_once_find_the_same_server() {
    let server = testing::v4_only().expect("a server");
    let target = server.target().to_string();
    let codes: Vec<Option<i32>> = thread::scope(|scope| {
        let waits: Vec<_> = (0..10).map(|_| scope.spawn(|| unstall(&["wait", &target]).code)).collect();
        waits.into_iter().map(|wait| wait.join().expect("it ran")).collect()
    });
    assert_eq!(codes, [Some(0); 10]);
}

#[test]
fn json_lines_tell_of_each_target_and_of_the_end() {
    let server = testing::v4_only().expect("a server");
    let target = server.addr().to_string();
    let run = unstall(&["wait", "--json-lines", "--timeout", "20s", &target]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let records: Vec<serde_json::Value> = run
        .stdout
        .lines()
        .map(|line| {
            let line = common::Run { stdout: line.to_owned(), stderr: String::new(), code: None };
            document(&line, "lines")
        })
        .collect();
    let names: Vec<&str> = records.iter().filter_map(|record| record["event_name"].as_str()).collect();
    assert_eq!(names, ["unstall.start", "unstall.wait.target", "unstall.wait.end"]);
    assert_eq!(records[1]["attributes"]["unstall.target"], target);
    assert_eq!(records[2]["attributes"]["unstall.end"], "reached");
}

#[test]
fn metrics_say_what_was_reached_and_leave_out_what_is_not_known() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let file = folder.path().join("wait.prom");
    let path = file.display().to_string();
    let (server, refused) = (testing::v4_only().expect("a server"), testing::refused().expect("a port"));
    let (up, down) = (server.addr().to_string(), refused.addr().to_string());
    let run = unstall(&["wait", "--prometheus", &path, "--timeout", "300ms", &up, &down]);
    assert_eq!(run.code, Some(124), "{}", run.stderr);
    let text = std::fs::read_to_string(&file).expect("the file");
    let has = |line: &str| text.lines().any(|present| present.starts_with(line));
    assert!(has(&format!("unstall_wait_reached{{target=\"{up}\"}} 1")), "{text}");
    assert!(has(&format!("unstall_wait_reached{{target=\"{down}\"}} 0")), "{text}");
    assert!(has(&format!("unstall_wait_reached_seconds{{target=\"{up}\"}} ")), "{text}");
    assert!(!has(&format!("unstall_wait_reached_seconds{{target=\"{down}\"}}")), "{text}");
    assert!(has("unstall_wait_end{end=\"timed_out\"} 1"), "{text}");
}

#[test]
fn a_file_for_metrics_that_cannot_be_made_ends_it_before_the_wait() {
    let run = unstall(&["wait", "--prometheus", "/", "127.0.0.1:9"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{}", run.stderr);
}
