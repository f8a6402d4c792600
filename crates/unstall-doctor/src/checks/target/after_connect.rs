//! What a server does with a connection once it is made: closes it, resets it, speaks, leaves it in its queue, says
//! nothing.

use super::Subject;
use super::reach::owner;
use super::survey::reset_at_once;
use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, target};
use crate::stats::{ns, show};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use unstall_core::listener::{Listener, reaches};
use unstall_core::outcome::Outcome;
use unstall_sys::connect::{Options, connect_blocking};
use unstall_sys::listeners;

/// How long a connection is held to see whether the server ends it or speaks by itself: long enough for a forwarder to
/// find that nobody is behind it.
const HOLD: Duration = Duration::from_millis(100);

/// What is sent to a server that does not speak by itself. An HTTP server answers it; most others answer with an error,
/// or close. It carries no host, so that it means the same to everyone.
const PROD: &[u8] = b"HEAD / HTTP/1.0\r\n\r\n";

pub(crate) struct AfterConnect;

/// What was seen.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Held {
    port: u16,
    /// How long the server was given to say something.
    limit_ns: u64,
    /// The addresses that connect.
    connections: Vec<Connection>,
}

/// A connection that was held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct Connection {
    address: SocketAddr,
    /// How long the connect took.
    connect_ns: u64,
    /// What the server did.
    deed: Deed,
    /// When, after the connect or after it was sent something; null: it did nothing.
    after_ns: Option<u64>,
    /// Whether it was sent `HEAD / HTTP/1.0` first.
    prodded: bool,
    /// Connections that waited to be accepted while this one was held; null: not known.
    waiting: Option<u32>,
    /// The server's process; null: not known.
    server: Option<String>,
}

/// What a server does with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Deed {
    /// Sent at least one byte.
    Spoke,
    /// Ended it in order.
    Closed,
    /// Reset it.
    Reset,
    /// Nothing.
    Nothing,
}

impl Check for AfterConnect {
    type Subject = Subject;
    type Data = Held;
    const ID: &'static str = "target-after-connect";
    const TITLE: &'static str = "after the connect";
    const ABOUT: &'static str = "What the server does with a connection: accepts it, speaks, closes or resets it, or says \
                                 nothing. A server that does not speak by itself is sent `HEAD / HTTP/1.0`.";
    const BUDGET: Duration = Duration::from_secs(2);

    fn measure(context: &Context, subject: &Subject) -> Measured<Held> {
        let probes = subject.probes(context).map_err(|error| NotRun::CouldNot(error.to_owned()))?;
        let connected = probes.iter().filter(|probe| probe.outcome == Outcome::Connected);
        let connections: Vec<Connection> =
            connected.filter_map(|probe| hold(probe.address, probe.local, context.timeout())).collect();
        if connections.is_empty() {
            return Err(NotRun::NotApplicable("no address connects".to_owned()));
        }
        Ok(Held { port: subject.target.port(), limit_ns: ns(context.timeout()), connections })
    }

    fn judge(data: &Held) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut rest: Vec<&Connection> = data.connections.iter().collect();
        // A server that does the same on each of its addresses is one finding.
        while let Some(first) = rest.first().copied() {
            let (alike, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|other| first.is_like(other));
            findings.extend(verdict(data, first, &alike));
            rest = others;
        }
        findings
    }

    fn describe(data: &Held) -> Vec<String> {
        data.connections.iter().map(line).collect()
    }
}

/// Connects once more and sees what happens. `None`: it does not connect any more.
fn hold(address: SocketAddr, local: bool, limit: Duration) -> Option<Connection> {
    let start = Instant::now();
    let connected = connect_blocking(address, &Options { local, ..Options::default() }, Some(limit)).1;
    let connect_ns = ns(start.elapsed());
    let mut begin = Instant::now();
    let stream = match connected {
        Ok(stream) => stream,
        Err(error) if reset_at_once(&error) => {
            let (deed, after_ns) = (Deed::Reset, Some(0));
            return Some(Connection {
                address,
                connect_ns,
                deed,
                after_ns,
                prodded: false,
                waiting: None,
                server: None,
            });
        }
        Err(_) => return None,
    };
    let mut deed = listen_to(&stream, HOLD.min(limit));
    let mut listener = listener_of(address, local);
    // A server that is busy for a moment accepts a moment later.
    while deed == Deed::Nothing && waiting_at(listener.as_ref()) > Some(0) && begin.elapsed() < limit {
        deed = listen_to(&stream, HOLD.min(limit));
        listener = listener_of(address, local);
    }
    let waiting = waiting_at(listener.as_ref());
    let prodded = deed == Deed::Nothing && waiting.is_none_or(|waiting| waiting == 0);
    if prodded {
        begin = Instant::now();
        deed = (&stream).write_all(PROD).map_or(Deed::Reset, |()| listen_to(&stream, limit));
    }
    let after_ns = (deed != Deed::Nothing).then(|| ns(begin.elapsed()));
    Some(Connection {
        address,
        connect_ns,
        deed,
        after_ns,
        prodded,
        waiting,
        server: listener.as_ref().map(owner),
    })
}

/// Who answers at a local address; `None`: not known.
fn listener_of(address: SocketAddr, local: bool) -> Option<Listener> {
    let table = if local { listeners::table(Some(address.port())).ok()? } else { return None };
    reaches(&table.listeners, address).cloned()
}

/// How many connections wait for it to accept them; `None`: not known.
fn waiting_at(listener: Option<&Listener>) -> Option<u32> {
    listener.and_then(|listener| listener.waiting)
}

/// What comes from the server within `limit`.
fn listen_to(mut stream: &TcpStream, limit: Duration) -> Deed {
    // A limit of zero would mean none.
    if stream.set_read_timeout(Some(limit.max(Duration::from_millis(1)))).is_err() {
        return Deed::Nothing;
    }
    loop {
        return match stream.read(&mut [0; 512]) {
            Ok(0) => Deed::Closed,
            Ok(_) => Deed::Spoke,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if is_time_out(&error) => Deed::Nothing,
            Err(_) => Deed::Reset,
        };
    }
}

fn is_time_out(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

impl Connection {
    /// Whether the same is to be said of it.
    fn is_like(&self, other: &Self) -> bool {
        let waits = |connection: &Self| connection.waiting > Some(0);
        (self.deed, self.prodded, &self.server) == (other.deed, other.prodded, &other.server)
            && waits(self) == waits(other)
    }
}

/// What is found about `connection` and those like it, itself among them.
fn verdict(data: &Held, connection: &Connection, alike: &[&Connection]) -> Option<Finding> {
    let addresses: Vec<String> = alike.iter().map(|other| other.address.to_string()).collect();
    let addresses = addresses.join(" and ");
    let address = ("address", &addresses as _);
    let after = show(Duration::from_nanos(connection.after_ns.unwrap_or_default()));
    let server = connection.server.as_deref().unwrap_or("a server");
    let waiting = connection.waiting.unwrap_or_default();
    let found = match connection.deed {
        // An end that follows a request is an answer, if a curt one.
        Deed::Spoke => return None,
        Deed::Closed | Deed::Reset if connection.prodded => return None,
        Deed::Closed => target::CLOSES_AT_ONCE.found(&[address, ("time", &after)]),
        Deed::Reset => target::RESETS_AT_ONCE.found(&[address, ("time", &after)]),
        Deed::Nothing if waiting > 0 => target::NOT_ACCEPTED.found(&[
            address,
            ("owner", &server),
            ("waiting", &waiting),
            ("port", &data.port),
        ]),
        Deed::Nothing => target::SILENT_SERVER.found(&[
            address,
            ("time", &show(Duration::from_nanos(connection.connect_ns))),
            ("limit", &show(Duration::from_nanos(data.limit_ns))),
            ("port", &data.port),
        ]),
    };
    let evidence =
        alike.iter().map(|other| Evidence::measured(line(other), Duration::from_nanos(other.connect_ns), 1));
    Some(found.with_all(evidence))
}

fn line(connection: &Connection) -> String {
    let connected = show(Duration::from_nanos(connection.connect_ns));
    let asked = if connection.prodded { " to `HEAD / HTTP/1.0`" } else { "" };
    let what = match (connection.deed, connection.after_ns) {
        (Deed::Spoke, Some(after)) => {
            format!("the first byte{asked} {} later", show(Duration::from_nanos(after)))
        }
        (Deed::Closed, Some(after)) => format!("closed{asked} {} later", show(Duration::from_nanos(after))),
        (Deed::Reset, Some(after)) => format!("reset{asked} {} later", show(Duration::from_nanos(after))),
        _ => match connection.waiting {
            Some(waiting) if waiting > 0 => format!("not accepted, {waiting} wait in the server's queue"),
            _ => format!("no answer{asked}"),
        },
    };
    format!("{} connected in {connected}, then {what}", connection.address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;
    use unstall::testing;

    fn held(deed: Deed, prodded: bool, waiting: Option<u32>) -> Held {
        let address = "127.0.0.1:3000".parse().expect("an address");
        let server = Some("node (pid 7)".to_owned());
        let connection = Connection {
            address,
            connect_ns: 50_000,
            deed,
            after_ns: Some(200_000),
            prodded,
            waiting,
            server,
        };
        Held { port: 3000, limit_ns: 3_000_000_000, connections: vec![connection] }
    }

    fn found(data: &Held) -> Vec<(String, Severity)> {
        AfterConnect::judge(data).into_iter().map(|finding| (finding.id, finding.severity)).collect()
    }

    #[test]
    fn each_deed_has_its_finding_or_none() {
        let cases = [
            (held(Deed::Spoke, false, None), None),
            (held(Deed::Spoke, true, None), None),
            (held(Deed::Closed, true, None), None),
            (held(Deed::Reset, true, None), None),
            (held(Deed::Closed, false, None), Some("closes-at-once")),
            (held(Deed::Reset, false, Some(0)), Some("resets-at-once")),
            (held(Deed::Nothing, true, Some(0)), Some("connected-but-silent")),
            (held(Deed::Nothing, true, None), Some("connected-but-silent")),
            (held(Deed::Nothing, false, Some(1)), Some("not-accepted")),
        ];
        for (data, expected) in cases {
            let expected: Vec<_> = expected.map(|id| (id.to_owned(), Severity::Warn)).into_iter().collect();
            assert_eq!(found(&data), expected, "{data:?}");
        }
    }

    #[test]
    fn addresses_that_do_the_same_are_one_finding_and_others_are_two() {
        let mut data = held(Deed::Closed, false, None);
        let mut other = data.connections[0].clone();
        other.address = "[::1]:3000".parse().expect("an address");
        data.connections.push(other);
        let both = AfterConnect::judge(&data);
        assert_eq!((both.len(), both[0].evidence.len()), (1, 2));
        assert!(both[0].title.starts_with("127.0.0.1:3000 and [::1]:3000: accepted"), "{}", both[0].title);
        data.connections[1].deed = Deed::Reset;
        assert_eq!(found(&data).len(), 2);
    }

    fn deed_of(server: &testing::Server) -> (Deed, bool) {
        let connection = hold(server.addr(), true, Duration::from_millis(300)).expect("it connects");
        (connection.deed, connection.prodded)
    }

    #[test]
    fn servers_are_seen_as_they_are() {
        assert_eq!(deed_of(&testing::closes().expect("a server")), (Deed::Closed, false));
        let reset = deed_of(&testing::resets().expect("a server"));
        // Wine's server may take the error off the socket before the program reads; what the program then sees is an end.
        let is_wine = unstall_sys::host::facts().wine.is_some();
        assert!(
            reset == (Deed::Reset, false) || (is_wine && reset == (Deed::Closed, false)),
            "{reset:?} of a server that resets"
        );
        assert_eq!(deed_of(&testing::deaf().expect("a server")), (Deed::Nothing, true));
    }

    #[cfg(all(target_os = "linux", not(unstall_portable), not(unstall_no_listener_table)))]
    #[test]
    fn a_server_that_does_not_accept_is_told_from_one_that_says_nothing() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = server.local_addr().expect("an address");
        let connection = hold(address, true, Duration::from_millis(300)).expect("it connects");
        assert_eq!(
            (connection.deed, connection.prodded, connection.waiting),
            (Deed::Nothing, false, Some(1))
        );
    }
}
