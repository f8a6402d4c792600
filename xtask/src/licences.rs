//! Every package that the program is built from may be used under one of the licences in deny.toml.

use crate::workspace::Workspace;
use spdx::{Expression, LicenseReq};
use std::fs;

pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let allowed = allowed(&workspace.root.join("deny.toml"))?;
    let mut complaints = Vec::new();
    for package in workspace.packages() {
        let Some(licence) = &package.license else {
            complaints.push(format!("{} {} names no licence", package.name, package.version));
            continue;
        };
        match may_be_used(licence, &allowed) {
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

/// The list `licenses.allow` of deny.toml, which `cargo deny` reads too.
fn allowed(file: &std::path::Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("cannot read deny.toml: {error}"))?;
    let table: toml::Table = text.parse().map_err(|error| format!("deny.toml: {error}"))?;
    let list =
        table.get("licenses").and_then(|licences| licences.get("allow")).and_then(toml::Value::as_array);
    let list = list.ok_or("deny.toml has no licenses.allow")?;
    Ok(list.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
}

/// Whether an SPDX expression can be fulfilled with the allowed licences. `MIT/Apache-2.0` is the old way to say OR.
fn may_be_used(licence: &str, allowed: &[String]) -> Result<bool, String> {
    let expression = Expression::parse(&licence.replace('/', " OR ")).map_err(|error| error.to_string())?;
    let names = |requirement: &LicenseReq| requirement.to_string();
    Ok(expression.evaluate(|requirement| allowed.contains(&names(requirement))))
}

#[cfg(test)]
mod tests {
    use super::may_be_used;

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
