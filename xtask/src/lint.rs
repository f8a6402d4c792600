//! `cargo xtask lint`: format, lints, documentation, licences, and promises that no compiler checks.

use crate::api;
use crate::dist;
use crate::features;
use crate::licences;
use crate::msrv;
use crate::run::Run;
use crate::workspace::{Workspace, cargo, works};
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The packages that may contain unsafe code; every other one forbids it in its root.
const UNSAFE_PACKAGES: &[&str] = &["unstall-sys", "unstall-hook", "unstall-ffi", "unstall-rtoshim"];

/// Workspaces of their own, so that nobody else has to build what they need.
const BESIDE: &[&str] = &["examples", "python"];

/// Where people read the minimum Rust version, and the text before it. The value itself is in the root Cargo.toml.
const MSRV_MENTIONS: &[(&str, &str)] = &[
    ("README.md", "Rust "),
    ("CONTRIBUTING.md", "minimum Rust version is "),
    (".github/workflows/ci.yml", "toolchain: [\""),
];

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode, String> {
    let mut run = Run::new(&workspace.target)?;
    run.command("format", &mut cargo(["fmt", "--all", "--check"]));
    run.command(
        "clippy",
        &mut cargo(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]),
    );
    for name in BESIDE {
        let manifest = format!("{name}/Cargo.toml");
        let beside = |arguments: &[&str]| {
            let mut command = cargo(["--quiet"]);
            command.args(arguments).env("CARGO_TARGET_DIR", &workspace.target);
            command
        };
        let format = ["fmt", "--manifest-path", &manifest, "--check"];
        run.command(&format!("format of {name}/"), &mut beside(&format));
        let clippy = ["clippy", "--manifest-path", &manifest, "--all-targets", "--", "-D", "warnings"];
        run.command(&format!("clippy of {name}/"), &mut beside(&clippy));
    }
    run.command(
        "documentation",
        cargo(["doc", "--workspace", "--no-deps", "--all-features"]).env("RUSTDOCFLAGS", "-D warnings"),
    );
    run.step("unsafe code only where it may be", || unsafe_is_forbidden(workspace));
    run.step("one minimum Rust version everywhere", || msrv_agrees(workspace));
    run.step("every dependency has its reason in docs/DESIGN.md", || dependencies_have_reasons(workspace));
    run.step("licences", || licences::check(workspace, BESIDE));
    run.step("packages can be published", || dist::metadata::check(workspace));
    cargo_deny(&mut run);
    features::add(&mut run, workspace, false);
    api::add(&mut run, workspace, false);
    msrv::add(&mut run, workspace)?;
    Ok(run.finish())
}

fn read(workspace: &Workspace, file: &str) -> Result<String, String> {
    fs::read_to_string(workspace.root.join(file)).map_err(|error| format!("cannot read {file}: {error}"))
}

/// Turns a list of complaints into one result.
fn none(complaints: &[String]) -> Result<(), String> {
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) }
}

fn unsafe_is_forbidden(workspace: &Workspace) -> Result<(), String> {
    let mut complaints = Vec::new();
    for package in workspace.members() {
        if UNSAFE_PACKAGES.contains(&package.name.as_str()) {
            continue;
        }
        for target in &package.targets {
            let source = fs::read_to_string(&target.src_path).unwrap_or_default();
            let is_root = target.is_lib() || target.is_bin();
            if is_root && !source.contains("#![forbid(unsafe_code)]") {
                complaints.push(format!("{} lacks #![forbid(unsafe_code)]", target.src_path));
            }
        }
    }
    none(&complaints)
}

fn msrv_agrees(workspace: &Workspace) -> Result<(), String> {
    let msrv = workspace.msrv()?;
    let mut complaints = Vec::new();
    for (file, before) in MSRV_MENTIONS {
        let text = read(workspace, file)?;
        // Only what looks like a version counts: "Rust 1.85", not "Rust programs".
        let mentions = text.match_indices(before).map(|(at, _)| &text[at + before.len()..]);
        let versions: Vec<&str> = mentions.filter(|rest| rest.starts_with("1.")).map(version).collect();
        if versions.is_empty() {
            complaints.push(format!("{file} does not say which Rust version is needed ({before}{msrv})"));
        }
        for wrong in versions.iter().filter(|version| **version != msrv) {
            complaints.push(format!("{file} says {before}{wrong}, the root Cargo.toml {msrv}"));
        }
    }
    none(&complaints)
}

/// The version at the start of a text: `1.85` of `1.85 or newer` and of `1.85.`.
fn version(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].trim_end_matches('.')
}

fn dependencies_have_reasons(workspace: &Workspace) -> Result<(), String> {
    let manifest: toml::Table =
        read(workspace, "Cargo.toml")?.parse().map_err(|error| format!("Cargo.toml: {error}"))?;
    let design = read(workspace, "docs/DESIGN.md")?;
    let dependencies = manifest.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let names = dependencies.and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
    let foreign = names.filter(|name| !name.starts_with("unstall"));
    let missing = foreign.filter(|name| !design.contains(&format!("| `{name}` |")));
    none(&missing.map(|name| format!("docs/DESIGN.md has no row for `{name}`")).collect::<Vec<_>>())
}

/// The same licences and more, by the tool that many know; it also compares sources and duplicate versions.
fn cargo_deny(run: &mut Run) {
    if !works("cargo", &["deny", "--version"]) {
        return run
            .leave_out("cargo deny", "not installed (cargo install cargo-deny); licences were checked");
    }
    run.command("cargo deny", &mut deny(&["bans", "licenses", "sources"]));
    if advisories_are_here() {
        run.command("cargo deny: advisories", &mut deny(&["--disable-fetch", "advisories"]));
    } else {
        run.leave_out("cargo deny: advisories", "no copy of the advisory database here (cargo deny fetch)");
    }
}

fn deny(checks: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(["deny", "--offline", "check"]).args(checks);
    command
}

/// Whether cargo-deny fetched the advisory database at some time; it keeps it in Cargo's home.
fn advisories_are_here() -> bool {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    home.and_then(|home| fs::read_dir(home.join("advisory-dbs")).ok())
        .is_some_and(|mut folder| folder.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn a_version_ends_before_the_sentence_does() {
        assert_eq!(version("1.85 or newer"), "1.85");
        assert_eq!(version("1.85."), "1.85");
        assert_eq!(version("1.85\""), "1.85");
    }
}
