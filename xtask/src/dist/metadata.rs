//! What registries and installers read in the packages' Cargo.toml.

use super::platforms::PLATFORMS;
use crate::workspace::{Workspace, cargo};
use cargo_metadata::{DependencyKind, Package};

/// Folders and files that a package may consist of.
const PARTS: &[&str] = &[
    "src/",
    "tests/",
    "benches/",
    "examples/",
    "build.rs",
    "programs/",
    "README.md",
    "Cargo.",
    ".cargo_vcs_info.json",
];

/// Whether every package that is published has what it needs, and cargo-binstall finds our archives.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let mut complaints = Vec::new();
    let published: Vec<&Package> = workspace.members().into_iter().filter(|it| is_published(it)).collect();
    for package in &published {
        complaints.extend(missing(package));
        complaints.extend(unpublished(package, &published));
        complaints.extend(odd_files(&package.name)?);
        if package.name == "unstall-cli" {
            complaints.extend(binstall(package));
        }
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) }
}

fn is_published(package: &Package) -> bool {
    package.publish.as_ref().is_none_or(|registries| !registries.is_empty())
}

/// What a registry shows and this package does not say.
fn missing(package: &Package) -> Vec<String> {
    let has = [
        ("description", package.description.is_some()),
        ("license", package.license.is_some()),
        ("readme", package.readme.is_some()),
        ("rust-version", package.rust_version.is_some()),
        ("keywords", !package.keywords.is_empty()),
        ("categories", !package.categories.is_empty()),
    ];
    has.iter().filter(|(_, has)| !has).map(|(what, _)| format!("{} has no {what}", package.name)).collect()
}

/// What a package depends on that is not published, or has no version.
fn unpublished(package: &Package, published: &[&Package]) -> Vec<String> {
    let ours = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
    let needed = ours.filter(|dependency| dependency.kind != DependencyKind::Development);
    needed
        .filter(|dependency| {
            let is_there = published.iter().any(|package| package.name == dependency.name);
            !is_there || dependency.req.comparators.is_empty()
        })
        .map(|dependency| format!("{} needs {}, which is not published", package.name, dependency.name))
        .collect()
}

/// Files that would be published and are none of ours.
fn odd_files(package: &str) -> Result<Vec<String>, String> {
    let output = cargo(["package", "--list", "--allow-dirty", "--package", package])
        .output()
        .map_err(|error| format!("cannot start cargo package: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo package --list {package}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    let odd = listed.lines().filter(|file| !PARTS.iter().any(|part| file.starts_with(part)));
    Ok(odd.map(|file| format!("{package} would publish {file}")).collect())
}

/// Whether the names that cargo-binstall asks for are those of the archives.
fn binstall(package: &Package) -> Vec<String> {
    let version = package.version.to_string();
    let metadata = &package.metadata["binstall"];
    PLATFORMS
        .iter()
        .filter_map(|platform| {
            let own = &metadata["overrides"][platform.triple];
            let value = |name: &str| own[name].as_str().or(metadata[name].as_str()).unwrap_or_default();
            let fill = |text: &str| {
                let suffix = if value("pkg-fmt") == "zip" { ".zip" } else { ".tar.gz" };
                let extension = if platform.is_windows() { ".exe" } else { "" };
                text.replace("{ version }", &version)
                    .replace("{ target }", platform.triple)
                    .replace("{ archive-suffix }", suffix)
                    .replace("{ bin }", "unstall")
                    .replace("{ binary-ext }", extension)
            };
            let url = fill(value("pkg-url"));
            let program = fill(value("bin-dir"));
            let archive = platform.archive(&version);
            let expected = format!("{}/{}", platform.folder(&version), platform.program());
            (!url.ends_with(&format!("/{archive}")) || program != expected).then(|| {
                format!("cargo-binstall would look for {program} in {url}, not for {expected} in {archive}")
            })
        })
        .collect()
}
