//! How each program reads ProxyOverride, the list of what goes to no proxy. curl, Go, Node and Java do not read Windows' settings by
//! themselves; they are not here.

use std::net::IpAddr;

/// A program that reads Windows' proxy settings.
pub(super) struct Rules {
    /// What people call it.
    pub(super) name: &'static str,
    /// Whether it sends no request for this host (as in a URL, IPv6 in brackets) to the proxy, given ProxyOverride.
    pub(super) exempts: fn(&str, &str) -> bool,
    /// Where that was read.
    pub(super) source: &'static str,
}

pub(super) const PROGRAMS: &[Rules] = &[
    Rules {
        name: "Edge, Chrome, WinINet",
        exempts: chromium,
        source: "net/docs/proxy.md of Chromium: implicit bypass rules",
    },
    Rules {
        name: "Windows PowerShell, .NET Framework",
        exempts: |_, host| is_loopback(host),
        source: "Microsoft's page of WebProxy.IsBypassed: loopback URIs are bypassed",
    },
    Rules {
        name: ".NET HttpClient, PowerShell 7",
        exempts: dotnet,
        source: "HttpWindowsProxy.cs of dotnet/runtime: loopback is exempt with <local> alone",
    },
    Rules {
        name: "Python urllib, requests",
        exempts: python,
        source: "_proxy_bypass_winreg_override of CPython's urllib.request; where no proxy variable is set",
    },
    Rules {
        name: "Rust reqwest",
        exempts: reqwest,
        source: "client/proxy/matcher.rs of hyper-util; where no proxy variable is set",
    },
];

/// `[::1]` as `::1`.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || bare(host).parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(';').map(str::trim).filter(|entry| !entry.is_empty())
}

/// Exempt by themselves, unless `<-loopback>` takes that away; `<local>` means names without a dot.
fn chromium(list: &str, host: &str) -> bool {
    let takes_away = entries(list).any(|entry| entry.eq_ignore_ascii_case("<-loopback>"));
    let plain = |host: &str| !host.contains('.') && !host.starts_with('[');
    (!takes_away && is_loopback(host))
        || entries(list).any(|entry| match entry {
            "<local>" => plain(host),
            entry => wildcard(entry, host) || wildcard(entry, bare(host)),
        })
}

/// `<local>` exempts loopback as a whole; else the host without brackets must match, `*` standing for anything.
fn dotnet(list: &str, host: &str) -> bool {
    let without_scheme = |entry: &str| {
        let entry = entry.strip_prefix("http://").or_else(|| entry.strip_prefix("https://")).unwrap_or(entry);
        bare(entry).to_owned()
    };
    entries(list).map(without_scheme).any(|entry| {
        (entry.eq_ignore_ascii_case("<local>") && is_loopback(host)) || wildcard(&entry, bare(host))
    })
}

/// `<local>` exempts what has no dot, as `[::1]` has none; else the host, with its brackets, must match as a file name would: a
/// bracket in the pattern begins a choice of characters, and stands for itself as `[[]` alone.
fn python(list: &str, host: &str) -> bool {
    entries(list).any(|entry| {
        let literal = entry.replace("[[]", "\0");
        match entry {
            "<local>" => !host.contains('.'),
            _ => !literal.contains('[') && wildcard(&literal, &host.replace('[', "\0")),
        }
    })
}

/// Entries as in NO_PROXY: names with what is below them, addresses; `<local>` and `127.*` mean nothing.
fn reqwest(list: &str, host: &str) -> bool {
    entries(list).any(|entry| {
        let entry = entry.replace("*.", "");
        match bare(host).parse::<IpAddr>() {
            Ok(ip) => entry.parse() == Ok(ip) || range(&entry, ip),
            Err(_) => entry == "*" || entry.trim_start_matches('.').eq_ignore_ascii_case(host),
        }
    })
}

/// Whether `entry` is a range such as `127.0.0.0/8` that holds a loopback address.
fn range(entry: &str, ip: IpAddr) -> bool {
    let Some((network, bits)) = entry.split_once('/') else { return false };
    match (network.parse(), bits.parse::<u32>(), ip) {
        (Ok(IpAddr::V4(network)), Ok(bits @ 0..=32), IpAddr::V4(ip)) => {
            let shift = |ip: std::net::Ipv4Addr| ip.to_bits().checked_shr(32 - bits).unwrap_or(0);
            shift(network) == shift(ip)
        }
        (Ok(IpAddr::V6(network)), Ok(bits @ 0..=128), IpAddr::V6(ip)) => {
            let shift = |ip: std::net::Ipv6Addr| ip.to_bits().checked_shr(128 - bits).unwrap_or(0);
            shift(network) == shift(ip)
        }
        _ => false,
    }
}

/// Whether a pattern in which `*` stands for any characters matches a text, whatever the case.
fn wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_ascii_lowercase(), text.to_ascii_lowercase());
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of localhost, 127.0.0.1 and [::1] a rule exempts, as three letters: `lv6`, `-v-`, ...
    fn exempt(rule: fn(&str, &str) -> bool, list: &str) -> String {
        let hosts = [("localhost", 'l'), ("127.0.0.1", 'v'), ("[::1]", '6')];
        hosts.iter().map(|(host, letter)| if rule(list, host) { *letter } else { '-' }).collect()
    }

    /// ProxyOverride, and what Chromium, .NET, Python and reqwest exempt by it.
    const ROWS: &[(&str, [&str; 4])] = &[
        ("", ["lv6", "---", "---", "---"]),
        ("<local>", ["lv6", "lv6", "l-6", "---"]),
        ("<-loopback>", ["---", "---", "---", "---"]),
        ("<-loopback>;<local>", ["l--", "lv6", "l-6", "---"]),
        ("localhost", ["lv6", "l--", "l--", "l--"]),
        ("LOCALHOST; 127.0.0.1", ["lv6", "lv-", "lv-", "lv-"]),
        ("127.*", ["lv6", "-v-", "-v-", "---"]),
        ("127.0.0.0/8", ["lv6", "---", "---", "-v-"]),
        ("[::1]", ["lv6", "--6", "---", "---"]),
        ("[[]::1]", ["lv6", "---", "--6", "---"]),
        ("::1", ["lv6", "--6", "---", "--6"]),
        ("http://localhost", ["lv6", "l--", "---", "---"]),
        ("*", ["lv6", "lv6", "lv6", "l--"]),
        ("*.example.com", ["lv6", "---", "---", "---"]),
    ];

    #[test]
    fn each_program_has_its_own_rules() {
        let rules = [chromium, dotnet, python, reqwest];
        for (list, expected) in ROWS {
            let got = rules.map(|rule| exempt(rule, list));
            assert_eq!(got.each_ref().map(String::as_str), *expected, "ProxyOverride={list}");
        }
    }

    #[test]
    fn a_star_stands_for_anything() {
        assert!(wildcard("*.example.*", "A.Example.com") && wildcard("127.*", "127.0.0.1"));
        assert!(!wildcard("127.*", "128.0.0.1") && !wildcard("a*b*c", "acb") && wildcard("a*b*c", "abbc"));
        assert!(wildcard("*", "") && !wildcard("", "a") && wildcard("a", "A"));
        assert!(!wildcard("ab*b", "ab"));
    }
}
