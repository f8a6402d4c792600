//! Profiles as a client sees them and as they are on the wire. Every wait is a kernel timer's, so the tests run side by side.

mod common;

use common::{client, is_installed, is_root};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;
use unstall_lab::client::{self as own, Answer, By, End, Request};
use unstall_lab::wire::{Capture, Connect, connects};
use unstall_lab::{Counts, Ended, Engine, Lab, Profile, Program, Retries};

/// A slot of the timer wheel at the coarsest common HZ (100: 10 ms, 250: 32 ms), and as much for the machine.
const SLACK: Duration = Duration::from_millis(64);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn windows() -> Profile {
    Profile::find("windows-11").expect("built in")
}

fn lab(profile: Profile) -> Lab {
    Lab::builder(profile).start().expect("a lab")
}

/// Does it, and what it looked like on the wire.
fn watched(lab: &Lab, request: &Request) -> (Answer, Vec<Connect>) {
    let capture = Capture::start(lab).expect("a capture");
    let answer = own::run(lab, &client(), request).expect("the client runs");
    (answer, connects(&capture.segments().expect("packets")))
}

/// Refused, and how long it took.
fn refused(lab: &Lab, request: &Request) -> Duration {
    let answer = own::run(lab, &client(), request).expect("the client runs");
    assert_eq!(answer.indices(End::Refused).len(), request.count, "{request:?}: {answer:?}");
    answer.longest()
}

#[test]
fn windows_retries_a_refused_connect_four_times_everywhere() {
    if !is_root("windows_retries_a_refused_connect_four_times_everywhere") {
        return;
    }
    let lab = Lab::builder(windows()).address([198, 51, 100, 1].into()).start().expect("a lab");
    assert_eq!(lab.engine(), Engine::Bpf);
    assert!(lab.notes().is_empty(), "{:?}", lab.notes());
    let destinations = ["127.0.0.1:9", "[::1]:9", "127.1.2.3:9", "[::ffff:127.0.0.1]:9", "198.51.100.1:9"];
    thread::scope(|scope| {
        for destination in destinations {
            let lab = &lab;
            scope.spawn(move || {
                let took = refused(lab, &Request::new(address(destination)));
                assert!((ms(1980)..=ms(2100)).contains(&took), "{destination}: {took:?}");
            });
        }
    });
    let counts = Counts { resets_held: 20, resets_passed: 5, full_queue_resets: 0 };
    assert_eq!(lab.counts(), Some(counts));
}

#[test]
fn the_wire_shows_five_syns_and_five_resets() {
    if !is_root("the_wire_shows_five_syns_and_five_resets") {
        return;
    }
    let lab = lab(windows());
    for destination in ["127.0.0.1:9", "[::1]:9"] {
        let (answer, connects) = watched(&lab, &Request::new(address(destination)));
        assert_eq!(answer.indices(End::Refused), [0]);
        let [connect] = &connects[..] else { panic!("one connect: {connects:?}") };
        assert_eq!((connect.to, connect.syns.len(), connect.resets.len()), (address(destination), 5, 5));
        for space in connect.spacing() {
            assert!((ms(495)..=ms(530)).contains(&space), "{destination}: {connect:?}");
        }
        // Each RST follows its SYN at once; the client sees the last one.
        for (syn, reset) in connect.syns.iter().zip(&connect.resets) {
            assert!(reset.abs_diff(*syn) < ms(5), "{connect:?}");
        }
        assert!(answer.longest() >= connect.resets[4] && answer.longest() < connect.resets[4] + SLACK);
    }
}

/// The ioctl's values, by both options and in both families.
#[test]
fn a_socket_gets_as_many_retries_as_it_asks_for() {
    if !is_root("a_socket_gets_as_many_retries_as_it_asks_for") {
        return;
    }
    let lab = lab(windows());
    thread::scope(|scope| {
        for to in ["127.0.0.1:9", "[::1]:9", "[::ffff:127.0.0.1]:9"] {
            for by in [By::Ttl, By::Mark] {
                for retries in [0, 1, 2, 4, 8] {
                    let (lab, request) =
                        (&lab, Request { ask: Some(retries), by, ..Request::new(address(to)) });
                    scope.spawn(move || {
                        let took = refused(lab, &request);
                        let (least, most) = match retries {
                            // Under 2 ms when nothing else runs; here everything does.
                            0 => (Duration::ZERO, ms(50)),
                            retries => (ms(495) * retries.into(), ms(530) * retries.into()),
                        };
                        assert!((least..=most + SLACK).contains(&took), "{request:?}: {took:?}");
                    });
                }
            }
        }
    });
}

#[test]
fn a_socket_that_asks_for_no_retry_is_refused_at_once() {
    if !is_root("a_socket_that_asks_for_no_retry_is_refused_at_once") {
        return;
    }
    let lab = lab(windows());
    for to in ["127.0.0.1:9", "[::1]:9"] {
        let request = Request { ask: Some(0), ..Request::new(address(to)) };
        let fastest = (0..20).map(|_| refused(&lab, &request)).min().expect("20 times");
        assert!(fastest < ms(2), "{to}: {fastest:?}");
        let (_, connects) = watched(&lab, &request);
        assert_eq!((connects[0].syns.len(), connects[0].resets.len()), (1, 1));
    }
}

#[test]
fn three_hundred_at_once_wait_no_longer_than_one() {
    if !is_root("three_hundred_at_once_wait_no_longer_than_one") {
        return;
    }
    let lab = lab(windows());
    let answer = own::run(&lab, &client(), &Request { count: 300, ..Request::new(address("127.0.0.1:9")) });
    let answer = answer.expect("the client runs");
    assert_eq!(answer.indices(End::Refused).len(), 300);
    for attempt in &answer.attempts {
        assert!((ms(1980)..=ms(2150)).contains(&attempt.elapsed()), "{attempt:?}");
    }
}

#[test]
fn other_profiles_are_what_they_say() {
    if !is_root("other_profiles_are_what_they_say") {
        return;
    }
    let expected = [
        ("windows-tuned", None, ms(1000)..=ms(1060)),
        ("windows-nt4", None, ms(1480)..=ms(1600)),
        ("windows-no-retry", None, ms(0)..=ms(50)),
        ("linux", None, ms(0)..=ms(50)),
        ("linux", Some(Retries::Count(1)), ms(495)..=ms(530)),
    ];
    thread::scope(|scope| {
        for (name, retries, range) in expected {
            scope.spawn(move || {
                let profile = Profile::find(name).expect("built in");
                let lab = lab(retries.map_or(profile.clone(), |retries| profile.with_retries(retries)));
                let took = refused(&lab, &Request::new(address("127.0.0.1:9")));
                assert!((*range.start()..=*range.end() + SLACK).contains(&took), "{name}: {took:?}");
            });
        }
    });
}

/// Only to 127.0.0.1, as in WSL's mirrored mode.
#[test]
fn a_lost_reset_is_lost_where_the_profile_says_so() {
    if !is_root("a_lost_reset_is_lost_where_the_profile_says_so") {
        return;
    }
    let lab = lab(Profile::find("rst-lost").expect("built in"));
    for other in ["127.0.0.2:9", "[::1]:9"] {
        let took = refused(&lab, &Request::new(address(other)));
        assert!(took < ms(50), "{other}: {took:?}");
    }
    let request = Request { ask: Some(0), limit_ms: 1500, ..Request::new(address("127.0.0.1:9")) };
    let (answer, connects) = watched(&lab, &request);
    assert_eq!(answer.indices(End::Limit), [0], "whatever the socket asks for");
    // Linux' own second between SYNs.
    let lost: Vec<&Connect> = connects.iter().filter(|connect| connect.to == request.to).collect();
    assert_eq!((lost[0].syns.len(), lost[0].resets.len()), (2, 2), "{lost:?}");
}

/// The longest of these tests: 7 s, and 21 s beside it.
#[test]
fn silence_lasts_as_long_as_on_windows() {
    if !is_root("silence_lasts_as_long_as_on_windows") {
        return;
    }
    thread::scope(|scope| {
        for (name, seconds) in [("windows-tuned", 7), ("windows-11", 21)] {
            scope.spawn(move || {
                let lab = lab(Profile::find(name).expect("built in").with_retries(Retries::Lost));
                let request = Request { limit_ms: 60_000, ..Request::new(address("127.0.0.1:9")) };
                let answer = own::run(&lab, &client(), &request).expect("the client runs");
                assert_eq!(answer.indices(End::TimedOut), [0], "{name}");
                let wanted = Duration::from_secs(seconds);
                assert!(answer.longest().abs_diff(wanted) < wanted / 10, "{name}: {:?}", answer.longest());
            });
        }
    });
}

/// What curl says itself, in seconds, and its exit code.
fn curl(lab: &Lab, words: &[&str]) -> (Duration, Ended) {
    let curl =
        Program::new("curl").arguments(["-s", "-o", "/dev/null", "-w", "%{time_total}"]).arguments(words);
    let finished = lab.output(&curl, Some(Duration::from_secs(10))).expect("curl runs");
    let seconds = String::from_utf8_lossy(&finished.stdout).parse().expect("a number of seconds");
    (Duration::from_secs_f64(seconds), finished.ended)
}

#[test]
fn curl_is_refused_as_on_windows() {
    const TEST: &str = "curl_is_refused_as_on_windows";
    if !is_root(TEST) || !is_installed(TEST, "curl") {
        return;
    }
    let lab = lab(windows());
    let refused = Ended::Exited(7);
    let timed_out = Ended::Exited(28);
    let rows: [(&[&str], usize, _, _); 5] = [
        (&["http://127.0.0.1:9/"], 20, ms(1980)..=ms(2100) + SLACK, refused),
        (&["http://[::1]:9/"], 20, ms(1980)..=ms(2100) + SLACK, refused),
        // Its second address starts 200 ms later.
        (&["http://localhost:9/"], 5, ms(2180)..=ms(2300) + SLACK, refused),
        // The trap of a limit of two seconds: never a refusal.
        (&["-m", "2", "http://127.0.0.1:9/"], 5, ms(1990)..=ms(2010) + SLACK, timed_out),
        (&["--connect-timeout", "0.5", "http://127.0.0.1:9/"], 5, ms(490)..=ms(520) + SLACK, timed_out),
    ];
    thread::scope(|scope| {
        for (words, runs, times, ended) in &rows {
            for _ in 0..*runs {
                let lab = &lab;
                scope.spawn(move || {
                    let (took, how) = curl(lab, words);
                    assert_eq!(how, *ended, "{words:?} after {took:?}");
                    assert!(times.contains(&took), "{words:?}: {took:?}");
                });
            }
        }
    });
}
