//! The client side: many connects at once from one process, each on a thread of its own, as blocking programs do it.
//!
//! It is a program that somebody offers, as the lab's other client: it gets its [`Request`] as its only argument and writes
//! its [`Answer`] to its output, both as JSON. How this project's library connects is the program's to say, since the lab does not
//! know the library.

use super::clock;
use crate::client::End;
use crate::error::Error;
use crate::lab::Lab;
use crate::program::{Ended, Program};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// What the client is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Where to connect to.
    pub to: SocketAddr,
    /// How often.
    pub count: usize,
    /// All at once, or one after another.
    pub at_once: bool,
    /// With the library, or as std does.
    pub library: bool,
    /// Whether a full accept queue refuses, as on Windows: a library has to be told, since the machine does not.
    pub refuses_when_full: bool,
    /// When to stop waiting, in milliseconds. No connect gets a limit of its own.
    pub limit_ms: u64,
    /// How long the connections are held when all have ended, in milliseconds, so that their ends are not taken for their arrival.
    pub hold_ms: u64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Each connect, in the order in which they were started.
    pub attempts: Vec<Attempt>,
    /// When the last one ended, on the system's monotonic clock.
    pub ended_ns: u64,
}

/// One connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// How it ended.
    pub end: End,
    /// How long it took.
    pub elapsed_ns: u64,
    /// How many sockets it took, if the client tells.
    pub tries: Option<u32>,
}

/// One connect of a request with the library, and how many sockets it took if that is known.
pub type Library = fn(&Request) -> (io::Result<TcpStream>, Option<u32>);

/// Descriptors for everything but the connections.
const SPARE: u64 = 64;

/// Has the client `program` do this in the lab.
///
/// # Errors
///
/// As [`Lab::output`]; [`Error::System`] if the program is not the client.
pub(super) fn run(lab: &Lab, program: &Program, request: &Request) -> Result<Answer, Error> {
    let failed = |why: String| Error::System {
        operation: "run the lab's own client".to_owned(),
        source: io::Error::other(why),
    };
    let text = serde_json::to_string(request).map_err(|e| failed(e.to_string()))?;
    // The client ends by itself; the rest is for a machine that is slow.
    let limit = Duration::from_millis(request.limit_ms + request.hold_ms) + Duration::from_secs(30);
    let finished = lab.output(&program.clone().argument(text), Some(limit))?;
    if finished.ended != Ended::Exited(0) {
        return Err(failed(String::from_utf8_lossy(&finished.stderr).trim().to_owned()));
    }
    serde_json::from_slice(&finished.stdout).map_err(|e| failed(e.to_string()))
}

/// The client program: does what `request` says and returns what to write. To be followed by the end of the process, which is
/// also the end of connects that are still under way.
///
/// # Errors
///
/// What is wrong with the request, or what the system refused.
pub fn main(request: &str, library: Library) -> io::Result<String> {
    let request: Request = serde_json::from_str(request)?;
    allow_descriptors(request.count)?;
    let connect = if request.library { library } else { plain };
    let (answer, streams) = if request.at_once {
        at_once(&request, connect)?
    } else {
        collect((0..request.count).map(|_| timed(&request, connect)))
    };
    thread::sleep(Duration::from_millis(request.hold_ms));
    drop(streams);
    Ok(serde_json::to_string(&answer)?)
}

/// Makes room for so many sockets, as far as this user may.
///
/// # Errors
///
/// He may not.
pub(super) fn allow_descriptors(count: usize) -> io::Result<()> {
    let need = SPARE + count as u64;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= need) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|maximum| maximum < need) {
        return Err(io::Error::other(format!("{need} descriptors are needed; ulimit -Hn says fewer")));
    }
    limit.current = Some(need);
    Ok(setrlimit(Resource::Nofile, limit)?)
}

fn plain(request: &Request) -> (io::Result<TcpStream>, Option<u32>) {
    (TcpStream::connect(request.to), None)
}

fn timed(request: &Request, connect: Library) -> (Attempt, Option<TcpStream>) {
    let start = Instant::now();
    let (result, tries) = connect(request);
    let elapsed_ns = clock::nanoseconds(start.elapsed());
    (Attempt { end: End::of(result.as_ref().err()), elapsed_ns, tries }, result.ok())
}

type Streams = Vec<TcpStream>;

fn collect(ended: impl Iterator<Item = (Attempt, Option<TcpStream>)>) -> (Answer, Streams) {
    let (attempts, streams): (Vec<Attempt>, Vec<Option<TcpStream>>) = ended.unzip();
    (Answer { attempts, ended_ns: clock::now_ns() }, streams.into_iter().flatten().collect())
}

type Done = (usize, (Attempt, Option<TcpStream>));

/// Every connect on its own thread, all let go at the same moment.
fn at_once(request: &Request, connect: Library) -> io::Result<(Answer, Streams)> {
    /// A connect needs little; two thousand of the default size would be 4 GB of address space.
    const STACK: usize = 256 << 10;
    let start = Arc::new(Barrier::new(request.count + 1));
    let (tell, told): (Sender<Done>, Receiver<Done>) = channel();
    for index in 0..request.count {
        let (start, tell, request) = (Arc::clone(&start), tell.clone(), request.clone());
        thread::Builder::new().stack_size(STACK).spawn(move || {
            start.wait();
            // Nobody listens any more when the limit has passed.
            let _ = tell.send((index, timed(&request, connect)));
        })?;
    }
    drop(tell);
    start.wait();
    let limit = Duration::from_millis(request.limit_ms);
    let unfinished = Attempt { end: End::Limit, elapsed_ns: clock::nanoseconds(limit), tries: None };
    let mut ended: Vec<_> = (0..request.count).map(|_| (unfinished, None)).collect();
    let deadline = Instant::now() + limit;
    while let Ok((index, done)) = told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        ended[index] = done;
    }
    Ok(collect(ended.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Plain Linux, no lab: a listener, a closed port, and a library that counts.
    #[test]
    fn connects_and_counts() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let to = listener.local_addr().expect("bound");
        let request = Request {
            to,
            count: 20,
            at_once: true,
            library: true,
            refuses_when_full: false,
            limit_ms: 10_000,
            hold_ms: 0,
        };
        let run = |request: &Request| -> Answer {
            let text = serde_json::to_string(request).expect("JSON");
            let answer = main(&text, |request| (TcpStream::connect(request.to), Some(7))).expect("an answer");
            serde_json::from_str(&answer).expect("JSON")
        };
        let answer = run(&request);
        assert!(
            answer.attempts.iter().all(|attempt| (attempt.end, attempt.tries) == (End::Connected, Some(7)))
        );
        assert_eq!(answer.attempts.len(), 20);
        drop(listener);
        let closed = run(&Request { count: 2, at_once: false, library: false, ..request });
        let ends: Vec<_> = closed.attempts.iter().map(|attempt| (attempt.end, attempt.tries)).collect();
        assert_eq!(ends, [(End::Refused, None); 2]);
        assert!(main("{}", plain).is_err());
    }

    #[test]
    fn descriptors_beyond_the_user_s_limit_are_an_error() {
        assert!(allow_descriptors(0).is_ok());
        if getrlimit(Resource::Nofile).maximum.is_some() {
            let error = allow_descriptors(1 << 40).expect_err("nobody has so many");
            assert!(error.to_string().contains("descriptors are needed"), "{error}");
        }
    }
}
