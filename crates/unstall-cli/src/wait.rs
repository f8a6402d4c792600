//! `unstall wait`.

use crate::args::{self, When};
use crate::document::{WaitAddress, WaitReport, WaitRow, to_json};
use crate::emulated::Label;
use crate::exit::Exit;
use crate::output;
use std::ffi::OsString;
use std::fmt::Write;
use std::io;
use std::process::Command;
use unstall_core::text;
use unstall_doctor::report::Header;
use unstall_wait::{Answer, End, Goal, Need, Proof, Report, Seen, TargetReport, Wait};

pub(crate) fn run(arguments: &args::Wait, line: &[String]) -> Exit {
    let header = Header::now(line.to_vec());
    let wait = options(arguments);
    let show = arguments.progress != When::Never && arguments.targets.len() > 1;
    let report = unstall_wait::run(&arguments.targets, &wait, |_, row| {
        if show {
            output::note(&sentence(row, &wait));
        }
    });
    let exit = match report.end {
        End::Reached => Exit::Ok,
        End::TimedOut => Exit::TimedOut,
        End::CouldNot => Exit::CouldNot,
    };
    let exit = if arguments.json.json {
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
