//! The connector on tokio and on async-io, on loopback; and what a runtime may lack. Needs no privileges.

use std::collections::BTreeSet;
#[cfg(not(windows))]
use std::io::ErrorKind;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use unstall::{Connector, Family, Outcome, Target, testing};

/// Long enough for anything local, on any machine.
const LONG: Duration = Duration::from_secs(10);

fn runtimes() -> [Runtime; 2] {
    let multi = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    [Builder::new_current_thread().enable_all().build().unwrap(), multi]
}

#[test]
fn tokio_connects_to_addresses_and_names() {
    let server = testing::v4_only().unwrap();
    for runtime in runtimes() {
        for connector in [Connector::new(), Connector::new().connect_timeout(LONG)] {
            for target in [Target::try_from(server.addr()).unwrap(), server.target()] {
                let connector = connector.clone();
                // On a task of its own, so that the future has to be Send.
                let connect = async move { connector.connect_timeline_tokio(&target).await };
                let (result, timeline) = runtime.block_on(async { tokio::spawn(connect).await.unwrap() });
                let stream = result.unwrap();
                assert!(stream.nodelay().unwrap());
                assert_eq!(stream.peer_addr().unwrap(), timeline.winner().unwrap().address);
                assert_eq!(timeline.outcome, Outcome::Connected);
            }
        }
        let stream = runtime.block_on(Connector::new().nodelay(false).connect_tokio(server.addr())).unwrap();
        assert!(!stream.nodelay().unwrap());
    }
}

#[test]
fn async_io_connects_to_addresses_and_names() {
    let server = testing::v4_only().unwrap();
    for connector in [Connector::new(), Connector::new().connect_timeout(LONG)] {
        for target in [Target::try_from(server.addr()).unwrap(), server.target()] {
            let (result, timeline) = async_io::block_on(connector.connect_timeline_async_io(&target));
            let stream = result.unwrap();
            assert!(stream.get_ref().nodelay().unwrap());
            assert_eq!(stream.get_ref().peer_addr().unwrap(), timeline.winner().unwrap().address);
        }
    }
    async_io::block_on(unstall::async_io::connect(server.addr())).unwrap();
}

/// The same errors as those of the blocking connector.
#[test]
fn errors_are_those_of_the_blocking_connector() {
    let refused = testing::refused().unwrap();
    let [runtime, _] = runtimes();
    let only_v6 = Connector::new().family(Family::V6);
    let cases = [
        (Connector::new(), refused.addr().to_string()),
        (Connector::new(), refused.target().to_string()),
        (Connector::new(), "nonsense".to_owned()),
        (only_v6, "127.0.0.1:80".to_owned()),
    ];
    for (connector, target) in cases {
        let blocking = connector.connect(&target).unwrap_err();
        let tokio = runtime.block_on(connector.connect_tokio(&target)).unwrap_err();
        let async_io = async_io::block_on(connector.connect_async_io(&target)).unwrap_err();
        for error in [tokio, async_io] {
            assert_eq!((error.outcome(), error.kind()), (blocking.outcome(), blocking.kind()), "{error}");
            // As a set: how often a port is tried that somebody has, and in which order, is a matter of chance on Windows.
            let addresses = |error: &unstall::ConnectError| {
                error
                    .timeline()
                    .map(|timeline| timeline.attempts.iter().map(|a| a.address).collect::<BTreeSet<_>>())
            };
            assert_eq!(addresses(&error), addresses(&blocking));
        }
    }
}

/// No port can be made silent on Windows: it answers with a reset when the queue is full.
#[test]
#[cfg(not(windows))]
fn the_limit_ends_a_connect_to_a_silent_server() {
    let silent = testing::silent().unwrap();
    let limit = Duration::from_millis(50);
    let connector = Connector::new().connect_timeout(limit);
    let [runtime, multi] = runtimes();
    for target in [Target::try_from(silent.addr()).unwrap(), silent.target()] {
        let results = [
            runtime.block_on(connector.connect_timeline_tokio(&target)).1,
            multi.block_on(connector.connect_timeline_tokio(&target)).1,
            async_io::block_on(connector.connect_timeline_async_io(&target)).1,
        ];
        for timeline in results {
            assert_eq!(timeline.outcome, Outcome::TimedOut, "{timeline:?}");
            assert!(timeline.elapsed >= limit && timeline.elapsed < LONG, "{timeline:?}");
        }
    }
}

#[test]
fn without_a_runtime_it_is_an_error() {
    let server = testing::v4_only().unwrap();
    let error = async_io::block_on(unstall::tokio::connect(server.addr())).unwrap_err();
    assert_eq!(error.outcome(), Some(Outcome::Unknown));
    assert!(error.to_string().contains("no reactor running"), "{error}");
}

#[test]
#[cfg(not(windows))]
fn a_runtime_without_io_or_time_is_an_error() {
    let (server, silent) = (testing::v4_only().unwrap(), testing::silent().unwrap());
    let no_io = Builder::new_current_thread().enable_time().build().unwrap();
    let error = no_io.block_on(unstall::tokio::connect(server.addr())).unwrap_err();
    assert!(error.to_string().contains("IO is disabled"), "{error}");
    let no_time = Builder::new_current_thread().enable_io().build().unwrap();
    // Nothing has to be waited for, so no timer is needed.
    no_time.block_on(unstall::tokio::connect(server.addr())).unwrap();
    no_time.block_on(unstall::tokio::connect(server.target())).unwrap();
    let limited = Connector::new().connect_timeout(LONG);
    for target in [Target::try_from(silent.addr()).unwrap(), silent.target()] {
        let error = no_time.block_on(limited.connect_tokio(target)).unwrap_err();
        assert!(error.to_string().contains("timers are disabled"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Other);
    }
}

#[test]
#[cfg(not(windows))]
fn a_runtime_that_is_shut_down_meanwhile_is_an_error() {
    let silent = testing::silent().unwrap();
    for (connector, target) in [
        (Connector::new(), Target::try_from(silent.addr()).unwrap()),
        (Connector::new().connect_timeout(LONG), Target::try_from(silent.addr()).unwrap()),
        (Connector::new().connect_timeout(LONG), silent.target()),
    ] {
        let [runtime, _] = runtimes();
        let handle = runtime.handle().clone();
        let mut connect = Box::pin(connector.connect_tokio(target));
        runtime.block_on(async {
            // Until the sockets are registered; the name is resolved on another thread.
            let _ = tokio::time::timeout(Duration::from_millis(100), &mut connect).await.unwrap_err();
        });
        drop(runtime);
        let _guard = handle.enter();
        let error = async_io::block_on(connect).unwrap_err();
        assert_eq!(error.outcome(), Some(Outcome::Unknown), "{error}");
    }
}
