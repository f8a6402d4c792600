//! The rows of the published table of connectors through the blocking connect, tokio and async-io, on real sockets, beside tokio's own connect.
//!
//! Each test has a network namespace of its own (see `common::namespace`). Bounds come from the timers, as in `race.rs`.
#![cfg(target_os = "linux")]

mod common;

use common::namespace::{self, NAME_SERVER_PATIENCE, SILENT_V4, at, inside};
use common::table::{Row, rows};
use std::future::Future;
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use unstall::{Connector, Outcome, Reason, Target, Timeline};

const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
const PORT: u16 = 4200;
/// How often a machine that is busy with something else may be late.
const RUNS: usize = 20;
/// What tokio itself is given: more than any of our connects may take.
const PATIENCE: Duration = Duration::from_secs(2);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn listen(address: &str) -> TcpListener {
    TcpListener::bind(at(address, PORT)).unwrap()
}

fn target(name: &str) -> Target {
    Target::try_from((name, PORT)).unwrap()
}

/// How a connect by `name` went.
fn tokio(name: &str) -> (Option<SocketAddr>, Timeline) {
    let (result, timeline) = runtime().block_on(Connector::new().connect_timeline_tokio(&target(name)));
    (result.ok().map(|stream| stream.peer_addr().unwrap()), timeline)
}

fn async_io(name: &str) -> (Option<SocketAddr>, Timeline) {
    let (result, timeline) = async_io::block_on(Connector::new().connect_timeline_async_io(&target(name)));
    (result.ok().map(|stream| stream.get_ref().peer_addr().unwrap()), timeline)
}

/// A connect by name: the peer, if it connected, and the timeline.
type Connect = fn(&str) -> (Option<SocketAddr>, Timeline);

fn blocking(name: &str) -> (Option<SocketAddr>, Timeline) {
    let (result, timeline) = Connector::new().connect_timeline(&target(name));
    (result.ok().map(|stream| stream.peer_addr().unwrap()), timeline)
}

const OURS: [(&str, Connect); 3] = [("blocking", blocking), ("tokio", tokio), ("async-io", async_io)];

/// How long tokio's own connect takes with the same addresses in the same order; `None`: [`PATIENCE`] was over.
fn tokios_own(addresses: &[SocketAddr]) -> Option<Duration> {
    runtime().block_on(async {
        let start = Instant::now();
        let connect = tokio::net::TcpStream::connect(addresses);
        tokio::time::timeout(PATIENCE, connect).await.ok().map(|_| start.elapsed())
    })
}

/// When the last attempt started, counted from the end of the resolution.
fn waited(timeline: &Timeline) -> Duration {
    let resolved = timeline.resolution.as_ref().unwrap().end;
    timeline.attempts.last().unwrap().start.checked_sub(resolved).unwrap()
}

/// Every row of the table: just so many attempt delays are waited for, and nothing else.
#[test]
fn every_row_of_the_table() {
    inside("every_row_of_the_table", |namespace| {
        let rows = rows();
        namespace.name_rows(&rows);
        println!("row  waited for: tokio's own, ours blocking, on tokio, on async-io");
        for row in &rows {
            let _server = row.listens.map(listen);
            let addresses: Vec<SocketAddr> = row.addresses.iter().map(|address| at(address, PORT)).collect();
            let own = tokios_own(&addresses).map_or("> 2 s".to_owned(), |took| format!("{took:?}"));
            print!("{}  {own}", row.name);
            for (reactor, connect) in OURS {
                print!(", {:?}", check(row, reactor, connect));
            }
            println!();
        }
    });
}

/// The wait of a run that nothing else on the machine held up.
fn check(row: &Row, reactor: &str, connect: Connect) -> Duration {
    let run = |_| {
        let (peer, timeline) = connect(row.name);
        assert_eq!(peer, row.listens.map(|address| at(address, PORT)), "{} on {reactor}", row.name);
        let outcome = if row.listens.is_some() { Outcome::Connected } else { Outcome::Refused };
        assert_eq!(timeline.outcome, outcome);
        assert!(waited(&timeline) >= ATTEMPT_DELAY * row.delays, "{timeline:?}");
        timeline
    };
    let slack = match row.addresses.len() {
        _ if row.delays > 0 => ATTEMPT_DELAY,
        // What a debug build takes to put so many in order.
        1000 => Duration::from_millis(50),
        _ => Duration::from_millis(1),
    };
    let good = |timeline: &Timeline| waited(timeline) < ATTEMPT_DELAY * row.delays + slack;
    let timeline = (0..RUNS).map(run).find(good);
    let timeline = timeline.unwrap_or_else(|| panic!("{} on {reactor}: always waits longer", row.name));
    assert_eq!(timeline.attempts.len(), row.attempts, "{timeline:?}");
    let timer = |attempt: &&unstall::Attempt| attempt.reason == Reason::PolicyTimer;
    assert_eq!(timeline.attempts.iter().filter(timer).count(), row.delays as usize, "{timeline:?}");
    waited(&timeline)
}

/// Two attempts connect before the future is polled again: one wins, the other is closed and its server sees the end of the
/// stream.
#[test]
fn of_two_winners_one_is_closed() {
    inside("of_two_winners_one_is_closed", |namespace| {
        let addresses = ["127.0.0.2", "127.0.0.3"];
        namespace.hosts(&[("two", &addresses)]);
        if !addresses.iter().all(|address| namespace.silence(address.parse().unwrap())) {
            return;
        }
        let servers = addresses.map(listen);
        let runtime = runtime();
        // One socket each, which the kernel alone repeats.
        let connector = Connector::new().backlog_retry(Duration::ZERO);
        let wanted = target("two");
        let mut connect = Box::pin(connector.connect_timeline_tokio(&wanted));
        runtime.block_on(async {
            while namespace::syn_sent() < addresses.len() {
                let _ = tokio::time::timeout(Duration::from_millis(5), &mut connect).await.unwrap_err();
            }
        });
        namespace::end_silence();
        // The kernel sends the SYNs again after a second.
        let mut streams = servers.map(|server| server.accept().unwrap().0);
        let (result, timeline) = runtime.block_on(connect);
        let winner = result.unwrap();
        let won =
            addresses.iter().position(|address| winner.peer_addr().unwrap() == at(address, PORT)).unwrap();
        assert_eq!(streams[1 - won].read(&mut [0]).unwrap(), 0, "the loser is closed");
        assert_eq!(timeline.attempts[1 - won].outcome, Outcome::Cancelled);
        drop(winner);
        assert_eq!(streams[won].read(&mut [0]).unwrap(), 0);
    });
}

/// The limit covers a name server that never answers, and the questions do not pile up.
#[test]
fn the_limit_covers_a_mute_resolver() {
    inside("the_limit_covers_a_mute_resolver", |namespace| {
        namespace.hosts(&[]);
        namespace.name_server(SILENT_V4[0]);
        let before = common::held().unwrap();
        let limit = Duration::from_millis(2);
        let connector = Connector::new().connect_timeout(limit);
        let mute: Target = "mute.example:80".parse().unwrap();
        let runtime = runtime();
        for _ in 0..100 {
            let (result, timeline) = runtime.block_on(connector.connect_timeline_tokio(&mute));
            assert!(result.unwrap_err().is_timed_out());
            assert!(timeline.elapsed >= limit && timeline.elapsed < NAME_SERVER_PATIENCE, "{timeline:?}");
            assert_eq!(timeline.resolution.unwrap().failure, Some(Outcome::TimedOut));
        }
        let after = common::held().unwrap();
        assert!(after.1 <= before.1 + 32, "{before:?} before, {after:?} after");
        // An address needs no resolver.
        let _server = listen("127.0.0.1");
        runtime.block_on(connector.connect_tokio(at("127.0.0.1", PORT))).unwrap();
    });
}

/// A future that is dropped has closed its sockets.
#[test]
fn a_dropped_future_leaves_no_socket() {
    inside("a_dropped_future_leaves_no_socket", |namespace| {
        namespace.hosts(&[("silent", &[SILENT_V4[0], SILENT_V4[1]])]);
        let runtime = runtime();
        let _guard = runtime.enter();
        let before = common::held().unwrap().0;
        let mut connect = Box::pin(unstall::tokio::connect(at(SILENT_V4[0], PORT)));
        assert!(connect.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(common::held().unwrap().0, before + 1);
        drop(connect);
        assert_eq!(common::held().unwrap().0, before);
        let connector = Connector::new();
        for patience in [0, 1, 5, 300] {
            let connect = connector.connect_tokio(("silent", PORT));
            let connect = runtime
                .block_on(async { tokio::time::timeout(Duration::from_millis(patience), connect).await });
            assert!(connect.is_err());
        }
        assert_eq!(namespace::syn_sent(), 0);
    });
}
