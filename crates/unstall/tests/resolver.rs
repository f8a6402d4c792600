//! Resolvers in place of the OS's, through the blocking connect, tokio and async-io: when the race starts, what a resolver may do
//! wrong, and which names never reach one. What the race does with late answers is tested in simulated time, in core.

mod common;

use async_io::Timer;
use common::drivers::{DRIVERS, Told};
use std::future::{pending, poll_fn};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use unstall::resolver::{FixedResolver, Lookup, OsResolver, Question, ResolveError, Resolver};
use unstall::{Connector, Family, Outcome, Reason, Target, testing};
use unstall_core::race::RESOLUTION_DELAY;

/// Long enough for anything local, on any machine.
const LONG: Duration = Duration::from_secs(20);
const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// What becomes of a question.
#[derive(Clone, Debug)]
enum Says {
    Addresses(Vec<IpAddr>),
    /// So much later.
    Later(Duration, Vec<IpAddr>),
    Fails(Outcome),
    Never,
    PanicsAtOnce,
    PanicsLater,
}

/// A resolver that answers as it was told, and notes what it was asked.
#[derive(Clone)]
struct Script {
    v6: Says,
    v4: Says,
    asked: Arc<Mutex<Vec<(String, Family)>>>,
}

impl Script {
    fn new(v6: Says, v4: Says) -> Self {
        Self { v6, v4, asked: Arc::default() }
    }

    fn asked(&self) -> Vec<(String, Family)> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolver for Script {
    fn lookup(&self, question: Question) -> Lookup<'_> {
        self.asked.lock().unwrap().push((question.name().to_owned(), question.family()));
        let says = if question.family() == Family::V6 { self.v6.clone() } else { self.v4.clone() };
        assert!(!matches!(says, Says::PanicsAtOnce), "on purpose");
        let port = question.port();
        let with_port = move |ips: Vec<IpAddr>| ips.into_iter().map(|ip| (ip, port).into()).collect();
        Box::pin(async move {
            match says {
                Says::Addresses(ips) => Ok(with_port(ips)),
                Says::Later(after, ips) => {
                    Timer::after(after).await;
                    Ok(with_port(ips))
                }
                Says::Fails(outcome) => Err(ResolveError::new(outcome, "as the script says")),
                Says::Never => pending().await,
                Says::PanicsAtOnce | Says::PanicsLater => panic!("on purpose"),
            }
        })
    }
}

fn connector(resolver: impl Resolver + 'static) -> Connector {
    // Where nobody tells of listeners a connect that takes some ms is made again, which is not what is looked at here.
    Connector::new().connect_timeout(LONG).backlog_retry(Duration::ZERO).resolver(resolver)
}

fn target(port: u16) -> Target {
    Target::try_from(("db.example", port)).unwrap()
}

/// Through every driver.
fn everywhere(script: &Script, port: u16, check: impl Fn(Told)) {
    for (name, connect) in DRIVERS {
        println!("{name}");
        check(connect(&connector(script.clone()), &target(port)));
    }
}

fn none() -> Says {
    Says::Addresses(Vec::new())
}

#[test]
fn an_ipv6_answer_starts_the_race_although_the_ipv4_one_never_comes() {
    let Ok(server) = testing::v6_only() else { return common::left_out("resolver", "no IPv6 here") };
    let script = Script::new(Says::Addresses(vec![V6]), Says::Never);
    everywhere(&script, server.port(), |(result, timeline)| {
        result.unwrap();
        assert_eq!(timeline.winner().unwrap().reason, Reason::DnsCompleted);
        let resolution = timeline.resolution.unwrap();
        assert_eq!(resolution.addresses, [SocketAddr::new(V6, server.port())]);
        let families: Vec<_> = resolution.answers.iter().map(|answer| answer.family).collect();
        assert_eq!(families, [Family::V6]);
    });
    assert_eq!(script.asked()[..2], [Family::V6, Family::V4].map(|family| ("db.example".to_owned(), family)));
}

#[test]
fn an_ipv4_answer_waits_for_the_ipv6_one_as_long_as_the_resolution_delay() {
    let server = testing::v4_only().unwrap();
    let script = Script::new(Says::Never, Says::Addresses(vec![V4]));
    everywhere(&script, server.port(), |(result, timeline)| {
        result.unwrap();
        let winner = timeline.winner().unwrap();
        assert_eq!(winner.reason, Reason::ResolutionDelayExpired);
        assert!(winner.start >= RESOLUTION_DELAY && winner.start < LONG / 2, "{timeline:?}");
    });
}

#[test]
fn a_negative_ipv6_answer_ends_the_wait() {
    let server = testing::v4_only().unwrap();
    for negative in [none(), Says::Fails(Outcome::NoName), Says::Fails(Outcome::TimedOut), Says::PanicsLater]
    {
        let script = Script::new(negative, Says::Addresses(vec![V4]));
        everywhere(&script, server.port(), |(result, timeline)| {
            result.unwrap();
            assert_eq!(timeline.winner().unwrap().reason, Reason::DnsCompleted, "{timeline:?}");
            assert_eq!(timeline.resolution.unwrap().failure, None);
        });
    }
}

/// The first attempt is under way and stays so: the wait for it has to end when the answer comes.
#[test]
#[cfg(not(windows))]
fn an_answer_that_comes_while_an_attempt_is_pending_is_used() {
    let server = testing::v4_only().unwrap();
    let silent = testing::silent().unwrap();
    let silent_addresses: Vec<_> = silent.addrs().to_vec();
    let Some(lost) = silent_addresses.iter().copied().find(SocketAddr::is_ipv6) else {
        return common::left_out("resolver", "no IPv6 here");
    };
    for (name, connect) in DRIVERS {
        let answers = Late { lost, good: server.addr(), after: Duration::from_millis(100) };
        let connector = connector(answers).backlog_retry(Duration::ZERO);
        let (result, timeline) = connect(&connector, &target(1));
        result.unwrap();
        let tried: Vec<_> = timeline.attempts.iter().map(|attempt| attempt.address).collect();
        assert_eq!(tried, [lost, server.addr()], "{name}");
        assert!(timeline.elapsed < LONG / 2, "{name}: it was not woken: {timeline:?}");
    }
}

/// IPv6 at once, IPv4 later; the ports are the test's.
struct Late {
    lost: SocketAddr,
    good: SocketAddr,
    after: Duration,
}

impl Resolver for Late {
    fn lookup(&self, question: Question) -> Lookup<'_> {
        Box::pin(async move {
            if question.family() == Family::V4 {
                Timer::after(self.after).await;
                return Ok(vec![self.good]);
            }
            Ok(vec![self.lost])
        })
    }
}

#[test]
fn without_any_address_the_question_that_failed_says_why() {
    for (v6, v4, outcome) in [
        (none(), none(), Outcome::NoName),
        (none(), Says::Fails(Outcome::TimedOut), Outcome::TimedOut),
        (Says::Fails(Outcome::NotPermitted), Says::Fails(Outcome::NoName), Outcome::NotPermitted),
        (Says::Fails(Outcome::NoName), Says::Later(Duration::from_millis(1), Vec::new()), Outcome::NoName),
    ] {
        let script = Script::new(v6, v4);
        everywhere(&script, 9, |(result, timeline)| {
            assert_eq!(result.unwrap_err().outcome(), Some(outcome), "{script_v6:?}", script_v6 = script.v6);
            assert_eq!(timeline.resolution.unwrap().failure, Some(outcome));
            assert!(timeline.attempts.is_empty());
        });
    }
}

#[test]
fn a_resolver_that_panics_is_an_error() {
    for panics in [Says::PanicsAtOnce, Says::PanicsLater] {
        let script = Script::new(panics.clone(), panics);
        everywhere(&script, 9, |(result, _)| {
            let error = result.unwrap_err();
            assert_eq!(error.outcome(), Some(Outcome::Unknown), "{error}");
            assert!(error.to_string().contains("the resolver panicked"), "{error}");
        });
    }
}

#[test]
fn a_mute_resolver_is_an_error_at_the_limit_and_keeps_no_thread() {
    let limit = Duration::from_millis(50);
    let script = Script::new(Says::Never, Says::Never);
    for (name, connect) in DRIVERS {
        let connector = connector(script.clone()).connect_timeout(limit);
        let (result, timeline) = connect(&connector, &target(9));
        let error = result.unwrap_err();
        assert!(error.is_timed_out(), "{name}: {error}");
        assert!(error.to_string().contains("check the name servers"), "{name}: {error}");
        assert!(timeline.elapsed >= limit && timeline.elapsed < LONG, "{name}: {timeline:?}");
        assert_eq!(timeline.resolution.unwrap().failure, Some(Outcome::TimedOut));
    }
}

#[test]
fn a_lookup_is_dropped_with_the_connect() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    struct Alive;
    impl Drop for Alive {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::SeqCst);
        }
    }
    struct Counts;
    impl Resolver for Counts {
        fn lookup(&self, _: Question) -> Lookup<'_> {
            ALIVE.fetch_add(1, Ordering::SeqCst);
            let alive = Alive;
            Box::pin(async move {
                let _alive = alive;
                pending().await
            })
        }
    }
    let connector = connector(Counts);
    let mut connect = Box::pin(connector.connect_async_io("db.example:9"));
    async_io::block_on(poll_fn(|context| {
        assert!(connect.as_mut().poll(context).is_pending());
        std::task::Poll::Ready(())
    }));
    assert_eq!(ALIVE.load(Ordering::SeqCst), 2);
    drop(connect);
    assert_eq!(ALIVE.load(Ordering::SeqCst), 0);
}

#[test]
fn names_of_this_host_and_addresses_never_reach_a_resolver() {
    let server = testing::v4_only().unwrap();
    let script = Script::new(Says::PanicsAtOnce, Says::PanicsAtOnce);
    for host in ["localhost", "LOCALHOST", "localhost.", "app.localhost", "127.0.0.1"] {
        for (name, connect) in DRIVERS {
            let target = Target::try_from((host, server.port())).unwrap();
            let (result, _) = connect(&connector(script.clone()), &target);
            result.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    assert_eq!(script.asked(), []);
}

#[test]
fn only_the_families_that_may_be_tried_are_asked_for() {
    let server = testing::v4_only().unwrap();
    let script = Script::new(Says::PanicsAtOnce, Says::Addresses(vec![V4]));
    for (_, connect) in DRIVERS {
        let (result, timeline) =
            connect(&connector(script.clone()).family(Family::V4), &target(server.port()));
        result.unwrap();
        assert_eq!(timeline.winner().unwrap().reason, Reason::DnsCompleted);
    }
    assert!(script.asked().iter().all(|(_, family)| *family == Family::V4));
}

#[test]
fn fixed_answers_are_tried_in_their_order() {
    let server = testing::v4_only().unwrap();
    let names = FixedResolver::new().with("DB.example", [V4, V6]).unwrap();
    for (name, connect) in DRIVERS {
        let (result, timeline) = connect(&connector(names.clone()), &target(server.port()));
        result.unwrap();
        assert_eq!(timeline.attempts[0].address.ip(), V4, "{name}");
        let unknown = connect(&connector(names.clone()), &"other.example:1".parse().unwrap()).0;
        assert!(unknown.unwrap_err().is_no_name());
    }
    assert!(FixedResolver::new().with("no name", [V4]).is_err());
}

#[test]
fn the_os_can_be_asked_like_any_other() {
    // RFC 6761 section 6.4: nobody has this name, and no query need leave the host.
    for (name, connect) in DRIVERS {
        let target = "unstall.invalid:80".parse().unwrap();
        let (result, timeline) = connect(&connector(OsResolver), &target);
        let error = result.unwrap_err();
        assert!(error.is_no_name() || error.is_timed_out(), "{name}: {error}");
        assert!(timeline.attempts.is_empty());
    }
}
