//! What a scenario's servers do with their connections. Each server has threads of its own, which end with it.

use super::Does;
use rustix::net::{Shutdown, listen, shutdown};
use socket2::{SockRef, Socket};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What every request is answered with. HTTP/1.0, so that the connection ends with it.
const ANSWER: &[u8] = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nok\n";
const BAD_GATEWAY: &[u8] = b"HTTP/1.0 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
/// Two small writes of ten bytes each make a request.
const SMALL_REQUEST: usize = 20;

/// When the program starts: what a server does after so long counts from there.
#[derive(Debug, Default)]
pub(super) struct Clock {
    start: Mutex<Option<Instant>>,
    started: Condvar,
    over: AtomicBool,
}

impl Clock {
    /// The program starts now.
    pub(super) fn start(&self) {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.started.notify_all();
    }

    /// Nothing is waited for any more.
    pub(super) fn end(&self) {
        // Under the lock, so that nobody goes to sleep in between.
        let _start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        self.over.store(true, Ordering::Release);
        self.started.notify_all();
    }

    /// How long the program has been running; `None`: it has not started.
    fn elapsed(&self) -> Option<Duration> {
        self.start.lock().unwrap_or_else(PoisonError::into_inner).map(|start| start.elapsed())
    }

    /// Waits until so long after the start. False: the scenario is over before.
    fn wait_until(&self, after: Duration) -> bool {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.over.load(Ordering::Acquire) {
            let left = start.map(|start| after.saturating_sub(start.elapsed()));
            start = match left {
                Some(Duration::ZERO) => return true,
                Some(left) => {
                    self.started.wait_timeout(start, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.started.wait(start).unwrap_or_else(PoisonError::into_inner),
            };
        }
        false
    }

    /// Waits so long. False: the scenario is over before.
    fn pause(&self, length: Duration) -> bool {
        let until = Instant::now() + length;
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.over.load(Ordering::Acquire) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            start = self.started.wait_timeout(start, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }
}

/// A server that runs. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Serving {
    listener: TcpListener,
    clock: Arc<Clock>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// Serves on a bound socket, which listens already unless the server does so later.
    pub(super) fn start(socket: Socket, does: Does, clock: &Arc<Clock>) -> io::Result<Self> {
        let listener = TcpListener::from(socket);
        let (at_work, its_clock) = (listener.try_clone()?, Arc::clone(clock));
        let thread = thread::Builder::new()
            .name("scenario server".to_owned())
            .spawn(move || serve(&at_work, does, &its_clock))?;
        Ok(Self { listener, clock: Arc::clone(clock), thread: Some(thread) })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.clock.end();
        // Wakes accept, which then fails.
        let _ = shutdown(&self.listener, Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, does: Does, clock: &Arc<Clock>) {
    match does {
        Does::AnswersFrom(after) => {
            if clock.wait_until(after) && listen(listener, 128).is_ok() {
                each(listener, |stream| apart(stream, Does::Answers(Duration::ZERO), clock));
            }
        }
        Does::Full(Some(after)) => {
            if clock.wait_until(after) {
                each(listener, |stream| apart(stream, Does::Answers(Duration::ZERO), clock));
            }
        }
        Does::Full(None) => {}
        Does::Slow(_, pause) => each(listener, |stream| {
            apart(stream, Does::Answers(Duration::ZERO), clock);
            clock.pause(pause);
        }),
        Does::OneAtATime => each(listener, |stream| handle(stream, Does::Answers(Duration::ZERO), clock)),
        does => each(listener, |stream| apart(stream, does, clock)),
    }
}

/// Hands each connection over, until the listener is shut down.
fn each(listener: &TcpListener, mut take: impl FnMut(TcpStream)) {
    while let Ok((stream, _)) = listener.accept() {
        take(stream);
    }
}

/// Handles a connection on a thread of its own.
fn apart(stream: TcpStream, does: Does, clock: &Arc<Clock>) {
    let clock = Arc::clone(clock);
    // A connection without a thread is closed, which is what a busy server would do.
    let _ = thread::Builder::new().spawn(move || handle(stream, does, &clock));
}

fn handle(mut stream: TcpStream, does: Does, clock: &Clock) {
    let result = match does {
        Does::Closes => Ok(()),
        Does::ClosesUntil(after) if clock.elapsed().is_none_or(|elapsed| elapsed < after) => Ok(()),
        Does::Resets => SockRef::from(&stream).set_linger(Some(Duration::ZERO)),
        Does::Deaf => swallow(&mut stream),
        Does::SmallWrites => small_exchanges(&mut stream),
        Does::Answers(after) => answer(&mut stream, after, ANSWER, clock),
        Does::BadGateway(after) => answer(&mut stream, after, BAD_GATEWAY, clock),
        _ => answer(&mut stream, Duration::ZERO, ANSWER, clock),
    };
    // A client that went away has its reasons.
    let _ = result;
}

/// Answers the request, whatever it is: an HTTP request ends with an empty line, anything else with its first bytes.
fn answer(stream: &mut TcpStream, after: Duration, with: &[u8], clock: &Clock) -> io::Result<()> {
    let mut request = Vec::new();
    let mut part = [0; 1024];
    loop {
        let length = stream.read(&mut part)?;
        request.extend_from_slice(&part[..length]);
        let http = request.windows(8).any(|window| window.starts_with(b" HTTP/1."));
        if length == 0
            || !http
            || request.windows(4).any(|window| window == b"\r\n\r\n")
            || request.len() > 1 << 16
        {
            break;
        }
    }
    if request.is_empty() || !clock.pause(after) {
        return Ok(());
    }
    stream.write_all(with)
}

fn swallow(stream: &mut TcpStream) -> io::Result<()> {
    while stream.read(&mut [0; 1024])? > 0 {}
    Ok(())
}

fn small_exchanges(stream: &mut TcpStream) -> io::Result<()> {
    let mut request = [0; SMALL_REQUEST];
    loop {
        stream.read_exact(&mut request)?;
        // A client that speaks HTTP gets an answer that it understands, any other a byte for each request.
        let http = request.windows(6).any(|window| window == b" HTTP/");
        stream.write_all(if http { ANSWER } else { &request[..1] })?;
        if http {
            return Ok(());
        }
    }
}
