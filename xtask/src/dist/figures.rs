//! How large the programs are, and how long they take to start: the table of docs/PACKAGES.md.
//!
//! Start-up is the time from the start of the process to its end, for calls that do nothing else. All programs are started in turn,
//! so that each meets the same machine.

use super::build::Built;
use super::existing;
use super::platforms::Platform;
use crate::marks;
use crate::windows::{self, Toolchain};
use crate::workspace::{Workspace, works};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const FILE: &str = "docs/PACKAGES.md";

/// How often each program is started; under Wine a start takes a hundred times as long.
const STARTS: usize = 500;
const STARTS_UNDER_WINE: usize = 30;

/// What is started of ours.
const CALLS: &[&[&str]] = &[&["--version"], &["-h"], &["explain", "listens-on-other-address"]];

/// A program with its arguments, and its times.
struct Subject {
    name: String,
    command: Command,
    times: Vec<Duration>,
}

impl Subject {
    fn new(name: String, program: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { name, command, times: Vec::new() }
    }

    fn start(&mut self) -> Result<(), String> {
        let start = Instant::now();
        let status = self.command.status().map_err(|error| format!("cannot start {}: {error}", self.name))?;
        self.times.push(start.elapsed());
        if status.success() { Ok(()) } else { Err(format!("{}: {status}", self.name)) }
    }

    fn at(&self, quantile: f64) -> f64 {
        let mut times = self.times.clone();
        times.sort();
        times[((times.len() - 1) as f64 * quantile).round() as usize].as_secs_f64() * 1e3
    }
}

pub(crate) fn write(workspace: &Workspace, built: &[(&Platform, Built)]) -> Result<(), String> {
    let file = workspace.root.join(FILE);
    let mut text = fs::read_to_string(&file).map_err(|error| format!("cannot read {FILE}: {error}"))?;
    for (mark, table) in [("sizes", sizes(built)?), ("start-up", start_up(workspace, built)?)] {
        let part = marks::part(&text, mark).map_err(|error| format!("{FILE}: {error}"))?;
        text.replace_range(part, &table);
    }
    fs::write(&file, text).map_err(|error| format!("cannot write {FILE}: {error}"))
}

fn sizes(built: &[(&Platform, Built)]) -> Result<String, String> {
    let mut table = "| file | size, MiB |\n|---|---|\n".to_owned();
    for (platform, built) in built {
        let mut files = vec![platform.program()];
        if platform.is_windows() {
            files.extend(["unstall_hook.dll", "unstall-load.exe"]);
        }
        files.extend(
            platform.c_libraries.iter().map(|(file, _)| *file).filter(|file| !file.ends_with(".dll.a")),
        );
        for file in files {
            let path = built.folder.join(file);
            let size =
                fs::metadata(existing(&path)?).map_err(|error| format!("{}: {error}", path.display()))?;
            let mebibytes = size.len() as f64 / f64::from(1 << 20);
            let _ = writeln!(table, "| `{file}`, {} | {mebibytes:.2} |", platform.triple);
        }
    }
    Ok(table)
}

fn start_up(workspace: &Workspace, built: &[(&Platform, Built)]) -> Result<String, String> {
    let mut table = "| program | median, ms | p99, ms | |\n|---|---|---|---|\n".to_owned();
    let mut natives = vec![Subject::new("`true`".to_owned(), Path::new("true"), &[])];
    if works("curl", &["--version"]) {
        natives.push(Subject::new("`curl --version`".to_owned(), Path::new("curl"), &["--version"]));
    }
    for (platform, built) in
        built.iter().filter(|(platform, _)| platform.triple.contains(std::env::consts::OS))
    {
        natives.extend(ours(platform, built));
    }
    measure(&mut natives, STARTS)?;
    add(&mut table, &natives, "measured");
    if let Some((platform, built)) = built.iter().find(|(platform, _)| platform.is_windows()) {
        let environment = windows::wine_variables(workspace, &Toolchain::ready()?)?;
        let wine = |mut subject: Subject| {
            subject.command.envs(environment.iter().cloned());
            subject
        };
        let nothing = Subject::new("`cmd /c exit`".to_owned(), Path::new("wine"), &["cmd", "/c", "exit"]);
        let mut guests = vec![wine(nothing)];
        guests.extend(ours(platform, built).into_iter().map(wine));
        measure(&mut guests, STARTS_UNDER_WINE)?;
        add(&mut table, &guests, "emulated: Wine");
    }
    Ok(table)
}

/// The calls of our program; one for Windows is started by Wine.
fn ours(platform: &Platform, built: &Built) -> Vec<Subject> {
    let path = built.folder.join(platform.program());
    let subject = |call: &&[&str]| {
        let name = format!("`unstall {}`, {}", call.join(" "), platform.triple);
        if platform.is_windows() {
            let path = path.to_string_lossy();
            let arguments: Vec<&str> = [&*path].into_iter().chain(call.iter().copied()).collect();
            return Subject::new(name, Path::new("wine"), &arguments);
        }
        Subject::new(name, &path, call)
    };
    CALLS.iter().map(subject).collect()
}

fn measure(subjects: &mut [Subject], starts: usize) -> Result<(), String> {
    // The first start reads the file from disk; in a Wine prefix that was just made it may even fail.
    for subject in subjects.iter_mut() {
        let _ = subject.start();
        subject.times.clear();
    }
    for _ in 0..starts {
        subjects.iter_mut().try_for_each(Subject::start)?;
    }
    Ok(())
}

fn add(table: &mut String, subjects: &[Subject], label: &str) {
    for subject in subjects {
        let (median, p99) = (subject.at(0.5), subject.at(0.99));
        let _ = writeln!(table, "| {} | {median:.2} | {p99:.2} | {label} |", subject.name);
    }
}
