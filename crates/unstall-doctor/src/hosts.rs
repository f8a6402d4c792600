//! The hosts file: where it is and what it says.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

/// Where the system keeps it.
pub(crate) fn path() -> PathBuf {
    if cfg!(windows) {
        let root = std::env::var_os("SystemRoot").unwrap_or_else(|| r"C:\Windows".into());
        PathBuf::from(root).join(r"System32\drivers\etc\hosts")
    } else {
        PathBuf::from("/etc/hosts")
    }
}

/// What a hosts file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hosts {
    /// How many pairs of an address and a name.
    pub(crate) entries: usize,
    /// The addresses of each name (lower case, without a trailing dot), in the file's order, each once.
    names: BTreeMap<String, Vec<IpAddr>>,
}

impl Hosts {
    /// Reads the text of a hosts file: an address and its names on each line, `#` begins a comment. Lines that do not
    /// begin with an address are skipped, as resolvers do.
    pub(crate) fn parse(text: &str) -> Self {
        let mut hosts = Self::default();
        for line in text.lines() {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(address) = words.next().and_then(address) else { continue };
            for name in words {
                hosts.entries += 1;
                let addresses = hosts.names.entry(canonical(name)).or_default();
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
        }
        hosts
    }

    /// The addresses that the file gives for a name; empty: none.
    pub(crate) fn addresses(&self, name: &str) -> &[IpAddr] {
        self.names.get(&canonical(name)).map_or(&[], Vec::as_slice)
    }

    /// The names that have several addresses of one family, in alphabetical order.
    pub(crate) fn ambiguous(&self) -> impl Iterator<Item = &str> {
        let several = |addresses: &[IpAddr]| {
            let v4 = addresses.iter().filter(|address| address.is_ipv4()).count();
            v4 > 1 || addresses.len() - v4 > 1
        };
        self.names.iter().filter(move |(_, addresses)| several(addresses)).map(|(name, _)| name.as_str())
    }
}

/// An address as hosts files write it, perhaps with a zone, which is dropped.
fn address(word: &str) -> Option<IpAddr> {
    word.split('%').next()?.parse().ok()
}

fn canonical(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(address: &str) -> IpAddr {
        address.parse().expect("an address")
    }

    #[test]
    fn lines_comments_and_rubbish_are_read_as_resolvers_do() {
        let hosts = Hosts::parse(
            "# comment\n127.0.0.1\tlocalhost LocalHost.LocalDomain # more\n::1 localhost\n\nnot-an-address x\n\
             fe80::1%lo0 localhost\n127.0.0.1 localhost\n10.0.0.1\n",
        );
        assert_eq!(hosts.addresses("LOCALHOST."), [ip("127.0.0.1"), ip("::1"), ip("fe80::1")]);
        assert_eq!(hosts.addresses("localhost.localdomain"), [ip("127.0.0.1")]);
        assert!(hosts.addresses("x").is_empty());
        assert_eq!(hosts.entries, 5);
    }

    #[test]
    fn a_name_with_two_addresses_of_one_family_is_ambiguous() {
        let hosts = Hosts::parse("127.0.0.1 a b c\n::1 a c\n10.0.0.1 b\n::2 c\n127.0.0.1 a\n");
        assert_eq!(hosts.ambiguous().collect::<Vec<_>>(), ["b", "c"]);
    }
}
