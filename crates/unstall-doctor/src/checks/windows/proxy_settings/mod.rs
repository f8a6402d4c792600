//! Windows' own proxy settings: which programs would send what is meant for this machine to a proxy, and whether a proxy is searched
//! for.

mod programs;

use super::only_on_windows;
#[cfg(windows)]
use crate::checks::NotRun;
#[cfg(any(windows, test))]
use crate::checks::host::without_password;
use crate::checks::{Check, Measured};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Os, Severity, proxy};
use programs::PROGRAMS;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::time::Duration;

pub(in crate::checks) struct ProxySettings;

/// What the registry says, under `Internet Settings`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ProxySettings")]
pub(in crate::checks) struct Settings {
    /// ProxyEnable; null: not set.
    enabled: Option<bool>,
    /// ProxyServer, without user names and passwords; null: not set.
    server: Option<String>,
    /// ProxyOverride, the exceptions; null: not set.
    exceptions: Option<String>,
    /// AutoConfigURL, without user name and password; null: not set.
    script: Option<String>,
    /// Whether a proxy is searched for (WPAD): AutoDetect, or the flag in DefaultConnectionSettings; null: not known.
    auto_detect: Option<bool>,
}

/// The settings, and whom they catch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ProxySettingsData")]
pub(in crate::checks) struct Data {
    settings: Settings,
    /// What each program that reads them does with requests for this machine.
    programs: Vec<Program>,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ProxySettingsProgram")]
pub(in crate::checks) struct Program {
    name: String,
    /// The URLs that it sends to the proxy.
    caught: Vec<String>,
    /// Where its rules were read.
    source: String,
}

/// How a URL names this machine.
const HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Check for ProxySettings {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "proxy-settings";
    const TITLE: &'static str = "Windows' proxy settings";
    const ABOUT: &'static str = "Windows: whether the proxy of the Internet settings catches localhost, 127.0.0.1 or ::1, by the rules of \
                                 each program that reads them, and whether a proxy is searched for (WPAD) or computed by a script";
    const BUDGET: Duration = Duration::from_millis(200);
    const OS: Os = Os::Windows;

    fn measure(_: &Context, (): &()) -> Measured<Data> {
        only_on_windows("Internet settings")?;
        read().map(survey)
    }

    fn judge(data: &Data) -> Vec<Finding> {
        caught(data).into_iter().chain(discovery(&data.settings)).collect()
    }

    fn describe(data: &Data) -> Vec<String> {
        let settings = &data.settings;
        let server = match (settings.proxy(), &settings.server) {
            (Some(server), _) => format!("proxy {server}"),
            (None, Some(_)) => "a proxy is set and switched off".to_owned(),
            (None, None) => "no proxy".to_owned(),
        };
        let exceptions = settings.exceptions.as_ref().map(|list| format!("except for {list}"));
        let script = settings.script.as_ref().map(|url| format!("script {url}"));
        let detect = match settings.auto_detect {
            Some(true) => "searched for automatically",
            Some(false) => "not searched for",
            None => "not known whether it is searched for",
        };
        let words = std::iter::once(server).chain(exceptions).chain(script).chain([detect.to_owned()]);
        vec![words.collect::<Vec<_>>().join(", ")]
    }
}

impl Settings {
    /// The proxy in force.
    fn proxy(&self) -> Option<&str> {
        self.server.as_deref().filter(|server| self.enabled == Some(true) && !server.is_empty())
    }

    /// The proxy for a scheme: ProxyServer is one for all, or `http=a:1;https=b:2`.
    fn proxy_for(&self, scheme: &str) -> Option<&str> {
        let server = self.proxy()?;
        let mut entries = server.split([';', ' ']).map(str::trim).filter(|entry| !entry.is_empty());
        if !server.contains('=') {
            return entries.next();
        }
        let mut pairs = entries.filter_map(|entry| entry.split_once('='));
        pairs.find(|(of, _)| of.trim().eq_ignore_ascii_case(scheme)).map(|(_, proxy)| proxy.trim())
    }

    fn evidence(&self) -> impl Iterator<Item = Evidence> + use<> {
        let fact = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| Evidence::seen(format!("{name} is {value}")))
        };
        let facts = [
            fact("ProxyServer", &self.server),
            fact("ProxyOverride", &self.exceptions),
            fact("AutoConfigURL", &self.script),
        ];
        facts.into_iter().flatten()
    }
}

fn survey(settings: Settings) -> Data {
    let programs = PROGRAMS.iter().map(|program| {
        let schemes = ["http", "https"].into_iter().filter(|scheme| settings.proxy_for(scheme).is_some());
        let urls = schemes.flat_map(|scheme| HOSTS.map(|host| (scheme, host)));
        let list = settings.exceptions.as_deref().unwrap_or_default();
        let caught = urls.filter(|(_, host)| !(program.exempts)(list, host));
        Program {
            name: program.name.to_owned(),
            caught: caught.map(|(scheme, host)| format!("{scheme}://{host}")).collect(),
            source: program.source.to_owned(),
        }
    });
    let programs = programs.collect();
    Data { settings, programs }
}

fn caught(data: &Data) -> Option<Finding> {
    let caught: Vec<&Program> = data.programs.iter().filter(|program| !program.caught.is_empty()).collect();
    let first = caught.first()?;
    let names: Vec<&str> = caught.iter().map(|program| program.name.as_str()).collect();
    let server = data.settings.proxy()?;
    // Hardly anybody types [::1].
    let plain = caught.iter().flat_map(|program| &program.caught).any(|url| !url.ends_with("[::1]"));
    let hosts: Vec<&str> = HOSTS
        .into_iter()
        .filter(|host| caught.iter().any(|program| program.caught.iter().any(|url| url.ends_with(host))))
        .collect();
    let values: &[(&str, &dyn Display)] = &[
        ("hosts", &hosts.join(", ")),
        ("proxy", &server),
        ("programs", &names.join(", ")),
        ("first", &first.name),
    ];
    let evidence = caught.iter().map(|program| {
        let text = format!("{} would ask the proxy for {}", program.name, program.caught.join(", "));
        Evidence::published(text, program.source.clone())
    });
    let severity = if plain { Severity::Warn } else { Severity::Info };
    let found = proxy::WINDOWS_PROXY_CATCHES_LOOPBACK.found(values).with_severity(severity);
    Some(found.with_all(data.settings.evidence()).with_all(evidence))
}

fn discovery(settings: &Settings) -> Option<Finding> {
    let detect = (settings.auto_detect == Some(true)).then_some("is searched for (WPAD)");
    let script = settings.script.as_ref().map(|_| "is computed by a script");
    let how: Vec<&str> = detect.into_iter().chain(script).collect();
    if how.is_empty() {
        return None;
    }
    let evidence = detect.map(|_| Evidence::seen("automatic detection of settings is on"));
    let found = proxy::PROXY_DISCOVERY.found(&[("how", &how.join(" and "))]);
    let script = settings.evidence().filter(|_| script.is_some());
    Some(found.with_all(evidence).with_all(script).with_evidence(Evidence::published(
        "a request to 127.0.0.1 took 6.91 s with automatic detection, 0.3 s without",
        "aickyway.com",
    )))
}

#[cfg(windows)]
fn read() -> Measured<Settings> {
    const KEY: &str = r"Software\Microsoft\Windows\CurrentVersion\Internet Settings";
    const POLICY: &str = r"Software\Policies\Microsoft\Windows\CurrentVersion\Internet Settings";
    use windows_registry::{CURRENT_USER, Key, LOCAL_MACHINE};
    // A policy can make the settings those of the machine, for every user.
    let policy = LOCAL_MACHINE.open(POLICY).and_then(|key| key.get_u32("ProxySettingsPerUser"));
    let root: &Key = if matches!(policy, Ok(0)) { LOCAL_MACHINE } else { CURRENT_USER };
    let key = root
        .open(KEY)
        .map_err(|error| NotRun::CouldNot(format!("the registry's {KEY} cannot be read: {error}")))?;
    let text = |name: &str| key.get_string(name).ok().filter(|text| !text.is_empty());
    let connections = key.open("Connections").and_then(|key| key.get_value("DefaultConnectionSettings"));
    let auto_detect = key.get_u32("AutoDetect").ok().map(|value| value != 0);
    Ok(Settings {
        enabled: key.get_u32("ProxyEnable").ok().map(|value| value != 0),
        server: text("ProxyServer").map(|server| without_passwords(&server)),
        exceptions: text("ProxyOverride"),
        script: text("AutoConfigURL").map(|url| without_password(&url)),
        auto_detect: connections.ok().and_then(|value| detects(&value)).or(auto_detect),
    })
}

#[cfg(not(windows))]
#[expect(clippy::unnecessary_wraps, reason = "on Windows the registry may not be readable")]
fn read() -> Measured<Settings> {
    Ok(Settings::default())
}

/// Whether DefaultConnectionSettings has "automatically detect settings" ticked: bit 3 of the ninth byte. `None`: it is too short.
#[cfg(any(windows, test))]
fn detects(value: &[u8]) -> Option<bool> {
    value.get(8).map(|flags| flags & 0x08 != 0)
}

/// A list of proxies without user names and passwords.
#[cfg(any(windows, test))]
fn without_passwords(servers: &str) -> String {
    let entry = |entry: &str| match entry.split_once('=') {
        Some((scheme, proxy)) => format!("{scheme}={}", without_password(proxy)),
        None => without_password(entry),
    };
    servers.split(';').map(entry).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(server: &str, exceptions: &str) -> Settings {
        let exceptions = Some(exceptions.to_owned()).filter(|list| !list.is_empty());
        Settings { enabled: Some(true), server: Some(server.to_owned()), exceptions, ..Settings::default() }
    }

    fn judge(settings: Settings) -> Vec<Finding> {
        ProxySettings::judge(&survey(settings))
    }

    #[test]
    fn no_proxy_and_one_that_is_switched_off_are_sound() {
        assert_eq!(judge(Settings::default()), []);
        assert_eq!(judge(Settings { enabled: Some(false), ..settings("corp:8080", "") }), []);
        assert_eq!(judge(Settings { auto_detect: Some(false), ..Settings::default() }), []);
    }

    #[test]
    fn programs_that_do_not_exempt_loopback_by_themselves_are_named() {
        let found = judge(settings("corp:8080", ""));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warn));
        assert_eq!(found[0].id, "windows-proxy-catches-loopback");
        assert!(
            found[0].title.contains("localhost, 127.0.0.1, [::1]") && found[0].title.contains("corp:8080"),
            "{}",
            found[0].title
        );
        let title = &found[0].title;
        assert!(title.contains(".NET") && title.contains("Python"), "{title}");
        assert!(!title.contains("Edge"), "{title}");
    }

    #[test]
    fn local_exempts_a_name_for_some_and_every_loopback_address_for_others() {
        let found = judge(settings("corp:8080", "*.corp.example;<local>"));
        let title = &found[0].title;
        assert!(!title.contains(".NET HttpClient") && title.contains("Python"), "{title}");
        let evidence: Vec<_> = found[0].evidence.iter().map(|fact| fact.text.as_str()).collect();
        assert!(evidence.contains(
            &"Python urllib, requests would ask the proxy for http://127.0.0.1, https://127.0.0.1"
        ));
    }

    #[test]
    fn a_full_exemption_is_sound() {
        assert_eq!(judge(settings("corp:8080", "localhost;127.*;127.0.0.1;::1;[[]::1];<local>")), []);
    }

    #[test]
    fn without_implicit_rules_browsers_are_caught_too() {
        let found = judge(settings("corp:8080", "<-loopback>"));
        assert!(found[0].title.contains("Edge"), "{}", found[0].title);
    }

    #[test]
    fn a_proxy_for_one_scheme_catches_that_one() {
        let data = survey(settings("https=corp:8443;ftp=other:21", ""));
        let urls: Vec<_> = data.programs.iter().flat_map(|program| &program.caught).collect();
        assert!(!urls.is_empty() && urls.iter().all(|url| url.starts_with("https://")), "{urls:?}");
        assert_eq!(settings("http=a:1;https=b:2", "").proxy_for("https"), Some("b:2"));
        assert_eq!(settings("a:1", "").proxy_for("https"), Some("a:1"));
    }

    #[test]
    fn searching_for_a_proxy_is_worth_knowing() {
        let found = judge(Settings {
            auto_detect: Some(true),
            script: Some("http://wpad/proxy.pac".to_owned()),
            ..Settings::default()
        });
        assert_eq!((found[0].id.as_str(), found[0].severity), ("proxy-discovery", Severity::Info));
        assert!(found[0].title.contains("searched for (WPAD) and is computed by a script"));
    }

    #[test]
    fn the_flag_of_automatic_detection_is_in_the_ninth_byte() {
        assert_eq!(detects(&[70, 0, 0, 0, 5, 0, 0, 0, 0x09, 0, 0, 0]), Some(true));
        assert_eq!(detects(&[70, 0, 0, 0, 5, 0, 0, 0, 0x03, 0, 0, 0]), Some(false));
        assert_eq!(detects(&[70]), None);
    }

    #[test]
    fn passwords_are_left_out() {
        assert_eq!(without_passwords("http=u:p@a:1;https=b:2"), "http=a:1;https=b:2");
        assert_eq!(without_passwords("http://u:p@a:1"), "http://a:1");
    }
}
