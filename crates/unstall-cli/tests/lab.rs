//! `unstall lab` as a person uses it. What the lab itself does is tested in its own crate.
#![cfg(target_os = "linux")]

mod common;

use common::{Run, command, document, finish, unstall, unstall_with};
use std::fs::OpenOptions;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Says that a test was left out, where whoever runs the tests looks for it.
fn left_out(test: &str, why: &str) {
    let line = format!("LEFT OUT: {test}: {why}");
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("UNSTALL_LEFT_OUT") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
            .expect("the file that UNSTALL_LEFT_OUT names can be written");
    }
}

/// Whether labs with the exact engine can be made here.
fn is_root(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        left_out(test, "needs root");
    }
    root
}

fn lab(arguments: &[&str]) -> Run {
    unstall(&[&["lab"], arguments].concat())
}

#[test]
fn help() {
    for action in ["", "list", "matrix", "reference", "burst", "backlog"] {
        for (option, length) in [("-h", "short"), ("--help", "long")] {
            let words: Vec<&str> =
                ["lab", action, option].into_iter().filter(|word| !word.is_empty()).collect();
            let run = unstall(&words);
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{words:?}");
            let name = if action.is_empty() { "lab" } else { action };
            insta::assert_snapshot!(format!("{name}_{length}"), run.stdout);
        }
    }
}

#[test]
fn what_makes_no_sense_is_exit_code_2_and_one_reason() {
    let cases: [(&[&str], &str); 12] = [
        (&[], "the following required arguments were not provided"),
        (&["true"], "unexpected argument 'true'"),
        (&["--retries", "many", "--", "true"], "write a whole number from 0 to 255, or lost"),
        (&["--queue", "0", "--", "true"], "0 is not in 1..=65535"),
        (&["--engine", "steam", "--", "true"], "invalid value 'steam'"),
        (
            &["--profile", "windows-12", "--", "true"],
            "there is no profile `windows-12`; there are windows-11, ",
        ),
        (&["--profile", "./none.toml", "--", "true"], "cannot read the profile ./none.toml: No such file"),
        (&["backlog", "--pause", "soon"], "a time needs a number and a unit"),
        (&["backlog", "--count", "10,0"], "write a whole number from 1 to 10000"),
        (&["backlog", "--profile", "linux,windows-12"], "there is no profile `windows-12`"),
        (&["burst", "--runs", "0"], "write a whole number from 1 to 1000"),
        (&["matrix", "--scenario", "chaos", "--client", "true {url}"], "chaos"),
    ];
    for (arguments, reason) in cases {
        let run = lab(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(reason), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn the_list_names_profiles_with_sources_and_scenarios() {
    let text = lab(&["list"]);
    assert_eq!((text.code, text.stderr.as_str()), (Some(0), ""));
    for words in ["  windows-11\n", "published: curl-library mail", "  v4-only\n", "Scenarios"] {
        assert!(text.stdout.contains(words), "{words}");
    }
    let json = document(&lab(&["list", "--json"]), "lab-list");
    let profiles = json["results"][0]["profiles"].as_array().expect("profiles");
    assert_eq!(profiles[0]["refused"]["retries"], 4);
    assert!(profiles.iter().all(|profile| !profile["sources"].as_array().expect("sources").is_empty()));
}

#[test]
fn rules_are_shown_and_nothing_is_done() {
    const TEST: &str = "rules_are_shown_and_nothing_is_done";
    if !is_root(TEST) {
        return;
    }
    let exact = lab(&["--print-rules", "--engine", "bpf"]);
    assert_eq!((exact.code, exact.stderr.as_str()), (Some(0), ""));
    for words in [
        "net.core.somaxconn = 200",
        "unstall_timer: sock_ops",
        "unstall_full: sched_cls at the entrance of lo",
        "call SkcLookupTcp",
    ] {
        assert!(exact.stdout.contains(words), "{words} in\n{}", exact.stdout);
    }
    let coarse = lab(&["--print-rules", "--engine", "coarse"]);
    assert!(coarse.stdout.contains("table inet unstall {"), "{}", coarse.stdout);
}

#[test]
fn a_program_is_refused_as_on_windows_and_its_exit_code_passed_on() {
    const TEST: &str = "a_program_is_refused_as_on_windows_and_its_exit_code_passed_on";
    if !is_root(TEST) {
        return;
    }
    let since = Instant::now();
    let this = env!("CARGO_BIN_EXE_unstall");
    let run = lab(&["-v", "--", this, "connect", "127.0.0.1:9"]);
    let took = since.elapsed();
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("refused"), "{}", run.stdout);
    assert!(took >= Duration::from_millis(1980), "{took:?}");
    let counts = "unstall: 4 resets held back, 1 passed on, 0 SYNs for a full accept queue reset\n";
    assert!(run.stderr.ends_with(counts), "{}", run.stderr);
    let quick = lab(&["--retries", "0", "-v", "--", this, "connect", "127.0.0.1:9"]);
    let counts = "unstall: 0 resets held back, 1 passed on, 0 SYNs for a full accept queue reset\n";
    assert!(quick.stderr.ends_with(counts), "{}", quick.stderr);
}

#[test]
fn a_scenario_tells_the_program_where_to_go() {
    const TEST: &str = "a_scenario_tells_the_program_where_to_go";
    if !is_root(TEST) {
        return;
    }
    let run = lab(&[
        "--scenario",
        "v4-only",
        "--",
        "sh",
        "-c",
        "echo {url} {host} {port} {target} $UNSTALL_LAB_URL",
    ]);
    let words: Vec<&str> = run.stdout.split_whitespace().collect();
    let [url, host, port, target, variable] = words[..] else { panic!("{}{}", run.stdout, run.stderr) };
    assert_eq!((host, url, variable), ("localhost", &*format!("http://{target}/"), url));
    assert_eq!(target, format!("localhost:{port}"));
}

#[test]
fn a_profile_may_be_a_file_and_a_setting() {
    const TEST: &str = "a_profile_may_be_a_file_and_a_setting";
    if !is_root(TEST) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("own.toml");
    std::fs::write(
        &path,
        "base = \"linux\"\nname = \"own\"\n[full_queue]\nanswer = \"silence\"\nlongest = 7\n",
    )
    .expect("a file");
    let path = path.to_str().expect("a plain path");
    let show = ["lab", "--", "cat", "/proc/sys/net/core/somaxconn"];
    assert_eq!(unstall_with(&[("UNSTALL_LAB_PROFILE", path)], &show).stdout, "7\n");
    std::fs::write(path, "base = \"linux\"\nnam = \"own\"\n").expect("a file");
    let run = unstall_with(&[("UNSTALL_LAB_PROFILE", path)], &show);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("unknown field `nam`"), "{}", run.stderr);
}

fn document_of(run: &Run) -> serde_json::Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

#[test]
fn the_doctor_calls_emulated_what_a_lab_makes_and_measured_what_it_does_not() {
    if !is_root("the_doctor_calls_emulated_what_a_lab_makes_and_measured_what_it_does_not") {
        return;
    }
    let program = env!("CARGO_BIN_EXE_unstall");
    let doctor = ["--", program, "doctor", "--json", "--check", "target-reach", "127.0.0.1:9"];
    for (profile, label) in [("windows-11", "emulated"), ("linux", "measured")] {
        let run = lab(&[&["--profile", profile], &doctor[..]].concat());
        let document = document_of(&run);
        let findings = document["findings"].as_array().expect("findings");
        let labels: Vec<&str> = findings
            .iter()
            .flat_map(|finding| finding["evidence"].as_array().into_iter().flatten())
            .filter_map(|fact| fact["label"].as_str())
            .filter(|label| ["emulated", "measured"].contains(label))
            .collect();
        assert!(!labels.is_empty() && labels.iter().all(|said| *said == label), "{profile}: {labels:?}");
        let connect = lab(&["--profile", profile, "--", program, "connect", "--json", "127.0.0.1:9"]);
        assert_eq!(document_of(&connect)["label"], label, "{profile}");
        let text = lab(&["--profile", profile, "--", program, "connect", "127.0.0.1:9"]);
        assert_eq!(text.stderr.contains("emulated"), label == "emulated", "{}", text.stderr);
    }
}

#[test]
fn the_burst_of_the_report_in_json() {
    const TEST: &str = "the_burst_of_the_report_in_json";
    if !is_root(TEST) {
        return;
    }
    let json = document(&lab(&["burst", "--runs", "1", "--json"]), "lab-burst");
    let cases = json["results"][0].as_array().expect("cases");
    let refused = |case: usize| cases[case]["runs"][0]["refused"].as_u64();
    assert_eq!([refused(0), refused(1), refused(2)], [Some(68), Some(0), Some(0)], "{json}");
    assert_eq!((&cases[0]["runs"][0]["first"], &cases[0]["published"]["first"]), (&232.into(), &232.into()));
}

/// The doctor's own listener: Linux drops a SYN for a full queue, Windows resets it, and without its retry that is final.
#[test]
fn the_doctor_tells_what_a_full_queue_does() {
    const TEST: &str = "the_doctor_tells_what_a_full_queue_does";
    if !is_root(TEST) {
        return;
    }
    let doctor = [env!("CARGO_BIN_EXE_unstall"), "doctor", "--check", "backlog-burst", "--json"];
    let report = |options: &[&str]| {
        let run = lab(&[options, &["--"], &doctor].concat());
        let report = document(&run, "report");
        let lines = report["results"][0]["lines"][0].as_str().unwrap_or_default().to_owned();
        (run.code, lines, report["findings"][0]["id"].as_str().map(str::to_owned))
    };
    for (options, words) in
        [(&["--profile", "linux"][..], "was dropped, and sent again"), (&[], "was reset, and sent again")]
    {
        let (code, line, found) = report(options);
        assert_eq!((code, found), (Some(0), None), "{line}");
        assert!(line.contains(words), "{line}");
    }
    let (code, line, found) = report(&["--retries", "0"]);
    assert_eq!((code, found.as_deref()), (Some(1), Some("full-queue-refuses")), "{line}");
    assert!(line.contains("the next was refused after"), "{line}");
}

/// What the OS default does is known; what the library does is judged by the criteria that the report itself has.
#[test]
fn full_queues_in_json() {
    const TEST: &str = "full_queues_in_json";
    if !is_root(TEST) {
        return;
    }
    let options = ["--count", "60", "--backlog", "16", "--pause", "50ms", "--bursts-only"];
    let run = lab(&[&["backlog", "--json", "--progress", "never"], &options[..]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let json = document(&run, "lab-backlog");
    let [windows, linux] = &json["results"][0]["cases"].as_array().expect("cases")[..] else {
        panic!("{json}")
    };
    let cell = |case: &serde_json::Value, client: &str| {
        let cells = case["cells"].as_array().expect("cells");
        cells.iter().find(|cell| cell["client"] == client).expect("every client").clone()
    };
    let alone = cell(windows, "ioctl_alone");
    assert_eq!(
        (&alone["connected"], &alone["refused"], &alone["syns"]),
        (&16.into(), &44.into(), &60.into())
    );
    let default = cell(linux, "default");
    assert_eq!(default["connected"], 60);
    // The dropped SYNs come again after a second.
    assert!(default["max_ns"].as_u64() >= Some(990_000_000), "{default}");
    assert!(default["syns"].as_u64() > Some(60), "{default}");
    for case in [windows, linux] {
        assert_eq!(cell(case, "ours")["connected"], 60, "{case}");
    }
}

#[test]
fn the_reference_in_json() {
    const TEST: &str = "the_reference_in_json";
    if !is_root(TEST) {
        return;
    }
    let run = lab(&["reference", "--runs", "1", "--json", "--progress", "never"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let json = document(&run, "lab-reference");
    let rows = json["results"][0]["rows"].as_array().expect("rows");
    for row in rows.iter().filter(|row| row["left_out"].is_null()) {
        // Timers of half a second and more; below it is the machine that is measured.
        if row["published_least_ns"].as_u64() > Some(500_000_000) {
            let deviation = row["deviation_percent"].as_f64().expect("a number");
            assert!(deviation.abs() < 10.0, "{row}");
        }
        let published = &row["published_exit_code"];
        assert!(published.is_null() || *published == row["exit_code"], "{row}");
    }
}

#[test]
fn one_scenario_against_one_client_in_json() {
    const TEST: &str = "one_scenario_against_one_client_in_json";
    if !is_root(TEST) {
        return;
    }
    let client = format!("ours={} connect {{target}}", env!("CARGO_BIN_EXE_unstall"));
    let arguments = [
        "matrix",
        "--scenario",
        "closed",
        "--client",
        &client,
        "--runs",
        "1",
        "--json",
        "--progress",
        "never",
    ];
    let json = document(&lab(&arguments), "lab-matrix");
    let rows = json["results"][0]["rows"].as_array().expect("rows");
    let closed = rows.iter().find(|row| row["scenario"] == "closed").expect("the row that was asked for");
    assert_eq!(
        (&closed["cells"][0]["client"], &closed["cells"][0]["result"]),
        (&"ours".into(), &"refused".into())
    );
    assert!(closed["cells"][0]["median_ns"].as_u64() >= Some(1_980_000_000), "{closed}");
}

/// Nothing of ours comes between a program and its streams.
#[test]
fn stdout_is_the_program_s_alone() {
    const TEST: &str = "stdout_is_the_program_s_alone";
    if !is_root(TEST) {
        return;
    }
    let mut command = command(&["lab", "--", "sh", "-c", "cat; exit 5"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    child.stdin.take().expect("piped").write_all(b"through\0and through").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(5), &b"through\0and through"[..]));
    let missing = finish(common::command(&["lab", "--", "no-such-program"]));
    assert_eq!(
        (missing.code, missing.stderr.as_str()),
        (Some(127), "unstall: no-such-program: command not found\n")
    );
}

/// `cargo xtask windows lab` says where the programs and prefixes are.
#[test]
fn a_windows_program_is_refused_as_on_windows() {
    const TEST: &str = "a_windows_program_is_refused_as_on_windows";
    let variable = |name| std::env::var(name).ok();
    let (Some(programs), Some(prefixes)) =
        (variable("UNSTALL_WINDOWS_PROGRAMS"), variable("UNSTALL_WINE_PREFIXES"))
    else {
        return left_out(TEST, "no Windows programs (cargo xtask windows lab)");
    };
    if !is_root(TEST) {
        return;
    }
    let program = format!("{programs}/unstall.exe");
    let prefix = format!("{prefixes}/win10");
    let connect = |options: &[&str]| {
        let words =
            [&["lab", "--wine"], options, &["--", &program, "connect", "--json", "127.0.0.1:9"]].concat();
        let run = unstall_with(&[("WINEPREFIX", &prefix), ("HOME", &prefixes)], &words);
        let report: serde_json::Value = serde_json::from_str(&run.stdout).expect(&run.stderr);
        (run.code, report["results"][0]["elapsed_ns"].as_u64().map(Duration::from_nanos))
    };
    let (code, took) = connect(&[]);
    assert_eq!(code, Some(1));
    assert!(took >= Some(Duration::from_millis(1980)), "{took:?}");
    // A fresh wineserver makes the first connect of a program slow, but not by half a second.
    let (code, took) = connect(&["--wine-shim", &programs]);
    assert_eq!(code, Some(1));
    assert!(took < Some(Duration::from_millis(400)), "{took:?}");
}
