//! `cargo xtask windows`: build, check and test for Windows on a Debian 12 machine.
//!
//! [`setup`] prepares a compiler of its own (no compiler of the machine is replaced or put before another), [`wine`]
//! keeps the Wine prefixes. Elsewhere nothing of this is needed: `cargo build --target x86_64-pc-windows-gnu` or
//! `-msvc` just works.

mod apt;
mod both;
mod ci;
mod foreign;
mod programs;
mod setup;
mod wine;

use crate::workspace::{Workspace, cargo};
use clap::ValueEnum;
pub(crate) use setup::Toolchain;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command as Process, ExitCode, ExitStatus};

/// What programs are built for.
pub(crate) const TARGET: &str = "x86_64-pc-windows-gnu";

/// What is built for 32-bit programs: the DLL of `unstall run`.
pub(crate) const TARGET32: &str = "i686-pc-windows-gnu";

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Prepare the cross compiler and Wine; does nothing where they are ready.
    Setup,
    /// `cargo build` for Windows.
    Build(Passed),
    /// `cargo clippy` for Windows; for another target (which is checked, not linked) add --target.
    Clippy(Passed),
    /// `cargo check` for Windows; for another target (which is checked, not linked) add --target.
    Check(Passed),
    /// `cargo test` for Windows, under Wine.
    Test {
        #[command(flatten)]
        version: Version,
        #[command(flatten)]
        passed: Passed,
    },
    /// Build the command-line tool and run it under Wine.
    Run {
        #[command(flatten)]
        version: Version,
        /// The tool's own arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run Windows programs under Wine in the lab: what Windows' refusals cost, and what unstall does about it. As root.
    Lab(Passed),
    /// Run programs of many kinds under Wine in the lab, with and without `unstall run`. As root.
    Hook(Passed),
    /// Compile C programs with MinGW, link them to the C interface and run them under Wine.
    C(Passed),
    /// Everything of the above that tells whether it works: tests twice, as an old Windows, without ConnectEx; lints; the lab.
    Ci,
    /// Print the variables that make plain cargo build for Windows, for a shell's `eval`.
    Env {
        #[command(flatten)]
        version: Version,
    },
}

/// Arguments for cargo.
#[derive(clap::Args)]
pub(crate) struct Passed {
    /// Arguments for cargo: `-p unstall-sys --release`, ...
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// The Windows that Wine says it is.
#[derive(clap::Args)]
pub(crate) struct Version {
    /// The Windows that Wine says it is.
    #[arg(long = "windows", value_name = "VERSION", default_value = "10")]
    windows: Windows,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Windows {
    /// 10.0.18362: knows how to leave SYN retransmissions out.
    #[value(name = "10")]
    Ten,
    /// 6.1.7601: does not.
    #[value(name = "7")]
    Seven,
}

pub(crate) fn run(workspace: &Workspace, command: Command) -> Result<ExitCode, String> {
    let toolchain = Toolchain::ready()?;
    let status = match command {
        Command::Setup => {
            wine::prefix(workspace, &toolchain, Windows::Ten)?;
            println!("The cross compiler is in {}.", toolchain.root.display());
            return Ok(ExitCode::SUCCESS);
        }
        Command::Build(passed) => finish(cargo_for_windows(&toolchain, "build").args(passed.arguments)),
        Command::Clippy(passed) => finish(checking(&toolchain, "clippy", passed)),
        Command::Check(passed) => finish(checking(&toolchain, "check", passed)),
        Command::Test { version, passed } => {
            let mut process = cargo_for_windows(&toolchain, "test");
            finish(under_wine(workspace, &toolchain, version.windows, &mut process)?.args(passed.arguments))
        }
        Command::Run { version, arguments } => {
            let mut process = cargo_for_windows(&toolchain, "run");
            process.args(["--quiet", "--package", "unstall-cli", "--bin", "unstall", "--"]).args(arguments);
            finish(under_wine(workspace, &toolchain, version.windows, &mut process)?)
        }
        Command::Ci => return ci::run(workspace, &toolchain),
        Command::Lab(passed) => lab(workspace, &toolchain, passed),
        Command::Hook(passed) => hook(workspace, &toolchain, passed),
        Command::C(passed) => c(workspace, &toolchain, passed),
        Command::Env { version } => {
            let prefix = wine::prefix(workspace, &toolchain, version.windows)?;
            let variables = [toolchain.variables(), wine::variables(&prefix)].concat();
            for (name, value) in variables {
                println!("export {name}='{}'", value.to_string_lossy().replace('\'', r"'\''"));
            }
            return Ok(ExitCode::SUCCESS);
        }
    }?;
    Ok(exit_code(status))
}

/// Builds the programs, optimised, and runs the lab's tests of them with a compiler of this machine.
fn lab(workspace: &Workspace, toolchain: &Toolchain, passed: Passed) -> Result<ExitStatus, String> {
    let status = finish(lab_build(toolchain))?;
    if !status.success() {
        return Ok(status);
    }
    for windows in [Windows::Ten, Windows::Seven] {
        wine::lab_prefix(workspace, toolchain, windows)?;
    }
    finish(lab_test(workspace).args(passed.arguments))
}

/// Builds `unstall run` for both bitnesses, gathers programs, and runs the tests of both in the lab.
fn hook(workspace: &Workspace, toolchain: &Toolchain, passed: Passed) -> Result<ExitStatus, String> {
    for mut build in [lab_build(toolchain), programs::build32(toolchain)] {
        let status = finish(&mut build)?;
        if !status.success() {
            return Ok(status);
        }
    }
    finish(hook_test(workspace, toolchain)?.args(passed.arguments))
}

/// The tests, with everything that they need.
fn hook_test(workspace: &Workspace, toolchain: &Toolchain) -> Result<Process, String> {
    programs::gather(workspace)?;
    let libraries = both::libraries()?;
    let prefix = both::prefix(workspace, toolchain, &libraries)?;
    programs::install_shim(workspace, &prefix)?;
    Ok(programs::test(workspace, &prefix, &libraries))
}

/// Builds the C interface, and runs the tests of C programs that use it.
fn c(workspace: &Workspace, toolchain: &Toolchain, passed: Passed) -> Result<ExitStatus, String> {
    let status = finish(c_build(toolchain))?;
    if !status.success() {
        return Ok(status);
    }
    let prefix = wine::prefix(workspace, toolchain, Windows::Ten)?;
    finish(c_test(workspace, &prefix).args(passed.arguments))
}

/// The libraries of the C interface.
fn c_build(toolchain: &Toolchain) -> Process {
    let mut build = cargo_for_windows(toolchain, "build");
    build.args(["--package", "unstall-ffi"]);
    build
}

/// Their tests, with a compiler of this machine.
fn c_test(workspace: &Workspace, prefix: &Path) -> Process {
    let mut test = cargo(["test", "--package", "unstall-ffi", "--test", "windows"]);
    test.env("UNSTALL_WINDOWS_LIBRARIES", workspace.target.join(TARGET).join("debug"));
    test.envs(wine::variables(prefix));
    test
}

/// The programs, optimised.
fn lab_build(toolchain: &Toolchain) -> Process {
    let mut build = cargo_for_windows(toolchain, "build");
    build.args([
        "--release",
        "--package",
        "unstall-cli",
        "--package",
        "unstall-hook",
        "--package",
        "unstall-rtoshim",
    ]);
    // What these programs wait for is Wine; optimising across crates would only make the build longer.
    build.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    build
}

/// Their tests, with a compiler of this machine.
fn lab_test(workspace: &Workspace) -> Process {
    let mut test = cargo(["test", "--package", "unstall-lab", "--test", "wine"]);
    test.env("UNSTALL_WINDOWS_PROGRAMS", workspace.target.join(TARGET).join("release"));
    test.env("UNSTALL_WINE_PREFIXES", wine::lab_prefixes(workspace));
    test
}

/// A call of cargo with the cross compiler and its own standard library.
fn cargo_for_windows(toolchain: &Toolchain, subcommand: &str) -> Process {
    let mut process = cargo_for(toolchain, subcommand);
    process.args(["--target", TARGET]);
    process
}

/// The same without a target yet.
fn cargo_for(toolchain: &Toolchain, subcommand: &str) -> Process {
    let mut process = cargo([subcommand, "-Zbuild-std=std,panic_abort,panic_unwind,test"]);
    process.envs(toolchain.variables());
    process
}

/// A call that compiles without linking, for Windows unless the caller names a target.
fn checking(toolchain: &Toolchain, subcommand: &str, passed: Passed) -> Process {
    let names_target = passed.arguments.iter().any(|argument| argument == "--target");
    let mut process = if names_target {
        cargo_for(toolchain, subcommand)
    } else {
        cargo_for_windows(toolchain, subcommand)
    };
    process.args(passed.arguments);
    process
}

fn under_wine<'a>(
    workspace: &Workspace,
    toolchain: &Toolchain,
    windows: Windows,
    process: &'a mut Process,
) -> Result<&'a mut Process, String> {
    let prefix = wine::prefix(workspace, toolchain, windows)?;
    Ok(process.envs(wine::variables(&prefix)))
}

/// What a program needs in its environment to be run by Wine.
pub(crate) fn wine_variables(
    workspace: &Workspace,
    toolchain: &Toolchain,
) -> Result<Vec<(&'static str, OsString)>, String> {
    Ok(wine::variables(&wine::prefix(workspace, toolchain, Windows::Ten)?))
}

/// Runs a command to its end, its output shown.
fn finish(process: impl std::borrow::BorrowMut<Process>) -> Result<ExitStatus, String> {
    let mut process = process;
    let process = process.borrow_mut();
    process
        .status()
        .map_err(|error| format!("cannot start {}: {error}", process.get_program().to_string_lossy()))
}

/// The status of a command as our own; 1 where it was ended by a signal.
fn exit_code(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
