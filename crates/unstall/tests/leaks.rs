//! Nothing is left behind: one test alone in its process, so that descriptors and threads can be counted.
// The counts are Unix'.
#![cfg(not(windows))]

mod common;

use common::held;
use socket2::SockRef;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use unstall::testing::{self, Server};
use unstall::{ConnectError, Connector, Target};

/// Long enough for anything local, on any machine.
const LONG: Duration = Duration::from_secs(10);
/// Connects to each server by each of two threads.
const ROUNDS: usize = 7_200;
const THREADS: usize = 2;

/// A server, and what a connect to it must come to.
struct Fault {
    server: Server,
    connector: Connector,
    is_right: fn(Result<TcpStream, ConnectError>) -> bool,
    /// One in so many rounds: a name costs a lookup, and silence costs its limit.
    every: usize,
}

fn connected(result: Result<TcpStream, ConnectError>) -> bool {
    // Without lingering, so that no TIME_WAIT uses up the ports.
    result.is_ok_and(|stream| SockRef::from(&stream).set_linger(Some(Duration::ZERO)).is_ok())
}

fn closed(result: Result<TcpStream, ConnectError>) -> bool {
    result
        .is_ok_and(|mut stream| stream.read(&mut [0]).is_ok_and(|bytes| bytes == 0) && connected(Ok(stream)))
}

fn reset(result: Result<TcpStream, ConnectError>) -> bool {
    let reset = |kind| kind == ErrorKind::ConnectionReset;
    match result {
        Ok(mut stream) => stream.read(&mut [0]).is_err_and(|error| reset(error.kind())),
        Err(error) => reset(error.kind()),
    }
}

fn refused(result: Result<TcpStream, ConnectError>) -> bool {
    result.is_err_and(|error| error.is_refused() && error.kind() == ErrorKind::ConnectionRefused)
}

fn timed_out(result: Result<TcpStream, ConnectError>) -> bool {
    result.is_err_and(|error| error.is_timed_out())
}

fn faults() -> Vec<Fault> {
    let limited = Connector::new().connect_timeout(LONG);
    let impatient = Connector::new().connect_timeout(Duration::from_millis(1));
    let fault = |server: std::io::Result<Server>, connector: &Connector, is_right| Fault {
        server: server.unwrap(),
        connector: connector.clone(),
        is_right,
        every: 1,
    };
    let plain = Connector::new();
    vec![
        fault(testing::refused(), &plain, refused),
        fault(testing::refused(), &limited, refused),
        fault(testing::closes(), &plain, closed),
        fault(testing::closes(), &limited, closed),
        fault(testing::resets(), &plain, reset),
        fault(testing::resets(), &limited, reset),
        fault(testing::v4_only(), &limited, connected),
        Fault { every: 50, ..fault(testing::silent(), &impatient, timed_out) },
    ]
}

/// Connects by address, and one in ten by name; the number of connects.
fn connect_under_faults(faults: &[Fault]) -> usize {
    let mut connects = 0;
    for round in 0..ROUNDS {
        for fault in faults.iter().filter(|fault| round % fault.every == 0) {
            let target = if round % 10 == 0 {
                Ok(fault.server.target())
            } else {
                Target::try_from(fault.server.addr())
            };
            let (result, timeline) = fault.connector.connect_timeline(&target.unwrap());
            assert!((fault.is_right)(result), "{timeline:?}");
            connects += 1;
        }
    }
    connects
}

#[test]
fn nothing_is_left_after_100_000_connects_under_faults() {
    let Some(before) = held() else {
        return common::left_out(
            "nothing_is_left_after_100_000_connects_under_faults",
            "no /proc to count descriptors in",
        );
    };
    let faults = faults();
    let with_servers = held().unwrap();
    let connects = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| connects.fetch_add(connect_under_faults(&faults), Ordering::Relaxed));
        }
    });
    assert!(connects.into_inner() >= 100_000);
    assert_eq!(settled(with_servers), with_servers, "descriptors and threads, the servers' among them");
    drop(faults);
    assert_eq!(settled(before), before, "descriptors and threads");
}

/// What is held, once it is `expected`; else after a while. A server notices late that a client is gone, and a thread that has
/// ended is counted until the kernel has put it away.
fn settled(expected: (usize, usize)) -> (usize, usize) {
    let deadline = Instant::now() + LONG;
    while held().unwrap() != expected && Instant::now() < deadline {
        thread::yield_now();
    }
    held().unwrap()
}
