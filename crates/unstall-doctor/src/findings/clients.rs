//! How programs behave, each by itself.

use super::entry::{Entry, FixEntry, Place, Severity};
use super::findings;

findings! {
    CLIENT_REFUSED_LATE = Entry {
        id: "client-refused-late",
        severity: Severity::Warn,
        title: "{clients} hear only after {time} that a port is closed",
        why: "\
The port is closed, and the answer to the first SYN says so. These programs hear of it late, because their sockets send the SYN \
again: Windows does that four times by default, about 505 ms apart, unless the program takes it away \
(SIO_TCP_INITIAL_RTO). By `localhost` the wait comes once for each address, one after another or staggered.",
        affects: &["probes, health checks and retries made with these programs", "tests that expect a refusal"],
        fixes: &[
            FixEntry::manual(
                Place::Client,
                "use a release that takes the retransmission away (curl 8.22, Java 17, Node 12.19 or later, Go), or connect by \
                 unstall: in Python `with unstall.patched():`",
            ),
            FixEntry::manual(Place::Client, "ask first whether somebody listens: `unstall connect TARGET`, `unstall wait TARGET`"),
        ],
        links: &["https://github.com/curl/curl/issues/14144", "https://github.com/moby/moby/issues/41616"],
    };
    CLIENT_HIDES_REFUSAL = Entry {
        id: "client-hides-refusal",
        severity: Severity::Warn,
        title: "{clients} report a time-out at a closed port",
        why: "\
The port is closed and its host says so at once, but the system tells the program only after its last SYN, about 2.03 s after \
the first on Windows. A limit below that, be it asked for or the program's own (Node gives an address up after 250 ms if there is another), ends \
the connect before, and the program reports a time-out where the truth is a \
refusal. People then look for firewalls and slow servers, and retries that depend on the kind of error go wrong.",
        affects: &["whoever reads the error", "scanners and health checks with short limits: closed looks like filtered"],
        fixes: &[
            FixEntry::manual(
                Place::Client,
                "set the limit above 2.1 s for each address, or use a release or library that is refused at once (unstall)",
            ),
        ],
        links: &["https://github.com/nmap/nmap/issues/2113"],
    };
    CLIENT_LOCALHOST_LATE = Entry {
        id: "client-localhost-late",
        severity: Severity::Warn,
        title: "{clients} reach a server on one family by `localhost` only after {time}",
        why: "\
`localhost` is ::1 and 127.0.0.1. The server listens on one of them, and these programs try the other first. Where a refusal \
is slow they wait for it (2.03 s on Windows), or until their timer starts the next address: 200 ms in curl, 250 ms in Node, 300 ms \
in Go.",
        affects: &["every request by `localhost` that opens a connection"],
        fixes: &[
            FixEntry::manual(Place::Server, "let the server listen on 127.0.0.1 and on ::1"),
            FixEntry::manual(Place::Client, "write the address that the server listens on in place of `localhost`"),
            FixEntry::manual(Place::Client, "use a release or library that is refused at once (unstall)"),
        ],
        links: &["https://github.com/curl/curl/issues/14144"],
    };
    CLIENT_LOCALHOST_FAILS = Entry {
        id: "client-localhost-fails",
        severity: Severity::Warn,
        title: "{clients} do not reach a server on one family by `localhost`",
        why: "\
`localhost` is ::1 and 127.0.0.1. The server listens on one of them, and these programs try the other alone, or give up before \
they come to it. Where nearly all programs fail, the system gives the name one family alone: `unstall doctor` tells.",
        affects: &["every request by `localhost` to a server on the other family"],
        fixes: &[
            FixEntry::manual(Place::Server, "let the server listen on 127.0.0.1 and on ::1"),
            FixEntry::manual(Place::Client, "write the address that the server listens on in place of `localhost`"),
        ],
        links: &["https://github.com/nodejs/node/issues/40702"],
    };
    CLIENT_WAITS_FOR_SILENT = Entry {
        id: "client-waits-for-silent",
        severity: Severity::Info,
        title: "{clients} do not get past a silent first address within {time}",
        why: "\
The first address of the name does not answer, the second does. These programs try one address after another, each until it \
ends, so they wait until their own limit or the operating system's: 21 s on Windows, two minutes and more on Linux. A race \
of the addresses (RFC 8305) costs a fraction of a second in their place.",
        affects: &["hosts with a dead IPv6 address, VPNs, firewalls that drop"],
        fixes: &[
            FixEntry::manual(
                Place::Client,
                "turn on the race where there is one (asyncio's happy_eyeballs_delay), use a client that races (curl, Go, \
                 browsers), or connect by unstall",
            ),
            FixEntry::manual(Place::Client, "give the name's good address, or one family (curl -4)"),
        ],
        links: &["https://www.rfc-editor.org/rfc/rfc8305"],
    };
}
