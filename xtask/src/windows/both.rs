//! Wine for programs of both bitnesses without a second Wine: its 64-bit half runs 32-bit programs itself ("wow64") when it finds the
//! 32-bit DLLs, which are taken from Debian's 32-bit package, unpacked beside the cross compiler and never installed.

use super::apt::{self, Apt, Package};
use super::setup::{self, Toolchain};
use super::{Windows, wine};
use crate::workspace::Workspace;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The same Wine as the runner, for the other bitness.
const LIBRARIES: Package = Package { name: "libwine", version: "8.0~repack-4" };

/// Where the runner's own halves are, to which the folder of DLLs leads back.
const INSTALLED: &str = "/usr/lib/x86_64-linux-gnu/wine";

/// A folder of DLLs for both bitnesses.
pub(crate) fn libraries() -> Result<PathBuf, String> {
    let cache = setup::cache()?;
    let folder = cache.join(format!("wine-i386-{}", LIBRARIES.version));
    if folder.exists() {
        return Ok(folder);
    }
    eprintln!("cargo xtask windows: fetch the 32-bit DLLs of Wine ...");
    let draft = cache.join(format!("wine-i386-draft-{}", std::process::id()));
    let made = fill(&draft).and_then(|()| {
        fs::rename(&draft, &folder).map_err(|error| format!("cannot move {}: {error}", draft.display()))
    });
    // Gone already where the move succeeded.
    let _ = fs::remove_dir_all(&draft);
    made.map(|()| folder)
}

fn fill(draft: &Path) -> Result<(), String> {
    let unpacked = draft.join("unpacked");
    Apt::for_architecture("i386", &draft.join("apt"), setup::CODENAME, &[])?
        .unpack(&[LIBRARIES], &unpacked)?;
    let made =
        fs::rename(unpacked.join("usr/lib/i386-linux-gnu/wine/i386-windows"), draft.join("i386-windows"))
            .and_then(|()| fs::remove_dir_all(&unpacked))
            .and_then(|()| fs::remove_dir_all(draft.join("apt")))
            // Wine looks for what belongs to a DLL beside its folder.
            .and_then(|()| symlink(format!("{INSTALLED}/x86_64-unix"), draft.join("x86_64-unix")))
            .and_then(|()| symlink(format!("{INSTALLED}/x86_64-windows"), draft.join("x86_64-windows")));
    made.map_err(|error| format!("cannot fill {}: {error}", draft.display()))
}

/// What Wine needs to know beyond [`wine::variables`].
pub(crate) fn variables(libraries: &Path) -> [(&'static str, OsString); 1] {
    [("WINEDLLPATH", libraries.into())]
}

/// The lab's prefix for programs of both bitnesses, as Windows 10.
pub(crate) fn prefix(
    workspace: &Workspace,
    toolchain: &Toolchain,
    libraries: &Path,
) -> Result<PathBuf, String> {
    wine::make(&wine::lab_prefixes(workspace), "both", |draft| {
        wine::fill(draft, toolchain, Windows::Ten, &variables(libraries))?;
        let library = draft.join("drive_c/windows/syswow64/bcryptprimitives.dll");
        let mut gcc = Command::new("i686-w64-mingw32-gcc");
        gcc.args(["-shared", "-O2", "-s", "-Wl,--kill-at", "-o"]);
        gcc.args([&library, &toolchain.root.join("bcryptprimitives.c")]).arg("-ladvapi32");
        apt::run(&mut gcc)
    })
}
