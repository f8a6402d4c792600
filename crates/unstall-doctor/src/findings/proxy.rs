//! Proxy settings that catch loopback.

use super::entry::{Command, Entry, FixEntry, Os, Place, Severity};
use super::findings;

findings! {
    PROXY_CATCHES_LOOPBACK = Entry {
        id: "proxy-catches-loopback",
        severity: Severity::Warn,
        title: "{variable} sends requests for {hosts} to {proxy} in {clients}",
        why: "\
A proxy variable is set, and NO_PROXY does not exempt the loopback addresses by the rules of these programs. What they send to a \
server on this machine goes to the proxy, which is another machine with another localhost: it answers 403 or 502, or after its own \
time-out.

Each program reads NO_PROXY in its own way. `localhost` does not cover 127.0.0.1. A range (127.0.0.0/8) is understood by curl, \
Python's requests and Go, not by urllib, wget or Node. Go never sends `localhost` and loopback addresses to a proxy.",
        affects: &["{clients}"],
        fixes: &[
            FixEntry::manual(
                Place::Client,
                "exempt loopback in a way that all of them understand: set NO_PROXY and no_proxy to localhost,127.0.0.1,::1,[::1] \
                 (added to what is there)",
            )
            .with_commands(&[
                Command { os: Os::Linux, line: "export NO_PROXY=\"{list}\" no_proxy=\"{list}\"" },
                Command { os: Os::MacOs, line: "export NO_PROXY=\"{list}\" no_proxy=\"{list}\"" },
                Command { os: Os::Windows, line: "setx NO_PROXY \"{list}\"" },
            ])
            .with_undo("set both variables to what they were"),
        ],
        links: &["https://github.com/localstack/localstack/issues/239", "https://curl.se/docs/manpage.html#NOPROXY"],
    };
}
