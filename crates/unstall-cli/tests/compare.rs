//! `unstall doctor --compare` and `--redact`.

mod common;

use common::{document, unstall};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;
use unstall::testing;

/// A folder with a report that was just made, and a copy of it in which one thing is different.
fn reports(change: impl FnOnce(&mut Value)) -> (TempDir, [PathBuf; 2]) {
    let folder = TempDir::new().expect("a folder");
    let run = unstall(&["doctor", "--json", "--check", "clock,platform"]);
    let mut report: Value = document(&run, "report");
    let paths = ["before.json", "after.json"].map(|name| folder.path().join(name));
    fs::write(&paths[0], report.to_string()).expect("a file");
    change(&mut report);
    fs::write(&paths[1], report.to_string()).expect("a file");
    (folder, paths)
}

fn compare(paths: &[PathBuf; 2], more: &[&str]) -> common::Run {
    let [before, after] = paths.each_ref().map(|path| path.display().to_string());
    unstall(&[&["doctor", "--compare", &before, &after], more].concat())
}

#[test]
fn the_same_report_is_no_worse_than_itself() {
    let (_folder, paths) = reports(|_| ());
    let run = compare(&paths, &[]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
    assert!(run.stdout.contains("\nsummary   findings: 0 new, 0 gone"), "{}", run.stdout);
}

#[test]
fn what_got_worse_is_1_and_the_document_says_what() {
    let (_folder, paths) = reports(|report| {
        let clock =
            report["results"].as_array_mut().expect("results").iter_mut().find(|it| it["id"] == "clock");
        let overhead = &mut clock.expect("the clock")["data"]["overhead"];
        for name in ["median_ns", "p95_ns", "p99_ns", "max_ns"] {
            overhead[name] = json!(14_000_000);
        }
    });
    let run = compare(&paths, &["--json"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let document = document(&run, "compare");
    assert_eq!(document["results"][0]["change"], json!("worse"));
    assert_eq!(document["results"][0]["after_ns"], json!(14_000_000));
    assert!(compare(&paths, &[]).stdout.contains("worse     clock overhead.median: "));
}

#[test]
fn unlike_reports_and_other_files_are_refused() {
    let (folder, paths) = reports(|report| report["label"] = json!("emulated"));
    let run = compare(&paths, &[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("one report is measured and the other emulated"), "{}", run.stderr);
    let no_report = [paths[0].clone(), folder.path().join("none.json")];
    assert!(compare(&no_report, &[]).stderr.contains("cannot read "));
    fs::write(&no_report[1], "{}").expect("a file");
    let run = compare(&no_report, &["--json"]);
    assert_eq!(run.code, Some(2));
    let sentence = document(&run, "error")["error"].as_str().expect("a sentence").to_owned();
    assert!(sentence.contains("is no report of unstall doctor --json"), "{sentence}");
}

#[test]
fn a_redacted_report_names_no_program_and_no_port_of_its_own() {
    let server = testing::closes().expect("a server");
    let (port, target) = (server.port().to_string(), server.addr().to_string());
    let secret = std::process::id().to_string();
    for form in [&["--json"][..], &["--json-lines"], &["--markdown", "-"], &["--csv=-"], &["--html=-"], &[]] {
        let run = unstall(&[&["doctor", "--redact", &target, "--progress", "never"], form].concat());
        assert!(matches!(run.code, Some(0 | 1)), "{}", run.stderr);
        assert!(!run.stdout.contains(&port), "{form:?} {}", run.stdout);
        assert!(!run.stdout.contains(&format!("pid {secret}")), "{form:?} {}", run.stdout);
        assert!(run.stdout.contains("number-1"), "{form:?} {}", run.stdout);
    }
    let run = unstall(&["doctor", "--redact", "--json", &target]);
    document(&run, "report");
}
