//! `unstall doctor`: streams, exit codes and the report. What it finds is tested with the checks themselves.

mod common;

use common::{document, unstall};
use serde_json::json;

/// A check of this machine that is quick, does not depend on the machine, and can be run anywhere.
const QUICK: &str = "proxy";

#[test]
fn json_is_one_valid_document_and_progress_is_elsewhere() {
    let run = unstall(&["doctor", "--json", "--samples", "5"]);
    assert!(matches!(run.code, Some(0 | 1)), "{:?} {}", run.code, run.stderr);
    let document = document(&run, "report");
    assert_eq!(document["schema_version"], json!(1));
    assert_eq!(document["command"], json!(["unstall", "doctor", "--json", "--samples", "5"]));
    let checks = document["results"].as_array().expect("results").len();
    // Off a terminal: one plain line for each check, and nothing else.
    assert_eq!(run.stderr.lines().count(), checks, "{}", run.stderr);
    assert!(run.stderr.starts_with("[1/") && !run.stderr.contains(['\r', '\x1b']), "{}", run.stderr);
}

#[test]
fn a_target_given_twice_is_measured_once() {
    let run = unstall(&["doctor", "--json", "--check", "target-resolve", "127.0.0.1:9", ":9", "127.0.0.1:9"]);
    let document = document(&run, "report");
    let targets: Vec<&str> = document["results"]
        .as_array()
        .expect("results")
        .iter()
        .filter_map(|row| row["target"].as_str())
        .collect();
    assert_eq!(targets, ["127.0.0.1:9", ":9"]);
}

#[test]
fn text_is_the_same_whole_as_check_by_check() {
    let run = unstall(&["doctor", "--progress", "always", "--check", "clock,platform"]);
    assert!(run.stdout.starts_with("unstall ") && run.stdout.contains("\nsummary "), "{}", run.stdout);
    assert_eq!(run.stdout.matches("\nsummary ").count(), 1);
    assert!(!run.stdout.contains('\r'), "progress belongs to stderr: {}", run.stdout);
}

#[test]
fn progress_can_be_turned_off_and_forced() {
    let quiet = unstall(&["doctor", "--check", QUICK, "--progress", "never"]);
    assert_eq!(quiet.stderr, "");
    let forced = unstall(&["doctor", "--check", QUICK, "--progress", "always"]);
    assert!(
        forced.stderr.starts_with("\r\x1b[K[1/1] ") && forced.stderr.ends_with("\r\x1b[K"),
        "{}",
        forced.stderr
    );
}

#[test]
fn one_check_alone_and_the_list_of_all() {
    let run = unstall(&["doctor", "--json", "--check", QUICK]);
    let document = document(&run, "report");
    let ids: Vec<_> = document["results"].as_array().expect("results").iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&json!(QUICK)]);

    let list = unstall(&["doctor", "--list-checks"]);
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""));
    let json = common::document(&unstall(&["doctor", "--list-checks", "--json"]), "checks");
    for check in json["results"].as_array().expect("results") {
        let id = check["id"].as_str().expect("an id");
        let on_request =
            if check["by_default"] == json!(true) { "" } else { ", on this system only by --check" };
        let line = format!("  {id}{on_request}");
        assert!(list.stdout.lines().any(|present| present == line), "{line} is not in the list");
    }
}

#[test]
fn watch_tells_off_a_terminal_of_changes_alone_and_then_the_statistics() {
    let refused = unstall::testing::refused().expect("a port");
    let target = refused.addr().to_string();
    let run = unstall(&["doctor", "--watch", "--every", "1ms", "--count", "5", &target]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let said: Vec<&str> = run.stdout.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(said.len(), 1, "{}", run.stdout);
    assert!(
        said[0].starts_with(&format!("{target}: ")) && said[0].contains(" refused after "),
        "{}",
        said[0]
    );
    assert!(run.stdout.contains(&format!("\n{target}: 5 connects in ")), "{}", run.stdout);
    assert!(!run.stdout.contains('\u{1b}'), "{}", run.stdout);
}

#[test]
fn watch_wants_one_target_and_no_document() {
    for arguments in [&["--watch"][..], &["--watch", ":1", ":2"], &["--watch", "--json", ":1"]] {
        let run = unstall(&[&["doctor"], arguments].concat());
        assert_eq!((run.code, run.stderr.is_empty()), (Some(2), false), "{arguments:?}");
    }
}
