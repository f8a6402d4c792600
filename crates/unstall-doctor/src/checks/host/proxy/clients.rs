//! How each program reads the proxy variables: which it looks at, in which order, and what its NO_PROXY means.
//!
//! Each row was read in the program's source or documentation; the rules of curl, wget, urllib, requests and Go are also
//! compared with the programs themselves by a test. A request is taken to be for a port that no NO_PROXY entry names.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// The environment variables that matter to any of [`CLIENTS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Environment {
    variables: BTreeMap<String, String>,
    /// As on Windows: a variable is found whatever the case of its name.
    ignores_case: bool,
}

/// The variables that are looked at, in lower case.
const RELEVANT: [&str; 5] = ["http_proxy", "https_proxy", "all_proxy", "no_proxy", "node_use_env_proxy"];

impl Environment {
    pub(super) fn of_this_process() -> Self {
        let all = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
        let relevant = all.filter(|(name, _)| RELEVANT.contains(&name.to_ascii_lowercase().as_str()));
        Self { variables: relevant.collect(), ignores_case: cfg!(windows) }
    }

    #[cfg(test)]
    pub(super) fn from_pairs(pairs: &[(&str, &str)], ignores_case: bool) -> Self {
        let owned = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Self { variables: owned.collect(), ignores_case }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn get(&self, name: &str) -> Option<&str> {
        if self.ignores_case {
            self.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
        } else {
            self.variables.get(name).map(String::as_str)
        }
    }

    /// The first of these variables that is set. One that is set to nothing counts, and means no proxy, unless
    /// `skip_empty`.
    fn first(&self, names: &[&'static str], skip_empty: bool) -> Option<(&'static str, &str)> {
        let mut set = names.iter().filter_map(|&name| Some((name, self.get(name)?)));
        set.find(|(_, value)| !(skip_empty && value.is_empty())).filter(|(_, value)| !value.is_empty())
    }
}

/// How a program reads its environment.
pub(super) struct Rules {
    /// What people call it.
    pub(super) name: &'static str,
    /// The variables for http, in the order in which it looks.
    http: &'static [&'static str],
    /// The same for https.
    https: &'static [&'static str],
    /// The same for exceptions.
    no_proxy: &'static [&'static str],
    /// Whether a variable that is set to nothing is passed over.
    skip_empty: bool,
    /// A variable without which it looks at none.
    switch: Option<&'static str>,
    /// Whether this value of NO_PROXY, `None` if there is none, exempts a host (as in a URL, IPv6 in brackets).
    exempts: fn(Option<&str>, &str) -> bool,
}

/// What most programs look at.
const COMMON: Rules = Rules {
    name: "",
    http: &["http_proxy", "HTTP_PROXY"],
    https: &["https_proxy", "HTTPS_PROXY"],
    no_proxy: &["no_proxy", "NO_PROXY"],
    skip_empty: false,
    switch: None,
    exempts: |_, _| false,
};

/// The programs.
pub(super) const CLIENTS: &[Rules] = &[
    Rules {
        name: "curl",
        // Not HTTP_PROXY: a web server could set it from a request's header.
        http: &["http_proxy", "all_proxy", "ALL_PROXY"],
        https: &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        exempts: |list, host| list.is_some_and(|list| curl(list, host)),
        ..COMMON
    },
    Rules {
        name: "wget",
        http: &["http_proxy"],
        https: &["https_proxy"],
        no_proxy: &["no_proxy"],
        exempts: |list, host| list.is_some_and(|list| wget(list, host)),
        ..COMMON
    },
    Rules {
        name: "Python urllib",
        exempts: |list, host| list.is_some_and(|list| urllib(list, host)),
        ..COMMON
    },
    Rules {
        name: "Python requests",
        http: &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
        https: &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        exempts: |list, host| list.is_some_and(|list| requests(list, host)),
        ..COMMON
    },
    Rules {
        name: "Go",
        http: &["HTTP_PROXY", "http_proxy"],
        https: &["HTTPS_PROXY", "https_proxy"],
        no_proxy: &["NO_PROXY", "no_proxy"],
        skip_empty: true,
        // Whatever NO_PROXY says: `localhost` and loopback addresses never go to a proxy (golang.org/x/net/http/httpproxy).
        exempts: |_, host| host == "localhost" || address(host).is_some_and(|ip| ip.is_loopback()),
        ..COMMON
    },
    Rules {
        name: "Node http",
        switch: Some("NODE_USE_ENV_PROXY"),
        exempts: |list, host| list.is_some_and(|list| node_http(list, host)),
        ..COMMON
    },
    Rules {
        name: "Node fetch",
        // undici's EnvHttpProxyAgent takes the proxy for http also for https when there is no other.
        https: &["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"],
        switch: Some("NODE_USE_ENV_PROXY"),
        exempts: |list, host| list.is_some_and(|list| undici(list, host)),
        ..COMMON
    },
];

impl Rules {
    /// The proxy, with the variable that names it, to which this program sends a request; `None`: it connects itself.
    pub(super) fn proxy_for<'a>(
        &self,
        environment: &'a Environment,
        scheme: &str,
        host: &str,
    ) -> Option<(&'static str, &'a str)> {
        if self.switch.is_some_and(|name| environment.get(name).is_none_or(|value| value != "1")) {
            return None;
        }
        let variables = if scheme == "https" { self.https } else { self.http };
        let proxy = environment.first(variables, self.skip_empty)?;
        let list = environment.first(self.no_proxy, self.skip_empty).map(|(_, value)| value);
        (!(self.exempts)(list, host)).then_some(proxy)
    }
}

/// `[::1]` as `::1`.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn address(host: &str) -> Option<IpAddr> {
    bare(host).parse().ok()
}

/// The host itself or a name below it.
fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// curl (lib/noproxy.c): `*` alone; names with or without leading or trailing dot, and what is below them; addresses,
/// without brackets, and ranges. Blanks separate as commas do in versions before 8.9.
fn curl(list: &str, host: &str) -> bool {
    if list == "*" {
        return true;
    }
    let host = host.to_ascii_lowercase();
    let mut entries = list.split([',', ' ', '\t']).filter(|entry| !entry.is_empty());
    match address(&host) {
        Some(ip) => entries.any(|entry| in_range(ip, entry)),
        None => entries.any(|entry| {
            let entry = entry.strip_suffix('.').unwrap_or(entry);
            is_below(&host, &entry.strip_prefix('.').unwrap_or(entry).to_ascii_lowercase())
        }),
    }
}

/// GNU wget (src/host.c, sufmatch): ends of the host, at a dot; no ranges, no `*`.
fn wget(list: &str, host: &str) -> bool {
    let host = bare(host).to_ascii_lowercase();
    let entries =
        list.split(',').map(|entry| entry.trim().to_ascii_lowercase()).filter(|entry| !entry.is_empty());
    entries.into_iter().any(|entry| match entry.strip_prefix('.') {
        Some(_) => host.ends_with(&entry),
        None => is_below(&host, &entry),
    })
}

/// urllib.request.proxy_bypass_environment: `*` alone; ends of the host, at a dot, with IPv6 in brackets; no ranges.
fn urllib(list: &str, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let entry = |entry: &str| entry.trim().trim_start_matches('.').to_ascii_lowercase();
    list == "*" || list.split(',').map(entry).any(|entry| !entry.is_empty() && is_below(&host, &entry))
}

/// requests.utils.should_bypass_proxies: ranges for IPv4, else ends of the host, with IPv6 without brackets; then what
/// urllib says.
fn requests(list: &str, host: &str) -> bool {
    let host = bare(host);
    let without_blanks = list.replace(' ', "");
    let in_range = |entry: &str| {
        host.parse().is_ok_and(|ip: Ipv4Addr| entry.contains('/') && in_range(ip.into(), entry))
    };
    without_blanks.split(',').any(in_range) || urllib(&without_blanks, host) || urllib(list, host)
}

/// Node's http and https (lib/internal/http.js): `*` as an entry; the host itself; `.domain` and `*.domain`; ranges of
/// the form `127.0.0.1-127.0.0.9`. Whether it wants brackets is not documented: both are taken to match.
fn node_http(list: &str, host: &str) -> bool {
    let host = bare(host).to_ascii_lowercase();
    list.split(',').map(|entry| entry.trim().to_ascii_lowercase()).any(|entry| {
        entry == "*"
            || bare(&entry) == host
            || entry.strip_prefix('.').is_some_and(|domain| is_below(&host, domain))
            || entry.strip_prefix('*').is_some_and(|end| end.starts_with('.') && host.ends_with(end))
            || between(&host, &entry)
    })
}

/// Whether an entry such as `127.0.0.1-127.0.0.9` holds the host.
fn between(host: &str, entry: &str) -> bool {
    let parse = |text: &str| text.trim().parse::<Ipv4Addr>().ok();
    let ends = entry.split_once('-').and_then(|(from, to)| Some((parse(from)?, parse(to)?)));
    ends.zip(parse(host)).is_some_and(|((from, to), host)| (from..=to).contains(&host))
}

/// undici (lib/dispatcher/env-http-proxy-agent.js): `*` alone; names and addresses with or without brackets, leading dot
/// or `*.`, and what is below them; blanks and commas separate; no ranges.
fn undici(list: &str, host: &str) -> bool {
    if list == "*" {
        return true;
    }
    let host = bare(host).to_ascii_lowercase();
    let mut entries = list.split([',', ' ', '\t']).filter(|entry| !entry.is_empty());
    entries.any(|entry| {
        let entry = bare(entry).to_ascii_lowercase();
        let entry = entry.strip_prefix('*').filter(|end| end.starts_with('.')).unwrap_or(&entry);
        is_below(&host, entry.strip_prefix('.').unwrap_or(entry))
    })
}

/// Whether `entry`, an address or a range such as `127.0.0.0/8`, holds the address.
fn in_range(ip: IpAddr, entry: &str) -> bool {
    let (network, bits) =
        entry.split_once('/').map_or((entry, None), |(network, bits)| (network, bits.parse().ok()));
    let prefix = |ip: IpAddr, bits: u32| match ip {
        IpAddr::V4(v4) => u128::from(v4.to_bits()).checked_shr(32 - bits.min(32)).unwrap_or(0),
        IpAddr::V6(v6) => v6.to_bits().checked_shr(128 - bits.min(128)).unwrap_or(0),
    };
    let same = |network: IpAddr| {
        let bits = bits.unwrap_or(128);
        network.is_ipv4() == ip.is_ipv4() && prefix(network, bits) == prefix(ip, bits)
    };
    network.parse().is_ok_and(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of localhost, 127.0.0.1 and [::1] a rule exempts, as three letters: `lv6`, `-v-`, ...
    fn exempt(rule: fn(&str, &str) -> bool, list: &str) -> String {
        let hosts = [("localhost", 'l'), ("127.0.0.1", 'v'), ("[::1]", '6')];
        hosts.iter().map(|(host, letter)| if rule(list, host) { *letter } else { '-' }).collect()
    }

    /// NO_PROXY, and what curl, wget, urllib, requests, Node http and undici exempt by it.
    const ROWS: &[(&str, [&str; 6])] = &[
        ("", ["---"; 6]),
        ("*", ["lv6", "---", "lv6", "lv6", "lv6", "lv6"]),
        ("*,x", ["---", "---", "---", "---", "lv6", "---"]),
        ("localhost", ["l--"; 6]),
        ("LOCALHOST", ["l--"; 6]),
        (".localhost", ["l--", "---", "l--", "l--", "l--", "l--"]),
        ("*.localhost", ["---", "---", "---", "---", "---", "l--"]),
        ("localhost.", ["l--", "---", "---", "---", "---", "---"]),
        ("ocalhost", ["---"; 6]),
        ("127.0.0.1", ["-v-"; 6]),
        ("127.0.0.0/8", ["-v-", "---", "---", "-v-", "---", "---"]),
        ("127.0.0.0/8,localhost", ["lv-", "l--", "l--", "lv-", "l--", "l--"]),
        ("126.0.0.0/8", ["---"; 6]),
        ("127.0.0.1-127.0.0.9", ["---", "---", "---", "---", "-v-", "---"]),
        (".0.0.1", ["---", "-v-", "-v-", "-v-", "-v-", "-v-"]),
        ("0.0.1", ["---", "-v-", "-v-", "-v-", "---", "-v-"]),
        ("::1", ["--6", "--6", "---", "--6", "--6", "--6"]),
        ("[::1]", ["---", "---", "--6", "---", "--6", "--6"]),
        ("localhost 127.0.0.1", ["lv-", "---", "---", "---", "---", "lv-"]),
        ("localhost, 127.0.0.1", ["lv-"; 6]),
        ("localhost,127.0.0.1,::1,[::1]", ["lv6"; 6]),
    ];

    #[test]
    fn each_program_has_its_own_rules() {
        let rules = [curl, wget, urllib, requests, node_http, undici];
        for (list, expected) in ROWS {
            let got = rules.map(|rule| exempt(rule, list));
            assert_eq!(got.each_ref().map(String::as_str), *expected, "NO_PROXY={list}");
        }
    }

    #[test]
    fn names_below_localhost_follow_localhost() {
        assert!(curl("localhost", "x.localhost") && wget("localhost", "x.localhost"));
        assert!(!node_http("localhost", "x.localhost") && node_http(".localhost", "x.localhost"));
        assert!(!curl("localhost", "xlocalhost"));
    }

    #[test]
    fn go_never_sends_loopback_to_a_proxy() {
        let environment = Environment::from_pairs(&[("HTTP_PROXY", "p:1")], false);
        let go = CLIENTS.iter().find(|client| client.name == "Go").expect("a row");
        for host in ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"] {
            assert_eq!(go.proxy_for(&environment, "http", host), None, "{host}");
        }
        assert_eq!(go.proxy_for(&environment, "http", "example.com"), Some(("HTTP_PROXY", "p:1")));
    }

    fn variable(client: &str, pairs: &[(&str, &str)], scheme: &str) -> Option<&'static str> {
        let environment = Environment::from_pairs(pairs, false);
        let client = CLIENTS.iter().find(|rules| rules.name == client).expect("a row");
        client.proxy_for(&environment, scheme, "localhost").map(|(variable, _)| variable)
    }

    #[test]
    fn variables_are_looked_at_in_each_programs_order() {
        assert_eq!(variable("curl", &[("HTTP_PROXY", "p")], "http"), None);
        assert_eq!(variable("curl", &[("ALL_PROXY", "p")], "http"), Some("ALL_PROXY"));
        assert_eq!(variable("curl", &[("HTTPS_PROXY", "p")], "https"), Some("HTTPS_PROXY"));
        assert_eq!(variable("wget", &[("HTTP_PROXY", "p")], "http"), None);
        assert_eq!(variable("Python urllib", &[("ALL_PROXY", "p")], "http"), None);
        assert_eq!(variable("Python requests", &[("ALL_PROXY", "p")], "http"), Some("ALL_PROXY"));
        assert_eq!(
            variable("Python urllib", &[("HTTP_PROXY", "p"), ("http_proxy", "q")], "http"),
            Some("http_proxy")
        );
    }

    #[test]
    fn a_variable_that_is_set_to_nothing_turns_the_proxy_off() {
        assert_eq!(variable("curl", &[("http_proxy", ""), ("all_proxy", "p")], "http"), None);
        assert_eq!(variable("Python urllib", &[("http_proxy", ""), ("HTTP_PROXY", "p")], "http"), None);
    }

    #[test]
    fn node_needs_its_switch_and_fetch_takes_http_for_https() {
        let switched = [("http_proxy", "p"), ("NODE_USE_ENV_PROXY", "1")];
        assert_eq!(variable("Node fetch", &switched, "https"), Some("http_proxy"));
        assert_eq!(variable("Node http", &switched, "https"), None);
        assert_eq!(variable("Node fetch", &switched[..1], "https"), None);
    }

    #[test]
    fn windows_finds_a_variable_in_any_case() {
        let environment = Environment::from_pairs(&[("Http_Proxy", "p")], true);
        assert_eq!(environment.first(&["http_proxy"], false), Some(("http_proxy", "p")));
    }

    #[test]
    fn ranges_hold_what_they_say() {
        let in_range = |ip: &str, entry| in_range(ip.parse().expect("an address"), entry);
        assert!(in_range("127.0.0.1", "127.0.0.0/31") && !in_range("127.0.0.2", "127.0.0.0/31"));
        assert!(in_range("127.0.0.1", "0.0.0.0/0") && in_range("::1", "::/0") && in_range("::1", "::1/128"));
        assert!(!in_range("::1", "127.0.0.0/8") && !in_range("127.0.0.1", "x/8"));
    }
}
