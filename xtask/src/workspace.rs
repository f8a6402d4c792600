//! The workspace this program belongs to: its folder, its packages, its minimum Rust version.

use cargo_metadata::{Metadata, MetadataCommand, Package, TargetKind};
use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What `cargo metadata` says about the workspace.
pub(crate) struct Workspace {
    metadata: Metadata,
    /// The folder of the root Cargo.toml; also the current folder.
    pub(crate) root: PathBuf,
    /// Where Cargo builds.
    pub(crate) target: PathBuf,
}

/// Reads the workspace and makes its root the current folder.
pub(crate) fn enter() -> Result<Workspace, String> {
    // Cargo sets the variable for `cargo run`; the other is for a binary that is started by hand.
    let manifest_dir =
        env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    let metadata = MetadataCommand::new()
        .current_dir(&manifest_dir)
        .exec()
        .map_err(|error| format!("cannot read the workspace of {manifest_dir}: {error}"))?;
    let root = metadata.workspace_root.clone().into_std_path_buf();
    env::set_current_dir(&root).map_err(|error| format!("cannot enter {}: {error}", root.display()))?;
    let target = metadata.target_directory.clone().into_std_path_buf();
    Ok(Workspace { metadata, root, target })
}

impl Workspace {
    /// The workspace's own packages.
    pub(crate) fn members(&self) -> Vec<&Package> {
        self.metadata.workspace_packages()
    }

    /// Every package of the lock file, foreign ones too.
    pub(crate) fn packages(&self) -> &[Package] {
        &self.metadata.packages
    }

    /// The minimum supported Rust version, `1.85`, from the root Cargo.toml.
    pub(crate) fn msrv(&self) -> Result<String, String> {
        let member = self.members().into_iter().find_map(|package| package.rust_version.clone());
        let version = member.ok_or("no package names its rust-version")?;
        Ok(format!("{}.{}", version.major, version.minor))
    }

    /// The targets of a kind, as (package, target) names.
    pub(crate) fn targets(&self, kind: &TargetKind) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for package in self.members() {
            for target in package.targets.iter().filter(|target| target.kind.contains(kind)) {
                found.push((package.name.clone(), target.name.clone()));
            }
        }
        found
    }
}

/// A call of the cargo that runs this program.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Whether a program can be started: runs it with `arguments`, output thrown away, and looks at its exit status.
pub(crate) fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
