//! `cargo xtask test`: every test this machine can run.

use crate::forced::force;
use crate::run::Run;
use crate::workspace::{Workspace, cargo, works};
use cargo_metadata::TargetKind;
use std::fs;
use std::process::{Command, ExitCode};

/// The secondary paths: what an older kernel or another Unix would take. Each is forced by a `--cfg` flag and runs the
/// tests of the packages that take it. Listed in the root Cargo.toml too, for `unexpected_cfgs`.
///
/// The doctor takes none itself: what it makes of a table that cannot be read is tested with made-up tables, and
/// under the first flag for real.
const FORCED: &[(&str, &[&str])] = &[
    ("unstall_portable", &["unstall-sys", "unstall", "unstall-doctor"]),
    ("unstall_no_sock_diag", &["unstall-sys", "unstall"]),
    ("unstall_no_listener_table", &["unstall-sys", "unstall"]),
    ("unstall_no_port_range", &["unstall-sys", "unstall"]),
];

/// How long each fuzz target runs, in seconds. A smoke test: long runs are started by hand.
const FUZZ_SECONDS: u32 = 5;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only the steps whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    step: Option<String>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode, String> {
    let mut run = Run::new(&workspace.target)?;
    let wanted = |name: &str| options.step.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let main = (
        "all tests, doc examples included".to_owned(),
        cargo(["test", "--workspace", "--all-features", "--no-fail-fast"]),
    );
    let mut beside = forced_paths(workspace, &mut run)?;
    beside.extend(feature_checks(workspace));
    if !workspace.targets(&TargetKind::Bench).is_empty() {
        let benches = cargo(["check", "--workspace", "--all-features", "--benches"]);
        beside.push(("benchmarks compile".to_owned(), benches));
    }
    beside.push(("examples in other clients".to_owned(), examples(workspace)));
    if wanted("fuzz") || options.step.as_ref().is_some_and(|text| text.contains("fuzz")) {
        beside.extend(fuzz(workspace, &mut run));
    }
    // The tests mostly wait for timers, so the other steps run in the meantime.
    beside.retain(|(name, _)| wanted(name));
    run.side_by_side(Some(main).filter(|(name, _)| wanted(name)), beside);
    Ok(run.finish())
}

/// The tests of the packages that take a secondary path, with that path forced.
fn forced_paths(workspace: &Workspace, run: &mut Run) -> Result<Vec<(String, Command)>, String> {
    if cfg!(not(unix)) {
        run.leave_out("forced paths", "the flags choose between what Unix systems do");
        return Ok(Vec::new());
    }
    let mut commands = Vec::new();
    for (flag, packages) in FORCED {
        let mut command = cargo(["test", "--all-features", "--lib", "--tests", "--no-fail-fast"]);
        for package in *packages {
            command.args(["--package", package]);
        }
        force(&mut command, workspace, &[flag])?;
        commands.push((format!("forced path {flag}"), command));
    }
    Ok(commands)
}

/// The examples that need other clients' packages, which are a workspace of their own so that nobody else has to build those.
fn examples(workspace: &Workspace) -> Command {
    let mut command = cargo(["test", "--manifest-path", "examples/Cargo.toml"]);
    command.env("CARGO_TARGET_DIR", &workspace.target);
    command
}

/// Each package that has features compiles with none of them and with each alone; all together is what the tests use.
fn feature_checks(workspace: &Workspace) -> Vec<(String, Command)> {
    let mut checks = Vec::new();
    for package in workspace.members() {
        let features = package.features.keys().filter(|name| name.as_str() != "default");
        let features: Vec<&str> = features.map(String::as_str).collect();
        if features.is_empty() {
            continue;
        }
        for feature in std::iter::once("").chain(features) {
            let name = if feature.is_empty() { "no feature" } else { feature };
            let arguments =
                ["check", "--package", &package.name, "--no-default-features", "--features", feature];
            checks.push((format!("compile {} with {name}", package.name), cargo(arguments)));
        }
    }
    checks
}

/// Each fuzz target for a few seconds, if cargo-fuzz and a nightly compiler are here.
fn fuzz(workspace: &Workspace, run: &mut Run) -> Vec<(String, Command)> {
    let targets = fuzz_targets(workspace);
    if targets.is_empty() {
        return Vec::new();
    }
    if !works("rustup", &["run", "nightly", "rustc", "--version"]) {
        run.leave_out("fuzz targets", "no nightly compiler here (rustup toolchain install nightly)");
        return Vec::new();
    }
    if !works("cargo", &["fuzz", "--version"]) {
        run.leave_out("fuzz targets", "cargo-fuzz is not installed (cargo install cargo-fuzz)");
        return Vec::new();
    }
    let command = |target: &String| {
        let mut command = Command::new("rustup");
        command.args(["run", "nightly", "cargo", "fuzz", "run", target, "--"]);
        command.arg(format!("-max_total_time={FUZZ_SECONDS}"));
        // This program was started by the stable cargo, whose choice of compiler must not reach the nightly one.
        command.env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC").env_remove("CARGO");
        command.env("CARGO_TARGET_DIR", workspace.target.join("fuzz"));
        (format!("fuzz {target}, {FUZZ_SECONDS} s"), command)
    };
    targets.iter().map(command).collect()
}

fn fuzz_targets(workspace: &Workspace) -> Vec<String> {
    let folder = fs::read_dir(workspace.root.join("fuzz/fuzz_targets"));
    let files = folder.into_iter().flatten().flatten().map(|entry| entry.path());
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut names: Vec<String> =
        sources.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}
