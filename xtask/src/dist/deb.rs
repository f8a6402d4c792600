//! The Debian package, by cargo-deb; what it contains is in the Cargo.toml of unstall-cli.

use super::archive::sha256_of;
use crate::workspace::{Workspace, cargo, works};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Packs what was built for `triple` and adds the package to `sums`. `None`: done; else why it was left out.
pub(crate) fn pack(
    workspace: &Workspace,
    triple: &str,
    built: &Path,
    completions: &[(String, Vec<u8>)],
    (dist, seconds): (&Path, u64),
    sums: &mut BTreeMap<String, String>,
) -> Result<Option<&'static str>, String> {
    if !works("cargo", &["deb", "--version"]) {
        return Ok(Some("no cargo-deb here (cargo install cargo-deb)"));
    }
    // cargo-deb looks for assets below the folder of what was built.
    for (path, bytes) in completions {
        let path = built.join(path);
        let folder = path.parent().unwrap_or(built);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let mut command = cargo(["deb", "--package", "unstall-cli", "--no-build", "--no-strip", "--quiet"]);
    command.args(["--profile", "dist", "--target", triple, "--output"]).arg(dist);
    command.env("CARGO_TARGET_DIR", workspace.target.join("dist-build"));
    command.env("SOURCE_DATE_EPOCH", seconds.to_string());
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !status.success() {
        return Err(format!("cargo deb: {status}"));
    }
    let entries = fs::read_dir(dist).map_err(|error| format!("cannot read {}: {error}", dist.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "deb") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            sums.insert(name, sha256_of(&path)?);
        }
    }
    Ok(None)
}
