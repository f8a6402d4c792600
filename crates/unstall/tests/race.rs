//! Races on real sockets: the published table of connectors, row by row, and localhost.
//!
//! Each test has a network namespace of its own (see `common::namespace`), so its addresses are silent or refuse as the row
//! says. Silence is a route that leads nowhere, or a dropped SYN for addresses of this host. Bounds come from the timers:
//! a race that waits for n attempt delays takes at least those and less than one more.
#![cfg(target_os = "linux")]

mod common;

use common::held;
use common::namespace::{
    self, NAME_SERVER_PATIENCE, Namespace, OWN_V4, OWN_V6, SILENT_V4, SILENT_V6, at, inside,
};
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use unstall::{Connector, Family, Outcome, Reason, Target, Timeline};
use unstall_sys::resolve::MAX_ABANDONED;

const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
const LOCAL_ATTEMPT_DELAY: Duration = Duration::from_millis(10);
const PORT: u16 = 4200;
/// How often a machine that is busy with something else may be late.
const RUNS: usize = 20;

/// Connects to a name at [`PORT`].
fn connect(name: &str) -> (Result<TcpStream, unstall::ConnectError>, Timeline) {
    let target = Target::try_from((name, PORT)).unwrap();
    let start = Instant::now();
    let (result, timeline) = Connector::new().connect_timeline(&target);
    assert!(timeline.elapsed <= start.elapsed());
    (result, timeline)
}

fn listen(address: &str) -> TcpListener {
    TcpListener::bind(at(address, PORT)).unwrap()
}

/// What the attempts came to, in their order.
fn outcomes(timeline: &Timeline) -> Vec<(SocketAddr, Outcome)> {
    timeline.attempts.iter().map(|attempt| (attempt.address, attempt.outcome)).collect()
}

/// When the winner's attempt started, counted from the end of the resolution.
fn waited(timeline: &Timeline) -> Duration {
    let resolved = timeline.resolution.as_ref().unwrap().end;
    timeline.attempts.last().unwrap().start.checked_sub(resolved).unwrap()
}

/// Connects to `name`, whose last address listens, and checks that just so many attempt delays are waited for: never less,
/// and not more in every run, for a machine that is busy with something else may hold up one.
fn delays(name: &str, delay: Duration, count: u32) -> Timeline {
    let run = |_| {
        let (result, timeline) = connect(name);
        let winner = timeline.attempts.last().unwrap();
        assert_eq!(result.unwrap().peer_addr().unwrap(), winner.address);
        assert!(waited(&timeline) >= delay * count, "{timeline:?}");
        timeline
    };
    let timeline = (0..RUNS).map(run).find(|timeline| waited(timeline) < delay * (count + 1));
    timeline.unwrap_or_else(|| panic!("{name}: always more than {count} times {delay:?}"))
}

/// The time of the run that nothing else on the machine held up.
fn best(measure: impl Fn() -> Duration) -> Duration {
    (0..RUNS).map(|_| measure()).min().unwrap()
}

/// Whether it is ever so.
fn once(mut holds: impl FnMut() -> bool) -> bool {
    (0..RUNS).any(|_| holds())
}

fn name_to_connected(name: &str) -> Duration {
    let (result, timeline) = connect(name);
    result.unwrap();
    timeline.elapsed
}

/// Row A: ::1 refused, 127.0.0.1 listens; under 1 ms over the direct connect.
#[test]
fn a_refused_address_costs_nothing() {
    inside("a_refused_address_costs_nothing", |namespace| {
        namespace.hosts(&[("both", &["::1", "127.0.0.1"]), ("one", &["127.0.0.1"])]);
        let _server = listen("127.0.0.1");
        let expected = [(at("::1", PORT), Outcome::Refused), (at("127.0.0.1", PORT), Outcome::Connected)];
        assert!(once(|| {
            let (_, timeline) = connect("both");
            outcomes(&timeline) == expected && timeline.attempts[1].reason == Reason::PreviousAttemptFailed
        }));
        let (both, one) = (best(|| name_to_connected("both")), best(|| name_to_connected("one")));
        assert!(both < one + Duration::from_millis(1), "{both:?} against {one:?}");
    });
}

/// Row B: dead6, v4 listens.
#[test]
fn one_silent_address_costs_one_attempt_delay() {
    inside("one_silent_address_costs_one_attempt_delay", |namespace| {
        namespace.hosts(&[("b", &[SILENT_V6[0], OWN_V4])]);
        let _server = listen(OWN_V4);
        let timeline = delays("b", ATTEMPT_DELAY, 1);
        assert_eq!(timeline.attempts[0].outcome, Outcome::Cancelled);
        assert_eq!(timeline.attempts[1].reason, Reason::PolicyTimer);
    });
}

/// The attempt delays are the connector's.
#[test]
fn attempt_delays_can_be_set() {
    inside("attempt_delays_can_be_set", |namespace| {
        namespace.hosts(&[("far", &[SILENT_V6[0], OWN_V4]), ("near", &["127.0.0.2", "127.0.0.1"])]);
        let _servers = [listen(OWN_V4), listen("127.0.0.1")];
        let connector = Connector::new().attempt_delay(Duration::from_millis(80));
        let connector = connector.local_attempt_delay(Duration::from_millis(40));
        let started = |name: &str| {
            let (_, timeline) = connector.connect_timeline(&Target::try_from((name, PORT)).unwrap());
            waited(&timeline)
        };
        let (far, near) = (Duration::from_millis(80), Duration::from_millis(40));
        assert!(started("far") >= far && once(|| started("far") < ATTEMPT_DELAY));
        if namespace.silence("127.0.0.2".parse().unwrap()) {
            assert!(started("near") >= near && once(|| started("near") < far));
        }
    });
}

/// Row C: dead6, dead4, v4 listens.
#[test]
fn silent_addresses_of_both_families_cost_two_attempt_delays() {
    inside("silent_addresses_of_both_families_cost_two_attempt_delays", |namespace| {
        namespace.hosts(&[("c", &[SILENT_V6[0], SILENT_V4[0], OWN_V4])]);
        let _server = listen(OWN_V4);
        delays("c", ATTEMPT_DELAY, 2);
    });
}

/// Row D: dead6 three times, v4 listens: interleaving makes the IPv4 address the second.
#[test]
fn families_are_interleaved() {
    inside("families_are_interleaved", |namespace| {
        let [a, b, c] = SILENT_V6;
        namespace.hosts(&[("d", &[a, b, c, OWN_V4])]);
        let _server = listen(OWN_V4);
        let timeline = delays("d", ATTEMPT_DELAY, 1);
        assert_eq!(timeline.attempts.len(), 2);
    });
}

/// Row E: dead4 twice, v4 listens.
#[test]
fn silent_addresses_of_one_family_cost_two_attempt_delays() {
    inside("silent_addresses_of_one_family_cost_two_attempt_delays", |namespace| {
        namespace.hosts(&[("e", &[SILENT_V4[0], SILENT_V4[1], OWN_V4])]);
        let _server = listen(OWN_V4);
        delays("e", ATTEMPT_DELAY, 2);
    });
}

/// Row F: dead6, refused v4, another v6 listens: the refusal costs nothing beside the one attempt delay.
#[test]
fn a_refusal_while_another_attempt_is_pending_starts_the_next_at_once() {
    inside("a_refusal_while_another_attempt_is_pending_starts_the_next_at_once", |namespace| {
        namespace.hosts(&[("f", &[SILENT_V6[0], OWN_V4, OWN_V6])]);
        let _server = listen(OWN_V6);
        let timeline = delays("f", ATTEMPT_DELAY, 1);
        let reasons: Vec<_> = timeline.attempts.iter().map(|attempt| attempt.reason).collect();
        assert_eq!(reasons, [Reason::DnsCompleted, Reason::PolicyTimer, Reason::PreviousAttemptFailed]);
    });
}

/// Row G: six addresses refuse, the seventh listens; under 2 ms.
#[test]
fn six_refusals_cost_nothing() {
    inside("six_refusals_cost_nothing", |namespace| {
        let addresses =
            ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7", "127.0.0.8"];
        namespace.hosts(&[("g", &addresses)]);
        let _server = listen("127.0.0.8");
        let (_, timeline) = connect("g");
        assert_eq!(timeline.attempts.len(), 7);
        let took = best(|| name_to_connected("g"));
        assert!(took < Duration::from_millis(2), "{took:?}");
    });
}

/// Row H: every address refuses: a refusal at once, and the error names each.
#[test]
fn all_refused_is_refused_at_once() {
    inside("all_refused_is_refused_at_once", |namespace| {
        namespace.hosts(&[("h", &["::1", "127.0.0.1", OWN_V6, OWN_V4])]);
        let (result, _) = connect("h");
        let error = result.unwrap_err();
        assert!(error.is_refused());
        assert!(once(|| {
            let (_, timeline) = connect("h");
            timeline.attempts[1..].iter().all(|attempt| attempt.reason == Reason::PreviousAttemptFailed)
        }));
        let text = error.to_string();
        for address in [
            "[::1]:4200 refused",
            "127.0.0.1:4200 refused",
            "[2001:2::1]:4200 refused",
            "198.18.0.1:4200 refused",
        ] {
            assert!(text.contains(address), "{text}");
        }
    });
}

/// Of several failures the one that tells most decides, and its OS error is the source.
#[test]
fn the_failure_that_tells_most_is_the_source() {
    inside("the_failure_that_tells_most_is_the_source", |namespace| {
        namespace::run("ip route add prohibit 198.18.1.0/24");
        namespace::run("ip route add unreachable 198.18.2.0/24");
        namespace.hosts(&[("mixed", &["127.0.0.1", "198.18.2.1", "198.18.1.1"])]);
        let (result, timeline) = connect("mixed");
        let error = result.unwrap_err();
        assert!(error.is_not_permitted(), "{error}");
        let came_to: Vec<_> = timeline.attempts.iter().map(|attempt| attempt.outcome).collect();
        assert_eq!(came_to, [Outcome::Refused, Outcome::Unreachable, Outcome::NotPermitted]);
        let source = error.source().unwrap().downcast_ref::<std::io::Error>().unwrap();
        assert_eq!(source.raw_os_error(), timeline.attempts[2].os_error.map(|error| error.code));
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    });
}

/// Row I: many addresses, and the first listens: the others are left alone.
#[test]
fn nothing_is_tried_after_a_success() {
    inside("nothing_is_tried_after_a_success", |namespace| {
        let addresses: Vec<String> = (1..=200).map(|n| format!("127.0.1.{n}")).collect();
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        namespace.hosts(&[("i", &addresses)]);
        let server = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
        let (result, timeline) = connect("i");
        assert_eq!(timeline.attempts.len(), 1);
        assert_eq!(timeline.resolution.unwrap().addresses.len(), 200);
        assert_eq!(server.accept().unwrap().1, result.unwrap().local_addr().unwrap());
        server.set_nonblocking(true).unwrap();
        assert!(server.accept().is_err(), "a second connection");
    });
}

/// Two silent addresses of this host cost two local attempt delays.
#[test]
fn silent_local_addresses_cost_local_attempt_delays() {
    inside("silent_local_addresses_cost_local_attempt_delays", |namespace| {
        namespace.hosts(&[("local", &["::1", "127.0.0.2", "127.0.0.1"])]);
        if namespace.silence("::1".parse().unwrap()) && namespace.silence("127.0.0.2".parse().unwrap()) {
            let _server = listen("127.0.0.1");
            delays("local", LOCAL_ATTEMPT_DELAY, 2);
        }
    });
}

/// `localhost` with ::1 silent and a server on 127.0.0.1: connected in under 15 ms.
#[test]
fn localhost_with_a_silent_v6() {
    inside("localhost_with_a_silent_v6", |namespace| {
        namespace.hosts(&[("localhost", &["::1", "127.0.0.1"])]);
        if namespace.silence("::1".parse().unwrap()) {
            let _server = listen("127.0.0.1");
            delays("localhost", LOCAL_ATTEMPT_DELAY, 1);
            let took = best(|| name_to_connected("localhost"));
            assert!(took < Duration::from_millis(15), "{took:?}");
        }
    });
}

/// A server on ::1 alone is reached where the hosts file knows 127.0.0.1 alone, by every name for this host.
#[test]
fn localhost_names_reach_both_families() {
    inside("localhost_names_reach_both_families", |namespace| {
        namespace.hosts(&[("localhost", &["127.0.0.1"])]);
        for address in ["::1", "127.0.0.1"] {
            let _server = listen(address);
            for name in ["localhost", "localhost.", "app.localhost"] {
                let (result, timeline) = connect(name);
                assert_eq!(result.unwrap().peer_addr().unwrap(), at(address, PORT), "{name}: {timeline:?}");
            }
        }
    });
}

/// The limit covers a name server that never answers; so does the answer to the question what took so long.
#[test]
fn the_limit_covers_a_mute_resolver() {
    inside("the_limit_covers_a_mute_resolver", |namespace| {
        namespace.hosts(&[]);
        namespace.name_server(SILENT_V4[0]);
        let limit = Duration::from_millis(200);
        let connector = Connector::new().connect_timeout(limit);
        let before = held();
        let (result, timeline) = connector.connect_timeline(&"mute.example:80".parse().unwrap());
        let error = result.unwrap_err();
        assert!(error.is_timed_out(), "{error:?}");
        assert!(error.to_string().contains("before any address was tried"), "{error}");
        assert!(timeline.elapsed >= limit && timeline.elapsed < NAME_SERVER_PATIENCE, "{timeline:?}");
        assert_eq!(timeline.resolution.unwrap().failure, Some(Outcome::TimedOut));
        // getaddrinfo cannot be stopped, so the question is still being asked; but questions do not pile up.
        let connector = Connector::new().connect_timeout(Duration::from_millis(2));
        for _ in 0..2 * MAX_ABANDONED {
            let error = connector.connect("mute.example:80").unwrap_err();
            assert!(error.is_timed_out() || error.is_exhausted(), "{error:?}");
        }
        let (before, after) = (before.unwrap(), held().unwrap());
        assert!(after.1 <= before.1 + MAX_ABANDONED, "{before:?} before, {after:?} after");
        assert!(connector.connect("mute.example:80").unwrap_err().is_exhausted());
    });
}

/// The limit ends a race with silent addresses, and the error says what each came to.
#[test]
fn the_limit_ends_a_race() {
    inside("the_limit_ends_a_race", |namespace| {
        namespace.hosts(&[("silent", &[SILENT_V6[0], OWN_V4, SILENT_V4[0]])]);
        let limit = Duration::from_millis(300);
        let connector = Connector::new().connect_timeout(limit);
        let target = Target::try_from(("silent", PORT)).unwrap();
        let (result, timeline) = connector.connect_timeline(&target);
        let error = result.unwrap_err();
        assert!(error.is_timed_out());
        assert!(timeline.elapsed >= limit, "{timeline:?}");
        let expected = [
            (at(SILENT_V6[0], PORT), Outcome::TimedOut),
            (at(OWN_V4, PORT), Outcome::Refused),
            (at(SILENT_V4[0], PORT), Outcome::TimedOut),
        ];
        assert!(once(|| {
            let (_, timeline) = connector.connect_timeline(&target);
            timeline.elapsed < limit + ATTEMPT_DELAY && outcomes(&timeline) == expected
        }));
        assert!(error.to_string().contains("198.18.0.1:4200 refused"), "{error}");
    });
}

/// Only the addresses of the wanted family are tried.
#[test]
fn the_family_is_restricted() {
    inside("the_family_is_restricted", |namespace| {
        namespace.hosts(&[("both", &["::1", "127.0.0.1"]), ("v4", &["127.0.0.1"])]);
        let _servers = [listen("::1"), listen("127.0.0.1")];
        let target = Target::try_from(("both", PORT)).unwrap();
        for (family, address) in [(Family::V4, "127.0.0.1"), (Family::V6, "::1")] {
            let (result, timeline) = Connector::new().family(family).connect_timeline(&target);
            assert_eq!(result.unwrap().peer_addr().unwrap(), at(address, PORT));
            assert_eq!(timeline.attempts.len(), 1);
        }
        let error = Connector::new().family(Family::V6).connect(("v4", PORT)).unwrap_err();
        assert!(error.is_no_name(), "{error}");
    });
}

/// Where the kernel has few ports to choose from, std soon connects to itself; we never do, and say refused.
#[test]
fn a_connect_to_itself_is_refused() {
    inside("a_connect_to_itself_is_refused", |namespace| {
        namespace.hosts(&[("self", &["127.0.0.1", OWN_V4])]);
        std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40007").unwrap();
        let connector = Connector::new();
        for address in ["127.0.0.1", "::1", OWN_V4, OWN_V6] {
            let address = at(address, 40000);
            let hits = (0..200).filter(|_| TcpStream::connect(address).is_ok()).count();
            assert!(hits > 0, "std does not connect to itself at {address}");
            for _ in 0..200 {
                let error = connector.connect(address).unwrap_err();
                assert!(error.is_refused(), "{error}");
            }
        }
        for _ in 0..200 {
            assert!(connector.connect("self:40000").unwrap_err().is_refused());
        }
    });
}

/// Set in a process that connects to two addresses while the test holds it: the limit in ms.
const CLIENT: &str = "UNSTALL_TEST_CLIENT";

/// What the held process does: connect, say where to, and keep the stream until something comes.
fn held_client(limit: &str) {
    let limit = Duration::from_millis(limit.parse().unwrap());
    let mut winner = Connector::new().connect_timeout(limit).connect(("two", PORT)).unwrap();
    println!("winner {}", winner.peer_addr().unwrap());
    winner.read_exact(&mut [0]).unwrap();
}

/// Stops a process while so many of its connects are under way. Where nobody tells of listeners it makes attempts afresh, and then one
/// may just be closed and not there again.
fn hold_with_syns_sent(process: u32, count: usize) {
    for _ in 0..100 {
        namespace::wait_for_syn_sent(count);
        namespace::run(&format!("kill -STOP {process}"));
        let stat = format!("/proc/{process}/stat");
        while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
            std::thread::yield_now();
        }
        if namespace::syn_sent() == count {
            return;
        }
        namespace::run(&format!("kill -CONT {process}"));
    }
    panic!("never stopped with {count} connects under way");
}

/// Lets both attempts of a client connect while it is stopped, lets `limit` pass if `late`, and checks that one of them wins and
/// that the other is closed.
fn both_connect_while_the_client_is_held(test: &str, namespace: &mut Namespace, limit: Duration, late: bool) {
    let addresses = ["127.0.0.2", "127.0.0.3"];
    namespace.hosts(&[("two", &addresses)]);
    if !addresses.iter().all(|address| namespace.silence(address.parse().unwrap())) {
        return;
    }
    let servers = addresses.map(listen);
    let start = Instant::now();
    let mut client = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", test])
        .env(CLIENT, limit.as_millis().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    hold_with_syns_sent(client.id(), addresses.len());
    namespace::end_silence();
    // The kernel sends the SYNs again after a second.
    let mut streams = servers.map(|server| server.accept().unwrap().0);
    if late {
        std::thread::sleep((limit + LOCAL_ATTEMPT_DELAY).saturating_sub(start.elapsed()));
    }
    namespace::run(&format!("kill -CONT {}", client.id()));
    let mut said = BufReader::new(client.stdout.take().unwrap()).lines().map_while(Result::ok);
    let winner = said.find(|line| line.contains("winner")).unwrap();
    let won = addresses.iter().position(|address| winner.contains(address)).unwrap();
    assert_eq!(streams[1 - won].read(&mut [0]).unwrap(), 0, "the loser is closed");
    streams[won].write_all(b"!").unwrap();
    assert!(client.wait().unwrap().success());
}

/// Two attempts connect before the race looks: one wins, the other is closed and its server sees the end of the stream.
#[test]
fn of_two_winners_one_is_closed() {
    const TEST: &str = "of_two_winners_one_is_closed";
    if let Ok(limit) = std::env::var(CLIENT) {
        return held_client(&limit);
    }
    inside(TEST, |namespace| {
        both_connect_while_the_client_is_held(TEST, namespace, Duration::from_secs(60), false);
    });
}

/// A connect that was made in time is not lost because the program was held up beyond its limit.
#[test]
fn what_is_there_when_the_limit_strikes_is_taken() {
    const TEST: &str = "what_is_there_when_the_limit_strikes_is_taken";
    if let Ok(limit) = std::env::var(CLIENT) {
        return held_client(&limit);
    }
    inside(TEST, |namespace| {
        both_connect_while_the_client_is_held(TEST, namespace, Duration::from_millis(1500), true);
    });
}
