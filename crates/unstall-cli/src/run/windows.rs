//! Starts the program suspended, gives it the DLL, lets it go, waits, and passes its exit code on.

use super::{Connect, RunReport, RunResult, Summary};
use crate::args::Run;
use crate::document::to_json;
use crate::exit::Exit;
use crate::output;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::windows::io::AsHandle;
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use unstall_core::hook::fixes::Fixes;
use unstall_core::hook::settings::Settings;
use unstall_doctor::report::Header;
use unstall_sys::run as sys;

/// CREATE_SUSPENDED of the Windows API.
const SUSPENDED: u32 = 0x0000_0004;

/// Why the program did not run: our own exit code, and one sentence.
struct Failure(u8, String);

pub(crate) fn run(options: &Run, line: &[String]) -> Exit {
    match program(options, line) {
        // A code of Windows has 32 bits.
        Ok(code) => std::process::exit(code),
        Err(Failure(code, sentence)) => {
            output::note(&sentence);
            Exit::Program(code)
        }
    }
}

fn program(options: &Run, line: &[String]) -> Result<i32, Failure> {
    let name = &options.program[0];
    let shown = name.to_string_lossy();
    let path = find(name).ok_or_else(|| {
        Failure(127, format!("there is no program {shown}: neither such a file nor one in the PATH"))
    })?;
    // Before the program, so that it does not run in vain.
    let report = options.report.as_deref().map(|path| Ok((path, create(path)?))).transpose()?;
    let records = (report.is_some() || options.verbose).then(Records::new).transpose()?;
    let settings = settings(options, records.as_ref())?;
    sys::ignore_interrupts();
    let mut child = start(&path, &options.program[1..], &shown)?;
    if let Err(failure) = go(&child, &settings, &shown) {
        // It has not run yet, and would run without what was asked for.
        let _ = child.kill();
        return Err(failure);
    }
    let status = child.wait().map_err(|error| Failure(125, format!("cannot wait for {shown}: {error}")))?;
    let code = status.code().unwrap_or(1);
    let connects = records.as_ref().map(Records::read).unwrap_or_default();
    let summary = Summary::of(&connects);
    if options.verbose {
        output::note(&summary.to_string());
    }
    if let Some((path, file)) = report {
        let result = RunResult {
            command: options.program.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            exit_code: code,
            fixes: settings.fixes.iter().map(|fix| fix.id().to_owned()).collect(),
            summary,
            connects,
        };
        write(path, file, line, result);
    }
    Ok(code)
}

fn settings(options: &Run, records: Option<&Records>) -> Result<Settings, Failure> {
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Failure(125, format!("the path {} is not Unicode, which the DLL needs", path.display()))
        })
    };
    let this = env::current_exe()
        .map_err(|error| Failure(125, format!("cannot find this program's own file: {error}")))?;
    let folder = this.parent().unwrap_or(&this);
    let before = options.test_load.iter().map(|path| {
        let path = std::path::absolute(path)
            .map_err(|error| Failure(125, format!("cannot find {}: {error}", path.display())))?;
        text(&path)
    });
    let wanted: Fixes = options.fix.iter().copied().collect();
    Ok(Settings {
        fixes: options.no_fix.iter().fold(wanted, |fixes, fix| fixes.without(*fix)),
        folder: text(folder)?,
        records: records.map(|records| text(&records.0)).transpose()?,
        before: before.collect::<Result<_, _>>()?,
        so_error_stall_ms: options.test_so_error_stall,
    })
}

fn start(path: &Path, arguments: &[OsString], shown: &str) -> Result<Child, Failure> {
    Command::new(path).args(arguments).creation_flags(SUSPENDED).spawn().map_err(|error| {
        let code = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
        Failure(code, format!("cannot start {shown}: {error}"))
    })
}

fn go(child: &Child, settings: &Settings, shown: &str) -> Result<(), Failure> {
    sys::prepare(child.as_handle(), child.id(), settings).map_err(|error| {
        Failure(125, format!("{shown} was not started, for the fixes cannot be put into it: {error}"))
    })?;
    sys::resume(child.as_handle()).map_err(|error| Failure(125, format!("cannot begin {shown}: {error}")))
}

/// The file of a program: as cmd.exe finds it, but not in the current folder unless that was typed.
fn find(name: &OsStr) -> Option<PathBuf> {
    let typed = Path::new(name);
    if typed.components().count() > 1 || typed.is_absolute() {
        return with_extension(typed);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).find_map(|folder| with_extension(&folder.join(typed)))
}

fn with_extension(path: &Path) -> Option<PathBuf> {
    if path.extension().is_some() && path.is_file() {
        return Some(path.to_owned());
    }
    let extensions = env::var("PATHEXT").unwrap_or_else(|_| ".COM;.EXE;.BAT;.CMD".to_owned());
    let candidates = extensions.split(';').filter(|extension| !extension.is_empty()).map(|extension| {
        let mut candidate = path.as_os_str().to_owned();
        candidate.push(extension);
        PathBuf::from(candidate)
    });
    candidates
        .into_iter()
        .find(|candidate| candidate.is_file())
        .or_else(|| path.is_file().then(|| path.to_owned()))
}

fn create(path: &Path) -> Result<File, Failure> {
    File::create(path)
        .map_err(|error| Failure(125, format!("cannot write the report to {}: {error}", path.display())))
}

fn write(path: &Path, mut file: File, line: &[String], result: RunResult) {
    let report = RunReport { header: Header::now(line.to_vec()), results: [result], findings: [] };
    if let Err(error) = file.write_all(to_json(&report).as_bytes()) {
        // The program has run; its exit code counts.
        output::note(&format!("cannot write the report to {}: {error}", path.display()));
    }
}

/// The file that the program and its children append their records to. Gone with this.
struct Records(PathBuf);

impl Records {
    fn new() -> Result<Self, Failure> {
        let path = env::temp_dir().join(format!("unstall-run-{}.jsonl", std::process::id()));
        create(&path).map(|_| Self(path))
    }

    /// A line that was cut short, by a process that was ended, is left out.
    fn read(&self) -> Vec<Connect> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        // Children that still run keep their handle; the file goes when they end.
        let _ = fs::remove_file(&self.0);
    }
}
