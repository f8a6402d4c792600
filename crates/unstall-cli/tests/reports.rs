//! The files and streams that `unstall doctor` writes beside its text.

mod common;

use common::{unstall, unstall_with};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Two checks that are quick and run anywhere.
const QUICK: [&str; 3] = ["doctor", "--check", "clock,platform"];
const FORMATS: [(&str, &str); 5] = [
    ("--html", "<!DOCTYPE html><html lang=\"en\">"),
    ("--markdown", "# unstall doctor\n"),
    ("--csv", "started_at,kind,check,"),
    ("--junit", "<?xml version=\"1.0\""),
    ("--prometheus", "# HELP unstall_doctor_info "),
];

fn quick(more: &[&str]) -> common::Run {
    unstall(&[&QUICK, more].concat())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry"));
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_format_goes_to_its_file_beside_the_text() {
    let folder = TempDir::new().expect("a folder");
    let path = |option: &str| folder.path().join(&option[2..]).display().to_string();
    let mut more = Vec::new();
    for (option, _) in FORMATS {
        more.extend([option.to_owned(), path(option)]);
    }
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let run = quick(&more);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("\nsummary "), "{}", run.stdout);
    for (option, begin) in FORMATS {
        let text = fs::read_to_string(path(option)).expect("the file");
        assert!(text.starts_with(begin), "{option}: {text}");
    }
    assert_eq!(names(folder.path()).len(), FORMATS.len(), "nothing else is left behind");
}

#[test]
fn a_format_takes_the_place_of_the_text_on_stdout() {
    for (option, begin) in FORMATS {
        let run = quick(&[option, "-"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stdout.starts_with(begin) && !run.stdout.contains("\nsummary "), "{}", run.stdout);
    }
}

#[test]
fn a_file_that_cannot_be_made_ends_it_before_anything_is_measured() {
    let folder = TempDir::new().expect("a folder");
    let nowhere = folder.path().join("none").join("report.csv").display().to_string();
    let a_folder = folder.path().display().to_string();
    for path in [&nowhere, &a_folder] {
        let run = quick(&["--csv", path]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{}", run.stderr);
        assert!(
            run.stderr.starts_with(&format!("unstall: cannot write a report to {path}: ")),
            "{}",
            run.stderr
        );
        assert_eq!(run.stderr.lines().count(), 1, "no check began: {}", run.stderr);
    }
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_file_that_was_there_is_kept_until_the_new_one_is_whole() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("report.md");
    fs::write(&file, "the old one").expect("a file");
    let path = file.display().to_string();
    // The second path is bad, so nothing is measured.
    let run = quick(&["--markdown", &path, "--csv", &folder.path().display().to_string()]);
    assert_eq!(run.code, Some(2));
    assert_eq!(fs::read_to_string(&file).expect("the file"), "the old one");
    assert_eq!(quick(&["--markdown", &path]).code, Some(0));
    assert!(fs::read_to_string(&file).expect("the file").starts_with("# unstall doctor"));
    assert_eq!(names(folder.path()), ["report.md"]);
}

#[cfg(unix)]
#[test]
fn a_new_file_may_be_read_as_any_other() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().expect("a folder");
    let ours = folder.path().join("report.csv");
    assert_eq!(quick(&["--csv", &ours.display().to_string()]).code, Some(0));
    let other = folder.path().join("other");
    fs::write(&other, "").expect("a file");
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode();
    assert_eq!(mode(&ours), mode(&other));
}

#[cfg(unix)]
#[test]
fn a_device_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let run = quick(&["--csv", "/dev/null"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(fs::metadata("/dev/null").expect("a device").file_type().is_char_device());
}

#[test]
fn stdout_is_for_one_thing() {
    for pair in [["--json", "--csv=-"], ["--json-lines", "--csv=-"], ["--markdown=-", "--csv=-"]] {
        let run = quick(&pair);
        assert_eq!(run.code, Some(2), "{pair:?} {}", run.stderr);
        assert!(
            run.stderr.contains("both write to stdout") && run.stderr.contains("--csv -"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(quick(&["--json", "--json-lines"]).code, Some(2));
}

#[test]
fn the_environment_names_a_file_too() {
    let run = unstall_with(&[("UNSTALL_JUNIT", "-")], &QUICK);
    assert!(run.stdout.starts_with("<?xml"), "{}", run.stdout);
}

#[test]
fn json_lines_are_log_records_as_they_happen() {
    let run = quick(&["--json-lines"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let names: Vec<String> = run
        .stdout
        .lines()
        .map(|line| {
            let run = common::Run { stdout: line.to_owned(), stderr: String::new(), code: None };
            let record = common::document(&run, "lines");
            record["event_name"].as_str().expect("a name").to_owned()
        })
        .collect();
    assert_eq!(names.first().map(String::as_str), Some("unstall.start"));
    assert_eq!(names.last().map(String::as_str), Some("unstall.summary"));
    assert_eq!(names.iter().filter(|name| *name == "unstall.check").count(), 2, "{names:?}");
    let times: Vec<u64> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .map(|record| record["time_unix_nano"].as_str().expect("digits").parse().expect("a number"))
        .collect();
    assert!(times.is_sorted(), "{times:?}");
}
