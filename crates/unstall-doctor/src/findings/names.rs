//! Names and the hosts file.

use super::entry::{Command, Entry, FixEntry, Os, Place, Severity};
use super::findings;

const SHOW_HOSTS: Command = Command { os: Os::Linux, line: "cat /etc/hosts" };
const SHOW_HOSTS_WINDOWS: Command =
    Command { os: Os::Windows, line: r"type %SystemRoot%\System32\drivers\etc\hosts" };

findings! {
    LOCALHOST_NO_NAME = Entry {
        id: "localhost-no-name",
        severity: Severity::Error,
        title: "`localhost` does not resolve: {why_not}",
        why: "\
Programs, tests and configuration files use `localhost` everywhere, and here the resolver does not know it. The hosts file \
lacks the line, and nothing else on this system supplies the name.",
        affects: &["every program that is given `localhost`"],
        fixes: &[
            FixEntry::manual(Place::System, "add the two lines `127.0.0.1 localhost` and `::1 localhost` to the hosts file")
                .with_commands(&[
                    Command {
                        os: Os::Linux,
                        line: r"printf '127.0.0.1 localhost\n::1 localhost\n' | sudo tee -a /etc/hosts",
                    },
                    SHOW_HOSTS_WINDOWS,
                ])
                .with_undo("`unstall doctor --undo-fix`, or take the two lines out of the hosts file again")
                .automatic(),
        ],
        links: &["https://github.com/webpack/webpack-dev-server/issues/420", "https://www.rfc-editor.org/rfc/rfc6761#section-6.3"],
    };
    LOCALHOST_SLOW = Entry {
        id: "localhost-slow",
        severity: Severity::Warn,
        title: "looking `localhost` up takes {time}",
        why: "\
`localhost` needs no network: the hosts file or the resolver itself answers in well under a millisecond. When it takes longer, \
a name server is asked, and does not answer or is far away, or the hosts file is huge: it is read from its start for every \
lookup. 5 or 10 s are the resolver's own time-out. Every connect by name pays it before the first packet, and programs report it \
as time to connect.",
        affects: &["every program that is given `localhost`"],
        fixes: &[
            FixEntry::manual(Place::System, "have the lines `127.0.0.1 localhost` and `::1 localhost` in the hosts file")
                .with_commands(&[SHOW_HOSTS, SHOW_HOSTS_WINDOWS]),
            FixEntry::manual(Place::System, "let `files` come first in the line `hosts:` of /etc/nsswitch.conf")
                .with_commands(&[Command { os: Os::Linux, line: "grep hosts: /etc/nsswitch.conf" }]),
            FixEntry::manual(Place::System, "repair or remove the name server that does not answer")
                .with_commands(&[Command { os: Os::Linux, line: "cat /etc/resolv.conf" }]),
            FixEntry::manual(Place::System, "make the hosts file smaller")
                .with_commands(&[Command { os: Os::Linux, line: "wc -l /etc/hosts" }]),
        ],
        links: &["https://github.com/systemd/systemd/pull/18896", "https://www.rfc-editor.org/rfc/rfc6761#section-6.3"],
    };
    LOCALHOST_NOT_LOOPBACK = Entry {
        id: "localhost-not-loopback",
        severity: Severity::Error,
        title: "`{name}` resolves to {addresses}, which is not loopback",
        why: "\
RFC 6761 has every localhost name resolve to the loopback addresses, and programs rely on it: what they send to `localhost` is \
meant not to leave the machine. Here it goes somewhere else, because of a line in the hosts file, a VPN client, or a name server \
that answers for it.",
        affects: &["every program that is given a localhost name", "the safety of what is sent there"],
        fixes: &[
            FixEntry::manual(Place::System, "take the line out of the hosts file, or have 127.0.0.1 and ::1 there for the name")
                .with_commands(&[SHOW_HOSTS, SHOW_HOSTS_WINDOWS]),
        ],
        links: &["https://www.rfc-editor.org/rfc/rfc6761#section-6.3"],
    };
    LOCALHOST_ONE_FAMILY = Entry {
        id: "localhost-one-family",
        severity: Severity::Info,
        title: "`localhost` resolves to {family} alone",
        why: "\
Programs that are given `localhost` reach {family} only. A server that listens on the other family's loopback address is not \
found by name. It is the usual state of many containers and costs nothing while servers and clients agree.",
        affects: &["servers that listen on the other family's loopback address only"],
        fixes: &[
            FixEntry::manual(Place::Server, "let servers listen on 127.0.0.1 and on ::1"),
            FixEntry::manual(Place::System, "name `localhost` for both families in the hosts file")
                .with_commands(&[SHOW_HOSTS, SHOW_HOSTS_WINDOWS]),
        ],
        links: &[],
    };
    LOCALHOST_NAMES_ASK_DNS = Entry {
        id: "localhost-names-ask-dns",
        severity: Severity::Info,
        title: "{names} not known here as loopback",
        why: "\
RFC 6761 makes `localhost.` and every name below it loopback, without a query. Browsers, curl and systemd-resolved do that by \
themselves; glibc asks the hosts file and then a name server, which usually says that there is no such name. A development \
server at `app.localhost` then opens in the browser, and tests and scripts cannot find it.",
        affects: &["programs that are given a name below localhost, outside of browsers"],
        fixes: &[
            FixEntry::manual(Place::Client, "use `localhost`, or a client that knows these names: curl, browsers, unstall"),
            FixEntry::manual(Place::System, "name those that are needed in the hosts file, or add `myhostname` to nsswitch.conf")
                .with_commands(&[Command { os: Os::Linux, line: "grep hosts: /etc/nsswitch.conf" }]),
        ],
        links: &["https://www.rfc-editor.org/rfc/rfc6761#section-6.3"],
    };
    RESOLVER_SILENT = Entry {
        id: "resolver-silent",
        severity: Severity::Warn,
        title: "the resolver takes {time} for `{name}`",
        why: "\
The name is looked up with a name server, which does not answer, or is far away. The resolver's own time-outs are 5 s per \
server and try, so 5 or 10 s pass before any packet is sent to the server that was meant. A VPN that left its name server \
behind, a container without network and a dead /etc/resolv.conf look like this.",
        affects: &["every connect by name", "servers that look up the names of their clients before they answer"],
        fixes: &[
            FixEntry::manual(Place::System, "repair or remove the name server that does not answer").with_commands(&[
                Command { os: Os::Linux, line: "cat /etc/resolv.conf" },
                Command { os: Os::Windows, line: "Get-DnsClientServerAddress" },
            ]),
            FixEntry::manual(Place::System, "put the names that are needed offline into the hosts file"),
        ],
        links: &["https://github.com/jonashaag/klaus/issues/22", "https://github.com/novnc/websockify/issues/369"],
    };
    HOSTS_WITHOUT_LOCALHOST = Entry {
        id: "hosts-without-localhost",
        severity: Severity::Info,
        title: "the hosts file has no line for `localhost`",
        why: "\
Some systems supply `localhost` by themselves (Windows, macOS, systemd's nss-myhostname and resolved); on others the hosts file \
is the only place, and without the line the name is looked up with a name server or not found. The check `names` tells which it \
is here.",
        affects: &["programs that are given `localhost`, where nothing else supplies it"],
        fixes: &[FixEntry::manual(
            Place::System,
            "add the two lines `127.0.0.1 localhost` and `::1 localhost` to the hosts file",
        )
        .with_commands(&[
            Command { os: Os::Linux, line: r"printf '127.0.0.1 localhost\n::1 localhost\n' | sudo tee -a /etc/hosts" },
            SHOW_HOSTS_WINDOWS,
        ])
        .with_undo("`unstall doctor --undo-fix`, or take the two lines out of the hosts file again")
        .automatic()],
        links: &["https://github.com/angular/angular-cli/issues/2227"],
    };
    HOSTS_ONE_FAMILY = Entry {
        id: "hosts-one-family",
        severity: Severity::Info,
        title: "the hosts file names `localhost` for {family} alone",
        why: "\
Where the resolver takes `localhost` from the hosts file, programs learn of {family} only. For the other family it may ask a \
name server each time, and a server that listens there alone is not found by name.",
        affects: &["servers that listen on the other family's loopback address only"],
        fixes: &[
            FixEntry::manual(Place::Server, "let servers listen on 127.0.0.1 and on ::1"),
            FixEntry::manual(Place::System, "add the line for the other family to the hosts file")
                .with_commands(&[SHOW_HOSTS, SHOW_HOSTS_WINDOWS]),
        ],
        links: &[],
    };
    HOSTS_LOCALHOST_ELSEWHERE = Entry {
        id: "hosts-localhost-elsewhere",
        severity: Severity::Warn,
        title: "the hosts file sends `localhost` to {addresses}",
        why: "\
`localhost` is meant to be loopback (RFC 6761). A line in the hosts file gives it another address, so that what programs send \
to it leaves this machine, or takes the way of a network interface.",
        affects: &["every program that is given `localhost`"],
        fixes: &[FixEntry::manual(Place::System, "take the line out of the hosts file")
            .with_commands(&[SHOW_HOSTS, SHOW_HOSTS_WINDOWS])],
        links: &["https://www.rfc-editor.org/rfc/rfc6761#section-6.3"],
    };
    HOSTS_DUPLICATES = Entry {
        id: "hosts-duplicates",
        severity: Severity::Info,
        title: "the hosts file gives {names} several addresses of one family",
        why: "\
A name with several addresses of one family resolves to all of them on some systems and to the first on others. Often the \
second line was added by an installer or a VPN, and was meant to replace the first.",
        affects: &["programs that try one address only"],
        fixes: &[FixEntry::manual(Place::System, "keep the line that is meant")
            .with_commands(&[SHOW_HOSTS, SHOW_HOSTS_WINDOWS])],
        links: &[],
    };
    HOSTS_HUGE = Entry {
        id: "hosts-huge",
        severity: Severity::Info,
        title: "the hosts file has {entries} entries, {size}",
        why: "\
The hosts file is read from the beginning for every name that is looked up (glibc), or taken into memory as a whole (Windows' DNS \
Client service). Block lists with tens of thousands of lines make each look-up take milliseconds, and published reports from \
Windows speak of 40 s to minutes after each start or change.",
        affects: &["every connect by name"],
        fixes: &[
            FixEntry::manual(Place::System, "block names in a local resolver (dnsmasq, unbound, the browser) in place of the hosts file"),
        ],
        links: &["https://github.com/StevenBlack/hosts/issues/93", "https://github.com/StevenBlack/hosts/issues/2743"],
    };
}
