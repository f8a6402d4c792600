//! `cargo xtask msrv`: the workspace compiles with the minimum supported Rust version.

use crate::run::Run;
use crate::windows::Toolchain;
use crate::workspace::{Workspace, cargo};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode, String> {
    let mut run = Run::new(&workspace.target)?;
    add(&mut run, workspace)?;
    Ok(run.finish())
}

/// The check as a step of a longer run.
pub(crate) fn add(run: &mut Run, workspace: &Workspace) -> Result<(), String> {
    let msrv = workspace.msrv()?;
    let name = format!("compile with Rust {msrv}");
    let Some(compiler) = find(&msrv) else {
        run.leave_out(&name, "no such compiler here (cargo xtask windows setup brings one)");
        return Ok(());
    };
    let target = workspace.target.join("msrv");
    // Libraries and programs, not tests: what a dependent compiles.
    let mut command = cargo(["check", "--workspace", "--all-features", "--locked"]);
    run.command(&name, command.env("RUSTC", compiler).env("CARGO_TARGET_DIR", target));
    Ok(())
}

/// A compiler of exactly that version: the one that builds for Windows, Debian's, or one of rustup's.
fn find(msrv: &str) -> Option<PathBuf> {
    let for_windows = Toolchain::at_hand().map(|toolchain| toolchain.rustc());
    let of_rustup = Command::new("rustup").args(["which", "rustc", "--toolchain", msrv]).output().ok();
    let of_rustup = of_rustup.filter(|output| output.status.success());
    let of_rustup = of_rustup.map(|output| String::from_utf8_lossy(&output.stdout).trim().into());
    let of_debian = Some(PathBuf::from("/usr/bin/rustc"));
    [for_windows, of_debian, of_rustup].into_iter().flatten().find(|compiler| is(compiler, msrv))
}

fn is(compiler: &Path, msrv: &str) -> bool {
    let version = Command::new(compiler).arg("--version").output();
    version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).starts_with(&format!("rustc {msrv}.")))
}
