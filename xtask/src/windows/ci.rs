//! `cargo xtask windows ci`: everything about Windows that can be run here.

use super::setup::Toolchain;
use super::{
    TARGET, Windows, c_build, c_test, cargo_for, cargo_for_windows, hook_test, lab_build, lab_test, programs,
    wine,
};
use crate::run::Run;
use crate::workspace::Workspace;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The packages whose tests run under Wine.
const PACKAGES: [&str; 4] = ["unstall-core", "unstall-sys", "unstall", "unstall-doctor"];

/// Those in which the version of Windows and the forced paths make a difference.
const CLOSE_TO_WINDOWS: [&str; 2] = ["unstall-sys", "unstall"];

/// The secondary paths, forced together, for each set of flags means another standard library. A Windows before build 16299
/// and an ioctl that is refused need no flag: Wine can be both.
const FORCED: &str = "--cfg unstall_no_connect_ex --cfg unstall_no_listener_table";

/// Targets that are checked and not linked.
const CHECKED: [&str; 3] = ["aarch64-pc-windows-msvc", "x86_64-pc-windows-msvc", "aarch64-apple-darwin"];

pub(crate) fn run(workspace: &Workspace, toolchain: &Toolchain) -> Result<ExitCode, String> {
    let ten = wine::prefix(workspace, toolchain, Windows::Ten)?;
    let seven = wine::prefix(workspace, toolchain, Windows::Seven)?;
    let mut run = Run::new(&workspace.target)?;
    let test = |packages: &[&str], prefix| {
        let mut command = cargo_for_windows(toolchain, "test");
        command.envs(wine::variables(prefix)).args(["--all-features", "--lib", "--tests", "--no-fail-fast"]);
        for package in packages {
            command.args(["--package", package]);
        }
        command
    };
    run.command("tests under Wine", &mut test(&PACKAGES, &ten));
    run.command("tests under Wine, again", &mut test(&PACKAGES, &ten));
    run.command("doc examples under Wine", &mut examples(toolchain, &ten));
    run.command("tests under Wine as Windows 7", &mut test(&CLOSE_TO_WINDOWS, &seven));
    let mut forced = test(&CLOSE_TO_WINDOWS, &ten);
    forced.env("RUSTFLAGS", FORCED).env("CARGO_TARGET_DIR", workspace.target.join("forced/windows"));
    run.command("tests under Wine without ConnectEx and without a listener table", &mut forced);
    run.command("the C interface for Windows", &mut c_build(toolchain));
    run.command("C programs under Wine", &mut c_test(workspace, &ten));
    run.command("lints for Windows", &mut lints(toolchain));
    for target in CHECKED {
        run.command(&format!("compile for {target}"), &mut check(toolchain, target));
    }
    run.command("Windows programs for the lab", &mut lab_build(toolchain));
    for windows in [Windows::Ten, Windows::Seven] {
        wine::lab_prefix(workspace, toolchain, windows)?;
    }
    run.command("Windows programs in the lab", &mut lab_test(workspace));
    run.command("the DLL for 32-bit programs", &mut programs::build32(toolchain));
    match hook_test(workspace, toolchain) {
        Ok(mut test) => run.command("programs with and without unstall run", &mut test),
        Err(error) => run.step("programs for unstall run", || Err(error)),
    }
    Ok(run.finish())
}

/// The examples of the documentation are programs too.
fn examples(toolchain: &Toolchain, prefix: &Path) -> Command {
    let mut command = cargo_for_windows(toolchain, "test");
    command.envs(wine::variables(prefix)).args(["--all-features", "--doc", "--no-fail-fast"]);
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    command
}

fn lints(toolchain: &Toolchain) -> Command {
    let mut command = cargo_for(toolchain, "clippy");
    command.args([
        "--target",
        TARGET,
        "--workspace",
        "--exclude",
        "xtask",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ]);
    command
}

fn check(toolchain: &Toolchain, target: &str) -> Command {
    let mut command = cargo_for(toolchain, "check");
    command.args(["--target", target, "--workspace", "--exclude", "xtask", "--all-features"]);
    command
}
