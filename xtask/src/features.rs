//! `cargo xtask features`: the libraries compile with any of their features, and no feature changes what is done by default.

use crate::run::Run;
use crate::workspace::{Workspace, cargo};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// The libraries whose features people choose.
const PACKAGES: &[&str] = &["unstall-core", "unstall"];

/// Prints what connects do by default.
const BEHAVIOUR: &str = include_str!("../behaviour/main.rs");

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Every set of features, which takes minutes; else none, one, two, all but one, all.
    #[arg(long)]
    powerset: bool,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode, String> {
    let mut run = Run::new(&workspace.target)?;
    add(&mut run, workspace, options.powerset);
    Ok(run.finish())
}

/// The checks as steps of a longer run.
pub(crate) fn add(run: &mut Run, workspace: &Workspace, powerset: bool) {
    for package in PACKAGES {
        let sets = sets(&features(workspace, package), powerset);
        run.step(&format!("{} sets of features of {package}", sets.len()), || {
            compile(workspace, package, &sets)
        });
    }
    run.step("no feature changes what is done by default", || behaves_alike(workspace));
}

fn features(workspace: &Workspace, package: &str) -> Vec<String> {
    let members = workspace.members();
    let package = members.iter().find(|member| member.name.as_str() == package);
    let all = package.into_iter().flat_map(|package| package.features.keys());
    all.filter(|name| *name != "default").cloned().collect()
}

/// Sets of features: all there are, or those that differ from none or all by two or one.
fn sets(features: &[String], powerset: bool) -> BTreeSet<Vec<String>> {
    let choose = |bits: u32| {
        let chosen = features.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1);
        chosen.map(|(_, name)| name.clone()).collect::<Vec<_>>()
    };
    let all = features.len() as u32;
    let wanted = |bits: &u32| powerset || bits.count_ones() <= 2 || bits.count_ones() + 1 >= all;
    (0..1_u32 << all).filter(wanted).map(choose).collect()
}

fn compile(workspace: &Workspace, package: &str, sets: &BTreeSet<Vec<String>>) -> Result<(), String> {
    let target = workspace.target.join("features");
    for set in sets {
        let features = set.join(",");
        let mut clippy = cargo(["clippy", "--quiet", "--lib", "--no-default-features", "--package", package]);
        clippy.args(["--features", &features, "--", "-D", "warnings"]).env("CARGO_TARGET_DIR", &target);
        let output = clippy.output().map_err(|error| format!("cargo clippy: {error}"))?;
        if !output.status.success() {
            return Err(format!(
                "with the features {features:?}:\n{}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
    }
    Ok(())
}

fn behaves_alike(workspace: &Workspace) -> Result<(), String> {
    let [plain, full] = [Vec::new(), features(workspace, "unstall")].map(|set| behaviour(workspace, &set));
    let (plain, full) = (plain?, full?);
    if plain == full { Ok(()) } else { Err(format!("without features:\n{plain}\nwith all:\n{full}")) }
}

/// What a program does that is built with these features. It is a package of its own, for the workspace's tests have every feature.
fn behaviour(workspace: &Workspace, features: &[String]) -> Result<String, String> {
    let folder = workspace.target.join("behaviour");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let library = workspace.root.join("crates/unstall");
    fs::create_dir_all(folder.join("src")).map_err(failed)?;
    fs::write(folder.join("src/main.rs"), BEHAVIOUR).map_err(failed)?;
    fs::write(folder.join("Cargo.toml"), manifest(&library, features)).map_err(failed)?;
    // The versions that the rest is built with.
    fs::copy(workspace.root.join("Cargo.lock"), folder.join("Cargo.lock")).map_err(failed)?;
    let mut program = cargo(["run", "--quiet"]);
    program.current_dir(&folder).env("CARGO_TARGET_DIR", workspace.target.join("features"));
    let output = program.output().map_err(failed)?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn manifest(library: &Path, features: &[String]) -> String {
    let library = library.display();
    format!(
        "[package]\nname = \"behaviour\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         unstall = {{ path = '{library}', default-features = false, features = {features:?} }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::sets;

    #[test]
    fn none_one_two_all_but_one_and_all() {
        let features: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
        assert_eq!(sets(&features, false).len(), 1 + 5 + 10 + 5 + 1);
        assert_eq!(sets(&features, true).len(), 32);
    }
}
