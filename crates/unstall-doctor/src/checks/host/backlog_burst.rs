//! What this system does to a connect that meets a full accept queue: a listener of our own that does not accept, filled, and then
//! served.

use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, backlog};
use crate::probe::{LOOPBACK, begin_connect, leave_nothing};
use crate::stats::{ns, show};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use schemars::JsonSchema;
use serde::Serialize;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub(super) struct BacklogBurst;

/// A full accept queue at 127.0.0.1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "BacklogBurstData")]
pub(super) struct Data {
    /// What the listener asked listen(2) for.
    backlog: u32,
    /// How many connections its queue held.
    held: usize,
    /// When there was room again, counted from the start of the connect that met the full queue.
    room_ns: u64,
    /// How that connect ended.
    end: End,
    /// When; null: not in the time limit.
    end_ns: Option<u64>,
}

/// How a connect to a full queue ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// It got through when there was room.
    Connected,
    /// It was refused.
    Refused,
    /// Nothing came of it in the time limit.
    NoAnswer,
    /// It failed otherwise.
    Failed,
}

/// The smallest backlog for which Linux does not need SYN cookies (and a kernel message about flooding).
const BACKLOG: u8 = 1;
/// More connections than any system queues for it.
const MOST: usize = 64;
/// A connect over loopback is over in microseconds; one that is not over by then has met a full queue, or a busy machine: it is
/// looked at again before it is believed.
const UNANSWERED: Duration = Duration::from_millis(50);
/// How often a server looks for connections.
const LOOK: Duration = Duration::from_millis(1);
/// A server that accepts before the first SYN is sent again, after half a second on Windows, shows what the system does.
const TOO_BUSY: Duration = Duration::from_millis(400);
/// Linux sends a dropped SYN again after 1 s, Windows a SYN that was reset after 0.5 s. By then both are over.
const LATE: Duration = Duration::from_millis(1500);
/// From here on it was Linux' second.
const DROPPED: Duration = Duration::from_millis(900);

impl Check for BacklogBurst {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "backlog-burst";
    const TITLE: &'static str = "a full accept queue, and how soon it is got through";
    const ABOUT: &'static str = "a connect to a listener of its own whose accept queue is full: dropped or reset, and how long it takes to get \
                                 through once the server accepts: finds systems where it never does";
    const BUDGET: Duration = Duration::from_millis(2500);

    fn measure(context: &Context, (): &()) -> Measured<Data> {
        let failed =
            |error: io::Error| NotRun::CouldNot(format!("cannot fill an accept queue at 127.0.0.1: {error}"));
        let (listener, address) = listen().map_err(failed)?;
        let mut queue = Vec::new();
        let (attempt, end) = loop {
            if queue.len() > MOST {
                let why = format!("a listener with a backlog of {BACKLOG} took {} connections", queue.len());
                return Err(NotRun::NotApplicable(why));
            }
            let attempt = Attempt::start(address).map_err(failed)?;
            match attempt.end(UNANSWERED).map_err(failed)? {
                Some(End::Connected) => queue.push(attempt),
                end => break (attempt, end),
            }
        };
        serve(&listener, &attempt, end, queue.len(), context.timeout()).map_err(failed)?
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let room = show(Duration::from_nanos(data.room_ns));
        let after = data.end_ns.map(Duration::from_nanos);
        let found = match (data.end, after) {
            (End::Refused, Some(after)) => backlog::REFUSED.found(&[("time", &show(after))]),
            (End::Connected, Some(after)) if after >= LATE => {
                backlog::LATE.found(&[("time", &show(after)), ("room", &room)])
            }
            (End::NoAnswer, _) => backlog::NEVER.found(&[("room", &room)]),
            _ => return Vec::new(),
        };
        vec![found.with_evidence(Evidence::seen(data.words()))]
    }

    fn describe(data: &Data) -> Vec<String> {
        vec![data.words()]
    }
}

impl Data {
    fn words(&self) -> String {
        let room = || format!("with room from {} on", show(Duration::from_nanos(self.room_ns)));
        let after = self.end_ns.map(Duration::from_nanos);
        let next = match (self.end, after) {
            (End::Connected, Some(after)) if after >= DROPPED => {
                format!("SYN was dropped, and sent again: connected after {}, {}", show(after), room())
            }
            (End::Connected, Some(after)) if after >= TOO_BUSY => {
                format!("SYN was reset, and sent again: connected after {}, {}", show(after), room())
            }
            (End::Connected, Some(after)) => format!("was connected after {}, {}", show(after), room()),
            (End::Refused, Some(after)) => format!("was refused after {}", show(after)),
            (End::Failed, Some(after)) => format!("failed after {}", show(after)),
            (_, None) | (End::NoAnswer, _) => format!("got no answer, {}", room()),
        };
        format!("a backlog of {} held {}; the next {next}", self.backlog, self.held)
    }
}

fn listen() -> io::Result<(Socket, SocketAddr)> {
    let at = SocketAddr::new(LOOPBACK[0], 0);
    let listener = Socket::new(Domain::for_address(at), Type::STREAM, None)?;
    listener.bind(&at.into())?;
    listener.listen(BACKLOG.into())?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?.as_socket().ok_or(io::ErrorKind::InvalidData)?;
    Ok((listener, address))
}

/// A connect that was started.
struct Attempt {
    socket: Socket,
    start: Instant,
    /// How it ended at once, if it did.
    at_once: Option<End>,
}

impl Attempt {
    fn start(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        leave_nothing(&socket)?;
        let start = Instant::now();
        let at_once = begin_connect(&socket, address).err().map(|error| end_of(&error));
        Ok(Self { socket, start, at_once })
    }

    /// How it has ended, waiting so long for it. `None`: it has not.
    fn end(&self, limit: Duration) -> io::Result<Option<End>> {
        if self.at_once.is_some() {
            return Ok(self.at_once);
        }
        if !ready(&mut [PollFd::new(&self.socket, PollFlags::OUT)], limit)? {
            return Ok(None);
        }
        Ok(Some(self.socket.take_error()?.map_or(End::Connected, |error| end_of(&error))))
    }
}

fn end_of(error: &io::Error) -> End {
    if error.kind() == io::ErrorKind::ConnectionRefused { End::Refused } else { End::Failed }
}

fn ready(polled: &mut [PollFd<'_>], limit: Duration) -> io::Result<bool> {
    let limit = Timespec::try_from(limit).map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(rustix::io::retry_on_intr(|| poll(polled, Some(&limit)))? > 0)
}

/// Accepts whatever waits, until `attempt` has ended or `limit` has passed.
fn serve(
    listener: &Socket,
    attempt: &Attempt,
    mut end: Option<End>,
    held: usize,
    limit: Duration,
) -> io::Result<Measured<Data>> {
    let room = attempt.start.elapsed();
    let mut end_ns = end.map(|_| ns(room));
    let mut accepted = Vec::new();
    while end.is_none() && attempt.start.elapsed() < limit {
        while let Ok((connection, _)) = listener.accept() {
            leave_nothing(&connection)?;
            accepted.push(connection);
        }
        end = attempt.end(LOOK)?;
        end_ns = end.map(|_| ns(attempt.start.elapsed()));
    }
    let end = end.unwrap_or(End::NoAnswer);
    let soon = end == End::Connected && end_ns < Some(ns(TOO_BUSY));
    if soon || room >= TOO_BUSY {
        let why = "the machine is too busy to tell a full accept queue from a connect that is slow";
        return Ok(Err(NotRun::CouldNot(why.to_owned())));
    }
    Ok(Ok(Data { backlog: BACKLOG.into(), held, room_ns: ns(room), end, end_ns }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(end: End, end_ms: Option<u64>) -> Data {
        Data { backlog: 1, held: 2, room_ns: 50_000_000, end, end_ns: end_ms.map(|ms| ms * 1_000_000) }
    }

    #[test]
    fn what_the_systems_do_is_told_and_no_finding() {
        for (ms, words) in [
            (
                1003,
                "a backlog of 1 held 2; the next SYN was dropped, and sent again: connected after 1003 ms, with room from 50.0 ms on",
            ),
            (
                507,
                "a backlog of 1 held 2; the next SYN was reset, and sent again: connected after 507 ms, with room from 50.0 ms on",
            ),
        ] {
            let data = data(End::Connected, Some(ms));
            assert_eq!(BacklogBurst::describe(&data), [words]);
            assert_eq!(BacklogBurst::judge(&data), []);
        }
        assert_eq!(BacklogBurst::judge(&data(End::Failed, Some(3))), []);
    }

    #[test]
    fn a_connect_that_is_lost_is_a_finding() {
        let id = |data: &Data| BacklogBurst::judge(data).first().map(|finding| finding.id.clone());
        assert_eq!(id(&data(End::Refused, Some(1))).as_deref(), Some("full-queue-refuses"));
        assert_eq!(id(&data(End::Refused, Some(2030))).as_deref(), Some("full-queue-refuses"));
        assert_eq!(id(&data(End::NoAnswer, None)).as_deref(), Some("full-queue-never-served"));
        assert_eq!(id(&data(End::Connected, Some(3010))).as_deref(), Some("full-queue-served-late"));
        assert_eq!(id(&data(End::Connected, Some(1499))), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_drops_and_serves_after_a_second() {
        match BacklogBurst::measure(&Context::new(&crate::Options::default()), &()) {
            Ok(data) => {
                assert_eq!((data.held, data.end), (2, End::Connected), "{data:?}");
                assert!(data.end_ns >= Some(990_000_000), "{data:?}");
            }
            Err(NotRun::CouldNot(why)) => assert!(why.contains("busy"), "{why}"),
            Err(other) => panic!("{other:?}"),
        }
    }
}
