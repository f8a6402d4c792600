//! The platform: kernel, architecture, container, WSL.

use crate::checks::windows::build_of;
use crate::checks::{Check, Measured};
use crate::context::Context;
use crate::findings::{Evidence, Finding, system};
use schemars::JsonSchema;
use serde::Serialize;
use std::process::Command;
use std::time::Duration;
use unstall_core::syn::FIRST_BUILD_WITHOUT_RETRANSMISSION;
use unstall_sys::host::{self, Container, Wsl};

pub(super) struct Platform;

/// What this runs on.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "PlatformData")]
pub(super) struct Data {
    /// `linux`, `windows`, `macos`, ...
    os: String,
    /// The kernel's release, or Windows' version with its build.
    kernel: Option<String>,
    /// `x86_64`, `aarch64`, ...
    arch: String,
    /// Windows' build number; null elsewhere.
    windows_build: Option<u32>,
    /// The version of Wine, which stands in for Windows; null: this is no Wine.
    wine: Option<String>,
    /// `docker`, `podman`, `kubernetes`, `other`; null: no trace of a container.
    container: Option<&'static str>,
    /// The generation of the Windows Subsystem for Linux; null: it is none.
    wsl: Option<u8>,
    /// `nat`, `mirrored`, ...; null: not WSL 2, or it does not tell.
    wsl_networking: Option<String>,
}

impl Check for Platform {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "platform";
    const TITLE: &'static str = "platform and kernel";
    const ABOUT: &'static str =
        "kernel, architecture, container, WSL and its networking mode; names known weaknesses of the version";
    const BUDGET: Duration = Duration::from_secs(1);

    fn measure(_: &Context, (): &()) -> Measured<Data> {
        let facts = host::facts();
        let wsl = facts.wsl.map(|wsl| if wsl == Wsl::One { 1 } else { 2 });
        Ok(Data {
            windows_build: facts.kernel.as_deref().filter(|_| facts.os == "windows").and_then(build_of),
            wine: facts.wine,
            container: facts.container.map(container),
            wsl,
            wsl_networking: wsl.filter(|&generation| generation == 2).and_then(|_| networking_mode()),
            os: facts.os,
            kernel: facts.kernel,
            arch: facts.arch,
        })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let kernel =
            || Evidence::seen(format!("the system says {}", data.kernel.as_deref().unwrap_or("nothing")));
        let mut findings = Vec::new();
        if let Some(build) = data.windows_build.filter(|&build| build < FIRST_BUILD_WITHOUT_RETRANSMISSION) {
            findings.push(system::OLD_WINDOWS.found(&[("build", &build)]).with_evidence(kernel()));
        }
        if data.wsl_networking.as_deref() == Some("mirrored") {
            let said = Evidence::seen("wslinfo --networking-mode says mirrored");
            findings.push(system::WSL_MIRRORED.found(&[]).with_evidence(said));
        }
        findings
    }

    fn describe(data: &Data) -> Vec<String> {
        let mut words = vec![format!("{} {}", data.os, data.kernel.as_deref().unwrap_or("(kernel unknown)"))];
        words.extend(data.wine.as_ref().map(|version| format!("as Wine {version} says")));
        words.push(data.arch.clone());
        words.extend(data.container.map(|container| format!("container: {container}")));
        words.extend(data.wsl.map(|generation| format!("WSL {generation}")));
        words.extend(data.wsl_networking.as_ref().map(|mode| format!("{mode} networking")));
        vec![words.join(", ")]
    }
}

fn container(kind: Container) -> &'static str {
    match kind {
        Container::Docker => "docker",
        Container::Podman => "podman",
        Container::Kubernetes => "kubernetes",
        _ => "other",
    }
}

/// What `wslinfo` says; older WSL has no such command.
fn networking_mode() -> Option<String> {
    let output = Command::new("wslinfo").arg("--networking-mode").output().ok()?;
    let mode = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !mode.is_empty()).then_some(mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;

    fn ids(data: &Data) -> Vec<String> {
        Platform::judge(data).into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn windows_builds_are_judged_on_both_sides_of_the_limit() {
        let windows = |build| Data { os: "windows".into(), windows_build: Some(build), ..Data::default() };
        assert_eq!(ids(&windows(14393)), ["old-windows"]);
        assert_eq!(ids(&windows(16298)), ["old-windows"]);
        assert_eq!(ids(&windows(16299)), [""; 0]);
    }

    #[test]
    fn mirrored_networking_is_told_and_nat_is_not() {
        let wsl =
            |mode: &str| Data { wsl: Some(2), wsl_networking: Some(mode.to_owned()), ..Data::default() };
        assert_eq!(ids(&wsl("mirrored")), ["wsl-mirrored"]);
        assert_eq!(ids(&wsl("nat")), [""; 0]);
    }

    #[test]
    fn wine_is_not_called_windows() {
        let data = Data { os: "windows".into(), wine: Some("8.0".to_owned()), ..Data::default() };
        assert_eq!(Platform::describe(&data)[0], "windows (kernel unknown), as Wine 8.0 says, ");
    }

    #[test]
    fn this_machine_has_an_os_and_an_architecture() {
        let data = Platform::measure(&Context::new(&Options::default()), &()).expect("not measured");
        assert_eq!((data.os.as_str(), data.arch.as_str()), (std::env::consts::OS, std::env::consts::ARCH));
    }
}
