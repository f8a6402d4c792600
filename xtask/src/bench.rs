//! `cargo xtask bench`: every benchmark of the workspace.

use crate::run::Run;
use crate::workspace::{Workspace, cargo};
use cargo_metadata::TargetKind;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Passed on to the benchmarks.
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode, String> {
    let mut run = Run::new(&workspace.target)?;
    for (package, bench) in workspace.targets(&TargetKind::Bench) {
        let mut command = cargo(["bench", "--package", &package, "--all-features", "--bench", &bench, "--"]);
        run.command(&format!("benchmark {package}/{bench}"), command.args(&options.arguments));
    }
    Ok(run.finish())
}
