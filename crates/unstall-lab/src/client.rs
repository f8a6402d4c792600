//! A client of our own: many connects at once from one process, each timed, with the opt-out that any client can be taught.
//!
//! It has to be a process, since only processes are in the lab's cgroup. So it is a program that somebody offers (the
//! command line does, and an example of this crate): it gets its [`Request`] as its only argument and writes its [`Answer`]
//! to its output, both as JSON.

use crate::error::Error;
use crate::lab::Lab;
use crate::opt_out;
use crate::program::{Ended, Program};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// What the client is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Where to connect to.
    pub to: SocketAddr,
    /// How often, all at once.
    pub count: usize,
    /// How many retries to ask for, 0 for none. `None`: nothing is asked for.
    pub ask: Option<u8>,
    /// By which option.
    pub by: By,
    /// Listen there first, with this backlog, and accept once every connect has been started: one process that is its own
    /// server, as a test suite often is.
    pub listen: Option<u32>,
    /// When to give up, in milliseconds.
    pub limit_ms: u64,
}

/// How to ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// IP_TTL or IPV6_UNICAST_HOPS.
    #[default]
    Ttl,
    /// SO_MARK.
    Mark,
}

impl Request {
    /// One connect that asks for nothing, at most 10 s.
    pub const fn new(to: SocketAddr) -> Self {
        Self { to, count: 1, ask: None, by: By::Ttl, listen: None, limit_ms: 10_000 }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Each connect, in the order in which they were started.
    pub attempts: Vec<Attempt>,
    /// How many connections the client's own listener accepted.
    pub accepted: usize,
}

/// One connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// How it ended.
    pub end: End,
    /// How long it took.
    pub elapsed_ns: u64,
}

/// How a connect ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Connected.
    Connected,
    /// Refused.
    Refused,
    /// The kernel gave up.
    TimedOut,
    /// The limit passed.
    Limit,
    /// Another error, by its number.
    Other(i32),
}

impl End {
    /// What a connect's error says; `None`: it has none.
    pub(crate) fn of(error: Option<&io::Error>) -> Self {
        match error {
            None => Self::Connected,
            Some(e) if e.kind() == io::ErrorKind::ConnectionRefused => Self::Refused,
            Some(e) if e.kind() == io::ErrorKind::TimedOut => Self::TimedOut,
            Some(e) => Self::Other(e.raw_os_error().unwrap_or(0)),
        }
    }
}

impl Attempt {
    /// How long it took.
    pub const fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed_ns)
    }
}

impl Answer {
    /// The indices of the connects that ended so.
    pub fn indices(&self, end: End) -> Vec<usize> {
        self.attempts
            .iter()
            .enumerate()
            .filter(|(_, attempt)| attempt.end == end)
            .map(|(index, _)| index)
            .collect()
    }

    /// How long the last one took.
    pub fn longest(&self) -> Duration {
        self.attempts.iter().map(Attempt::elapsed).max().unwrap_or_default()
    }
}

/// Has the client `program` do this in the lab.
///
/// # Errors
///
/// As [`Lab::output`]; [`Error::System`] if the program is not the client.
pub fn run(lab: &Lab, program: &Program, request: &Request) -> Result<Answer, Error> {
    let failed = |why: String| Error::System {
        operation: "run the lab's own client".to_owned(),
        source: io::Error::other(why),
    };
    let request_text = serde_json::to_string(request).map_err(|e| failed(e.to_string()))?;
    // The client ends by itself; the rest is for a machine that is slow.
    let limit = Duration::from_millis(request.limit_ms) + Duration::from_secs(10);
    let finished = lab.output(&program.clone().argument(request_text), Some(limit))?;
    if finished.ended != Ended::Exited(0) {
        return Err(failed(String::from_utf8_lossy(&finished.stderr).trim().to_owned()));
    }
    serde_json::from_slice(&finished.stdout).map_err(|e| failed(e.to_string()))
}

/// The client program: does what `request` says and returns what to write.
///
/// # Errors
///
/// What is wrong with the request, or what the system refused.
pub fn main(request: &str) -> io::Result<String> {
    let request: Request = serde_json::from_str(request)?;
    let answer = connect(&request)?;
    Ok(serde_json::to_string(&answer)?)
}

fn connect(request: &Request) -> io::Result<Answer> {
    let listener = request.listen.map(|backlog| listen(request.to, backlog)).transpose()?;
    let to = match &listener {
        Some(listener) => listener.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?,
        None => request.to,
    };
    // All sockets first: making them would spread the burst.
    let sockets: Vec<Socket> = (0..request.count).map(|_| socket(to, request)).collect::<io::Result<_>>()?;
    let mut burst = Burst { sockets, attempts: vec![None; request.count], started: Vec::new() };
    burst.start(to);
    let accepted = burst.wait(listener.as_ref(), Duration::from_millis(request.limit_ms))?;
    let attempts = burst.attempts.iter().zip(&burst.started).map(|(attempt, started)| {
        attempt.unwrap_or_else(|| Attempt { end: End::Limit, elapsed_ns: nanoseconds(started.elapsed()) })
    });
    Ok(Answer { attempts: attempts.collect(), accepted })
}

/// How late a connection may come to its listener.
const LATE: Duration = Duration::from_millis(150);

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn listen(at: SocketAddr, backlog: u32) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM.nonblocking(), None)?;
    socket.bind(&at.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket)
}

fn socket(to: SocketAddr, request: &Request) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM.nonblocking(), None)?;
    let Some(retries) = request.ask else { return Ok(socket) };
    let unknown =
        || io::Error::new(io::ErrorKind::InvalidInput, format!("{retries} retries cannot be asked for"));
    match request.by {
        By::Mark => socket.set_mark(opt_out::mark(retries).ok_or_else(unknown)?.into())?,
        By::Ttl => {
            let ttl = opt_out::ttl(retries).ok_or_else(unknown)?.into();
            // IPv4 through a dual-stack socket takes its TTL from the IPv4 option.
            socket.set_ttl_v4(ttl)?;
            if to.is_ipv6() {
                socket.set_unicast_hops_v6(ttl)?;
            }
        }
    }
    Ok(socket)
}

/// Connects that are under way.
struct Burst {
    sockets: Vec<Socket>,
    started: Vec<Instant>,
    attempts: Vec<Option<Attempt>>,
}

impl Burst {
    fn start(&mut self, to: SocketAddr) {
        for index in 0..self.sockets.len() {
            self.started.push(Instant::now());
            match self.sockets[index].connect(&to.into()) {
                Err(e) if e.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => {}
                result => self.end(index, result.err().as_ref()),
            }
        }
    }

    fn end(&mut self, index: usize, error: Option<&io::Error>) {
        let end = End::of(error);
        self.attempts[index] = Some(Attempt { end, elapsed_ns: nanoseconds(self.started[index].elapsed()) });
    }

    /// Until every connect has ended, accepting meanwhile. How many were accepted.
    fn wait(&mut self, listener: Option<&Socket>, limit: Duration) -> io::Result<usize> {
        let deadline = Instant::now() + limit;
        // Accepted connections stay open: closing them would make room and noise.
        let mut accepted = Vec::new();
        loop {
            let pending: Vec<usize> =
                (0..self.sockets.len()).filter(|index| self.attempts[*index].is_none()).collect();
            let left = deadline.saturating_duration_since(Instant::now());
            if pending.is_empty() || left.is_zero() {
                return self.last_accepts(listener, accepted);
            }
            let sockets = pending.iter().map(|index| PollFd::new(&self.sockets[*index], PollFlags::OUT));
            let listening = listener.iter().map(|listener| PollFd::new(*listener, PollFlags::IN));
            let mut files: Vec<PollFd<'_>> = sockets.chain(listening).collect();
            let timeout = left.try_into().map_err(io::Error::other)?;
            rustix::io::retry_on_intr(|| poll(&mut files, Some(&timeout)))?;
            let ready: Vec<bool> = files.iter().map(|file| !file.revents().is_empty()).collect();
            for (index, _) in pending.iter().zip(&ready).filter(|(_, ready)| **ready) {
                let error = self.sockets[*index].take_error()?;
                self.end(*index, error.as_ref());
            }
            if let Some(listener) = listener {
                while let Ok((connection, _)) = listener.accept() {
                    accepted.push(connection);
                }
            }
        }
    }

    /// On a busy machine the last step of a handshake reaches the listener after the client has been told. What has not
    /// come within [`LATE`] is a connection that the server never sees.
    fn last_accepts(&self, listener: Option<&Socket>, mut accepted: Vec<Socket>) -> io::Result<usize> {
        let Some(listener) = listener else { return Ok(0) };
        let connected =
            |attempt: &Option<Attempt>| attempt.is_some_and(|attempt| attempt.end == End::Connected);
        let connected = self.attempts.iter().filter(|attempt| connected(attempt)).count();
        let deadline = Instant::now() + LATE;
        while accepted.len() < connected && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = left.try_into().map_err(io::Error::other)?;
            rustix::io::retry_on_intr(|| poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout)))?;
            while let Ok((connection, _)) = listener.accept() {
                accepted.push(connection);
            }
        }
        Ok(accepted.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plain Linux, no lab: a closed port, and a listener of its own.
    #[test]
    fn connects_and_counts() {
        let local: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let burst = Request { count: 5, listen: Some(8), ..Request::new(local) };
        let answer = connect(&burst).expect("sockets");
        assert_eq!(answer.indices(End::Connected), [0, 1, 2, 3, 4]);
        let closed = Socket::new(Domain::IPV6, Type::STREAM, None).expect("a socket");
        closed.bind(&"[::1]:0".parse::<SocketAddr>().expect("an address").into()).expect("a port");
        let closed_port = closed.local_addr().expect("bound").as_socket().expect("an IP address");
        let refused = connect(&Request { ask: Some(0), ..Request::new(closed_port) }).expect("sockets");
        assert_eq!(refused.indices(End::Refused), [0]);
        assert!(connect(&Request { ask: Some(9), ..Request::new(closed_port) }).is_err());
    }
}
