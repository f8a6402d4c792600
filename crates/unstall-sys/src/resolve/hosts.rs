//! Whether the hosts file alone answers for `localhost`, so that asking cannot take long and needs no thread.
//!
//! glibc reads the sources of `/etc/nsswitch.conf` in their order and stops at the first that knows the name; musl always reads the
//! hosts file first. With a daemon that caches names (nscd) the answer is the daemon's, so then nothing is promised.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

const HOSTS: &str = "/etc/hosts";
const SWITCH: &str = "/etc/nsswitch.conf";
const CACHE_DAEMON: &str = "/var/run/nscd/socket";

/// What tells one state of a file from another: device, file, size, and when it was written. `None`: there is no such file.
type State = Option<(u64, u64, u64, i64, i64)>;

/// Whether getaddrinfo finds `localhost` in the hosts file, before anybody else is asked. The files are read again only when they have
/// changed.
pub(super) fn answer_localhost() -> bool {
    static KNOWN: Mutex<Option<([State; 3], bool)>> = Mutex::new(None);
    let states = [HOSTS, SWITCH, CACHE_DAEMON].map(state);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    match *known {
        Some((of, answer)) if of == states => answer,
        _ => {
            let read = |path| std::fs::read_to_string(path).unwrap_or_default();
            let answer =
                states[2].is_none() && files_come_first(&read(SWITCH)) && has_localhost(&read(HOSTS));
            *known = Some((states, answer));
            answer
        }
    }
}

fn state(path: &str) -> State {
    let of = Path::new(path).metadata().ok()?;
    Some((of.dev(), of.ino(), of.size(), of.mtime(), of.mtime_nsec()))
}

/// Whether the hosts file is the first source of names.
fn files_come_first(switch: &str) -> bool {
    let hosts = switch.lines().find_map(|line| without_comment(line).trim_start().strip_prefix("hosts:"));
    hosts.and_then(|sources| sources.split_whitespace().next()) == Some("files")
}

/// Whether some line gives `localhost` an address.
fn has_localhost(hosts: &str) -> bool {
    hosts.lines().any(|line| {
        let mut words = without_comment(line).split_whitespace();
        let address = words.next().is_some_and(|word| word.parse::<std::net::IpAddr>().is_ok());
        address && words.any(|name| name.eq_ignore_ascii_case("localhost"))
    })
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{files_come_first, has_localhost};

    #[test]
    fn the_first_source_counts() {
        for first in ["hosts: files dns", "passwd: files\nhosts:\tfiles\n", " hosts:files # dns"] {
            assert!(files_come_first(first), "{first:?}");
        }
        let others = [
            "",
            "hosts: dns files",
            "# hosts: files",
            "hosts: mymachines files",
            "hosts:",
            "hosts: resolve [!UNAVAIL=return] files",
        ];
        for other in others {
            assert!(!files_come_first(other), "{other:?}");
        }
    }

    #[test]
    fn a_line_has_an_address_and_the_name() {
        for hosts in
            ["127.0.0.1 localhost", "\n::1\tip6-localhost LocalHost # both\n", "127.0.0.1 vm localhost"]
        {
            assert!(has_localhost(hosts), "{hosts:?}");
        }
        for hosts in [
            "",
            "# 127.0.0.1 localhost",
            "127.0.0.1 vm # localhost",
            "nonsense localhost",
            "127.0.0.1 localhost.localdomain",
        ] {
            assert!(!has_localhost(hosts), "{hosts:?}");
        }
    }
}
