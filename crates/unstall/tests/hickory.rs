//! hickory-resolver through the blocking connect, tokio and async-io, against a name server of the test's own.

mod common;

use common::dns::{Says, serve};
use common::drivers::DRIVERS;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use unstall::hickory::HickoryResolver;
use unstall::{Connector, Family, Reason, Target, testing};
use unstall_core::race::RESOLUTION_DELAY;

const LONG: Duration = Duration::from_secs(20);

fn loopback() -> Says {
    Says::Addresses(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
}

fn connector(v6: Says, v4: Says) -> Connector {
    let resolver = HickoryResolver::with_servers([serve(v6, v4)]).unwrap();
    // Where nobody tells of listeners a connect that takes some ms is made again, which is not what is looked at here.
    Connector::new().connect_timeout(LONG).backlog_retry(Duration::ZERO).resolver(resolver)
}

fn target(port: u16) -> Target {
    Target::try_from(("db.example", port)).unwrap()
}

#[test]
fn a_negative_aaaa_answer_ends_the_wait() {
    let server = testing::v4_only().unwrap();
    let connector = connector(Says::Addresses(Vec::new()), loopback());
    for (name, connect) in DRIVERS {
        let (result, timeline) = connect(&connector, &target(server.port()));
        result.unwrap();
        assert_eq!(timeline.winner().unwrap().reason, Reason::DnsCompleted, "{name}");
        let mut families: Vec<_> =
            timeline.resolution.unwrap().answers.iter().map(|answer| answer.family == Family::V6).collect();
        families.sort_unstable();
        assert_eq!(families, [false, true], "{name}: each family has an answer");
    }
}

#[test]
fn an_a_answer_does_not_wait_for_a_mute_aaaa_beyond_the_resolution_delay() {
    let server = testing::v4_only().unwrap();
    let connector = connector(Says::Nothing, loopback());
    for (name, connect) in DRIVERS {
        let (result, timeline) = connect(&connector, &target(server.port()));
        result.unwrap();
        let winner = timeline.winner().unwrap();
        assert_eq!(winner.reason, Reason::ResolutionDelayExpired, "{name}");
        // hickory itself gives a question up after 5 s.
        assert!(winner.start >= RESOLUTION_DELAY && winner.start < Duration::from_secs(4), "{timeline:?}");
    }
}

#[test]
fn a_name_that_nobody_has_is_no_name() {
    let connector = connector(Says::NoSuchName, Says::NoSuchName);
    for (name, connect) in DRIVERS {
        let error = connect(&connector, &target(9)).0.unwrap_err();
        assert!(error.is_no_name(), "{name}: {error}");
    }
}

#[test]
fn a_mute_name_server_is_an_error_at_the_limit() {
    let limit = Duration::from_millis(100);
    let connector = connector(Says::Nothing, Says::Nothing).connect_timeout(limit);
    for (name, connect) in DRIVERS {
        let (result, timeline) = connect(&connector, &target(9));
        let error = result.unwrap_err();
        assert!(error.is_timed_out(), "{name}: {error}");
        assert!(timeline.elapsed >= limit && timeline.elapsed < LONG / 2, "{timeline:?}");
    }
}

/// Many lookups that nobody answers are one thread's.
#[test]
#[cfg(target_os = "linux")]
fn a_mute_name_server_keeps_one_thread() {
    let limit = Duration::from_millis(200);
    let connector = connector(Says::Nothing, Says::Nothing).connect_timeout(limit);
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let name = |task: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
        };
        tasks.filter_map(name).filter(|name| name.starts_with("unstall-resolve")).count()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let connects: Vec<_> = (0..200)
        .map(|_| {
            let connector = connector.clone();
            runtime.spawn(async move { connector.connect_tokio("db.example:9").await })
        })
        .collect();
    for connect in connects {
        assert!(runtime.block_on(connect).unwrap().unwrap_err().is_timed_out());
    }
    assert_eq!(threads(), 0, "none of the threads for the OS's resolver");
}

/// Dropped where a runtime may not be waited for.
#[test]
fn it_may_be_dropped_in_a_future() {
    let server = testing::v4_only().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let connector = connector(Says::Nothing, loopback());
        connector.connect_tokio(target(server.port())).await.unwrap();
        drop(connector);
    });
}
