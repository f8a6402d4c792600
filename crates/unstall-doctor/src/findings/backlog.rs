//! Full accept queues, as this system treats them.

use super::entry::{Command, Entry, FixEntry, Os, Place, Severity};
use super::findings;

const BURSTS: &str = "https://github.com/nodejs/node/issues/38736";

findings! {
    REFUSED = Entry {
        id: "full-queue-refuses",
        severity: Severity::Warn,
        title: "a connect to a listener whose accept queue was full is refused after {time}, and nothing tries it again",
        why: "\
A server listens, and more connections came in at once than its accept queue holds. Windows answers such a connect with a reset and \
sends the SYN again after half a second, so that the burst is got through; Linux drops the SYN and sends it again after a second. Here \
the connect was refused for good, as if nobody listened: SYN retransmission is switched off for the whole system, or a filter \
answers in the listener's place.",
        affects: &["clients of servers that take bursts: some are refused by a server that runs"],
        fixes: &[
            FixEntry::manual(Place::Server, "listen with a larger backlog and accept faster"),
            FixEntry::manual(Place::Client, "open fewer connections at once, or use a client that looks whether somebody listens: the library unstall"),
            FixEntry::manual(Place::System, "allow SYNs to be sent again").with_commands(&[
                Command { os: Os::Windows, line: "Get-NetTCPSetting | Format-Table SettingName, MaxSynRetransmissions" },
                Command { os: Os::Linux, line: "sysctl net.ipv4.tcp_syn_retries" },
            ]),
        ],
        links: &[BURSTS],
    };
    LATE = Entry {
        id: "full-queue-served-late",
        severity: Severity::Warn,
        title: "a connect that met a full accept queue gets through only after {time}, with room from {room} on",
        why: "\
The queue was full when the SYN came, and had room a moment later. Linux sends the SYN again after a second and Windows after half a \
second; here it took longer, so more than one SYN was lost, or the first is sent again later than the systems do by default.",
        affects: &["clients of servers that take bursts"],
        fixes: &[
            FixEntry::manual(Place::Client, "use a client that tries again before the system does: the library unstall"),
            FixEntry::manual(Place::System, "look for what drops SYNs on loopback, and for changed TCP time-outs").with_commands(&[
                Command { os: Os::Linux, line: "nstat -az TcpExtListenDrops TcpExtListenOverflows TcpExtTCPSynRetrans" },
                Command { os: Os::Windows, line: "Get-NetTCPSetting | Format-Table SettingName, InitialRtoMs, MaxSynRetransmissions" },
            ]),
        ],
        links: &[BURSTS],
    };
    NEVER = Entry {
        id: "full-queue-never-served",
        severity: Severity::Warn,
        title: "a connect that met a full accept queue never gets through, with room from {room} on",
        why: "\
The queue was full when the SYN came, and had room a moment later; the SYN was not sent again within the time limit, or was dropped \
again. A client waits for its whole time limit on a server that accepts.",
        affects: &["clients of servers that take bursts"],
        fixes: &[
            FixEntry::manual(Place::Client, "use a client that tries again before the system does: the library unstall"),
            FixEntry::manual(Place::System, "look for what drops SYNs on loopback, and whether SYNs are sent again").with_commands(&[
                Command { os: Os::Linux, line: "sysctl net.ipv4.tcp_syn_retries" },
                Command { os: Os::Windows, line: "Get-NetTCPSetting | Format-Table SettingName, InitialRtoMs, MaxSynRetransmissions" },
            ]),
        ],
        links: &[BURSTS],
    };
}
