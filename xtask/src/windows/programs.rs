//! What the tests of `unstall run` need, gathered in one folder: the program and its DLLs of both bitnesses, and clients in C, Go and Rust.

use super::apt::{self, Apt, Package};
use super::setup::{self, Toolchain};
use super::{TARGET, TARGET32, both, cargo_for, foreign};
use crate::workspace::{Workspace, cargo, works};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the sources of the clients are.
const SOURCES: &str = "crates/unstall-lab/tests/hook";

/// The C compilers, and the programs that they make.
const COMPILERS: [(&str, &str); 2] =
    [("x86_64-w64-mingw32-gcc", "client64.exe"), ("i686-w64-mingw32-gcc", "client32.exe")];

/// The Go of this machine's release, which does not set the option.
const OLD_GO: Package = Package { name: "golang-go", version: "2:1.19~1" };

/// The Go of the next release, which does.
const NEW_GO: [Package; 2] = [
    Package { name: "golang-1.24-go", version: "1.24.4-1" },
    Package { name: "golang-1.24-src", version: "1.24.4-1" },
];

/// A built file in a target folder, and its name in the folder of programs.
const BUILT: [(&str, &str, &str); 7] = [
    (TARGET, "unstall.exe", "unstall.exe"),
    (TARGET, "side-by-side.exe", "side-by-side.exe"),
    (TARGET, "rtoshim-run.exe", "rtoshim-run.exe"),
    (TARGET, "unstall_hook.dll", "unstall_hook64.dll"),
    (TARGET, "unstall-load.exe", "unstall-load64.exe"),
    (TARGET32, "unstall_hook.dll", "unstall_hook32.dll"),
    (TARGET32, "unstall-load.exe", "unstall-load32.exe"),
];

/// The folder.
fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("windows-programs")
}

/// The DLL and the loader of the other bitness, optimised.
pub(crate) fn build32(toolchain: &Toolchain) -> Command {
    let mut build = cargo_for(toolchain, "build");
    build.args([
        "--target",
        TARGET32,
        "--release",
        "--package",
        "unstall-hook",
        "--package",
        "unstall-rtoshim",
    ]);
    build.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    build
}

/// Gathers everything; what cannot be had is said and left out by the tests.
pub(crate) fn gather(workspace: &Workspace) -> Result<(), String> {
    let folder = folder(workspace);
    fs::create_dir_all(&folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    for (target, built, name) in BUILT {
        let built = workspace.target.join(target).join("release").join(built);
        if built.exists() {
            link(&built, &folder.join(name))?;
        }
    }
    c_clients(&folder)?;
    if let Err(error) = go_clients(&folder) {
        eprintln!("cargo xtask windows: no Go clients: {error}");
    }
    foreign::gather(&folder)
}

/// Puts the shim where a program of either bitness finds it by one name.
pub(crate) fn install_shim(workspace: &Workspace, prefix: &Path) -> Result<(), String> {
    for (target, place) in [(TARGET, "system32"), (TARGET32, "syswow64")] {
        let built = workspace.target.join(target).join("release/unstall_rtoshim.dll");
        let there = prefix.join("drive_c/windows").join(place).join("unstall_rtoshim.dll");
        fs::copy(&built, &there).map_err(|error| format!("cannot write {}: {error}", there.display()))?;
    }
    Ok(())
}

/// The tests, with a compiler of this machine.
pub(crate) fn test(workspace: &Workspace, prefix: &Path, libraries: &Path) -> Command {
    let mut test = cargo(["test", "--package", "unstall-lab", "--test", "hook"]);
    test.env("UNSTALL_RUN_PROGRAMS", folder(workspace)).env("UNSTALL_RUN_PREFIX", prefix);
    test.envs(both::variables(libraries));
    test
}

/// A link in place of whatever was there, for a program finds what lies beside its file and beside its link alike under Wine.
pub(crate) fn link(from: &Path, to: &Path) -> Result<(), String> {
    let _ = fs::remove_file(to);
    symlink(from, to).map_err(|error| format!("cannot make {}: {error}", to.display()))
}

fn c_clients(folder: &Path) -> Result<(), String> {
    let sources = Path::new(SOURCES).join("client");
    let sources: Vec<PathBuf> = fs::read_dir(&sources)
        .map_err(|error| format!("cannot read {}: {error}", sources.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    for (compiler, program) in COMPILERS {
        let mut gcc = Command::new(compiler);
        gcc.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(folder.join(program)).args(&sources);
        apt::run(gcc.args(["-lws2_32", "-lmswsock", "-luser32"]))?;
    }
    Ok(())
}

/// The client in Go, built by an old and a new Go.
fn go_clients(folder: &Path) -> Result<(), String> {
    if !works("go", &["version"]) {
        apt::install(&[OLD_GO])?;
    }
    build_go(Path::new("go"), &folder.join("go-old.exe"))?;
    build_go(&new_go()?, &folder.join("go-new.exe"))
}

fn build_go(go: &Path, program: &Path) -> Result<(), String> {
    let mut build = Command::new(go);
    build.current_dir(Path::new(SOURCES).join("go")).env("GOOS", "windows").env("GOARCH", "amd64");
    build
        .env("GOFLAGS", "-mod=mod")
        .env("GOTOOLCHAIN", "local")
        .env("CGO_ENABLED", "0")
        .env("GO111MODULE", "on");
    build.env("GOCACHE", setup::cache()?.join("go-build")).env_remove("GOROOT");
    apt::run(build.args([OsString::from("build"), "-o".into(), program.into(), ".".into()].as_slice()))
}

/// The new Go, unpacked and not installed.
fn new_go() -> Result<PathBuf, String> {
    let cache = setup::cache()?;
    let kept = cache.join(format!("go-{}", NEW_GO[0].version));
    let go = kept.join("usr/lib/go-1.24/bin/go");
    if kept.exists() {
        return Ok(go);
    }
    eprintln!("cargo xtask windows: fetch a new Go ...");
    let draft = cache.join(format!("go-draft-{}", std::process::id()));
    let made = Apt::new(&draft.join("apt"), setup::CODENAME, setup::NEXT)
        .and_then(|apt| apt.unpack(&NEW_GO, &draft))
        .and_then(|()| fs::remove_dir_all(draft.join("apt")).map_err(|error| error.to_string()))
        .and_then(|()| fs::rename(&draft, &kept).map_err(|error| error.to_string()));
    let _ = fs::remove_dir_all(&draft);
    made.map(|()| go)
}
