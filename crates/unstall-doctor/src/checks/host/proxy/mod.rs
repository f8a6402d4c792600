//! Proxy variables: which programs would send what is meant for this machine to a proxy.

mod clients;
#[cfg(all(test, unix))]
mod oracle;

use crate::checks::{Check, Measured};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Severity, proxy};
use clients::{CLIENTS, Environment};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::time::Duration;

pub(super) struct Proxy;

/// The proxy variables, and whom they catch.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "ProxyData")]
pub(super) struct Data {
    /// The variables that are set, without user names and passwords.
    variables: Vec<Variable>,
    /// What each program does with requests for this machine.
    clients: Vec<Client>,
}

/// An environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ProxyVariable")]
pub(super) struct Variable {
    name: String,
    value: String,
}

/// A program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProxyClient")]
pub(super) struct Client {
    name: String,
    /// The requests that it sends to a proxy.
    caught: Vec<Caught>,
}

/// A request for this machine that goes to a proxy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ProxyCaught")]
pub(super) struct Caught {
    /// `http` or `https`.
    scheme: String,
    /// `localhost`, `127.0.0.1` or `[::1]`.
    host: String,
    /// The variable that names the proxy.
    variable: String,
    /// The proxy, without user name and password.
    proxy: String,
}

/// How a URL names this machine.
const HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// What exempts all of them for all programs: urllib wants the brackets, curl and requests want none.
const EXEMPT: [&str; 4] = ["localhost", "127.0.0.1", "::1", "[::1]"];

impl Check for Proxy {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "proxy";
    const TITLE: &'static str = "proxy variables";
    const ABOUT: &'static str = "whether http_proxy and its kin catch localhost, 127.0.0.1 or ::1, by the NO_PROXY rules of curl, Python, Go, \
                                 Node and wget";
    const BUDGET: Duration = Duration::from_millis(100);

    fn measure(_: &Context, (): &()) -> Measured<Data> {
        Ok(survey(&Environment::of_this_process()))
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let caught = || data.clients.iter().flat_map(|client| &client.caught);
        if caught().next().is_none() {
            return Vec::new();
        }
        let clients =
            unique(data.clients.iter().filter(|of| !of.caught.is_empty()).map(|of| of.name.as_str()));
        let values: &[(&str, &dyn Display)] = &[
            ("variable", &unique(caught().map(|of| of.variable.as_str()))),
            ("hosts", &unique(caught().map(|of| of.host.as_str()))),
            ("proxy", &unique(caught().map(|of| of.proxy.as_str()))),
            ("clients", &clients),
            ("list", &exempting(&data.variables)),
        ];
        // Hardly anybody types [::1]: what catches that alone is worth knowing, no more.
        let severity = if caught().all(|of| of.host == "[::1]") { Severity::Info } else { Severity::Warn };
        let variables = data.variables.iter().map(|of| Evidence::seen(format!("{}={}", of.name, of.value)));
        let finding = proxy::PROXY_CATCHES_LOOPBACK.found(values).with_severity(severity).with_all(variables);
        vec![finding.with_all(data.clients.iter().filter_map(Client::evidence))]
    }

    fn describe(data: &Data) -> Vec<String> {
        match data.variables.as_slice() {
            [] => vec!["none is set".to_owned()],
            set => set.iter().map(|of| format!("{}={}", of.name, of.value)).collect(),
        }
    }
}

impl Client {
    fn evidence(&self) -> Option<Evidence> {
        let urls = unique(self.caught.iter().map(|of| format!("{}://{}", of.scheme, of.host)));
        (!self.caught.is_empty())
            .then(|| Evidence::seen(format!("{} would ask the proxy for {urls}", self.name)))
    }
}

/// What every program makes of this environment.
fn survey(environment: &Environment) -> Data {
    let clients = CLIENTS.iter().map(|client| {
        let ways = ["http", "https"].into_iter().flat_map(|scheme| HOSTS.map(|host| (scheme, host)));
        let caught = ways.filter_map(|(scheme, host)| {
            let (variable, proxy) = client.proxy_for(environment, scheme, host)?;
            Some(Caught {
                scheme: scheme.to_owned(),
                host: host.to_owned(),
                variable: variable.to_owned(),
                proxy: without_password(proxy),
            })
        });
        Client { name: client.name.to_owned(), caught: caught.collect() }
    });
    let variables = environment
        .iter()
        .map(|(name, value)| Variable { name: name.to_owned(), value: without_password(value) });
    Data { variables: variables.collect(), clients: clients.collect() }
}

/// `http://user:secret@proxy:3128` as `http://proxy:3128`.
pub(in crate::checks) fn without_password(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find('/').map_or(url.len(), |at| at + start);
    match url[start..end].rfind('@') {
        Some(at) => format!("{}{}", &url[..start], &url[start + at + 1..]),
        None => url.to_owned(),
    }
}

/// What NO_PROXY should be: what it is, and what is missing.
fn exempting(variables: &[Variable]) -> String {
    let set = variables.iter().find(|of| of.name.eq_ignore_ascii_case("no_proxy"));
    let mut entries: Vec<&str> =
        set.map(|of| of.value.split(',').map(str::trim).collect()).unwrap_or_default();
    entries.retain(|entry| !entry.is_empty());
    for wanted in EXEMPT {
        if !entries.contains(&wanted) {
            entries.push(wanted);
        }
    }
    entries.join(",")
}

/// Each once, in their order, with commas between.
fn unique<T: AsRef<str>>(words: impl Iterator<Item = T>) -> String {
    let mut unique: Vec<T> = Vec::new();
    for word in words {
        if !unique.iter().any(|known| known.as_ref() == word.as_ref()) {
            unique.push(word);
        }
    }
    unique.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(variables: &[(&str, &str)]) -> Vec<Finding> {
        Proxy::judge(&survey(&Environment::from_pairs(variables, false)))
    }

    #[test]
    fn no_variable_and_a_full_exemption_are_sound() {
        assert_eq!(judge(&[]), []);
        let full = &[("http_proxy", "http://corp:3128"), ("no_proxy", "localhost,127.0.0.1,::1,[::1]")];
        assert_eq!(judge(full), []);
        assert_eq!(judge(&[("no_proxy", "x")]), []);
    }

    #[test]
    fn what_catches_localhost_is_a_warning_that_names_everything() {
        let found =
            judge(&[("http_proxy", "http://me:secret@corp:3128/"), ("no_proxy", "localhost,example.com")]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert_eq!(
            found[0].title,
            "http_proxy sends requests for 127.0.0.1, [::1] to http://corp:3128/ in curl, wget, Python urllib, Python requests"
        );
        let json = serde_json::to_string(&found).expect("JSON");
        assert!(!json.contains("secret"), "{json}");
        assert!(json.contains("localhost,example.com,127.0.0.1,::1,[::1]"), "{json}");
    }

    #[test]
    fn what_catches_only_ipv6_is_information() {
        let found = judge(&[("http_proxy", "http://corp:3128"), ("no_proxy", "localhost,127.0.0.1")]);
        assert_eq!(found[0].severity, Severity::Info);
    }

    #[test]
    fn node_is_caught_only_when_it_is_told_to_look() {
        let node = |extra: &[(&str, &str)]| {
            let mut variables = vec![("HTTP_PROXY", "http://corp:3128")];
            variables.extend(extra);
            judge(&variables).iter().any(|finding| finding.title.contains("Node"))
        };
        assert!(!node(&[]));
        assert!(node(&[("NODE_USE_ENV_PROXY", "1")]));
    }

    #[test]
    fn passwords_are_left_out_wherever_they_stand() {
        assert_eq!(without_password("http://u:p@h:1/x@y"), "http://h:1/x@y");
        assert_eq!(without_password("u:p@h:1"), "h:1");
        assert_eq!(without_password("socks5://h:1"), "socks5://h:1");
        assert_eq!(without_password("localhost,127.0.0.1"), "localhost,127.0.0.1");
    }
}
