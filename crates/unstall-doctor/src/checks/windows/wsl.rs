//! The Windows Subsystem for Linux, seen from Windows: whether it is here, whether it runs, and how it is networked.

use super::only_on_windows;
use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Os, system};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub(in crate::checks) struct WslHost;

/// WSL, seen from Windows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "WslHostData")]
pub(in crate::checks) struct Data {
    /// Its programs that run: `wslservice.exe`, `wslrelay.exe`, ...
    running: Vec<String>,
    /// The network interface that Windows has for it: `vEthernet (WSL)`; null: none, or not known.
    interface: Option<String>,
    /// The mode that .wslconfig asks for, in lower case; null: none, so the default, `nat`.
    configured_mode: Option<String>,
    /// `localhostForwarding` of .wslconfig; null: not given, so the default, true.
    localhost_forwarding: Option<bool>,
    /// The mode in force, as far as it can be told from outside: `nat`, `mirrored`, `none`, `virtioproxy`, ...; null: not known.
    mode: Option<String>,
}

/// WSL's programs: its service, the relay that makes its ports appear at Windows' localhost, its virtual machine.
const PROGRAMS: [&str; 5] = ["wslservice.exe", "wslrelay.exe", "wslhost.exe", "vmmem", "vmmemWSL"];
/// Where WSL's own front end is, whether or not WSL was ever set up.
const FRONT_ENDS: [(&str, &str); 2] =
    [("ProgramFiles", r"WSL\wslservice.exe"), ("SystemRoot", r"System32\lxss\LxssManager.dll")];

impl Check for WslHost {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "wsl";
    const TITLE: &'static str = "WSL";
    const ABOUT: &'static str = "Windows: whether WSL is here and runs, its networking mode, and whether its ports appear at localhost";
    const BUDGET: Duration = Duration::from_secs(1);
    const OS: Os = Os::Windows;

    fn measure(_: &Context, (): &()) -> Measured<Data> {
        only_on_windows("WSL's host")?;
        let config = config_path().and_then(|path| std::fs::read(path).ok());
        let config = config.map(|bytes| Config::parse(&String::from_utf8_lossy(&bytes))).unwrap_or_default();
        let data = Data::of(&programs(), &interfaces(), &config);
        let installed = FRONT_ENDS.iter().any(|(variable, path)| {
            std::env::var_os(variable).is_some_and(|root| PathBuf::from(root).join(path).exists())
        });
        if !installed && data.running.is_empty() && data.interface.is_none() {
            return Err(NotRun::NotApplicable("WSL is not installed".to_owned()));
        }
        Ok(data)
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let mut findings = Vec::new();
        if data.mode.as_deref() == Some("mirrored") {
            findings.push(system::WSL_MIRRORED.found(&[]).with_all(data.evidence()));
        }
        let nat = data.mode.as_deref().is_none_or(|mode| mode == "nat");
        if nat && data.localhost_forwarding == Some(false) {
            findings.push(system::WSL_NOT_FORWARDED.found(&[]).with_all(data.evidence()));
        }
        findings
    }

    fn describe(data: &Data) -> Vec<String> {
        let state = if data.running.is_empty() {
            "installed, not running".to_owned()
        } else {
            format!("running ({})", data.running.join(", "))
        };
        let mode = data.mode.as_deref().unwrap_or("networking mode not known");
        let interface =
            data.interface.as_ref().map_or_else(String::new, |name| format!(", interface {name}"));
        vec![format!("{state}, {mode}{interface}")]
    }
}

impl Data {
    /// What the programs, the interfaces and the settings tell together.
    fn of(programs: &[String], interfaces: &[String], config: &Config) -> Self {
        let own = |name: &&String| PROGRAMS.iter().any(|program| program.eq_ignore_ascii_case(name));
        let mut running: Vec<String> = programs.iter().filter(own).cloned().collect();
        running.sort_unstable();
        running.dedup();
        let mut adapters =
            interfaces.iter().filter(|name| name.to_ascii_lowercase().starts_with("vethernet (wsl"));
        // Filter drivers appear as interfaces of their own, with longer names.
        let interface = adapters.by_ref().min_by_key(|name| name.len()).cloned();
        let configured_mode = config.get("networkingmode").map(str::to_ascii_lowercase);
        let mode = mode(!running.is_empty(), interface.is_some(), configured_mode.as_deref());
        let localhost_forwarding = config.get("localhostforwarding").and_then(boolean);
        Self { running, interface, configured_mode, localhost_forwarding, mode }
    }

    fn evidence(&self) -> Vec<Evidence> {
        let configured =
            self.configured_mode.as_ref().map(|mode| format!(".wslconfig: networkingMode={mode}"));
        let forwarding = self.localhost_forwarding.map(|on| format!(".wslconfig: localhostForwarding={on}"));
        let interface = match &self.interface {
            Some(name) => format!("interface {name}"),
            None => "no interface vEthernet (WSL)".to_owned(),
        };
        configured.into_iter().chain(forwarding).chain([interface]).map(Evidence::seen).collect()
    }
}

/// The mode in force. The settings are read when WSL's virtual machine starts, so one that runs may still be in another mode: NAT
/// has an interface on Windows' side, the other modes have none.
fn mode(running: bool, interface: bool, configured: Option<&str>) -> Option<String> {
    let asked = configured.unwrap_or("nat");
    match (running, interface, asked) {
        (true, true, "mirrored") => None,
        (true, true, _) => Some("nat".to_owned()),
        // The interface comes with the virtual machine, not with the service.
        (_, _, asked) => Some(asked.to_owned()),
    }
}

/// The section [wsl2] of .wslconfig.
#[derive(Debug, Default)]
struct Config(BTreeMap<String, String>);

impl Config {
    /// Keys in lower case; the last of several values counts. Comments begin with `#` or `;`.
    fn parse(text: &str) -> Self {
        let mut values = BTreeMap::new();
        let mut inside = false;
        for line in text.trim_start_matches('\u{feff}').lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[') {
                let name = section.split(']').next().unwrap_or_default().trim();
                inside = name.eq_ignore_ascii_case("wsl2");
            } else if let Some((key, value)) = line.split_once('=').filter(|_| inside) {
                if !line.starts_with(['#', ';']) {
                    let value = value.split(['#', ';']).next().unwrap_or_default().trim().trim_matches('"');
                    values.insert(key.trim().to_ascii_lowercase(), value.to_owned());
                }
            }
        }
        Self(values)
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

fn boolean(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn config_path() -> Option<PathBuf> {
    std::env::var_os("USERPROFILE").map(|home| PathBuf::from(home).join(".wslconfig"))
}

#[cfg(windows)]
fn programs() -> Vec<String> {
    unstall_sys::host::programs()
}

#[cfg(windows)]
fn interfaces() -> Vec<String> {
    unstall_sys::addresses::interfaces().unwrap_or_default()
}

#[cfg(not(windows))]
fn programs() -> Vec<String> {
    Vec::new()
}

#[cfg(not(windows))]
fn interfaces() -> Vec<String> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn data(programs: &[&str], interfaces: &[&str], config: &str) -> Data {
        Data::of(&strings(programs), &strings(interfaces), &Config::parse(config))
    }

    fn ids(data: &Data) -> Vec<String> {
        WslHost::judge(data).into_iter().map(|finding| finding.id).collect()
    }

    const MIRRORED: &str = "# mine\r\n[wsl2]\r\nmemory=8GB\r\nnetworkingMode = Mirrored ; new\r\n";

    #[test]
    fn nat_is_the_default_and_has_an_interface() {
        let nat = data(
            &["explorer.exe", "wslservice.exe", "vmmemWSL"],
            &[
                "Ethernet",
                "vEthernet (WSL (Hyper-V firewall))-WFP Native",
                "vEthernet (WSL (Hyper-V firewall))",
            ],
            "",
        );
        assert_eq!(nat.mode.as_deref(), Some("nat"));
        assert_eq!(nat.interface.as_deref(), Some("vEthernet (WSL (Hyper-V firewall))"));
        assert_eq!(nat.running, ["vmmemWSL", "wslservice.exe"]);
        assert_eq!(ids(&nat), [""; 0]);
    }

    #[test]
    fn mirrored_by_its_settings_and_without_an_interface() {
        let mirrored = data(&["wslservice.exe"], &["Ethernet"], MIRRORED);
        assert_eq!(mirrored.mode.as_deref(), Some("mirrored"));
        assert_eq!(ids(&mirrored), ["wsl-mirrored"]);
    }

    #[test]
    fn settings_that_are_not_in_force_yet_leave_the_mode_unknown() {
        let changed = data(&["wslservice.exe"], &["vEthernet (WSL)"], MIRRORED);
        assert_eq!((changed.mode.as_deref(), changed.configured_mode.as_deref()), (None, Some("mirrored")));
        assert_eq!(ids(&changed), [""; 0]);
    }

    #[test]
    fn ports_that_are_not_forwarded_are_told_where_nat_needs_it() {
        let off = "[wsl2]\nlocalhostForwarding=false\n";
        assert_eq!(ids(&data(&["wslservice.exe"], &["vEthernet (WSL)"], off)), ["wsl-not-forwarded"]);
        let mirrored = format!("{off}networkingMode=mirrored\n");
        assert_eq!(ids(&data(&["wslservice.exe"], &[], &mirrored)), ["wsl-mirrored"]);
        assert_eq!(ids(&data(&[], &[], "[wsl2]\nlocalhostForwarding=TRUE\n")), [""; 0]);
    }

    #[test]
    fn only_the_section_of_wsl_2_counts() {
        let config = Config::parse(
            "\u{feff}[experimental]\nnetworkingMode=none\n[WSL2]\n#networkingMode=nat\nnetworkingMode=\"virtioproxy\"\n",
        );
        assert_eq!(config.get("networkingmode"), Some("virtioproxy"));
        assert_eq!(Config::parse("networkingMode=mirrored").get("networkingmode"), None);
        assert_eq!(Config::parse("[wsl2]\nnetworkingMode=\n").get("networkingmode"), None);
    }
}
