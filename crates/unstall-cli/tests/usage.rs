//! Command lines that make no sense: exit code 2, one clear sentence on stderr, nothing on stdout, nothing done.

mod common;

use common::{document, unstall, unstall_with};

/// A command line, and words that the complaint must hold.
const BAD: &[(&[&str], &[&str])] = &[
    (&[], &["Usage:"]),
    (&["doctr"], &["'doctr'", "'doctor'"]),
    (&["connect"], &["<TARGET>"]),
    (&["connect", "localhost:0"], &["port 0", "1 to 65535"]),
    (&["connect", "localhost:65536"], &["65536", "1 to 65535"]),
    (&["connect", "localhost"], &["localhost"]),
    (&["connect", ":80", "extra"], &["extra"]),
    (&["connect", ":80", "--timeout", "5"], &["write 500ms, 2s, 1.5s or 1m"]),
    (&["connect", ":80", "--timeout", "-1s"], &["-1"]),
    (&["connect", ":80", "--timeout=0s"], &["more than zero"]),
    (&["connect", ":80", "--family", "v5"], &["v5", "any", "v4", "v6"]),
    (&["connect", "-4", "-6", ":80"], &["-4", "-6"]),
    (&["connect", "-6", "127.0.0.1:80"], &["127.0.0.1:80 is an IPv4 address", "only IPv6"]),
    (&["doctor", "--family=v4", ":80", "[::1]:80"], &["[::1]:80 is an IPv6 address", "only IPv4"]),
    (&["doctor", "--check", "no-such-check"], &["no-such-check", "--list-checks"]),
    (&["doctor", "--samples", "0"], &["1 to 100000"]),
    (&["doctor", "--samples", "many"], &["1 to 100000"]),
    (&["doctor", "--fail-on", "fatal"], &["info", "warn", "error"]),
    (&["doctor", "--color", "pink"], &["auto", "always", "never"]),
    (&["doctor", "--list-checks", ":80"], &["--list-checks"]),
    (&["doctor", "a b:80"], &["a b:80"]),
    (&["explain"], &["<ID|--list|--markdown>"]),
    (&["explain", "refusd"], &["refusd", "did you mean `refused`?"]),
    (&["explain", "zzzz"], &["zzzz", "--list"]),
    (&["completions", "tcsh"], &["tcsh"]),
    (&["schema", "nothing"], &["doctor", "connect"]),
];

#[test]
fn a_bad_command_line_is_answered_on_stderr_with_exit_code_2() {
    for (arguments, words) in BAD {
        let run = unstall(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{arguments:?}: {}", run.stderr);
        for word in *words {
            assert!(run.stderr.contains(word), "{arguments:?}: no {word:?} in {}", run.stderr);
        }
        assert!(run.stderr.lines().count() < 25, "{arguments:?}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    }
}

#[test]
fn an_argument_with_a_line_break_is_quoted_in_one_line() {
    let run = unstall(&["connect", "a\nb\u{1b}[1m:80"]);
    assert_eq!(run.code, Some(2));
    let first = run.stderr.lines().next().expect("a line");
    assert!(
        first.starts_with("error: invalid value 'a\\nb\\u{1b}[1m:80' for '<TARGET>': "),
        "{}",
        run.stderr
    );
}

#[test]
fn lines_are_as_wide_as_the_person_says() {
    let widest = |columns: &str| {
        let run = unstall_with(&[("COLUMNS", columns)], &["explain", "nobody-listens"]);
        run.stdout.lines().map(|line| line.chars().count()).max().unwrap_or_default()
    };
    assert!(
        (60..=100).contains(&widest("100")) && widest("100") > widest("60"),
        "{} {}",
        widest("100"),
        widest("60")
    );
    assert!(widest("60") <= 60, "{}", widest("60"));
}

#[test]
fn with_json_the_answer_is_a_document_as_well() {
    for arguments in
        [&["connect", "--json", ":0"][..], &["doctor", "--json", "--samples", "x"], &["connect", "--json"]]
    {
        let run = unstall(arguments);
        assert_eq!(run.code, Some(2));
        let document = document(&run, "error");
        let said = document["error"].as_str().expect("a sentence");
        assert!(run.stderr.contains(said), "{said} is not in {}", run.stderr);
        assert_eq!(document["results"], serde_json::json!([]));
    }
    let run = unstall_with(&[("UNSTALL_JSON", "1")], &["connect", ":0"]);
    document(&run, "error");
}

#[test]
fn a_setting_from_the_environment_is_named_when_it_is_bad() {
    let run = unstall_with(&[("UNSTALL_TIMEOUT", "soon")], &["connect", ":80"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("note: set in the environment: UNSTALL_TIMEOUT"), "{}", run.stderr);
}

#[test]
fn a_bad_command_line_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_string_lossy().into_owned();
    for arguments in [&["man", "--out", &path, "--bad"][..], &["man", "--out", &path, "x"]] {
        assert_eq!(unstall(arguments).code, Some(2));
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
}

#[test]
fn a_folder_that_is_not_there_is_no_usage_error_but_cannot_be_written_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing");
    let run = unstall(&["man", "--out", &missing.to_string_lossy()]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(3), ""));
    assert!(run.stderr.starts_with("unstall: cannot write "), "{}", run.stderr);
    assert!(!missing.exists());
}
