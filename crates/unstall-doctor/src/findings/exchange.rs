//! Connects, round trips and small writes on loopback.

use super::entry::{Command, Entry, FixEntry, Os, Place, Severity};
use super::findings;

/// What to look at when loopback itself is slow or broken.
const INTERCEPTORS: &[Command] = &[
    Command { os: Os::Windows, line: "netsh winsock show catalog" },
    Command { os: Os::Windows, line: "netsh wfp show filters" },
    Command { os: Os::Linux, line: "sudo nft list ruleset" },
];

findings! {
    LOOPBACK_BROKEN = Entry {
        id: "loopback-broken",
        severity: Severity::Error,
        title: "a connect to an own listener at {address} ended as {outcome}",
        why: "\
The doctor opened a listener of its own and connected to it from the same process. No network, no other program and no name \
is involved, and still it failed. A firewall, a VPN's kill switch, a sandbox or a loopback interface that is down stands in \
the way; nothing that talks to a local server can work.",
        affects: &["every program that talks to a server on this machine"],
        fixes: &[
            FixEntry::manual(Place::System, "let the firewall, VPN or security software leave loopback alone")
                .with_commands(INTERCEPTORS),
            FixEntry::manual(Place::System, "see whether the loopback interface is up")
                .with_commands(&[Command { os: Os::Linux, line: "ip address show lo" }]),
        ],
        links: &["https://github.com/gradle/gradle/issues/14528"],
    };
    LOOPBACK_CONNECT_SLOW = Entry {
        id: "loopback-connect-slow",
        severity: Severity::Warn,
        title: "a connect to an own listener at {address} takes {time}",
        why: "\
A connect over loopback is a few tens of microseconds of work inside the kernel. Above 5 ms something else takes part: \
security software that inspects connections, a firewall driver, a Winsock provider, a tunnel. Every new connection to a local \
server pays it.",
        affects: &["every new connection to a server on this machine"],
        fixes: &[FixEntry::manual(
            Place::System,
            "exempt loopback in the security software, or try with it off to see whether it is the cause",
        )
        .with_commands(INTERCEPTORS)],
        links: &["https://github.com/gradle/gradle/issues/31245"],
    };
    LOOPBACK_EXCHANGE_SLOW = Entry {
        id: "loopback-exchange-slow",
        severity: Severity::Warn,
        title: "one byte to an own listener at {address} and back takes {time}",
        why: "\
One byte each way over loopback, with TCP_NODELAY, in one process: tens of microseconds of work. Above 5 ms something inspects \
or relays the data: security software, a Winsock provider, a proxy that intercepts loopback.",
        affects: &["every request to a server on this machine"],
        fixes: &[FixEntry::manual(
            Place::System,
            "exempt loopback in the security software, or try with it off to see whether it is the cause",
        )
        .with_commands(INTERCEPTORS)],
        links: &[],
    };
    SMALL_WRITES_WAIT = Entry {
        id: "small-writes-wait",
        severity: Severity::Info,
        title: "two small writes in a row take {time} without TCP_NODELAY, {fast} with it",
        why: "\
A program that writes a message in two pieces and then waits for the answer meets two rules that are sound alone: the sender \
holds the second piece until the first is acknowledged (Nagle, RFC 896), and the receiver delays the acknowledgement because an \
answer might carry it (RFC 1122). Each exchange then costs the receiver's timer: 40 ms on Linux, 40 to 50 ms on Windows 10 and \
11, 200 ms on Windows 7. Every TCP works like this, so it is no fault of this machine; it is a fault of a program that does it.",
        affects: &["programs that write head and body apart and do not set TCP_NODELAY"],
        fixes: &[
            FixEntry::manual(Place::Server, "set TCP_NODELAY on the accepted socket, or send a message with one write"),
            FixEntry::manual(Place::Client, "set TCP_NODELAY on the socket, or send a message with one write (or a vectored one)"),
        ],
        links: &["https://www.rfc-editor.org/rfc/rfc896", "https://github.com/python/asyncio/issues/311"],
    };
    NODELAY_DOES_NOT_HELP = Entry {
        id: "nodelay-does-not-help",
        severity: Severity::Warn,
        title: "two small writes in a row take {time} at {address} even with TCP_NODELAY",
        why: "\
With TCP_NODELAY the second of two small writes is sent at once, so over loopback both are there in tens of microseconds. Here \
they are not: something between the two ends collects the data, a proxy, security software or a relay with timers of its own.",
        affects: &["programs that write head and body apart, whatever they set"],
        fixes: &[
            FixEntry::manual(Place::Client, "send a message with one write"),
            FixEntry::manual(Place::System, "exempt loopback in the software that intercepts it").with_commands(INTERCEPTORS),
        ],
        links: &[],
    };
    SO_ERROR_STALL = Entry {
        id: "so-error-stall",
        severity: Severity::Warn,
        title: "reading SO_ERROR right after a connect stalls: {share} of connects take 5 ms or more, {clean} without it",
        why: "\
A program that connects without blocking waits until the socket is writable and then reads SO_ERROR to learn how it went. On \
Windows a non-blocking connect completes on a thread of the sockets library. Read at once, SO_ERROR races that thread, which \
leaves the caller waiting 10 ms, rounded up to the clock's tick of 15.6 ms. The times have two modes: 0.2 ms, and 10 to 25 ms.

Published (php-src, Windows 10, 11 and Server 2019): median 14.6 ms with SO_ERROR, 0.2 ms without, 0.24 ms when the program \
waits 50 us first, 0.2 ms when it reads another option.",
        affects: &["programs that read SO_ERROR on success: PHP streams, tokio, async-io"],
        fixes: &[
            FixEntry::manual(
                Place::Client,
                "do not read SO_ERROR when the socket is writable and not in the exceptional set; unstall does not",
            ),
            FixEntry::manual(Place::Client, "keep connections open, so that fewer are made"),
        ],
        links: &["https://bugs.php.net/bug.php?id=78825"],
    };
    ASYNC_CONNECT_STALL = Entry {
        id: "async-connect-stall",
        severity: Severity::Warn,
        title: "connects as {runtimes} make them stall: {share} take 5 ms or more, {clean} without SO_ERROR",
        why: "\
tokio and async-io wait until the socket is writable, by a poll of the AFD driver, and then read SO_ERROR, after a success too. On Windows \
that read can meet the sockets library while it is still completing the connect, and waits for 10 ms, rounded up to the clock's tick \
of 15.6 ms (see `so-error-stall`). The doctor made the same calls in the same order; it does not contain these libraries.",
        affects: &["programs with tokio or async-io, and all that is built on them: hyper, reqwest, tonic, sqlx"],
        fixes: &[
            FixEntry::manual(
                Place::Client,
                "connect with unstall's features `tokio` or `async-io`, which take the outcome from ConnectEx and read no SO_ERROR",
            ),
            FixEntry::manual(Place::Client, "keep connections open, so that fewer are made"),
        ],
        links: &["https://bugs.php.net/bug.php?id=78825"],
    };
}
