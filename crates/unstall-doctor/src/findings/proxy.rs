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
    WINDOWS_PROXY_CATCHES_LOOPBACK = Entry {
        id: "windows-proxy-catches-loopback",
        severity: Severity::Warn,
        title: "Windows' proxy settings send requests for {hosts} to {proxy} in {programs}",
        why: "\
Windows has a proxy for every program that asks for its settings, and a list of exceptions (ProxyOverride). Browsers exempt loopback by \
themselves. Others go by the list alone, each in its own way: `<local>` exempts every loopback address in .NET, but only names without \
a dot in Python, so 127.0.0.1 goes to the proxy; a pattern such as 127.* is understood by .NET and Python and not by reqwest.

What is sent there comes to another machine with another localhost: it answers 403 or 502, or after its own time-out.",
        affects: &["{programs}, when they talk to a server on this machine"],
        fixes: &[
            FixEntry::manual(
                Place::Client,
                "set NO_PROXY and a proxy variable for programs that look at them first (Python, reqwest), or tell {first} to use no proxy for local servers",
            ),
            FixEntry::manual(
                Place::System,
                "add localhost;127.0.0.1;::1;[[]::1];<local> to the exceptions: Settings, Network, Proxy, Manual proxy setup",
            ),
        ],
        links: &["https://chromium.googlesource.com/chromium/src/+/HEAD/net/docs/proxy.md", "https://github.com/dotnet/corefx/issues/38882"],
    };
    PROXY_DISCOVERY = Entry {
        id: "proxy-discovery",
        severity: Severity::Info,
        title: "the proxy {how}: the first request of each program may wait for it",
        why: "\
With \"automatically detect settings\" (on by default) programs ask DHCP and DNS for a machine named wpad before their first request, \
and where nobody answers they wait. With a script (AutoConfigURL) they fetch and run it. Both come before the connect, once per program \
or process, and for local servers too in some of them. Published: 2 to 20 s for the first request.",
        affects: &["the first request of .NET programs, PowerShell, WinHTTP and WinINet programs, browsers"],
        fixes: &[
            FixEntry::manual(Place::Client, "tell the program to use no proxy for local servers (.NET: HttpClientHandler.UseProxy = false)"),
            FixEntry::manual(
                Place::System,
                "where no proxy is used, switch \"automatically detect settings\" off: Settings, Network, Proxy",
            )
            .with_undo("switch it on again"),
        ],
        links: &["https://github.com/dotnet/corefx/issues/38882"],
    };
}
