//! Wine prefixes: one for each Windows that Wine can say it is, kept in the target folder.

use super::Windows;
use super::apt;
use super::setup::Toolchain;
use crate::workspace::Workspace;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

impl Windows {
    /// Its name as winecfg knows it, which is also the name of the prefix.
    fn name(self) -> &'static str {
        match self {
            Self::Ten => "win10",
            Self::Seven => "win7",
        }
    }
}

/// The prefix for a Windows, made first where there is none.
pub(crate) fn prefix(
    workspace: &Workspace,
    toolchain: &Toolchain,
    windows: Windows,
) -> Result<PathBuf, String> {
    let folder = workspace.target.join("wine");
    make(&folder, windows.name(), |draft| fill(draft, toolchain, windows, &[]))
}

/// The same for programs in the lab. A prefix has one server, which holds the sockets of all its programs; so the lab's are
/// its own.
pub(crate) fn lab_prefix(
    workspace: &Workspace,
    toolchain: &Toolchain,
    windows: Windows,
) -> Result<PathBuf, String> {
    make(&lab_prefixes(workspace), windows.name(), |draft| fill(draft, toolchain, windows, &[]))
}

/// The folder that the lab's prefixes are in.
pub(crate) fn lab_prefixes(workspace: &Workspace) -> PathBuf {
    workspace.target.join("wine-lab")
}

/// A prefix in a folder, made first where there is none.
pub(crate) fn make(
    folder: &Path,
    name: &str,
    fill: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let prefix = folder.join(name);
    if prefix.exists() {
        return Ok(prefix);
    }
    eprintln!("cargo xtask windows: make a Wine prefix ({name}) ...");
    let draft = folder.join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let made = fill(&draft).and_then(|()| {
        fs::rename(&draft, &prefix).map_err(|error| format!("cannot move {}: {error}", draft.display()))
    });
    // Gone already where the move succeeded.
    let _ = fs::remove_dir_all(&draft);
    made.map(|()| prefix)
}

/// What Wine needs to know.
pub(crate) fn variables(prefix: &Path) -> Vec<(&'static str, OsString)> {
    vec![
        ("WINEPREFIX", prefix.into()),
        // Wine's own notes are not the program's output. No start menu, no offers to install anything.
        ("WINEDEBUG", "-all".into()),
        ("WINEDLLOVERRIDES", "winemenubuilder.exe,mscoree,mshtml=".into()),
        ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine".into()),
    ]
}

/// Makes a prefix. `extra`: what Wine needs to know besides.
pub(crate) fn fill(
    prefix: &Path,
    toolchain: &Toolchain,
    windows: Windows,
    extra: &[(&'static str, OsString)],
) -> Result<(), String> {
    let variables = [variables(prefix), extra.to_vec()].concat();
    let wine =
        |arguments: &[&str]| apt::run(Command::new("wine").envs(variables.iter().cloned()).args(arguments));
    wine(&["wineboot", "--init"])?;
    wine(&["winecfg", "-v", windows.name()])?;
    let library = prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
    fs::copy(toolchain.process_prng(), &library)
        .map_err(|error| format!("cannot write {}: {error}", library.display()))?;
    // The registry is on disk when the prefix's server has ended, which it does some seconds after its last program.
    apt::run(Command::new("wineserver").envs(variables.iter().cloned()).arg("--wait"))
}
