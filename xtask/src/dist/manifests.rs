//! What package managers of Windows read: winget's three manifests and scoop's one.

use super::platforms::Platform;
use serde_json::json;
use std::fs;
use std::path::Path;

/// The version of winget's schema; from 1.9 on it knows programs that need the files beside them.
const WINGET: &str = "1.9.0";
const IDENTIFIER: &str = "unstall.unstall";
const DESCRIPTION: &str = "Finds, fixes and proves TCP connect stalls, above all on localhost";
const LICENCE: &str = "MIT OR Apache-2.0";

/// What the manifests say about a release.
pub(crate) struct Release<'a> {
    pub(crate) version: &'a str,
    /// The archive for Windows.
    pub(crate) platform: &'a Platform,
    /// Its SHA-256.
    pub(crate) sha256: &'a str,
    /// Where the archives are, without a slash at the end.
    pub(crate) url: &'a str,
    /// Where the project is.
    pub(crate) homepage: &'a str,
}

/// The files, by name.
pub(crate) fn files(release: &Release<'_>) -> Vec<(String, String)> {
    vec![
        (format!("winget/{IDENTIFIER}.yaml"), winget_version(release)),
        (format!("winget/{IDENTIFIER}.installer.yaml"), winget_installer(release)),
        (format!("winget/{IDENTIFIER}.locale.en-US.yaml"), winget_locale(release)),
        ("scoop/unstall.json".to_owned(), scoop(release)),
    ]
}

/// Writes them below a folder.
pub(crate) fn write(folder: &Path, release: &Release<'_>) -> Result<(), String> {
    for (name, text) in files(release) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Every value is quoted: what a version looks like to YAML is nobody's concern.
fn yaml(kind: &str, lines: &[(&str, &str)]) -> String {
    let head = format!(
        "# yaml-language-server: $schema=https://aka.ms/winget-manifest.{kind}.{WINGET}.schema.json\n"
    );
    let lines = lines.iter().map(|(name, value)| match *value {
        "" => format!("{name}:\n"),
        value => format!("{name}: {}\n", json!(value)),
    });
    head + &lines.collect::<String>()
}

fn winget_version(release: &Release<'_>) -> String {
    yaml(
        "version",
        &[
            ("PackageIdentifier", IDENTIFIER),
            ("PackageVersion", release.version),
            ("DefaultLocale", "en-US"),
            ("ManifestType", "version"),
            ("ManifestVersion", WINGET),
        ],
    )
}

fn winget_installer(release: &Release<'_>) -> String {
    let Release { version, platform, sha256, url, .. } = *release;
    let program = format!("{}\\{}", platform.folder(version), platform.program());
    let url = format!("{url}/{}", platform.archive(version));
    let text = yaml(
        "installer",
        &[
            ("PackageIdentifier", IDENTIFIER),
            ("PackageVersion", version),
            ("InstallerType", "zip"),
            ("NestedInstallerType", "portable"),
            ("NestedInstallerFiles", ""),
            ("- RelativeFilePath", &program),
            ("  PortableCommandAlias", "unstall"),
            ("Installers", ""),
            ("- Architecture", "x64"),
            ("  InstallerUrl", &url),
            ("  InstallerSha256", &sha256.to_uppercase()),
            ("ManifestType", "installer"),
            ("ManifestVersion", WINGET),
        ],
    );
    // No text: the DLLs of `unstall run` are looked for beside the program, not beside a link to it.
    text.replace("Installers:\n", "ArchiveBinariesDependOnPath: true\nInstallers:\n")
}

fn winget_locale(release: &Release<'_>) -> String {
    yaml(
        "defaultLocale",
        &[
            ("PackageIdentifier", IDENTIFIER),
            ("PackageVersion", release.version),
            ("PackageLocale", "en-US"),
            ("Publisher", "The unstall developers"),
            ("PackageName", "unstall"),
            ("PackageUrl", release.homepage),
            ("License", LICENCE),
            ("ShortDescription", DESCRIPTION),
            ("ManifestType", "defaultLocale"),
            ("ManifestVersion", WINGET),
        ],
    )
}

fn scoop(release: &Release<'_>) -> String {
    let Release { version, platform, sha256, url, homepage } = *release;
    let manifest = json!({
        "version": version,
        "description": DESCRIPTION,
        "homepage": homepage,
        "license": LICENCE.replace(" OR ", "|"),
        "architecture": {
            "64bit": {
                "url": format!("{url}/{}", platform.archive(version)),
                "hash": sha256,
                "extract_dir": platform.folder(version),
            },
        },
        "bin": platform.program(),
        "checkver": { "github": homepage },
        "autoupdate": {
            "architecture": {
                "64bit": {
                    "url": format!("{}/{}", url.replace(version, "$version"), platform.archive("$version")),
                    "extract_dir": platform.folder("$version"),
                },
            },
            "hash": { "url": "$baseurl/SHA256SUMS" },
        },
    });
    format!("{manifest:#}\n")
}

#[cfg(test)]
mod tests {
    use super::{Release, files};
    use crate::dist::platforms::Platform;

    fn made() -> Vec<(String, String)> {
        let sha256 = "0a".repeat(32);
        let platform = Platform::of("x86_64-pc-windows-gnu").unwrap();
        let (url, homepage) = ("https://example.com/a/b/releases/download/v1.2.3", "https://example.com/a/b");
        files(&Release { version: "1.2.3", platform, sha256: &sha256, url, homepage })
    }

    fn text(name: &str) -> String {
        made().into_iter().find(|(path, _)| path.ends_with(name)).unwrap().1
    }

    #[test]
    fn winget_learns_where_the_archive_is_and_what_is_in_it() {
        let text = text(".installer.yaml");
        let archive = "unstall-1.2.3-x86_64-pc-windows-gnu";
        assert!(
            text.contains(&format!(
                "  InstallerUrl: \"https://example.com/a/b/releases/download/v1.2.3/{archive}.zip\"\n"
            )),
            "{text}"
        );
        assert!(text.contains(&format!("- RelativeFilePath: \"{archive}\\\\unstall.exe\"\n")), "{text}");
        // The schema: 64 hexadecimal digits, either case; winget itself writes capitals.
        assert!(text.contains(&format!("  InstallerSha256: \"{}\"\n", "0A".repeat(32))), "{text}");
        assert!(text.contains("\nArchiveBinariesDependOnPath: true\n"), "{text}");
    }

    #[test]
    fn every_winget_manifest_names_package_version_and_type() {
        for (name, kind) in
            [("unstall.yaml", "version"), (".installer.yaml", "installer"), (".en-US.yaml", "defaultLocale")]
        {
            let text = text(name);
            for line in [
                "PackageIdentifier: \"unstall.unstall\"".to_owned(),
                "PackageVersion: \"1.2.3\"".to_owned(),
                format!("ManifestType: \"{kind}\""),
                "ManifestVersion: \"1.9.0\"".to_owned(),
            ] {
                assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
            }
        }
    }

    #[test]
    fn scoop_finds_this_release_and_the_next() {
        let manifest: serde_json::Value = serde_json::from_str(&text("unstall.json")).unwrap();
        let this = &manifest["architecture"]["64bit"];
        assert_eq!(
            this["url"],
            "https://example.com/a/b/releases/download/v1.2.3/unstall-1.2.3-x86_64-pc-windows-gnu.zip"
        );
        assert_eq!(this["hash"], "0a".repeat(32));
        let next = &manifest["autoupdate"]["architecture"]["64bit"];
        assert_eq!(
            next["url"],
            "https://example.com/a/b/releases/download/v$version/unstall-$version-x86_64-pc-windows-gnu.zip"
        );
    }
}
