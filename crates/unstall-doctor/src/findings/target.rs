//! Findings at a target.

use super::entry::{Command, Entry, FixEntry, Os, Place, Severity};
use super::findings;

/// Who listens, for people to look up.
const WHO_LISTENS: &[Command] = &[
    Command { os: Os::Linux, line: "ss -ltnp sport = :{port}" },
    Command { os: Os::Windows, line: "netstat -ano -p TCP | findstr :{port}" },
    Command { os: Os::MacOs, line: "lsof -nP -iTCP:{port} -sTCP:LISTEN" },
];

/// What filters packets, for people to look up.
const FILTERS: &[Command] = &[
    Command { os: Os::Linux, line: "sudo nft list ruleset" },
    Command { os: Os::Windows, line: "netsh wfp show filters" },
];

findings! {
    NAME_NOT_FOUND = Entry {
        id: "name-not-found",
        severity: Severity::Error,
        title: "`{name}` does not resolve: {cause}",
        why: "\
A connect by name begins with a question to the resolver, and here the answer is that there is no usable address, or none came. \
No packet has been sent to any server yet.",
        affects: &["every program that is given this name"],
        fixes: &[
            FixEntry::manual(Place::Client, "check the spelling, or give clients the address"),
            FixEntry::manual(Place::System, "name it in the hosts file, or repair the name server"),
        ],
        links: &["https://www.rfc-editor.org/rfc/rfc6761#section-6.3"],
    };
    NO_ADDRESS_OF_FAMILY = Entry {
        id: "no-address-of-family",
        severity: Severity::Error,
        title: "`{name}` has no {family} address: it is {addresses}",
        why: "\
Only one family was to be tried, and the name has no address of it. Nothing was connected to. A client that is told to use one family \
fails in the same way, whether or not a server is there.",
        affects: &["clients that use {family} alone"],
        fixes: &[
            FixEntry::manual(Place::Client, "let clients use both families, or the other one"),
            FixEntry::manual(Place::System, "give the name an address of the family, in the hosts file or the name server"),
        ],
        links: &["https://www.rfc-editor.org/rfc/rfc8305"],
    };
    NAME_SLOW = Entry {
        id: "name-slow",
        severity: Severity::Warn,
        title: "resolving `{name}` takes {time}, before any packet is sent",
        why: "\
Programs report the time to resolve a name as time to connect. It is not: the server has not been asked anything yet. 5 or 10 s \
are the resolver's own time-outs when a name server does not answer; on macOS 5 s is what a `.local` name without an IPv6 line \
costs.",
        affects: &["every connect by this name that is not answered from a cache"],
        fixes: &[
            FixEntry::manual(Place::Client, "give clients the address, or keep connections open"),
            FixEntry::manual(Place::System, "repair or remove the name server that does not answer; name the host in the hosts file for both families")
                .with_commands(&[
                    Command { os: Os::Linux, line: "cat /etc/resolv.conf" },
                    Command { os: Os::Windows, line: "Get-DnsClientServerAddress" },
                ]),
        ],
        links: &["https://github.com/rust-lang/rust/issues/31465"],
    };
    OTHER_FAMILY = Entry {
        id: "listens-on-other-address",
        severity: Severity::Error,
        title: "nothing on {address}, but {owner} listens on {other}",
        why: "\
The server runs, on this very port, and the address that was tried is not among those it listens on. A server bound to one \
address does not exist for those that try another: `localhost` is ::1 for some programs and 127.0.0.1 for others, and neither is \
what other hosts connect to.",
        affects: &["clients that try {address} only", "waits for a port: they wait for ever"],
        fixes: &[
            FixEntry::manual(
                Place::Server,
                "let the server listen on {both}, or on :: with IPV6_V6ONLY off: for development servers an option such as \
                 --host {option} or --host ::",
            ),
            FixEntry::manual(Place::Client, "connect to {other}"),
        ],
        links: &["https://github.com/nodejs/node/issues/40702", "https://github.com/jeffbski/wait-on/issues/109"],
    };
    ONE_FAMILY = Entry {
        id: "one-address-refused",
        severity: Severity::Warn,
        title: "`{name}` is {refused} and {connected}; nobody listens on {refused}:{port}",
        why: "\
The name stands for several addresses, and the server listens on some of them only. Clients that try the refused address first \
pay its refusal on every connect: nothing on Linux, 2.0 s on Windows where the client does not take the SYN retransmission away \
(KB175523), 0.2 to 0.3 s where it races the families; a few give up after the first address.",
        affects: &["clients that try {refused} first, above all on Windows", "clients that try one address only"],
        fixes: &[
            FixEntry::manual(
                Place::Server,
                "let the server listen on {refused} as well, or on :: with IPV6_V6ONLY off",
            ),
            FixEntry::manual(Place::Client, "give clients {connected} in place of {name}"),
            FixEntry::manual(Place::Client, "use a client that refuses fast and races: the library unstall, curl 8.22 or later, Node 20 or later, Go"),
        ],
        links: &["https://github.com/curl/curl/issues/14144", "https://github.com/dotnet/runtime/issues/65375"],
    };
    NOBODY_LISTENS = Entry {
        id: "nobody-listens",
        severity: Severity::Error,
        title: "nobody listens on {address}",
        why: "\
The connect was refused: the host is there and answered that nobody listens on that port. On this host the table of listening \
sockets says the same, as far as it could be read. The server is not running, not running yet, listens on another port, or runs \
in another network namespace (a container without a published port).",
        affects: &["every client of this address"],
        fixes: &[
            FixEntry::manual(Place::Server, "start the server, or look in its log for the port it really took").with_commands(WHO_LISTENS),
            FixEntry::manual(Place::Client, "check the port"),
        ],
        links: &[],
    };
    REFUSED_THOUGH_LISTENING = Entry {
        id: "refused-though-listening",
        severity: Severity::Error,
        title: "{address} refuses, although {owner} listens there",
        why: "\
The table of listening sockets shows a server that a connect to this address reaches, and yet the connect was refused. A firewall \
rule rejects it, the server's accept queue is full (Windows answers that with a reset, as does Linux with \
tcp_abort_on_overflow), or the server started to listen in between.",
        affects: &["every client of this address"],
        fixes: &[
            FixEntry::manual(Place::Server, "accept faster, or listen with a larger backlog"),
            FixEntry::manual(Place::System, "look for a firewall rule that rejects the port").with_commands(FILTERS),
        ],
        links: &["https://github.com/nodejs/node/issues/38736"],
    };
    REFUSAL_SLOW = Entry {
        id: "target-refusal-slow",
        severity: Severity::Warn,
        title: "{address} is refused only after {time}",
        why: "\
The reset that refuses a connect comes at once on a healthy host. Here the refusal took {time}: the SYN was sent again after \
each reset, as Windows does by default (KB175523: four times, about 505 ms apart), or packets were lost on the way.",
        affects: &["whatever probes this port or tries this address first"],
        fixes: &[
            FixEntry::manual(Place::Server, "let the server listen on this address too"),
            FixEntry::manual(
                Place::Client,
                "use a client that takes the SYN retransmission away for local connects: the library unstall, Node 12.19, Go 1.22, \
                 Java 17, curl 8.22 or later",
            ),
            FixEntry::manual(Place::System, "halve the wait for the whole system: 2 retransmissions are the least that Windows takes")
                .with_commands(&[Command {
                    os: Os::Windows,
                    line: "Set-NetTCPSetting -SettingName InternetCustom -MaxSynRetransmissions 2",
                }])
                .with_undo("Set-NetTCPSetting -SettingName InternetCustom -MaxSynRetransmissions 4"),
        ],
        links: &["https://github.com/curl/curl/issues/14144"],
    };
    LIMIT_BELOW_REFUSAL = Entry {
        id: "limit-below-refusal",
        severity: Severity::Warn,
        title: "a time limit of {limit} hides that {address} is refused, which takes {time}",
        why: "\
A client with this limit reports a time-out where the truth is that nobody listens. People then look for a slow server or a \
firewall, and wait for the limit on every try.",
        affects: &["clients and tests with a limit below {time}: `curl -m 2` ends with exit code 28 in place of 7"],
        fixes: &[
            FixEntry::manual(Place::Client, "use a client whose refusal is fast, the library unstall for instance"),
            FixEntry::manual(Place::Client, "or allow more than {time} for a connect, and treat a time-out as not running"),
        ],
        links: &[],
    };
    SILENT_ADDRESS = Entry {
        id: "one-address-silent",
        severity: Severity::Warn,
        title: "`{name}` is {silent}, which does not answer, and {connected}, which does",
        why: "\
The name stands for several addresses and one of them swallows the SYN. Clients that try addresses one after another wait for \
their whole time limit on it, 21 s on Windows and 127 s on Linux without one; clients that race the families lose 200 to 300 ms on \
every connect.",
        affects: &["clients that try {silent} first"],
        fixes: &[
            FixEntry::manual(Place::Client, "give clients {connected} in place of {name}"),
            FixEntry::manual(Place::Client, "use a client that races addresses (RFC 8305): the library unstall, curl, Node 20 or later, Go"),
            FixEntry::manual(Place::System, "find what drops the packets to {silent}: a firewall, a VPN, a dead route").with_commands(FILTERS),
        ],
        links: &["https://www.rfc-editor.org/rfc/rfc8305", "https://github.com/nodejs/node/issues/47822"],
    };
    FILTERED = Entry {
        id: "no-answer",
        severity: Severity::Error,
        title: "{address} does not answer: neither connected nor refused within {time}",
        why: "\
A host that is up answers a SYN, with a SYN-ACK or with a reset. Silence means that a filter drops the packets on the way there or \
back, or that nobody is at that address. It is not a refusal, and it is not a slow server: the connect itself gets no answer.",
        affects: &["every client of this address: each waits for its whole time limit"],
        fixes: &[
            FixEntry::manual(Place::Client, "check the address; give clients a connect time limit"),
            FixEntry::manual(Place::System, "find what drops the packets: a firewall rule, a VPN's kill switch, security software").with_commands(FILTERS),
        ],
        links: &["https://github.com/microsoft/WSL/issues/5791"],
    };
    QUEUE_FULL = Entry {
        id: "backlog-full",
        severity: Severity::Error,
        title: "{owner} listens on {address}, but its accept queue is full ({waiting} of {room}): a burst above {room} does not fit",
        why: "\
Connections that the kernel has completed wait in the accept queue until the server takes them. When it is full, Linux drops \
the SYN, so the client's next try comes a second later and then at doubling distance; Windows answers with a reset, which looks \
like a server that is not there. With its backlog of {backlog} this server bears {room} connections at once. It is stuck, or too slow for the rate of new connections, \
or its backlog is too small for its clients.",
        affects: &["every new connection to this server"],
        fixes: &[
            FixEntry::manual(Place::Server, "find out why the server does not accept: it is blocked, out of descriptors, or stopped in a debugger")
                .with_commands(WHO_LISTENS),
            FixEntry::manual(Place::Server, "listen with a larger backlog (the kernel clamps it to net.core.somaxconn)")
                .with_commands(&[Command { os: Os::Linux, line: "sysctl net.core.somaxconn" }]),
            FixEntry::manual(Place::Client, "open fewer connections at once, or keep them open"),
        ],
        links: &["https://github.com/nodejs/node/issues/38736", "https://github.com/apache/pulsar/pull/15865"],
    };
    CONNECT_SLOW = Entry {
        id: "target-connect-slow",
        severity: Severity::Warn,
        title: "connecting to {address} takes {time}",
        why: "\
The address is on this host, where a handshake takes some tens of microseconds. {cause}",
        affects: &["every new connection to this server"],
        fixes: &[
            FixEntry::manual(Place::Server, "accept faster, or listen with a larger backlog").with_commands(WHO_LISTENS),
            FixEntry::manual(Place::System, "exempt loopback from security software and firewalls").with_commands(FILTERS),
        ],
        links: &[],
    };
    TWO_SERVERS = Entry {
        id: "two-servers-one-port",
        severity: Severity::Warn,
        title: "two servers share port {port}: {reached}",
        why: "\
More than one program listens on this port, each on addresses of its own, and which of them a client reaches depends on the \
address it tries. The most specific address wins over a wildcard, so a second server can take connections away from the \
first without an error anywhere.",
        affects: &["clients that use `localhost` or that try both families", "people who wonder why a change has no effect"],
        fixes: &[
            FixEntry::manual(Place::Server, "stop the one that is not meant, or give it another port").with_commands(WHO_LISTENS),
            FixEntry::manual(Place::Client, "name the address of the server that is meant"),
        ],
        links: &["https://github.com/microsoft/WSL/issues/7150"],
    };
    CLOSES_AT_ONCE = Entry {
        id: "closes-at-once",
        severity: Severity::Warn,
        title: "{address}: accepted and closed again after {time}, without a byte",
        why: "\
A connect succeeds, and then the connection ends before anything was sent. A proxy that publishes a container's port does \
this while the service behind it is not up, and so does a server that turns clients away. Whoever waits for the port to be open is \
told `ready` too early.",
        affects: &["waits for a port and health checks that only connect", "clients: they see an empty reply"],
        fixes: &[
            FixEntry::manual(Place::Server, "look at the service behind the proxy: it is not up, or listens inside on another address"),
            FixEntry::manual(Place::Client, "wait for an answer of the protocol, not for the port"),
        ],
        links: &["https://github.com/moby/moby/issues/16976", "https://github.com/vishnubob/wait-for-it/issues/50"],
    };
    RESETS_AT_ONCE = Entry {
        id: "resets-at-once",
        severity: Severity::Warn,
        title: "{address}: accepted and reset after {time}",
        why: "\
The handshake completed and then a reset came. A forwarder that has nobody to forward to does this (Docker's port proxy on one of \
the two families, a tunnel whose far end is down), and so does a server that closes with data unread or with SO_LINGER 0.",
        affects: &["clients: connection reset by peer", "waits for a port that only connect"],
        fixes: &[
            FixEntry::manual(Place::Server, "look at what the forwarder forwards to"),
            FixEntry::manual(Place::Client, "try the other family's address of the same port"),
        ],
        links: &["https://github.com/docker/for-linux/issues/566"],
    };
    SILENT_SERVER = Entry {
        id: "connected-but-silent",
        severity: Severity::Warn,
        title: "{address}: connected in {time}, but no byte came within {limit}",
        why: "\
The kernel completed the handshake, and the server said nothing: neither by itself nor to a `HEAD / HTTP/1.0`. A server of a \
protocol that waits for something else may rightly do so. One that should answer is blocked: a server with one thread \
is held by another client's idle connection (browsers open some in advance), waits for a database, or looks up the client's name.",
        affects: &["clients: they wait for their whole time limit after a fast connect"],
        fixes: &[
            FixEntry::manual(Place::Server, "use a server that handles several connections at once; look what it waits for")
                .with_commands(&[Command { os: Os::Linux, line: "ss -tnp sport = :{port}" }]),
            FixEntry::manual(Place::Client, "set a time limit for the answer, apart from that for the connect"),
        ],
        links: &["https://github.com/pallets/flask/issues/2169"],
    };
    NOT_ACCEPTED = Entry {
        id: "not-accepted",
        severity: Severity::Warn,
        title: "{owner} listens on {address} but does not accept: {waiting} wait in its queue",
        why: "\
The kernel completes handshakes on behalf of a listening server, up to its backlog. The connection that was just made still \
waits to be accepted, so to the client it looks connected while the server does not know of it. The server is blocked, stopped, or \
serves one client at a time.",
        affects: &["clients: connected at once, then nothing"],
        fixes: &[
            FixEntry::manual(Place::Server, "find out why the server does not accept: it is busy with one client, blocked, or stopped in a debugger")
                .with_commands(WHO_LISTENS),
        ],
        links: &["https://github.com/pallets/flask/issues/2169"],
    };
    SELF_CONNECT = Entry {
        id: "self-connect-possible",
        severity: Severity::Info,
        title: "port {port} is in the ephemeral range {range}: polling it can connect a program to itself",
        why: "\
Nobody listens on the port, and the kernel may choose it as the source port of a connect to it. Then the connect succeeds, with \
itself: the program believes that the server is up, talks to its own echo, and holds the port so that the real server cannot \
start. Published and measured: about once in 20,000 tries with the default range of Linux.",
        affects: &["loops that wait for this port"],
        fixes: &[
            FixEntry::manual(Place::Server, "give the server a port outside the range"),
            FixEntry::manual(Place::Client, "wait with a tool that excludes it: unstall does"),
            FixEntry::manual(Place::System, "move the ephemeral range away from the ports in use, or reserve the port")
                .with_commands(&[Command { os: Os::Linux, line: "sudo sysctl net.ipv4.ip_local_reserved_ports={port}" }]),
        ],
        links: &["https://github.com/tokio-rs/tokio/issues/3405"],
    };
    SELF_CONNECTED = Entry {
        id: "self-connected",
        severity: Severity::Error,
        title: "a program is connected to itself on {address} and holds the port",
        why: "\
The table of connections has one whose two ends are the same address and port. A program that polled the port was given it as its \
own source port and connected to itself: it believes that a server answers, and the real server cannot bind the port.",
        affects: &["the program that is connected to itself", "the server that wants the port: address already in use"],
        fixes: &[
            FixEntry::manual(Place::Server, "give the server a port outside the ephemeral range"),
            FixEntry::manual(Place::Client, "end the connection of the program that holds the port")
                .with_commands(&[Command { os: Os::Linux, line: "ss -tnp sport = :{port} and dport = :{port}" }]),
        ],
        links: &["https://github.com/tokio-rs/tokio/issues/3405"],
    };
    NOT_PERMITTED = Entry {
        id: "connect-not-permitted",
        severity: Severity::Error,
        title: "this process may not connect to {address}: {cause}",
        why: "\
The operating system forbids the connect before or instead of sending it: a firewall rule in the output path, a sandbox, an app \
container, on Windows also a port range that is reserved (excluded) for Hyper-V or WinNAT. Neither is a sign of the server's state.",
        affects: &["this program; another may be allowed"],
        fixes: &[
            FixEntry::manual(Place::System, "allow the connect in the firewall or sandbox").with_commands(&[
                Command { os: Os::Linux, line: "sudo nft list ruleset" },
                Command { os: Os::Windows, line: "netsh int ipv4 show excludedportrange tcp" },
            ]),
        ],
        links: &["https://github.com/docker/for-win/issues/3171"],
    };
    UNREACHABLE = Entry {
        id: "unreachable",
        severity: Severity::Error,
        title: "there is no way to {address}: {cause}",
        why: "\
The routing table of this host, a router on the way, or a firewall that rejects with an ICMP message says that the host or its \
network cannot be reached. It is known at once and costs no time by itself.",
        affects: &["every client of this address"],
        fixes: &[FixEntry::manual(Place::System, "check the network, the VPN, the routing table and the firewall")
            .with_commands(&[Command { os: Os::Linux, line: "ip route get {host}" }])],
        links: &[],
    };
    NOT_AVAILABLE = Entry {
        id: "address-not-available",
        severity: Severity::Error,
        title: "{address} cannot be used on this host: {cause}",
        why: "\
The address or its family is not available here: IPv6 is switched off while the name still has an IPv6 address, a link-local \
address came without its zone, or 0.0.0.0 is used as a destination on Windows. Programs that stop at this error never try the \
next address.",
        affects: &["clients that try this address first and stop at an error"],
        fixes: &[
            FixEntry::manual(Place::Client, "give clients an address of the family that works"),
            FixEntry::manual(Place::System, "switch IPv6 on for the loopback interface")
                .with_commands(&[Command { os: Os::Linux, line: "sudo sysctl net.ipv6.conf.lo.disable_ipv6=0" }])
                .with_undo("sudo sysctl net.ipv6.conf.lo.disable_ipv6=1"),
        ],
        links: &["https://github.com/SeleniumHQ/selenium/issues/15182"],
    };
    NO_ZONE = Entry {
        id: "link-local-without-zone",
        severity: Severity::Error,
        title: "{address} is a link-local address without its zone",
        why: "\
Every interface has the same link-local network fe80::/10, so the kernel cannot know which one is meant: the address needs a \
zone, the name of the interface behind a %. On Linux the connect fails at once with EINVAL.",
        affects: &["every client of this address"],
        fixes: &[
            FixEntry::manual(Place::Client, "add the zone: [{host}%INTERFACE]:{port}")
                .with_commands(&[Command { os: Os::Linux, line: "ip -6 address show scope link" }]),
        ],
        links: &["https://www.rfc-editor.org/rfc/rfc4007#section-11"],
    };
    EXHAUSTED = Entry {
        id: "target-ports-exhausted",
        severity: Severity::Error,
        title: "no local port is left for a connect to {address}",
        why: "\
Each connection to one destination needs a source port of its own, and after it was closed the side that closed it keeps the port for \
a while (TIME_WAIT, 60 s on Linux). {taken}",
        affects: &["every new connection to this address"],
        fixes: &[
            FixEntry::manual(Place::Client, "keep connections open and reuse them"),
            FixEntry::manual(Place::System, "widen the ephemeral range").with_commands(&[
                Command { os: Os::Linux, line: "sudo sysctl net.ipv4.ip_local_port_range=\"16384 60999\"" },
                Command { os: Os::Windows, line: "netsh int ipv4 set dynamicport tcp start=16384 num=49152" },
            ]),
        ],
        links: &["https://github.com/ollama/ollama/issues/18392"],
    };
    UNSPECIFIED_DESTINATION = Entry {
        id: "unspecified-destination",
        severity: Severity::Warn,
        title: "{address} is an address to listen on, not to connect to",
        why: "\
0.0.0.0 and :: mean `every address of this host` to a server. As a destination Linux and macOS take them for the loopback address; \
Windows refuses them at once with WSAEADDRNOTAVAIL (10049). A client configured with them works on one system and not on the other.",
        affects: &["clients on Windows"],
        fixes: &[FixEntry::manual(Place::Client, "connect to {loopback}")],
        links: &["https://github.com/nodejs/node/issues/14900"],
    };
}
