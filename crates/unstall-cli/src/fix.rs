//! `unstall doctor --fix` and `--undo-fix`: changes that are safe and can be taken back, asked for one by one.

use crate::args::Fixing;
use crate::exit::Exit;
use crate::output;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use unstall_doctor::Report;
use unstall_doctor::findings::FixKind;
use unstall_doctor::repair;

/// Why `--fix` makes no sense here; `None`: it does.
pub(crate) fn contradiction(arguments: &Fixing) -> Option<&'static str> {
    let nobody_to_ask = arguments.fix && !arguments.yes && !arguments.dry_run && !io::stdin().is_terminal();
    nobody_to_ask.then_some(
        "--fix asks before each change, and there is no terminal to ask at; give --yes or --dry-run",
    )
}

/// Offers what can be changed after a report.
pub(crate) fn offer(arguments: &Fixing, report: &Report, exit: Exit) -> Exit {
    let automatic = |fix: &unstall_doctor::findings::Fix| fix.kind == FixKind::Automatic;
    if !report.findings.iter().any(|finding| finding.fixes().any(automatic)) {
        output::note("nothing was found that unstall changes by itself; the report says what people can do");
        return exit;
    }
    finish(add_localhost(arguments), exit)
}

/// Takes back what `--fix` has changed.
pub(crate) fn undo(arguments: &Fixing) -> Exit {
    finish(take_out(arguments), Exit::Ok)
}

fn finish(done: Result<String, String>, exit: Exit) -> Exit {
    match done {
        Ok(sentence) => {
            output::note(&sentence);
            exit
        }
        Err(sentence) => {
            output::note(&sentence);
            Exit::CouldNot
        }
    }
}

fn path(arguments: &Fixing) -> PathBuf {
    arguments.hosts_file.clone().unwrap_or_else(repair::hosts_path)
}

fn add_localhost(arguments: &Fixing) -> Result<String, String> {
    let path = path(arguments);
    let text = read(&path)?;
    let Some((changed, lines)) = repair::with_localhost(&text) else {
        return Ok(format!("{} names localhost already; nothing was changed", path.display()));
    };
    let _ = writeln!(io::stderr(), "{}:\n  + {}", path.display(), lines.join("\n  + "));
    if !agreed(arguments, "add these lines")? {
        return Ok("nothing was changed".to_owned());
    }
    let backup = replace(&path, &text, &changed)?;
    Ok(format!(
        "{} has the lines now; as it was it is {}; `unstall doctor --undo-fix` takes them out",
        path.display(),
        backup.display()
    ))
}

fn take_out(arguments: &Fixing) -> Result<String, String> {
    let path = path(arguments);
    let text = read(&path)?;
    let Some(changed) = repair::without_ours(&text) else {
        return Ok(format!("{} has no lines of unstall; nothing was changed", path.display()));
    };
    if arguments.dry_run {
        return Ok(format!("the lines that unstall added would be taken out of {}", path.display()));
    }
    let backup = replace(&path, &text, &changed)?;
    Ok(format!("the lines were taken out of {}; as it was it is {}", path.display(), backup.display()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}; nothing was changed", path.display()))
}

/// Asks, unless the answer was given with the command line.
fn agreed(arguments: &Fixing, what: &str) -> Result<bool, String> {
    if arguments.dry_run || arguments.yes {
        return Ok(arguments.yes && !arguments.dry_run);
    }
    let _ = write!(io::stderr(), "{what}? [y/N] ");
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| format!("cannot read the answer: {error}; nothing was changed"))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Writes a file anew, with a copy of what it was beside it, whose path is returned. Written in place, since a hosts file may be
/// mounted and then cannot be replaced.
fn replace(path: &Path, old: &str, new: &str) -> Result<PathBuf, String> {
    let hint = "nothing was changed; on a file of the system this needs administrator rights";
    let backup = free_name(path);
    fs::write(&backup, old)
        .map_err(|error| format!("cannot write the copy {}: {error}; {hint}", backup.display()))?;
    if let Err(error) = fs::write(path, new) {
        // What was written of it, if anything, goes again.
        let restored = fs::write(path, old).is_ok() || fs::read_to_string(path).is_ok_and(|text| text == old);
        let state = if restored { hint.to_owned() } else { format!("as it was it is {}", backup.display()) };
        if restored {
            let _ = fs::remove_file(&backup);
        }
        return Err(format!("cannot write {}: {error}; {state}", path.display()));
    }
    Ok(backup)
}

/// A name beside the file that is not taken.
fn free_name(path: &Path) -> PathBuf {
    let name = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 0 {
            ".unstall-backup".to_owned()
        } else {
            format!(".unstall-backup-{number}")
        });
        PathBuf::from(name)
    };
    (0..u32::MAX).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(u32::MAX))
}
