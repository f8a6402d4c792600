//! 100,000 connects under faults: no outcome is wrong and no descriptor is left. This test has the process for itself.

#![cfg(target_os = "linux")]

mod common;

use common::namespace::{set, with_network};
use common::{Full, LOCAL, PATIENCE, V4, V6, close_at_once};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use unstall_core::outcome::Outcome;
use unstall_sys::Error;
use unstall_sys::connect::{AttemptSet, Options, Started, connect_blocking};

const REFUSED: usize = 30_000;
const UNREACHABLE: usize = 20_000;
const OPEN: usize = 20_000;
const SILENT: usize = 600;
/// Races of five attempts.
const RACES: usize = 5_880;

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn outcome(result: &Result<TcpStream, Error>) -> Outcome {
    result.as_ref().map_or_else(Error::outcome, |_| Outcome::Connected)
}

/// One connect; every other one has a limit.
fn one(address: SocketAddr, n: usize) -> Outcome {
    let (_, result) = connect_blocking(address, &LOCAL, (n % 2 == 0).then_some(PATIENCE));
    result.as_ref().ok().inspect(|stream| close_at_once(stream));
    outcome(&result)
}

/// Accepts and closes until told to end.
fn serve(server: &TcpListener, end: &AtomicBool) {
    for stream in server.incoming() {
        if end.load(Ordering::Relaxed) {
            return;
        }
        drop(stream);
    }
}

/// Ends the servers, also when the test fails.
struct Stop<'a> {
    end: &'a AtomicBool,
    servers: [SocketAddr; 2],
}

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        for server in self.servers {
            drop(TcpStream::connect(server));
        }
    }
}

/// A race of a silent address, an unreachable one, a closed one, a silent one again and an open one. The open one must win, the
/// closed one be refused; then the rest is cancelled, one by name and one by dropping the set.
fn race(silent: SocketAddr, closed: SocketAddr, open: SocketAddr, n: usize) {
    let options = Options { local: n % 2 == 0, ..LOCAL };
    let mut attempts = AttemptSet::new();
    let mut ended = [None; 5];
    let unreachable = SocketAddr::from(([192, 0, 2, 1], 80));
    for (key, address) in [silent, unreachable, closed, silent, open].into_iter().enumerate() {
        match attempts.start(key, address, &options).1 {
            Ok(Started::Pending) => {}
            Ok(Started::Connected(stream)) => {
                close_at_once(&stream);
                ended[key] = Some(Outcome::Connected);
            }
            Err(error) => ended[key] = Some(error.outcome()),
        }
    }
    while ended[4].is_none() || ended[2].is_none() {
        let (key, result) = attempts.wait(Some(PATIENCE)).unwrap().expect("the open one connects");
        result.as_ref().ok().inspect(|stream| close_at_once(stream));
        ended[key] = Some(outcome(&result));
    }
    let expected = [None, Some(Outcome::Unreachable), Some(Outcome::Refused), None, Some(Outcome::Connected)];
    assert_eq!(ended, expected);
    attempts.cancel(0);
    assert_eq!(attempts.len(), 1);
}

#[test]
fn a_hundred_thousand_connects_leave_nothing_and_tell_the_truth() {
    assert_eq!(REFUSED + UNREACHABLE + OPEN + SILENT + RACES * 5, 100_000);
    with_network("a_hundred_thousand_connects_leave_nothing_and_tell_the_truth", || {
        set("ipv4/ip_local_port_range", "20000 60000");
        set("core/somaxconn", "8192");
        let before = descriptors();
        faults();
        assert_eq!(descriptors(), before);
    });
}

fn faults() {
    let servers = [V4, V6].map(|ip| {
        let server = TcpListener::bind((ip, 80)).unwrap();
        rustix::net::listen(&server, 8192).unwrap();
        server
    });
    let open = [0, 1].map(|n| servers[n].local_addr().unwrap());
    let full = [V4, V6].map(Full::new);
    // Within the ephemeral range and outside of it.
    let closed = [(V4, 9).into(), (V6, 9).into(), (V4, 30_000).into(), (V6, 30_001).into()];
    let unreachable = [SocketAddr::from(([192, 0, 2, 1], 80)), "[2001:db8::1]:80".parse().unwrap()];
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        for server in &servers {
            scope.spawn(|| serve(server, &end));
        }
        let _stop = Stop { end: &end, servers: open };
        for n in 0..REFUSED {
            let outcome = one(closed[n % 4], n / 4);
            let guarded = !cfg!(any(unstall_portable, unstall_no_port_range));
            assert!(
                outcome == Outcome::Refused || !guarded && outcome == Outcome::SelfConnected,
                "{outcome}"
            );
        }
        for n in 0..UNREACHABLE {
            assert_eq!(one(unreachable[n % 2], n / 2), Outcome::Unreachable);
        }
        for n in 0..OPEN {
            assert_eq!(one(open[n % 2], n / 2), Outcome::Connected);
        }
        for n in 0..SILENT {
            let limit = Some(Duration::from_millis(n as u64 / 2 % 4));
            let (_, result) = connect_blocking(full[n % 2].address, &LOCAL, limit);
            assert_eq!(outcome(&result), Outcome::TimedOut);
        }
        for n in 0..RACES {
            race(full[n % 2].address, closed[n % 2], open[n / 2 % 2], n);
        }
    });
}
