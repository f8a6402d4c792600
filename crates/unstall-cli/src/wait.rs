//! `unstall wait`.

use crate::args::{self, When};
use crate::document::{WaitAddress, WaitReport, WaitRow, to_json};
use crate::emulated::Label;
use crate::exit::Exit;
use crate::output;
use crate::report_file::ReportFile;
use crate::usage;
use jiff::Timestamp;
use serde_json::json;
use std::ffi::OsString;
use std::fmt::Write;
use std::io;
use std::process::Command;
use unstall_core::text;
use unstall_doctor::Severity;
use unstall_doctor::report::{self, Family, Header, Lines, Record};
use unstall_wait::{Answer, End, Goal, Need, Proof, Report, Seen, TargetReport, Wait};

pub(crate) fn run(arguments: &args::Wait, line: &[String]) -> Exit {
    let header = Header::now(line.to_vec());
    let wait = options(arguments);
    let metrics = match arguments.prometheus.as_deref().map(ReportFile::create).transpose() {
        Ok(file) => file,
        Err(sentence) => return usage::refuse(&sentence, arguments.json.json, line),
    };
    let lines = arguments.json_lines.then(|| Lines::new(&header, Label::here().into()));
    if let Some(lines) = &lines {
        // A reader that goes away does not end the wait.
        output::result(&lines.start(Timestamp::now(), &header).to_line(), Exit::Ok);
    }
    let show = lines.is_none() && arguments.progress != When::Never && arguments.targets.len() > 1;
    let report = unstall_wait::run(&arguments.targets, &wait, |_, row| {
        if let Some(lines) = &lines {
            output::result(&reached(lines, row, &wait).to_line(), Exit::Ok);
        } else if show {
            output::note(&sentence(row, &wait));
        }
    });
    let exit = match report.end {
        End::Reached => Exit::Ok,
        End::TimedOut => Exit::TimedOut,
        End::CouldNot => Exit::CouldNot,
    };
    let written = metrics.map(|file| file.write(&report::metrics(&families(&report))));
    let exit = match written {
        Some(Err(sentence)) => {
            output::note(&sentence);
            Exit::CouldNot
        }
        _ => exit,
    };
    let exit = if let Some(lines) = &lines {
        output::result(&ended(lines, &report, &wait).to_line(), exit)
    } else if arguments.json.json {
        let rows = report.targets.iter().map(row).collect();
        let document = WaitReport::new(header, rows, end(report.end), report.elapsed);
        output::result(&to_json(&document), exit)
    } else {
        Label::here().note();
        output::result(&in_words(&report, &wait), exit)
    };
    match arguments.command.split_first() {
        Some((program, words)) if exit == Exit::Ok => start(program, words),
        _ => exit,
    }
}

fn options(arguments: &args::Wait) -> Wait {
    let proof = match &arguments.http {
        Some(path) => Proof::Http(path.clone()),
        None if arguments.first_byte => Proof::FirstByte,
        None => Proof::Held,
    };
    Wait {
        goal: if arguments.free { Goal::Free } else { Goal::Listening },
        need: if arguments.any { Need::Any } else { Need::All },
        timeout: arguments.timeout,
        stable: arguments.stable,
        proof,
        hold: arguments.hold,
        interval: arguments.interval,
        family: arguments.family.choice(),
    }
}

/// A target has come to what is waited for.
fn reached(lines: &Lines, of: &TargetReport, wait: &Wait) -> Record {
    let attributes = json!({ "unstall.target": of.target.to_string(), "unstall.result": row(of) });
    lines.record(Timestamp::now(), "unstall.wait.target", Severity::Info, sentence(of, wait), attributes)
}

/// The wait is over.
fn ended(lines: &Lines, report: &Report, wait: &Wait) -> Record {
    let severity = if report.end == End::Reached { Severity::Info } else { Severity::Warn };
    let missing = report.targets.iter().filter(|row| row.reached.is_none()).map(|row| sentence(row, wait));
    let body = missing.collect::<Vec<_>>().join("; ");
    let attributes = json!({
        "unstall.end": end(report.end),
        "unstall.elapsed_ns": report.elapsed.as_nanos() as u64,
        "unstall.results": report.targets.iter().map(row).collect::<Vec<_>>(),
    });
    let body = if body.is_empty() { "every target came to it".to_owned() } else { body };
    lines.record(Timestamp::now(), "unstall.wait.end", severity, body, attributes)
}

/// The results as metrics.
fn families(report: &Report) -> [Family; 5] {
    let mut came = Family::new("unstall_wait_reached", "Whether a target came to what was waited for.");
    let mut after =
        Family::new("unstall_wait_reached_seconds", "When it did, counted from the start of the wait.");
    let mut tries = Family::new("unstall_wait_tries", "How many tries were made.");
    for row in &report.targets {
        let target = row.target.to_string();
        let labels = [("target", target.as_str())];
        came = came.with(&labels, if row.reached.is_some() { 1.0 } else { 0.0 });
        tries = tries.with(&labels, f64::from(row.tries));
        if let Some(at) = row.reached {
            after = after.with(&labels, at.as_secs_f64());
        }
    }
    let over = Family::new("unstall_wait_end", "How the wait ended; always 1.")
        .with(&[("end", end(report.end))], 1.0);
    let whole = Family::new("unstall_wait_duration_seconds", "How long the whole wait took.");
    [came, after, tries, over, whole.with(&[], report.elapsed.as_secs_f64())]
}

/// A line for each target.
fn in_words(report: &Report, wait: &Wait) -> String {
    report.targets.iter().fold(String::new(), |mut text, row| {
        // Writing to memory does not fail.
        let _ = writeln!(text, "{}", sentence(row, wait));
        text
    })
}

fn sentence(row: &TargetReport, wait: &Wait) -> String {
    let target = &row.target;
    match (row.reached, row.answered()) {
        (Some(at), Some(address)) => {
            format!("{target}: {address} listens, after {}{}", text::duration(at), others(row, "; "))
        }
        (Some(at), None) => format!("{target}: free after {}{}", text::duration(at), others(row, ": ")),
        (None, _) => {
            let not = if wait.goal == Goal::Free { "not free" } else { "no server" };
            let tries = if row.tries == 1 { "1 try".to_owned() } else { format!("{} tries", row.tries) };
            format!("{target}: {not} after {tries}{}", others(row, "; last: "))
        }
    }
}

/// What the addresses that are no server did.
fn others(row: &TargetReport, before: &str) -> String {
    let Some(seen) = &row.last else { return String::new() };
    let mut parts: Vec<String> = seen
        .addresses
        .iter()
        .filter(|(address, _)| row.reached.is_none() || Some(*address) != row.answered())
        .map(|&(address, answer)| format!("{address} {}", words(answer)))
        .collect();
    parts.extend(seen.no_addresses.map(|outcome| format!("the name came to {outcome}")));
    if parts.is_empty() { String::new() } else { format!("{before}{}", parts.join(", ")) }
}

/// An answer in words.
fn words(answer: Answer) -> String {
    match answer {
        Answer::Up => "listens".to_owned(),
        Answer::Failed(outcome) => outcome.to_string(),
        Answer::Closed => "accepted and closed at once".to_owned(),
        Answer::Reset => "accepted and reset at once".to_owned(),
        Answer::Mute => "accepted and sent nothing".to_owned(),
        Answer::Status(status) => format!("answered {status}"),
        Answer::NotHttp => "answered, but not HTTP".to_owned(),
    }
}

fn row(row: &TargetReport) -> WaitRow {
    let addresses = row.last.iter().flat_map(|seen: &Seen| &seen.addresses);
    WaitRow {
        target: row.target.to_string(),
        reached_ns: row.reached.map(|at| at.as_nanos() as u64),
        answered: row.answered().map(|address| address.to_string()),
        tries: row.tries,
        addresses: addresses.map(|&(address, answer)| address_row(address.to_string(), answer)).collect(),
        no_addresses: row.last.as_ref().and_then(|seen| seen.no_addresses).map(unstall::Outcome::id),
    }
}

fn address_row(address: String, answer: Answer) -> WaitAddress {
    let (answer, http_status) = match answer {
        Answer::Up => ("up", None),
        Answer::Failed(outcome) => (outcome.id(), None),
        Answer::Closed => ("closed_at_once", None),
        Answer::Reset => ("reset_at_once", None),
        Answer::Mute => ("no_byte", None),
        Answer::Status(status) => ("http_status", Some(status)),
        Answer::NotHttp => ("not_http", None),
    };
    WaitAddress { address, answer, http_status }
}

fn end(end: End) -> &'static str {
    match end {
        End::Reached => "reached",
        End::TimedOut => "timed_out",
        End::CouldNot => "could_not",
    }
}

/// Runs the command in place of this program, or, where a program cannot be replaced, ends as it does.
fn start(program: &OsString, words: &[OsString]) -> Exit {
    let mut command = Command::new(program);
    command.args(words);
    let error = take_over(&mut command);
    output::note(&format!("cannot run {}: {error}", program.to_string_lossy()));
    Exit::Program(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
}

#[cfg(unix)]
fn take_over(command: &mut Command) -> io::Error {
    use std::os::unix::process::CommandExt;
    command.exec()
}

#[cfg(not(unix))]
fn take_over(command: &mut Command) -> io::Error {
    match command.status() {
        // Windows knows no other end of a program than a code.
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
