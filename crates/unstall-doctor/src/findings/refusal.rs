//! Refusals that come late or never.

use super::entry::{Command, Entry, FixEntry, Os, Place, Severity};
use super::findings;

findings! {
    SLOW_REFUSAL = Entry {
        id: "slow-refusal",
        severity: Severity::Warn,
        title: "a closed port at {addresses} is refused only after {time}",
        why: "\
A closed port answers with a reset in microseconds, and a connect to it should fail as fast. Here the connect is not given \
up at the first reset: the SYN is sent again, several times.

Windows does this by design (Microsoft KB175523): each reset is followed by another SYN about 505 ms later, four times by \
default, so a refusal takes 2.0 s. It hides that a full accept queue answers with a reset too. Whoever probes ports, waits \
for a server, or tries ::1 before 127.0.0.1 pays the whole wait each time. A time limit below 2.03 s never sees the refusal \
and reports a time-out in its place.

The library unstall takes the retransmission away where the destination is local and repeats the connect itself where \
somebody listens, so a refusal takes less than a millisecond and no server is missed.",
        affects: &[
            "everything that connects to a port where nobody listens",
            "programs that try ::1 before 127.0.0.1, or the other way round",
            "health checks and waits for a port",
            "programs with a time limit below the refusal time: they report a time-out",
        ],
        fixes: &[
            FixEntry::manual(
                Place::Server,
                "let servers listen on every address that their clients try first: on ::1 as well as on 127.0.0.1",
            ),
            FixEntry::manual(
                Place::Client,
                "use clients that take the SYN retransmission away for local connects: unstall, Node 12.19 or later, Go, \
                 Java 17 or later, curl 8.22 or later",
            ),
            FixEntry::manual(Place::Client, "give clients 127.0.0.1 or ::1 in place of localhost, whichever the server is on"),
            FixEntry::manual(
                Place::System,
                "halve the wait for the whole system: Windows takes 2 retransmissions at the least, about 1.0 s",
            )
            .with_commands(&[Command {
                os: Os::Windows,
                line: "Set-NetTCPSetting -SettingName InternetCustom -MaxSynRetransmissions 2",
            }])
            .with_undo("Set-NetTCPSetting -SettingName InternetCustom -MaxSynRetransmissions 4"),
        ],
        links: &[
            "https://github.com/curl/curl/issues/14144",
            "https://github.com/nodejs/node/issues/38736",
            "https://github.com/moby/moby/issues/41616",
        ],
    };
    REFUSAL_MISSING = Entry {
        id: "refusal-missing",
        severity: Severity::Error,
        title: "a closed port at {addresses} is never refused: no answer in {time}",
        why: "\
A connect to a port where nobody listens must be answered with a reset. Here nothing comes back, so a connect waits until \
its time limit, or until the operating system gives up: 21 s on Windows, 127 to 135 s on Linux. Programs then report a \
time-out where the truth is that nobody listens.

Something on this machine swallows the SYN or the reset: a firewall rule that drops in place of rejecting, Windows Firewall's \
stealth mode, a VPN's kill switch, security software, or (on WSL with mirrored networking) a reset that comes back with a \
damaged port.",
        affects: &["everything that connects to a port where nobody listens", "health checks and waits for a port"],
        fixes: &[
            FixEntry::manual(
                Place::System,
                "let the firewall, VPN or security software leave loopback alone, or reject in place of dropping; until then give \
                 clients a short connect time limit for local addresses",
            )
            .with_commands(&[
                Command { os: Os::Linux, line: "sudo nft list ruleset" },
                Command { os: Os::Windows, line: "netsh wfp show filters" },
            ]),
        ],
        links: &["https://github.com/microsoft/WSL/issues/5791", "https://github.com/tokio-rs/mio/pull/1960"],
    };
    REFUSAL_LOST_ON_ONE_ADDRESS = Entry {
        id: "refusal-lost-on-one-address",
        severity: Severity::Error,
        title: "a closed port at {addresses} is never refused, while at {prompt} it is refused at once",
        why: "\
The same kernel answers a closed port at one loopback address at once and at another not at all. The reset is sent and lost \
on its way back.

On WSL 2 with mirrored networking this is a known fault: the reset for 127.0.0.1 comes back with a damaged destination port \
(microsoft/WSL#10855, published: about 130 s for a refused connect), while 127.0.0.2 is not touched. Elsewhere a firewall \
rule names one address only.",
        affects: &["everything that connects to a port where nobody listens", "debuggers and remote editors that probe ports"],
        fixes: &[
            FixEntry::manual(Place::Client, "use {prompt} where the address can be chosen, in tests for instance"),
            FixEntry::manual(
                Place::System,
                "on WSL switch from mirrored to NAT networking: networkingMode=nat under [wsl2] in .wslconfig, then restart WSL",
            )
            .with_commands(&[
                Command { os: Os::Linux, line: "wslinfo --networking-mode" },
                Command { os: Os::Windows, line: "wsl --shutdown" },
            ])
            .with_undo("set networkingMode=mirrored again and restart WSL"),
            FixEntry::manual(Place::System, "elsewhere look for a firewall rule that names {addresses}"),
        ],
        links: &["https://github.com/microsoft/WSL/issues/10855", "https://github.com/microsoft/WSL/issues/41137"],
    };
    CLOSED_PORT_ANSWERS = Entry {
        id: "closed-port-answers",
        severity: Severity::Warn,
        title: "connects to a closed port at {addresses} succeed",
        why: "\
Nobody listens on the port: the doctor holds it itself, bound and not listening. Still the connect succeeded, so something \
on this machine accepts connections on behalf of others: a transparent proxy, security software, a tunnel or a redirect rule. \
Whoever asks whether a server is up is told yes, always.",
        affects: &["waits for a port and health checks: they are always satisfied", "clients that expect a refusal"],
        fixes: &[FixEntry::manual(
            Place::System,
            "find what intercepts local connects and exempt loopback: a redirect rule, a proxy, security software",
        )
        .with_commands(&[
            Command { os: Os::Linux, line: "sudo nft list ruleset" },
            Command { os: Os::Windows, line: "netsh winsock show catalog" },
        ])],
        links: &[],
    };
    LOOPBACK_NOT_PERMITTED = Entry {
        id: "loopback-not-permitted",
        severity: Severity::Error,
        title: "this process may not connect to {addresses}",
        why: "\
The operating system forbids the connect (EACCES, EPERM, WSAEACCES) before any packet is sent: a sandbox, an app container, a \
firewall rule in the output path, or security software. Another process may well be allowed.",
        affects: &["every local connect of this program"],
        fixes: &[
            FixEntry::manual(Place::System, "allow loopback in the sandbox or firewall that this process runs under").with_commands(
                &[
                    Command { os: Os::Windows, line: "CheckNetIsolation LoopbackExempt -s" },
                    Command { os: Os::Linux, line: "sudo nft list ruleset" },
                ],
            ),
        ],
        links: &["https://github.com/microsoft/WindowsAppSDK/issues/113"],
    };
    OPTION_WITHOUT_EFFECT = Entry {
        id: "syn-option-without-effect",
        severity: Severity::Warn,
        title: "taking the SYN retransmissions away changes nothing: a refusal still takes {time}",
        why: "\
The socket took the option that makes the first reset final (SIO_TCP_INITIAL_RTO with 254), and a refusal takes as long as \
without it. Something between the program and Windows' TCP answers for it or makes the connect itself: a Winsock layer of security \
software, a VPN or a proxy client. Programs that rely on the option, unstall among them, are as slow as any other here.",
        affects: &["Node, Go, Java, curl and unstall: their local refusals are slow in spite of what they do"],
        fixes: &[FixEntry::manual(
            Place::System,
            "find the layer in the Winsock catalogue (the check `winsock-catalogue`) and exempt loopback in its software",
        )
        .with_commands(&[Command { os: Os::Windows, line: "netsh winsock show catalog" }])],
        links: &["https://learn.microsoft.com/windows/win32/winsock/sio-tcp-initial-rto"],
    };
    COUNT_TRAP = Entry {
        id: "count-trap",
        severity: Severity::Warn,
        title: "on Windows build {build} a refused connect takes 128 s in {programs}",
        why: "\
These programs ask for no SYN retransmission with the value 254, which has that meaning from build 16299 (Windows 10 1709) on. They do not \
look at the build, and this one takes 254 for a count: the SYN is sent 255 times, 500 ms apart, before a local connect to a closed port \
fails. Published: 128 s, by the Windows networking team in OpenJDK's review of JDK-8250521. A program with a time limit of its own \
reports a time-out instead.",
        affects: &["{programs}, whenever they connect to a port where nobody listens"],
        fixes: &[
            FixEntry::manual(Place::Client, "give them a time limit for connecting (curl --connect-timeout 2), or use a version that does not set the value"),
            FixEntry::manual(Place::System, "update Windows"),
        ],
        links: &["https://bugs.openjdk.org/browse/JDK-8250521", "https://github.com/curl/curl/pull/22494"],
    };
}
