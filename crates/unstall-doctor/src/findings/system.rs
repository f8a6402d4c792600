//! The system: IPv6, accept queues, the clock.

use super::entry::{Command, Entry, FixEntry, Os, Place, Severity};
use super::findings;

const IPV6_ON: &[Command] = &[Command {
    os: Os::Linux,
    line: "sudo sysctl -w net.ipv6.conf.lo.disable_ipv6=0 net.ipv6.conf.all.disable_ipv6=0",
}];

findings! {
    IPV6_LOOPBACK_SILENT = Entry {
        id: "ipv6-loopback-silent",
        severity: Severity::Error,
        title: "a connect to an own listener at ::1 gets no answer in {time}",
        why: "\
::1 is there, a server can listen on it, and packets to it are swallowed: a firewall rule, a VPN's kill switch, security software, \
or ::1 routed out of a real interface. A program that tries ::1 first waits for its whole time limit, or 127 s, before it tries \
127.0.0.1; one with happy eyeballs loses 200 to 300 ms on each connect.",
        affects: &["every connect to `localhost` by programs that try ::1 first", "servers that listen on ::1"],
        fixes: &[
            FixEntry::manual(Place::System, "let the firewall, VPN or security software leave ::1 alone; until then give clients 127.0.0.1 in place of localhost").with_commands(&[
                Command { os: Os::Linux, line: "sudo nft list ruleset" },
                Command { os: Os::Linux, line: "ip -6 route get ::1" },
                Command { os: Os::Windows, line: "netsh wfp show filters" },
            ]),
        ],
        links: &["https://github.com/brltty/brltty/pull/567", "https://github.com/SeleniumHQ/selenium/issues/15182"],
    };
    IPV6_LOOPBACK_UNUSABLE = Entry {
        id: "ipv6-loopback-unusable",
        severity: Severity::Warn,
        title: "`localhost` resolves to ::1 first, and ::1 cannot be used here: {outcome}",
        why: "\
IPv6 is off on the loopback interface, or the kernel has none, and the resolver still gives ::1 before 127.0.0.1. A program that \
tries the first address only fails; others lose a little time. Where a default route for IPv6 exists, packets to ::1 may even \
leave the machine and be lost, which takes as long as a silent host.",
        affects: &["programs that try only the first address of a name"],
        fixes: &[
            FixEntry::manual(Place::System, "switch IPv6 on for the loopback interface; until then give clients 127.0.0.1 in place of localhost")
                .with_commands(IPV6_ON)
                .with_undo("sudo sysctl -w net.ipv6.conf.lo.disable_ipv6=1"),
            FixEntry::manual(Place::System, "or take the line `::1 localhost` out of the hosts file"),
        ],
        links: &["https://github.com/SeleniumHQ/selenium/issues/15182"],
    };
    IPV6_LOOPBACK_OFF = Entry {
        id: "ipv6-loopback-off",
        severity: Severity::Info,
        title: "::1 cannot be used here: {outcome}",
        why: "\
IPv6 is off on the loopback interface, or the kernel has none. A connect to ::1 fails at once, and a server that is told to listen \
on ::1 cannot start. It is the usual state of many containers; nothing stalls because of it.",
        affects: &["servers that are told to listen on ::1", "clients that are given ::1"],
        fixes: &[FixEntry::manual(Place::System, "switch IPv6 on for the loopback interface, if it is wanted")
            .with_commands(IPV6_ON)
            .with_undo("sudo sysctl -w net.ipv6.conf.lo.disable_ipv6=1")],
        links: &[],
    };
    SOMAXCONN_LOW = Entry {
        id: "somaxconn-low",
        severity: Severity::Info,
        title: "at most {somaxconn} connections can wait to be accepted, whatever a server asks for",
        why: "\
A server's backlog is clamped to net.core.somaxconn. When more connections come in at once than fit, Linux drops the SYN: the client \
sends it again after 1 s (then 3, 7 s), so a burst of requests shows delays of exactly 1 s. 4096 is the kernel's default since 5.4, \
128 before.",
        affects: &["servers that take bursts of connections, and their clients"],
        fixes: &[
            FixEntry::manual(Place::Server, "accept faster: a thread of its own for accept, or several listeners with SO_REUSEPORT"),
            FixEntry::manual(Place::System, "raise the bound").with_commands(&[Command {
                os: Os::Linux,
                line: "sudo sysctl -w net.core.somaxconn=4096",
            }])
            .with_undo("sudo sysctl -w net.core.somaxconn={somaxconn}"),
        ],
        links: &["https://docs.kernel.org/networking/ip-sysctl.html"],
    };
    ABORT_ON_OVERFLOW = Entry {
        id: "abort-on-overflow",
        severity: Severity::Warn,
        title: "a full accept queue resets connections (net.ipv4.tcp_abort_on_overflow is 1)",
        why: "\
When the accept queue is full at the end of a handshake, Linux normally keeps silent and the client tries again. With this setting it \
sends a reset: the client believes that it is connected, and its first read or write fails. The kernel's documentation advises \
against it, unless a server cannot be tuned.",
        affects: &["clients of servers that take bursts: connection reset by peer"],
        fixes: &[
            FixEntry::manual(Place::Server, "listen with a larger backlog and accept faster"),
            FixEntry::manual(Place::System, "switch it off")
                .with_commands(&[Command { os: Os::Linux, line: "sudo sysctl -w net.ipv4.tcp_abort_on_overflow=0" }])
                .with_undo("sudo sysctl -w net.ipv4.tcp_abort_on_overflow=1"),
        ],
        links: &["https://docs.kernel.org/networking/ip-sysctl.html"],
    };
    COARSE_CLOCK = Entry {
        id: "coarse-clock",
        severity: Severity::Info,
        title: "the clock moves in steps of {step}: figures below that are not to be trusted",
        why: "\
Durations are read from the operating system's monotonic clock. Here its step is so large that a connect over loopback takes no step \
or one, and every figure near it is rounded.",
        affects: &["this report"],
        fixes: &[FixEntry::manual(Place::System, "look at the clock source, or measure outside of the virtual machine").with_commands(&[
            Command { os: Os::Linux, line: "cat /sys/devices/system/clocksource/clocksource0/current_clocksource" },
        ])],
        links: &["https://github.com/aio-libs/aiohttp/issues/13194"],
    };
    OLD_WINDOWS = Entry {
        id: "old-windows",
        severity: Severity::Warn,
        title: "Windows build {build} cannot refuse a connect at the first reset",
        why: "\
Since build 16299 (Windows 10 1709) a program can ask for no SYN retransmission on its socket, and a refused local connect takes less \
than a millisecond. Before that build one retransmission is the least, about 0.5 s, and the value that means \"none\" is taken as a \
count of 255: 128 s for a refused connect (published in OpenJDK's review of JDK-8250521).",
        affects: &["every program that connects to a local port where nobody listens"],
        fixes: &[
            FixEntry::manual(Place::System, "update Windows; until then do not use programs there that set the value without looking at the build"),
        ],
        links: &["https://bugs.openjdk.org/browse/JDK-8250521"],
    };
    WSAPOLL_BLIND = Entry {
        id: "wsapoll-blind",
        severity: Severity::Info,
        title: "on Windows build {build} WSAPoll does not report failed connects",
        why: "\
Before build 19041 (Windows 10 2004) WSAPoll does not tell that a non-blocking connect has failed, so a program that waits with it \
waits for its whole time limit although the connect was refused long ago.",
        affects: &["programs that wait for a connect with WSAPoll: socket2's connect_timeout, older libraries"],
        fixes: &[FixEntry::manual(Place::System, "update Windows")],
        links: &["https://github.com/zeromq/libzmq/issues/3107"],
    };
    WSL_MIRRORED = Entry {
        id: "wsl-mirrored",
        severity: Severity::Info,
        title: "WSL runs with mirrored networking",
        why: "\
With mirrored networking, Linux and Windows share their addresses, 127.0.0.1 included. Several releases lose the reset of a refused \
connect to 127.0.0.1, which then takes 130 s (microsoft/WSL#10855), or all local connects (microsoft/WSL#41137). The check `refusal` \
tells whether it is so here.",
        affects: &["connects to 127.0.0.1 inside WSL"],
        fixes: &[FixEntry::manual(
            Place::System,
            "if connects stall, switch to NAT networking: networkingMode=nat under [wsl2] in .wslconfig, then restart WSL",
        )
        .with_undo("set networkingMode=mirrored again and restart WSL")],
        links: &["https://github.com/microsoft/WSL/issues/10855", "https://github.com/microsoft/WSL/issues/41137"],
    };
    WSL_NOT_FORWARDED = Entry {
        id: "wsl-not-forwarded",
        severity: Severity::Info,
        title: "servers inside WSL do not appear at Windows' localhost (localhostForwarding=false)",
        why: "\
With NAT networking, WSL's virtual machine has an address of its own. Windows relays its ports to localhost unless .wslconfig says \
localhostForwarding=false, as it does here: a connect from Windows to localhost is refused, after 2.0 s, although the server listens \
inside WSL.",
        affects: &["programs on Windows that connect to servers inside WSL by localhost"],
        fixes: &[
            FixEntry::manual(Place::Client, "connect to WSL's own address")
                .with_commands(&[Command { os: Os::Windows, line: "wsl hostname -I" }]),
            FixEntry::manual(Place::System, "remove localhostForwarding=false from .wslconfig, then restart WSL")
                .with_commands(&[Command { os: Os::Windows, line: "wsl --shutdown" }])
                .with_undo("write localhostForwarding=false under [wsl2] again and restart WSL"),
        ],
        links: &["https://learn.microsoft.com/windows/wsl/wsl-config"],
    };
    WINSOCK_LAYERS = Entry {
        id: "winsock-layers",
        severity: Severity::Warn,
        title: "every socket goes through layers that Windows does not ship: {libraries}",
        why: "\
A layered service provider is a library that some software has put between programs and Windows' sockets. Every connect of every program \
goes through it, to localhost too. Layers are what makes ioctls fail with WSAEOPNOTSUPP, ConnectEx disappear, and connects succeed that \
have not been made yet.",
        affects: &["every program that uses sockets"],
        fixes: &[
            FixEntry::manual(Place::System, "update or remove the software that the library belongs to"),
            FixEntry::manual(
                Place::System,
                "or reset the catalogue, as administrator: it removes every layer, and software that needs one must be installed again",
            )
            .with_commands(&[
                Command { os: Os::Windows, line: "netsh winsock show catalog" },
                Command { os: Os::Windows, line: "netsh winsock reset" },
            ]),
        ],
        links: &["https://learn.microsoft.com/windows/win32/winsock/categorizing-layered-service-providers-and-apps"],
    };
    WINSOCK_PROVIDERS = Entry {
        id: "winsock-providers",
        severity: Severity::Info,
        title: "the Winsock catalogue has providers that Windows does not ship: {libraries}",
        why: "\
Beside Windows' own there are base providers of other software, usually for a family of addresses of their own (a virtual machine's \
sockets, for instance). They are not layers: TCP does not go through them.",
        affects: &["programs that use these families of addresses"],
        fixes: &[FixEntry::manual(Place::System, "nothing needs to be done")
            .with_commands(&[Command { os: Os::Windows, line: "netsh winsock show catalog" }])],
        links: &[],
    };
    COARSE_TIMER = Entry {
        id: "coarse-timer",
        severity: Severity::Info,
        title: "waits end at ticks of the timer: a wait of 1 ms takes {time}",
        why: "\
Windows ends waits at its timer's interrupt, every 15.6 ms unless some program asks for a finer timer. A time limit, a pause between two tries \
and the delay between two addresses are all rounded up to it. Since Windows 10 2004 a finer timer holds for the program that asked, no \
longer for all.",
        affects: &["programs that poll, retry or race addresses with pauses of a few milliseconds"],
        fixes: &[FixEntry::manual(
            Place::Client,
            "wait for events rather than for time; where a short pause is needed, use a high-resolution waitable timer",
        )],
        links: &["https://learn.microsoft.com/windows/win32/api/timeapi/nf-timeapi-timebeginperiod"],
    };
}
