//! `unstall clients` as a person uses it.
#![cfg(unix)]

mod common;

use common::{Run, command, document, finish, unstall};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

/// The program itself as a client, by hand.
fn own() -> String {
    format!("{} connect --timeout {{limit}}s {{target}}", env!("CARGO_BIN_EXE_unstall"))
}

fn clients(arguments: &[&str]) -> Run {
    unstall(&[&["clients", "--progress", "never"], arguments].concat())
}

#[test]
fn a_client_of_ones_own_is_put_before_every_situation() {
    let run = clients(&["--json", "--runs", "1", "--client", &own()]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
    let json = document(&run, "clients");
    let survey = &json["results"][0];
    let cells = survey["clients"][0]["cells"].as_array().expect("cells");
    let ids: Vec<&str> = survey["situations"]
        .as_array()
        .expect("situations")
        .iter()
        .filter_map(|put| put["id"].as_str())
        .collect();
    assert_eq!(
        ids,
        ["answers", "closed", "closed-localhost", "v4-only", "v6-only", "silent-first", "own-limit"]
    );
    let results: Vec<&str> = cells.iter().map(|cell| cell["result"].as_str().unwrap_or("null")).collect();
    assert_eq!(results[..4], ["answered", "refused", "refused", "answered"]);
    assert_eq!(results[6], "refused");
    assert!(json["findings"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn text_says_what_it_is_and_where_windows_is_to_be_seen() {
    let run = clients(&["--runs", "1", "--client", &own()]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    for words in ["Every figure is measured on this machine.", "closed", "limit 1 s", "Nothing stalls here."]
    {
        assert!(run.stdout.contains(words), "{words} in\n{}", run.stdout);
    }
    assert_eq!(run.stdout.contains("unstall lab -- unstall clients"), cfg!(target_os = "linux"));
    assert!(run.stdout.lines().filter(|line| !line.contains('/')).all(|line| line.chars().count() <= 80));
}

#[test]
fn what_is_no_client_is_bad_usage_and_nothing_is_run() {
    for (client, words) in
        [("", "there is no command"), ("curl 'x {url}", "a quote"), ("curl http://x/", "it has no {url}")]
    {
        let run = clients(&["--client", client]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{client}");
        assert!(run.stderr.contains(words), "{}", run.stderr);
        let run = clients(&["--json", "--client", client]);
        assert_eq!(run.code, Some(2));
        assert!(document(&run, "error")["error"].as_str().is_some_and(|error| error.contains(words)));
    }
}

#[test]
fn a_program_that_is_not_there_is_told_and_nothing_measured_is_exit_code_3() {
    let run = clients(&["--json", "--client", "/nowhere/x {url}"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let json = document(&run, "clients");
    let cell = &json["results"][0]["clients"][0]["cells"][0];
    assert!(cell["result"].is_null() && cell["median_ns"].is_null(), "{cell}");
    assert!(cell["words"].as_str().is_some_and(|words| words.contains("No such file")), "{cell}");
}

#[test]
fn a_program_that_reaches_a_closed_port_is_not_believed() {
    let run = clients(&["--json", "--client", "true {url}"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let json = document(&run, "clients");
    let row = &json["results"][0]["clients"][0];
    assert!(
        row["why_not"].as_str().is_some_and(|why| why.contains("as if it had reached a closed port")),
        "{row}"
    );
    assert!(row["cells"].as_array().expect("cells").iter().all(|cell| cell["median_ns"].is_null()), "{row}");
    assert!(clients(&["--client", "true {url}"]).stdout.contains("as if it had reached a closed port"));
}

/// The number that the client has written to a file, when it has.
fn number_in(file: &Path) -> rustix::process::Pid {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        if let Some(pid) = text.strip_suffix('\n').and_then(|text| text.parse().ok()) {
            return rustix::process::Pid::from_raw(pid).expect("a number");
        }
        assert!(Instant::now() < deadline, "the client did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_gone(pid: rustix::process::Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    rustix::process::test_kill_process(pid).is_err() || stat.is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).expect("a folder within");
    let number = folder.path().join("number");
    let client = format!("sh -c 'sleep 86399 & echo $! > {}; wait' {{url}}", number.display());
    let mut command = command(&["clients", "--timeout", "1h", "--client", &client]);
    command.env("TMPDIR", &temporary).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    let sleeper = number_in(&number);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)
        .expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_gone(sleeper) {
        assert!(Instant::now() < deadline, "what the client had started still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(fs::read_dir(&temporary).expect("the folder").count(), 0, "a folder was left");
}

/// A folder with these programs alone, for `PATH`; those that are not here are left out.
fn only(programs: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for program in programs {
        // Not the first in PATH, which may be a script that needs others.
        let mut found = ["/usr/bin", "/usr/local/bin"].map(|bin| Path::new(bin).join(program)).into_iter();
        if let Some(found) = found.find(|path| path.exists()) {
            symlink(found, folder.path().join(program)).expect("a link");
        }
    }
    folder
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_of_ones_own_in_the_lab_is_refused_late_too() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("LEFT OUT: a_client_of_ones_own_in_the_lab_is_refused_late_too: needs root");
        return;
    }
    let this = env!("CARGO_BIN_EXE_unstall");
    let client = "curl -q -sSv -m {limit} {url}";
    let run = unstall(&["lab", "--", this, "clients", "--runs", "1", "--timeout", "30s", "--client", client]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    for words in ["Every figure is emulated.", "refused 20", "timeout 10", "client-hides-refusal"] {
        assert!(run.stdout.contains(words), "{words} in\n{}", run.stdout);
    }
}

/// The published behaviour of curl, Python and Node (docs/PLATFORM.md), each as its timers say. Bounds below are the timers; above, a
/// busy machine may add what it likes, except where something is at once.
#[cfg(target_os = "linux")]
#[test]
fn in_the_lab_programs_behave_as_published_for_windows() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("LEFT OUT: in_the_lab_programs_behave_as_published_for_windows: needs root");
        return;
    }
    let folder = only(&["curl", "python3", "node"]);
    let path = format!("PATH={}", folder.path().display());
    let this = env!("CARGO_BIN_EXE_unstall");
    let words = [
        "lab",
        "--",
        "/usr/bin/env",
        &path,
        this,
        "clients",
        "--json",
        "--progress",
        "never",
        "--timeout",
        "30s",
    ];
    let run = finish(command(&words));
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let json = document(&run, "clients");
    assert_eq!(json["label"], "emulated");
    let survey = &json["results"][0];
    let figure = |name: &str, situation: usize| {
        let client = survey["clients"].as_array()?.iter().find(|client| client["client"] == name)?;
        let cell = &client["cells"][situation];
        let least = cell["samples_ns"].as_array()?.iter().filter_map(serde_json::Value::as_u64).min()?;
        Some((cell["result"].as_str()?.to_owned(), least / 1_000_000))
    };
    let (closed, closed_localhost, v4_only, v6_only, own_limit) = (1, 2, 3, 4, 6);
    let is = |name: &str, situation: usize, result: &str, least: u64| {
        let Some((got, ms)) = figure(name, situation) else { return };
        assert_eq!(got, result, "{name} in {situation}");
        assert!(ms >= least, "{name} in {situation}: {ms} ms");
    };
    assert!(figure("curl", closed).is_some() && figure("Python socket", closed).is_some(), "{}", run.stdout);
    is("curl", closed, "refused", 2000);
    is("curl", closed_localhost, "refused", 2200);
    is("curl", own_limit, "timed_out", 1000);
    let late = [v4_only, v6_only].map(|place| figure("curl", place).expect("a figure").1).into_iter().max();
    assert!(late >= Some(200), "curl starts its second family after 200 ms: {late:?}");
    is("Python socket", closed, "refused", 2000);
    is("Python socket", closed_localhost, "refused", 4000);
    is("Python socket", v4_only, "answered", 2000);
    is("Python socket", own_limit, "timed_out", 1000);
    for (situation, result) in [(closed, "refused"), (closed_localhost, "refused"), (v4_only, "answered")] {
        is("Node net", situation, result, 0);
        let Some((_, base)) = figure("Node net", 0) else { continue };
        let (_, ms) = figure("Node net", situation).expect("a figure");
        assert!(ms < base + 1500, "Node is refused at once: {ms} ms, {base} ms without a refusal");
    }
    let ids: Vec<&str> =
        json["findings"].as_array().into_iter().flatten().filter_map(|found| found["id"].as_str()).collect();
    for id in ["client-refused-late", "client-hides-refusal", "client-localhost-late"] {
        assert!(ids.contains(&id), "{id} in {ids:?}");
    }
}
