//! What clients are put before: servers of our own on this host, which do nothing unusual beyond it.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;
use unstall::testing::{self, Server};

/// How the client is told where to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Address,
    Localhost,
}

/// A row of the table of situations.
#[derive(Debug)]
pub(crate) struct Situation {
    pub(crate) id: &'static str,
    /// The head of its column.
    pub(crate) head: &'static str,
    pub(crate) about: &'static str,
    pub(crate) by: By,
    /// Whether the client is given a time limit of its own.
    pub(crate) limited: bool,
    pub(crate) make: fn() -> io::Result<Server>,
}

/// The situation that shows how long a client takes when nothing is wrong.
pub(crate) const SOUND: &str = "answers";

/// A closed port by its address: who reaches that is not to be believed.
pub(crate) const CLOSED: &str = "closed";

/// The situation in which an address does not answer.
const SILENT: &str = "silent-first";

pub(crate) static SITUATIONS: &[Situation] = &[
    Situation {
        id: SOUND,
        head: "answers",
        about: "a server, by its address: how long the program itself takes",
        by: By::Address,
        limited: false,
        make: testing::v4_only,
    },
    Situation {
        id: CLOSED,
        head: "closed",
        about: "a closed port, by 127.0.0.1",
        by: By::Address,
        limited: false,
        make: testing::refused,
    },
    Situation {
        id: "closed-localhost",
        head: "closed lh",
        about: "a closed port, by localhost",
        by: By::Localhost,
        limited: false,
        make: testing::refused,
    },
    Situation {
        id: "v4-only",
        head: "v4 only",
        about: "a server on 127.0.0.1 alone, by localhost",
        by: By::Localhost,
        limited: false,
        make: testing::v4_only,
    },
    Situation {
        id: "v6-only",
        head: "v6 only",
        about: "a server on ::1 alone, by localhost",
        by: By::Localhost,
        limited: false,
        make: testing::v6_only,
    },
    Situation {
        id: SILENT,
        head: "silent v6",
        about: "::1 does not answer, a server on 127.0.0.1, by localhost",
        by: By::Localhost,
        limited: false,
        make: testing::silent_v6,
    },
    Situation {
        id: "own-limit",
        head: "limit 1 s",
        about: "a closed port, by 127.0.0.1, the program's own time limit at 1 s",
        by: By::Address,
        limited: true,
        make: testing::refused,
    },
];

/// Longer than any refusal that is known, so that what has not ended by then is silent.
const LONGEST_REFUSAL: Duration = Duration::from_millis(2600);

impl Situation {
    /// Why it cannot be made here; `None`: it can.
    pub(crate) fn why_not(&self) -> Option<String> {
        let made = (self.make)();
        if self.id != SILENT {
            return made.err().map(|error| error.to_string());
        }
        let server = match made {
            Ok(server) => server,
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => return Some(error.to_string()),
            Err(_) => return Some(NOT_SILENT.to_owned()),
        };
        let first = ("localhost", server.port()).to_socket_addrs().ok().and_then(|mut all| all.next());
        let silent = match first {
            Some(first) if first.is_ipv6() => first,
            Some(first) => return Some(format!("localhost is {} first here", first.ip())),
            None => return Some("localhost does not resolve here".to_owned()),
        };
        match TcpStream::connect_timeout(&silent, LONGEST_REFUSAL) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => None,
            _ => Some(NOT_SILENT.to_owned()),
        }
    }
}

/// Windows, and a lab that plays it, answers with a reset when an accept queue is full.
const NOT_SILENT: &str = "a full accept queue is not silent here, and nothing else makes a port silent without privileges; on Linux: \
                          unstall lab matrix --scenario dead-v6";
