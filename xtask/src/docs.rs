//! `cargo xtask docs`: the documents that are written by the program itself.
//!
//! Findings, schema and man pages come from the program's own tables and are compared letter by letter. Transcripts in
//! README.md come from real runs, so `--check` compares them with every figure masked.

use crate::header;
use crate::marks;
use crate::run::Run;
use crate::transcript;
use crate::workspace::{Workspace, cargo};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write nothing; fail if a document differs from what would be written.
    #[arg(long)]
    check: bool,
    /// Only the C header, for which nothing has to be built.
    #[arg(long)]
    header: bool,
    /// Also write the table of docs/CLIENTS.md: how the programs of this machine behave under Windows' refusals (root; some minutes).
    #[arg(long, conflicts_with_all = ["check", "header"])]
    clients: bool,
}

/// What the program prints there, up to what it found.
const CLIENTS: &[&str] = &["lab", "--profile", "windows-11", "--", "clients", "--progress", "never"];

/// A document, and the arguments of `unstall` that print it.
const DOCUMENTS: &[(&str, &[&str])] = &[
    ("docs/FINDINGS.md", &["explain", "--markdown"]),
    ("schema/report.schema.json", &["schema", "doctor"]),
    ("schema/lines.schema.json", &["schema", "lines"]),
    ("schema/compare.schema.json", &["schema", "compare"]),
    ("schema/connect.schema.json", &["schema", "connect"]),
    ("schema/wait.schema.json", &["schema", "wait"]),
    ("schema/clients.schema.json", &["schema", "clients"]),
    ("schema/run.schema.json", &["schema", "run"]),
    ("schema/checks.schema.json", &["schema", "checks"]),
    ("schema/lab-list.schema.json", &["schema", "lab-list"]),
    ("schema/lab-matrix.schema.json", &["schema", "lab-matrix"]),
    ("schema/lab-reference.schema.json", &["schema", "lab-reference"]),
    ("schema/lab-burst.schema.json", &["schema", "lab-burst"]),
    ("schema/lab-backlog.schema.json", &["schema", "lab-backlog"]),
    ("schema/error.schema.json", &["schema", "error"]),
];

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode, String> {
    let mut run = Run::new(&workspace.target)?;
    run.step(header::FILE, || {
        settle(&workspace.root.join(header::FILE), &header::text(workspace)?, options.check)
    });
    if options.header {
        return Ok(run.finish());
    }
    run.command("build unstall", &mut cargo(["build", "--release", "--package", "unstall-cli"]));
    let program = program(workspace);
    for (document, arguments) in DOCUMENTS {
        run.step(document, || {
            settle(&workspace.root.join(document), &printed(&program, arguments)?, options.check)
        });
    }
    if options.clients {
        run.step("docs/CLIENTS.md", || clients(workspace, &program));
    }
    run.step("docs/man", || man_pages(workspace, &program, options.check));
    let with_lab = transcript::has_lab(&program);
    if !with_lab {
        run.leave_out(
            "README.md: transcript lab",
            "the lab's exact engine does not run curl here (root and curl are needed)",
        );
    }
    match transcript::why_not() {
        None => run.step("README.md: transcripts", || transcripts(workspace, with_lab, options.check)),
        Some(why) => run.leave_out("README.md: transcripts", &why),
    }
    Ok(run.finish())
}

/// Writes what the programs of this machine do. What it finds (exit code 1) is no failure.
fn clients(workspace: &Workspace, program: &Path) -> Result<(), String> {
    let (before, after) = CLIENTS.split_at(4);
    let output = Command::new(program).args(before).arg(program).args(after).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if output.status.code().is_none_or(|code| code > 1) {
        return Err(format!("{CLIENTS:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let table = printed.split("\nwarn ").next().unwrap_or_default().trim_end();
    let file = workspace.root.join("docs/CLIENTS.md");
    let mut text =
        fs::read_to_string(&file).map_err(|error| format!("cannot read docs/CLIENTS.md: {error}"))?;
    let part = marks::part(&text, "clients").map_err(|error| format!("docs/CLIENTS.md: {error}"))?;
    text.replace_range(part, &format!("```text\n{table}\n```\n"));
    fs::write(&file, text).map_err(|error| format!("cannot write docs/CLIENTS.md: {error}"))
}

/// The release build of the program.
pub(crate) fn program(workspace: &Workspace) -> PathBuf {
    workspace.target.join("release").join(format!("unstall{}", std::env::consts::EXE_SUFFIX))
}

fn printed(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("unstall {}: {}: {complaint}", arguments.join(" "), output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("unstall {}: {error}", arguments.join(" ")))
}

/// Writes the document, or compares it.
fn settle(file: &Path, text: &str, check: bool) -> Result<(), String> {
    let present = fs::read_to_string(file).unwrap_or_default();
    if present == text {
        return Ok(());
    }
    if check {
        return Err(format!("{} is out of date: run cargo xtask docs", file.display()));
    }
    fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

fn man_pages(workspace: &Workspace, program: &Path, check: bool) -> Result<(), String> {
    let fresh = workspace.target.join("man");
    let committed = workspace.root.join("docs/man");
    for folder in [&fresh, &committed] {
        fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    }
    printed(program, &["man", "--out", &fresh.to_string_lossy()])?;
    let pages = names(&fresh)?;
    for page in &pages {
        let text =
            fs::read_to_string(fresh.join(page)).map_err(|error| format!("cannot read {page}: {error}"))?;
        settle(&committed.join(page), &text, check)?;
    }
    match names(&committed)?.iter().find(|page| !pages.contains(page)) {
        Some(page) => Err(format!("docs/man/{page} belongs to no command any more: remove it")),
        None => Ok(()),
    }
}

fn names(folder: &Path) -> Result<Vec<String>, String> {
    let entries =
        fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// How often a transcript that differs is made again.
const TRIES: usize = 3;

/// Replaces (or compares) what stands between the marks `<!-- transcript NAME -->` and `<!-- end -->`.
fn transcripts(workspace: &Workspace, with_lab: bool, check: bool) -> Result<(), String> {
    let file = workspace.root.join("README.md");
    let mut text = fs::read_to_string(&file).map_err(|error| format!("cannot read README.md: {error}"))?;
    for name in transcript::names(with_lab) {
        let part = marks::part(&text, &format!("transcript {name}"));
        let part = part.map_err(|error| format!("README.md: {error}"))?;
        let present = words(&text[part.clone()]);
        let run = || Ok::<_, String>(format!("```console\n{}```\n", transcript::run(workspace, name)?));
        let mut fresh = run()?;
        // A machine that is busy at the wrong moment makes something slow, and the doctor says so.
        for _ in 1..TRIES {
            if words(&fresh) != present {
                fresh = run()?;
            }
        }
        if check && words(&fresh) != present {
            return Err(format!(
                "README.md: the transcript {name} is out of date; the program now prints\n{fresh}"
            ));
        }
        text.replace_range(part, &fresh);
    }
    if check { Ok(()) } else { settle(&file, &text, false) }
}

/// The words of a transcript without what differs from run to run and machine to machine: figures, bars, where lines
/// break, and the line that names the machine.
fn words(transcript: &str) -> Vec<String> {
    let lines = transcript.lines().filter(|line| !line.starts_with("unstall "));
    let words = lines.flat_map(str::split_whitespace).filter(|word| !word.contains(['█', '│']));
    words.map(|word| word.replace(|c: char| c.is_ascii_digit() || c == '.', "")).collect()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_transcript_may_differ_in_its_figures_alone() {
        let now = "unstall 1 on linux 7\nrefused after 0.21 ms  │██   │\nthen connected";
        assert_eq!(words(now), words("unstall 0.1 on linux 6-x\nrefused after 12 ms │█│ then\n   connected"));
        assert_ne!(
            words(now),
            words("unstall 1 on linux 7\nconnected after 0.21 ms  │██   │\nthen connected")
        );
    }
}
