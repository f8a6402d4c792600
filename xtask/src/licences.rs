//! Every package that the program is built from may be used under one of the licences in deny.toml.

use crate::workspace::Workspace;
use cargo_metadata::MetadataCommand;
use spdx::{Expression, LicenseReq};
use std::fs;

/// `beside`: the folders of further workspaces.
pub(crate) fn check(workspace: &Workspace, beside: &[&str]) -> Result<(), String> {
    let allowed = allowed(&workspace.root.join("deny.toml"))?;
    let mut complaints = Vec::new();
    let mut packages = workspace.packages().to_vec();
    for name in beside {
        let manifest = workspace.root.join(name).join("Cargo.toml");
        let read = MetadataCommand::new().manifest_path(&manifest).exec();
        packages
            .extend(read.map_err(|error| format!("cannot read {}: {error}", manifest.display()))?.packages);
    }
    packages.sort_by(|a, b| a.id.cmp(&b.id));
    packages.dedup_by(|a, b| a.id == b.id);
    for package in &packages {
        let Some(licence) = &package.license else {
            complaints.push(format!("{} {} names no licence", package.name, package.version));
            continue;
        };
        match may_be_used(licence, &allowed.of(&package.name)) {
            Ok(true) => {}
            Ok(false) => complaints.push(format!(
                "{} {} is licensed {licence}, which deny.toml does not allow",
                package.name, package.version
            )),
            Err(error) => complaints.push(format!("{} {}: {error}", package.name, package.version)),
        }
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) }
}

/// What deny.toml allows, which `cargo deny` reads too.
#[derive(serde::Deserialize)]
struct Allowed {
    allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<Exception>,
}

/// What one package may have besides.
#[derive(serde::Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    package: String,
    allow: Vec<String>,
}

impl Allowed {
    /// The licences that a package may have.
    fn of(&self, package: &str) -> Vec<String> {
        let exceptions = self.exceptions.iter().filter(|exception| exception.package == package);
        self.allow.iter().chain(exceptions.flat_map(|exception| &exception.allow)).cloned().collect()
    }
}

/// The table `licenses` of deny.toml.
fn allowed(file: &std::path::Path) -> Result<Allowed, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("cannot read deny.toml: {error}"))?;
    let table: toml::Table = text.parse().map_err(|error| format!("deny.toml: {error}"))?;
    let licences = table.get("licenses").cloned().ok_or("deny.toml has no table licenses")?;
    licences.try_into().map_err(|error| format!("deny.toml: {error}"))
}

/// Whether an SPDX expression can be fulfilled with the allowed licences. `MIT/Apache-2.0` is the old way to say OR.
fn may_be_used(licence: &str, allowed: &[String]) -> Result<bool, String> {
    let expression = Expression::parse(&licence.replace('/', " OR ")).map_err(|error| error.to_string())?;
    let names = |requirement: &LicenseReq| requirement.to_string();
    Ok(expression.evaluate(|requirement| allowed.contains(&names(requirement))))
}

#[cfg(test)]
mod tests {
    use super::{Allowed, Exception, may_be_used};

    #[test]
    fn an_exception_is_for_one_package() {
        let exception = Exception { package: "tool".to_owned(), allow: vec!["MPL-2.0".to_owned()] };
        let allowed = Allowed { allow: vec!["MIT".to_owned()], exceptions: vec![exception] };
        assert_eq!(may_be_used("MPL-2.0", &allowed.of("tool")), Ok(true));
        assert_eq!(may_be_used("MPL-2.0", &allowed.of("other")), Ok(false));
    }

    #[test]
    fn one_allowed_licence_of_an_or_is_enough_and_of_an_and_is_not() {
        let allowed = ["MIT".to_owned(), "Unicode-3.0".to_owned()];
        assert_eq!(may_be_used("MIT OR GPL-3.0-only", &allowed), Ok(true));
        assert_eq!(may_be_used("MIT/Apache-2.0", &allowed), Ok(true));
        assert_eq!(may_be_used("MIT AND GPL-3.0-only", &allowed), Ok(false));
        assert_eq!(may_be_used("(MIT OR Apache-2.0) AND Unicode-3.0", &allowed), Ok(true));
        assert!(may_be_used("no licence at all", &allowed).is_err());
    }
}
