//! `unstall connect` against servers of our own: exit codes, text, JSON.

mod common;

use common::{Run, document, unstall, unstall_with};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use unstall::testing;

/// The one result of a run with `--json`.
fn result(run: &Run) -> Value {
    let document = document(run, "connect");
    assert_eq!(document["results"].as_array().map(Vec::len), Some(1));
    document["results"][0].clone()
}

/// Text with times, ports and bars masked, and each run of blanks as one: what differs from run to run.
fn masked(text: &str, port: u16) -> String {
    let text = text.replace(&format!(":{port}"), ":PORT");
    let line = |line: &str| {
        let words: Vec<&str> =
            line.split_whitespace().filter(|word| !word.contains(['\u{2588}', '\u{2502}'])).collect();
        let is_time = |at: usize| {
            words[at].parse::<f64>().is_ok() && words.get(at + 1).is_some_and(|unit| unit.starts_with("ms"))
        };
        let masked = words.iter().enumerate().map(|(at, word)| if is_time(at) { "TIME" } else { word });
        masked.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A document with what differs from run to run and machine to machine masked.
fn masked_document(value: &mut Value, port: u16) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::Number(_) if name.ends_with("_ns") => *value = json!("NS"),
                    Value::String(_)
                        if ["started_at", "version", "kernel", "os", "arch"].contains(&name.as_str()) =>
                    {
                        *value = json!(name.to_uppercase());
                    }
                    _ => masked_document(value, port),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| masked_document(value, port)),
        Value::String(text) => *text = masked(text, port),
        _ => {}
    }
}

#[test]
#[cfg(target_os = "linux")]
fn text_and_json_as_they_were() {
    let server = testing::v4_only().expect("a server");
    let refused = testing::refused().expect("a port");
    for (name, server) in [("connected", &server), ("refused", &refused)] {
        let target = server.addr().to_string();
        let text = unstall(&["connect", &target]).stdout;
        insta::assert_snapshot!(format!("{name}_text"), masked(&text, server.port()));
        let mut json = document(&unstall(&["connect", "--json", &target]), "connect");
        masked_document(&mut json, server.port());
        let json = serde_json::to_string_pretty(&json).expect("it was JSON");
        insta::assert_snapshot!(format!("{name}_json"), json);
    }
}

/// The outcome of each attempt.
fn outcomes(result: &Value) -> Vec<&str> {
    let attempts = result["attempts"].as_array().expect("attempts");
    attempts.iter().map(|attempt| attempt["outcome"].as_str().expect("an outcome")).collect()
}

#[test]
fn connected_is_0() {
    let server = testing::v4_only().expect("a server");
    let run = unstall(&["connect", "--json", &server.target().to_string()]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let result = result(&run);
    assert_eq!(result["target"], json!(server.target().to_string()));
    assert_eq!((&result["outcome"], &result["error"]), (&json!("connected"), &Value::Null));
    assert_eq!(outcomes(&result).last(), Some(&"connected"));
    assert!(result["resolve_ns"].is_u64(), "a name was resolved");
    let end = result["elapsed_ns"].as_u64();
    for attempt in result["attempts"].as_array().expect("attempts") {
        let (start, stop) = (attempt["start_ns"].as_u64(), attempt["end_ns"].as_u64());
        assert!(start.is_some() && start <= stop && stop <= end, "{attempt}");
    }
}

#[test]
fn an_address_has_no_name_to_resolve() {
    let server = testing::v4_only().expect("a server");
    let result = result(&unstall(&["connect", "--json", &server.addr().to_string()]));
    assert_eq!(result["resolve_ns"], Value::Null);
    assert_eq!(outcomes(&result), ["connected"]);
    assert_eq!(result["attempts"][0]["address"], json!(server.addr().to_string()));
    assert_eq!(result["attempts"][0]["os_error"], Value::Null);
}

#[test]
fn refused_is_1_and_says_so() {
    let server = testing::refused().expect("a port");
    let target = server.addr().to_string();
    let run = unstall(&["connect", "--json", &target]);
    assert_eq!(run.code, Some(1));
    let result = result(&run);
    assert_eq!((&result["outcome"], outcomes(&result)), (&json!("refused"), vec!["refused"]));
    assert_eq!(result["attempts"][0]["operation"], json!("connect"));
    assert!(result["error"].as_str().is_some_and(|sentence| sentence.contains(&target)), "{result}");

    let run = unstall(&["connect", &target]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    assert!(run.stdout.contains("refused"), "{}", run.stdout);
}

#[test]
#[cfg(unix)]
fn the_time_limit_is_124_and_is_kept() {
    let server = testing::silent().expect("a silent port");
    let start = Instant::now();
    let run = unstall(&["connect", "--json", "--timeout", "300ms", &server.addr().to_string()]);
    let took = start.elapsed();
    assert_eq!(run.code, Some(124));
    assert_eq!(result(&run)["outcome"], json!("timed_out"));
    // The limit, and what a busy machine takes to start a program.
    assert!(took >= Duration::from_millis(300) && took < Duration::from_millis(300 + 5000), "{took:?}");

    let by_variable = unstall_with(&[("UNSTALL_TIMEOUT", "50ms")], &["connect", &server.addr().to_string()]);
    assert_eq!(by_variable.code, Some(124), "{}", by_variable.stdout);
}

#[test]
fn a_family_alone() {
    let server = testing::v4_only().expect("a server");
    let target = server.target().to_string();
    for arguments in [["connect", "--json", "-4", &target], ["connect", "--json", "--family=v4", &target]] {
        let run = unstall(&arguments);
        assert_eq!(run.code, Some(0));
        assert_eq!(outcomes(&result(&run)), ["connected"]);
    }
    for settings in [&[][..], &[("UNSTALL_FAMILY", "v4")]] {
        let run = unstall_with(settings, &["connect", "--json", "-6", &target]);
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        assert!(!outcomes(&result(&run)).contains(&"connected"));
    }
}

#[test]
fn a_name_that_does_not_exist_is_1() {
    // RFC 6761: nothing below `invalid` exists. Without a resolver the answer is the same, or that nobody answered.
    let run = unstall(&["connect", "--json", "--timeout=20s", "nothing.invalid:80"]);
    let result = result(&run);
    assert!(matches!(run.code, Some(1 | 124)), "{:?} {}", run.code, run.stdout);
    assert!(["no_name", "timed_out"].contains(&result["outcome"].as_str().expect("an outcome")), "{result}");
    assert_eq!(result["attempts"], json!([]));
}

/// The events of a qlog file, by name.
fn qlog_names(path: &std::path::Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("the file is there");
    let log: Value = serde_json::from_str(&text).expect("one JSON document");
    let events = log["traces"][0]["events"].as_array().expect("events").clone();
    events.iter().map(|event| event["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn qlog_is_written_beside_the_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("connect.qlog");
    let file = path.to_str().expect("a path of text");
    let server = testing::v4_only().expect("a server");
    let refused = testing::refused().expect("a port");
    for (server, end, code) in
        [(&server, "hev3:connection_selected", 0), (&refused, "hev3:connection_aborted", 1)]
    {
        let run = unstall(&["connect", "--json", "--qlog", file, &server.target().to_string()]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(code), ""));
        document(&run, "connect");
        let names = qlog_names(&path);
        assert!(names.contains(&"hev3:attempt_started".to_owned()), "{names:?}");
        assert!(names.contains(&end.to_owned()), "{names:?}");
    }
}

#[test]
fn a_qlog_that_cannot_be_written_is_3_and_nothing_is_tried() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("no such folder").join("connect.qlog");
    let file = path.to_str().expect("a path of text");
    let server = testing::v4_only().expect("a server");
    let run = unstall(&["connect", "--json", "--qlog", file, &server.target().to_string()]);
    assert_eq!(run.code, Some(3));
    assert!(run.stderr.contains("cannot write the qlog to"), "{}", run.stderr);
    let report = document(&run, "error");
    assert_eq!(report["results"], json!([]));
}

#[test]
fn many_connects_have_statistics_of_each_outcome() {
    let server = testing::v4_only().expect("a server");
    let target = server.addr().to_string();
    let run = unstall(&["connect", "-n", "20", "--json", &target]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let document = document(&run, "connect");
    assert_eq!(document["results"].as_array().map(Vec::len), Some(20));
    let statistics = document["statistics"].as_array().expect("statistics");
    assert_eq!(statistics.len(), 1);
    assert_eq!((&statistics[0]["outcome"], &statistics[0]["n"]), (&json!("connected"), &json!(20)));
    let figure = |name: &str| statistics[0][name].as_u64().expect("a figure");
    assert!(figure("min_ns") <= figure("median_ns") && figure("median_ns") <= figure("max_ns"));

    let text = unstall(&["connect", "--count", "3", &target]);
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    assert!(text.stdout.starts_with(&format!("{target}: 3 connects in ")), "{}", text.stdout);
    assert!(text.stdout.contains("\nthe slowest, number "), "{}", text.stdout);
}

#[test]
fn a_refusal_among_many_is_1_and_has_a_row_of_its_own() {
    let refused = testing::refused().expect("a port");
    let run = unstall(&["connect", "-n", "5", &refused.addr().to_string()]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stdout.contains(": 5 refused\n"), "{}", run.stdout);
}

#[test]
fn connects_keep_to_their_rhythm() {
    let server = testing::v4_only().expect("a server");
    let start = Instant::now();
    let run = unstall(&["connect", "-n", "4", "--every", "50ms", &server.addr().to_string()]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    // Three pauses between four starts.
    assert!(start.elapsed() >= Duration::from_millis(150), "{:?}", start.elapsed());
}

#[test]
fn how_many_is_a_number_from_1() {
    for count in ["0", "-1", "100001", "many"] {
        let run = unstall(&["connect", &format!("--count={count}"), "127.0.0.1:9"]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{count} {}", run.stderr);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_ends_it_with_what_there_is() {
    use std::io::Read;
    use std::process::Stdio;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = listener.local_addr().expect("its address").to_string();
    // Far longer than anything here: only the signal ends it.
    let mut child = common::command(&["connect", "--every", "1h", &target])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // Its handler is there before its first connect.
    listener.accept().expect("a connection");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let mut text = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut text).expect("text");
    assert_eq!(child.wait().expect("an end").code(), Some(130), "{text}");
    assert!(text.starts_with(&format!("{target}: 1 connect in ")), "{text}");
}

#[test]
fn each_bar_has_the_colour_of_its_outcome_and_only_where_colour_is_wanted() {
    let (server, refused) = (testing::v4_only().expect("a server"), testing::refused().expect("a port"));
    let bar = |target: String, settings: &[&str]| {
        let run = unstall(&[&["connect", &target], settings].concat());
        run.stdout.lines().last().expect("a line").to_owned()
    };
    let colour = ["--color", "always"];
    assert!(bar(server.addr().to_string(), &colour).contains("\u{1b}[1m\u{1b}[32m\u{2502}"), "green");
    assert!(bar(refused.addr().to_string(), &colour).contains("\u{1b}[1m\u{1b}[31m\u{2502}"), "red");
    assert!(!bar(server.addr().to_string(), &[]).contains('\u{1b}'));
}
