//! `cargo xtask python`: the wheel of the Python package, installed into a fresh environment, and its tests there.
//!
//! Everything is below the target folder: `python/tools` (maturin), `python/fresh` (made anew each time), `python/wheels`.

use crate::run::Run;
use crate::windows::{self, Toolchain};
use crate::workspace::{Workspace, cargo, works};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run the benchmark in place of the tests: ratios to Python's own connects.
    #[arg(long)]
    bench: bool,
    /// Build a wheel for Windows too, with the cross compiler of `cargo xtask windows`.
    #[arg(long)]
    windows: bool,
    /// The interpreter to make the environments with.
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    interpreter: String,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode, String> {
    let mut run = Run::new(&workspace.target)?;
    if !works(&options.interpreter, &["-c", "import ensurepip, sys; sys.exit(sys.version_info < (3, 9))"]) {
        run.leave_out(
            "the Python package",
            "no Python 3.9 or later with venv here (Debian: apt-get install python3-venv)",
        );
        return Ok(run.finish());
    }
    let places = Places::below(workspace);
    run.step("the environments", || places.make(&options.interpreter));
    run.command("the wheel", &mut places.maturin(workspace, &places.wheels));
    if options.windows {
        let wheels = places.wheels.join("windows");
        let toolchain = Toolchain::ready()?;
        let mut build = places.maturin(workspace, &wheels);
        build.args(["--target", windows::TARGET]).args(["--interpreter", "python3.9"]);
        build.envs(toolchain.variables()).env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort,panic_unwind");
        run.command("the wheel for Windows", &mut build);
    }
    run.step("the wheel is installed", || places.install(workspace));
    run.command(
        "the program that makes the lab",
        &mut cargo(["build", "--release", "--package", "unstall-cli"]),
    );
    let python = places.fresh.join("bin/python");
    let mut judge = Command::new(&python);
    // Not in `python/`, whose sources would be found before the installed package.
    judge.current_dir(workspace.root.join("python/tests"));
    judge.env("UNSTALL", workspace.target.join("release/unstall"));
    judge.args(["-X", "dev", "-B"]);
    if options.bench {
        judge.arg("../bench/bench.py");
        run.command("benchmark", &mut judge);
    } else {
        judge.args(["-m", "pytest", "-p", "no:cacheprovider", "-rs", "."]);
        run.command("pytest", &mut judge);
    }
    Ok(run.finish())
}

/// Where things are.
struct Places {
    tools: PathBuf,
    fresh: PathBuf,
    wheels: PathBuf,
    /// Cargo's own folder, for the package is a workspace of its own.
    target: PathBuf,
}

impl Places {
    fn below(workspace: &Workspace) -> Self {
        let base = workspace.target.join("python");
        let place = |name| base.join(name);
        Self {
            tools: place("tools"),
            fresh: place("fresh"),
            wheels: place("wheels"),
            target: place("target"),
        }
    }

    /// The environment that builds, if it is not there yet, and a fresh one for the tests.
    fn make(&self, interpreter: &str) -> Result<(), String> {
        if !self.tools.join("bin/maturin").exists() {
            succeed(Command::new(interpreter).args(["-m", "venv", "--clear"]).arg(&self.tools))?;
            succeed(pip(&self.tools).args(["install", "-r", "python/requirements-build.txt"]))?;
        }
        let _ = fs::remove_dir_all(&self.wheels);
        succeed(Command::new(interpreter).args(["-m", "venv", "--clear"]).arg(&self.fresh))
    }

    fn maturin(&self, workspace: &Workspace, wheels: &Path) -> Command {
        let mut command = Command::new(self.tools.join("bin/maturin"));
        command.args(["build", "--release", "--locked", "--out"]).arg(wheels);
        command.current_dir(workspace.root.join("python")).env("CARGO_TARGET_DIR", &self.target);
        // Of the cargo that runs this program; maturin has to find its own.
        command.env_remove("CARGO");
        command
    }

    /// The wheel, and the packages that the tests patch.
    fn install(&self, workspace: &Workspace) -> Result<(), String> {
        let wheel = fs::read_dir(&self.wheels)
            .map_err(|error| format!("cannot read {}: {error}", self.wheels.display()))?
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
            .ok_or("no wheel was built")?;
        let requirements = workspace.root.join("python/requirements-test.txt");
        succeed(pip(&self.fresh).arg("install").arg(wheel).arg("-r").arg(requirements))
    }
}

fn pip(environment: &Path) -> Command {
    let mut command = Command::new(environment.join("bin/python"));
    command.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]);
    command
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}
