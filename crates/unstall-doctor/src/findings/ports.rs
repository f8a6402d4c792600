//! Local ports: TIME_WAIT, ranges, self-connects.

use super::entry::{Command, Entry, FixEntry, Os, Place, Severity};
use super::findings;

const SHOW_RANGE: &[Command] = &[
    Command { os: Os::Linux, line: "sysctl net.ipv4.ip_local_port_range" },
    Command { os: Os::Windows, line: "netsh int ipv4 show dynamicport tcp" },
    Command { os: Os::MacOs, line: "sysctl net.inet.ip.portrange.first net.inet.ip.portrange.last" },
];

const WIDEN_RANGE: &[Command] = &[
    Command { os: Os::Linux, line: "sudo sysctl -w net.ipv4.ip_local_port_range=\"32768 60999\"" },
    Command { os: Os::Windows, line: "netsh int ipv4 set dynamicport tcp start=49152 num=16384" },
];

findings! {
    PORTS_USED_UP = Entry {
        id: "ports-used-up",
        severity: Severity::Warn,
        title: "{taken} of {size} local ports are taken for {destination}",
        why: "\
Each connection to one address and port needs a local port of its own, and the side that closes first keeps it in TIME_WAIT, for 60 s \
on Linux, up to 4 minutes on Windows. A program that opens a connection per request uses up the range; then connects fail with \
EADDRNOTAVAIL, or on Windows WSAEADDRINUSE (\"only one usage of each socket address\") and WSAENOBUFS.",
        affects: &["every further connect to {destination}"],
        fixes: &[
            FixEntry::manual(Place::Server, "keep connections alive, and let the server not close after each answer"),
            FixEntry::manual(Place::Client, "reuse connections: keep-alive, one client object, a pool"),
            FixEntry::manual(Place::System, "widen the range of local ports").with_commands(WIDEN_RANGE),
        ],
        links: &["https://github.com/ollama/ollama/issues/18392", "https://github.com/oven-sh/bun/pull/33898"],
    };
    FEW_PORTS = Entry {
        id: "few-ports",
        severity: Severity::Warn,
        title: "only {size} local ports can be chosen from, {first} to {last}",
        why: "\
The range of local ports bounds how many connections to one address and port can exist at once, those in TIME_WAIT included. The \
usual ranges have 28232 (Linux) and 16384 (Windows, macOS) ports. With this one, a client that opens a connection per request \
runs out within seconds, and the kernel often chooses a port that a server is about to use.",
        affects: &["programs that open many connections to one address", "the kernel's choice of a port on every connect"],
        fixes: &[FixEntry::manual(Place::System, "widen the range of local ports").with_commands(WIDEN_RANGE)],
        links: &[],
    };
    SELF_CONNECT_RANGE = Entry {
        id: "self-connect-range",
        severity: Severity::Info,
        title: "{ports} within the range that the kernel takes local ports from ({first} to {last})",
        why: "\
A program that connects to a local port where nobody listens, again and again, is connected to itself once the kernel happens to choose \
that very port as the local one (a simultaneous open, RFC 9293). It then believes that the server is up and talks to itself; \
and the server cannot start, because the port is taken. Only ports within the range can be hit: on Linux every second of them.

Linux' usual range begins at 32768, Windows' and macOS' at 49152. Ports below are safe with the usual ranges.",
        affects: &["programs that poll a port until a server is up", "servers that start while such a program polls"],
        fixes: &[
            FixEntry::manual(Place::Server, "give servers ports below the range"),
            FixEntry::manual(Place::Client, "wait with `unstall wait`, or drop a connection whose two ends have the same address"),
            FixEntry::manual(Place::System, "reserve the ports of servers, so that the kernel does not choose them").with_commands(&[
                Command { os: Os::Linux, line: "sudo sysctl -w net.ipv4.ip_local_reserved_ports={list}" },
                Command {
                    os: Os::Windows,
                    line: "netsh int ipv4 add excludedportrange protocol=tcp startport={port} numberofports=1",
                },
            ]),
        ],
        links: &["https://github.com/tokio-rs/tokio/issues/3405", "https://github.com/OpenIdentityPlatform/OpenDJ/issues/728"],
    };
    SELF_CONNECT_COMMON = Entry {
        id: "self-connect-common",
        severity: Severity::Warn,
        title: "the kernel takes local ports from {first} to {last}, where {ports} are",
        why: "\
The range of local ports reaches down to ports that servers commonly use. Any outgoing connection may hold such a port when the \
server wants to start (\"address already in use\", with nobody listening), and a program that polls it is connected to itself \
sooner or later (see `self-connect-range`).",
        affects: &["servers on these ports: now and then they cannot start", "programs that poll these ports"],
        fixes: &[
            FixEntry::manual(Place::System, "let the range begin at 32768, as is usual").with_commands(WIDEN_RANGE),
            FixEntry::manual(Place::System, "or see what set the range, and reserve the ports").with_commands(SHOW_RANGE),
        ],
        links: &["https://github.com/tokio-rs/tokio/issues/3405"],
    };
    COMMON_PORTS_EXCLUDED = Entry {
        id: "common-ports-excluded",
        severity: Severity::Info,
        title: "Windows has set aside ports that servers commonly use: {ports}",
        why: "\
Hyper-V, WinNAT (Docker Desktop, WSL) and some services reserve ranges of ports when Windows starts, 100 at a time, wherever they find \
room in the dynamic range. Nobody listens on them and netstat shows nothing, yet a server that wants such a port fails with WSAEACCES \
(10013), \"an attempt was made to access a socket in a way forbidden by its access permissions\". The ranges move with each start.",
        affects: &["servers that are to listen on {ports}"],
        fixes: &[
            FixEntry::manual(Place::Server, "use another port"),
            FixEntry::manual(
                Place::System,
                "as administrator, give the ranges back by restarting WinNAT, or reserve the port before it does",
            )
            .with_commands(&[
                Command { os: Os::Windows, line: "net stop winnat" },
                Command { os: Os::Windows, line: "net start winnat" },
            ]),
            FixEntry::manual(Place::System, "let the dynamic range begin at 49152, as is usual, so that the ranges are taken from there").with_commands(WIDEN_RANGE),
        ],
        links: &["https://github.com/docker/for-win/issues/3171", "https://github.com/docker/for-win/issues/9272"],
    };
    PORT_EXCLUDED = Entry {
        id: "port-excluded",
        severity: Severity::Error,
        title: "port {port} lies in the range {range}, which {by} has set aside: no server can listen on it",
        why: "\
Windows keeps a list of port ranges that are excluded from use. A server that wants port {port} fails with WSAEACCES (10013), although \
nobody listens there and netstat shows nothing. Hyper-V and WinNAT (Docker Desktop, WSL) take such ranges when Windows starts, and others \
the next time, which is why a port works one day and not the next.",
        affects: &["any server that is to listen on port {port}"],
        fixes: &[
            FixEntry::manual(Place::Server, "use a port outside of the excluded ranges")
                .with_commands(&[Command { os: Os::Windows, line: "netsh int ipv4 show excludedportrange tcp" }]),
            FixEntry::manual(
                Place::System,
                "as administrator, stop WinNAT, reserve the port for good, and start WinNAT again",
            )
            .with_commands(&[
                Command { os: Os::Windows, line: "net stop winnat" },
                Command {
                    os: Os::Windows,
                    line: "netsh int ipv4 add excludedportrange protocol=tcp startport={port} numberofports=1",
                },
                Command { os: Os::Windows, line: "net start winnat" },
            ])
            .with_undo("netsh int ipv4 delete excludedportrange protocol=tcp startport={port} numberofports=1"),
        ],
        links: &["https://github.com/docker/for-win/issues/3171", "https://github.com/docker/for-win/issues/9272"],
    };
}
