//! A connect's timeline as text and as JSON.

use proptest::prelude::*;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;
use unstall_core::outcome::{Operation, OsError, Outcome};
use unstall_core::syn::Prepared;
use unstall_core::text::Charset;
use unstall_core::timeline::{Attempt, Attempts, Reason, Resolution, Timeline};

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn attempt(address: &str, start: u64, end: u64, outcome: Outcome) -> Attempt {
    Attempt {
        address: address.parse().unwrap(),
        reason: Reason::DnsCompleted,
        start: us(start),
        end: us(end),
        outcome,
        os_error: None,
        prepared: None,
    }
}

/// `localhost` with nobody on ::1, which Windows takes 2 s to say.
fn slow_refusal() -> Timeline {
    let mut refused = attempt("[::1]:5000", 200, 2_030_200, Outcome::Refused);
    refused.os_error = Some(OsError { operation: Operation::Connect, code: 111 });
    refused.prepared = Some(Prepared::NotNeeded);
    let mut connected = attempt("127.0.0.1:5000", 2_030_200, 2_030_500, Outcome::Connected);
    connected.reason = Reason::PreviousAttemptFailed;
    Timeline {
        target: "localhost:5000".parse().unwrap(),
        resolution: Some(Resolution {
            start: us(0),
            end: us(200),
            addresses: vec![refused.address, connected.address],
            failure: None,
            os_error: None,
            answers: Vec::new(),
        }),
        attempts: Attempts::from(vec![refused, connected]),
        outcome: Outcome::Connected,
        elapsed: us(2_030_600),
    }
}

#[test]
fn each_address_has_a_line_and_a_bar() {
    let expected = [
        "resolve localhost  2 addresses  0.20 ms  |#                   |",
        "[::1]:5000         refused      2030 ms  |####################|",
        "127.0.0.1:5000     connected    0.30 ms  |                   #|",
    ];
    assert_eq!(slow_refusal().text(63, Charset::Ascii).lines().collect::<Vec<_>>(), expected);
    let unicode = slow_refusal().text(63, Charset::Unicode);
    let last = "127.0.0.1:5000     connected    0.30 ms  \u{2502}                   \u{2588}\u{2502}";
    assert_eq!(unicode.lines().last(), Some(last));
}

#[test]
fn a_narrow_terminal_still_gets_ten_cells() {
    for width in [0, 10, 53] {
        let text = slow_refusal().text(width, Charset::Ascii);
        assert!(text.lines().all(|line| line.chars().count() == 53), "{text}");
    }
    assert!(slow_refusal().text(54, Charset::Ascii).lines().all(|line| line.len() == 54));
}

#[test]
fn bars_follow_the_scale() {
    let timeline = Timeline {
        target: "10.0.0.1:80".parse().unwrap(),
        resolution: None,
        attempts: Attempts::from(vec![
            attempt("10.0.0.1:80", 0, 1000, Outcome::TimedOut),
            attempt("10.0.0.2:80", 250, 1000, Outcome::Cancelled),
            attempt("10.0.0.3:80", 500, 750, Outcome::Refused),
            attempt("10.0.0.4:80", 749, 750, Outcome::Refused),
            attempt("10.0.0.5:80", 1000, 1000, Outcome::Unreachable),
        ]),
        outcome: Outcome::TimedOut,
        elapsed: us(1000),
    };
    let text = timeline.text(0, Charset::Ascii);
    let bars: Vec<_> = text.lines().map(|line| &line[line.find('|').unwrap()..]).collect();
    assert_eq!(bars, ["|##########|", "|  ########|", "|     ###  |", "|       #  |", "|         #|"]);
}

#[test]
fn times_beyond_the_end_stretch_the_scale_and_odd_ones_do_no_harm() {
    let timeline = |attempts: Vec<Attempt>, elapsed| Timeline {
        target: "10.0.0.1:80".parse().unwrap(),
        resolution: None,
        attempts: Attempts::from(attempts),
        outcome: Outcome::Unknown,
        elapsed,
    };
    let bar = |timeline: Timeline| {
        let text = timeline.text(0, Charset::Ascii);
        text[text.find('|').unwrap()..].trim_end().to_owned()
    };
    let first = attempt("10.0.0.1:80", 0, 500, Outcome::Refused);
    let late = attempt("10.0.0.1:80", 0, 1000, Outcome::Refused);
    assert_eq!(bar(timeline(vec![first, late], us(10))).lines().next(), Some("|#####     |"));
    let backwards = attempt("10.0.0.1:80", 900, 100, Outcome::Refused);
    assert_eq!(bar(timeline(vec![backwards.clone()], us(1000))), "|         #|");
    assert_eq!(backwards.took(), Duration::ZERO);
    let mut endless = attempt("10.0.0.1:80", 0, 0, Outcome::Refused);
    endless.end = Duration::MAX;
    assert_eq!(bar(timeline(vec![endless], Duration::ZERO)), "|##########|");
    assert_eq!(bar(timeline(vec![attempt("10.0.0.1:80", 0, 0, Outcome::Refused)], us(0))), "|#         |");
    assert_eq!(timeline(Vec::new(), us(0)).text(80, Charset::Ascii), "");
}

#[test]
fn a_resolution_shows_what_it_came_to() {
    let line = |failure, addresses: &[&str]| {
        let mut timeline = slow_refusal();
        timeline.attempts = Attempts::new();
        let resolution = timeline.resolution.as_mut().unwrap();
        resolution.failure = failure;
        resolution.addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        timeline.text(0, Charset::Ascii)
    };
    assert!(line(None, &["10.0.0.1:80"]).starts_with("resolve localhost  1 address  0.20 ms  |"));
    assert!(line(None, &[]).contains("  0 addresses  "));
    assert!(line(Some(Outcome::NoName), &[]).contains("  no name  "));
}

#[test]
fn the_winner_is_the_attempt_that_connected() {
    let mut timeline = slow_refusal();
    assert_eq!(timeline.winner().map(|attempt| attempt.address), Some("127.0.0.1:5000".parse().unwrap()));
    assert_eq!(timeline.winner().map(Attempt::took), Some(us(300)));
    assert_eq!(timeline.resolution.as_ref().map(Resolution::took), Some(us(200)));
    timeline.attempts = timeline.attempts[..1].to_vec().into();
    assert_eq!(timeline.winner(), None);
}

#[test]
fn reasons_have_ids_and_words_of_their_own() {
    let ids: HashSet<_> = Reason::ALL.iter().map(|reason| reason.id()).collect();
    let words: HashSet<_> = Reason::ALL.iter().map(ToString::to_string).collect();
    assert_eq!((ids.len(), words.len()), (6, 6));
    assert_eq!(Reason::PolicyTimer.to_string(), "the attempt before is slow");
}

fn time() -> impl Strategy<Value = Duration> {
    any::<u64>().prop_map(Duration::from_nanos)
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop::sample::select(&Outcome::ALL[..])
}

fn os_error() -> impl Strategy<Value = Option<OsError>> {
    let operation = prop::sample::select(&Operation::ALL[..]);
    prop::option::of((operation, any::<i32>()).prop_map(|(operation, code)| OsError { operation, code }))
}

/// The flow information has no place in an address's text.
fn address() -> impl Strategy<Value = SocketAddr> {
    any::<SocketAddr>().prop_map(|address| match address {
        SocketAddr::V6(mut v6) => {
            v6.set_flowinfo(0);
            v6.into()
        }
        SocketAddr::V4(_) => address,
    })
}

fn prepared() -> impl Strategy<Value = Prepared> {
    prop_oneof![
        Just(Prepared::NoRetransmission),
        Just(Prepared::NotLocal),
        any::<u8>().prop_map(Prepared::Retransmissions),
        any::<i32>().prop_map(Prepared::NotSupported),
    ]
}

prop_compose! {
    fn any_attempt()(
        address in address(),
        reason in prop::sample::select(&Reason::ALL[..]),
        start in time(),
        end in time(),
        outcome in outcome(),
        os_error in os_error(),
        prepared in prop::option::of(prepared()),
    ) -> Attempt {
        Attempt { address, reason, start, end, outcome, os_error, prepared }
    }
}

prop_compose! {
    fn any_resolution()(
        start in time(),
        end in time(),
        addresses in prop::collection::vec(address(), 0..4),
        failure in prop::option::of(outcome()),
        os_error in os_error(),
    ) -> Resolution {
        Resolution { start, end, addresses, failure, os_error, answers: Vec::new() }
    }
}

prop_compose! {
    fn any_timeline()(
        resolution in prop::option::of(any_resolution()),
        attempts in prop::collection::vec(any_attempt(), 0..4),
        outcome in outcome(),
        elapsed in time(),
    ) -> Timeline {
        let target = "localhost:80".parse().unwrap();
        Timeline { target, resolution, attempts: Attempts::from(attempts), outcome, elapsed }
    }
}

proptest! {
    #[test]
    fn every_line_is_as_wide_as_asked_for(timeline in any_timeline(), width in 0_usize..300) {
        let text = timeline.text(width, Charset::Ascii);
        prop_assert_eq!(text.lines().count(), timeline.attempts.len() + usize::from(timeline.resolution.is_some()));
        let widths: HashSet<_> = text.lines().map(str::len).collect();
        prop_assert!(widths.len() <= 1);
        prop_assert!(text.lines().all(|line| line.len() == width || line.len() - line.find('|').unwrap() == 12));
        prop_assert!(text.lines().all(|line| line.contains('#')));
    }
}

#[cfg(feature = "serde")]
mod json {
    use super::{any_timeline, slow_refusal};
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use unstall_core::outcome::{Operation, OsError};
    use unstall_core::timeline::{Reason, Timeline};

    #[test]
    fn the_names_are_those_of_the_report() {
        let mut json = serde_json::to_value(slow_refusal()).unwrap();
        // The words depend on the platform.
        let error = json["attempts"][0]["error"].take();
        assert!(error.as_str().unwrap().contains("111"), "{error}");
        let expected = json!({
            "target": "localhost:5000",
            "outcome": "connected",
            "elapsed_ns": 2_030_600_000_u64,
            "resolve_ns": 200_000,
            "resolution": {
                "start_ns": 0, "end_ns": 200_000, "addresses": ["[::1]:5000", "127.0.0.1:5000"], "failure": null,
                "os_error": null, "operation": null, "error": null,
            },
            "attempts": [
                {
                    "address": "[::1]:5000", "reason": "dns_completed", "start_ns": 200_000,
                    "end_ns": 2_030_200_000_u64, "outcome": "refused", "os_error": 111, "operation": "connect",
                    "error": null, "prepared": "not_needed",
                },
                {
                    "address": "127.0.0.1:5000", "reason": "previous_attempt_failed", "start_ns": 2_030_200_000_u64,
                    "end_ns": 2_030_500_000_u64, "outcome": "connected", "os_error": null, "operation": null,
                    "error": null, "prepared": null,
                },
            ],
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn nothing_resolved_is_null() {
        let mut timeline = slow_refusal();
        timeline.resolution = None;
        let json = serde_json::to_value(timeline).unwrap();
        assert_eq!((&json["resolve_ns"], &json["resolution"]), (&Value::Null, &Value::Null));
    }

    #[test]
    fn the_fields_that_are_extra_may_be_missing() {
        let text = r#"{"target": "[::1]:80", "outcome": "refused", "elapsed_ns": 5, "resolve_ns": null, "attempts": [
            {"address": "[::1]:80", "reason": "dns_completed", "start_ns": 1, "end_ns": 4, "outcome": "refused",
             "os_error": 111}]}"#;
        let timeline: Timeline = serde_json::from_str(text).unwrap();
        let error = OsError { operation: Operation::Connect, code: 111 };
        assert_eq!(timeline.attempts[0].os_error, Some(error));
        assert_eq!((timeline.attempts[0].prepared, timeline.resolution), (None, None));
        let unknown = text.replace("\"dns_completed\"", "\"because\"");
        assert!(serde_json::from_str::<Timeline>(&unknown).is_err());
    }

    #[test]
    fn reasons_are_their_ids() {
        for reason in Reason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.id());
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(timeline in any_timeline()) {
            let json = serde_json::to_string(&timeline).unwrap();
            prop_assert_eq!(serde_json::from_str::<Timeline>(&json).unwrap(), timeline);
        }
    }
}
