//! Spans and events, as a subscriber prints them, through the blocking connect, tokio and async-io.

mod common;

use common::drivers::DRIVERS;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use unstall::{Connector, Target, testing};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is printed while `call` runs on this thread.
fn printed(call: impl FnOnce()) -> Vec<String> {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::DEBUG)
        .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
        .with_ansi(false)
        .without_time()
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, call);
    let bytes = lines.0.lock().unwrap().clone();
    // The reactors have events of their own.
    let text = String::from_utf8(bytes).unwrap();
    text.lines().filter(|line| line.contains(" unstall: ")).map(str::to_owned).collect()
}

/// The one line that has all of these.
fn line<'a>(lines: &'a [String], parts: &[&str]) -> &'a str {
    let found: Vec<_> = lines.iter().filter(|line| parts.iter().all(|part| line.contains(part))).collect();
    assert_eq!(found.len(), 1, "{parts:?} in {lines:#?}");
    found[0]
}

#[test]
fn each_connect_has_a_span_and_each_attempt_one_below_it() {
    let (refused, server) = (testing::refused().unwrap(), testing::v4_only().unwrap());
    // Under Wine on a busy machine a refusal may take longer than the delay within this host.
    let patient = Connector::new().local_attempt_delay(std::time::Duration::from_secs(2));
    // Nor is it looked into where nobody tells of listeners.
    let patient = patient.backlog_retry(std::time::Duration::ZERO);
    let connector = patient.addresses([refused.addr(), server.addr()]);
    for (name, connect) in DRIVERS {
        println!("{name}");
        let lines = printed(|| connect(&connector, &"db.example:5432".parse().unwrap()).0.unwrap());
        let news = lines.iter().filter(|line| line.ends_with("unstall: new")).count();
        let closes = lines.iter().filter(|line| line.contains("unstall: close")).count();
        assert_eq!((news, closes), (3, 3), "{lines:#?}");
        line(
            &lines,
            &[
                "connect{",
                r#"server.address=db.example server.port=5432 network.transport="tcp"}: unstall: new"#,
            ],
        );
        line(&lines, &["dns.question.name=db.example", "resolved"]);
        let port = |address: SocketAddr| format!("network.peer.port={}", address.port());
        let failed = line(&lines, &[":attempt{", &port(refused.addr()), "close"]);
        assert!(failed.contains(r#"unstall.outcome="refused" error.type="#), "{failed}");
        assert!(
            failed.contains(r#"network.type="ipv4" network.transport="tcp" unstall.reason="dns_completed""#)
        );
        let won = line(&lines, &[":attempt{", &port(server.addr()), "close"]);
        assert!(
            won.contains(r#"unstall.reason="previous_attempt_failed" unstall.outcome="connected""#),
            "{won}"
        );
        assert!(!won.contains("error.type"), "{won}");
        let last = lines.last().unwrap();
        assert!(last.contains(r#"unstall.outcome="connected""#) && !last.contains(":attempt{"), "{last}");
        assert!(last.contains(&port(server.addr())), "{last}");
    }
}

/// The shortest way has the same spans.
#[test]
fn a_connect_to_one_address_has_its_spans_too() {
    let (refused, server) = (testing::refused().unwrap(), testing::v4_only().unwrap());
    let connectors = [Connector::new(), Connector::new().backlog_retry(std::time::Duration::ZERO)];
    for (server, outcome) in [(&refused, "refused"), (&server, "connected")] {
        let target = Target::try_from(server.addr()).unwrap();
        for connector in &connectors {
            for (name, connect) in DRIVERS {
                let lines = printed(|| drop(connect(connector, &target)));
                let outcome = format!("unstall.outcome=\"{outcome}\"");
                let ended = |line: &&String| line.contains("unstall: close") && line.contains(&outcome);
                let closes = lines.iter().filter(ended).count();
                // Windows without a listener table doubts a refusal for some ms, and makes the attempt again.
                assert!(closes == 2 || (cfg!(windows) && closes > 2), "{name}: {lines:#?}");
            }
        }
    }
}

#[test]
fn a_future_that_is_dropped_closes_its_spans() {
    let lines = printed(|| {
        let connector = Connector::new().resolver(Never);
        let mut connect = Box::pin(connector.connect_async_io("db.example:9"));
        async_io::block_on(std::future::poll_fn(|context| {
            assert!(connect.as_mut().poll(context).is_pending());
            std::task::Poll::Ready(())
        }));
    });
    assert_eq!(lines.len(), 2, "new and close: {lines:#?}");
}

struct Never;

impl unstall::resolver::Resolver for Never {
    fn lookup(&self, _: unstall::resolver::Question) -> unstall::resolver::Lookup<'_> {
        Box::pin(std::future::pending())
    }
}
