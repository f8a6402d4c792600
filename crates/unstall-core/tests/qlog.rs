//! Timelines as qlog, against the tables of draft-kuehlewind-happy-qlog-00: every name, every field that it demands, every word of its
//! enumerations, and its three rules of conformance.
#![cfg(feature = "qlog")]

use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::time::Duration;
use unstall_core::outcome::{Operation, OsError, Outcome};
use unstall_core::race::{Config, Family};
use unstall_core::timeline::qlog::{Event, SCHEMA, document};
use unstall_core::timeline::{Attempt, FamilyAnswer, Reason, Resolution, Timeline};

/// The draft's events and the fields that each must have beside `he_session_id`.
const DRAFT: [(&str, &[&str]); 19] = [
    ("config_set", &["policy", "reason"]),
    ("dns_query_started", &["dns_id", "hostname", "qtypes"]),
    ("dns_query_finished", &["dns_id", "hostname", "results", "duration_ms"]),
    ("nat64_prefix_discovered", &["prefix", "prefix_length", "source"]),
    ("candidate_discovered", &["source", "target"]),
    ("candidates_sorted", &["groups"]),
    ("candidate_removed", &["target", "reason"]),
    ("candidates_resorted", &["reason", "new_order"]),
    ("attempt_scheduled", &["attempt_id", "target", "scheduled_after_ms", "reason"]),
    ("attempt_started", &["attempt_id", "target"]),
    ("attempt_pended", &["attempt_id", "reason"]),
    ("attempt_resumed", &["attempt_id", "reason"]),
    ("attempt_outcome", &["attempt_id", "result"]),
    ("next_attempt_timer_set", &["delay_ms"]),
    ("next_attempt_timer_fired", &[]),
    ("next_attempt_timer_canceled", &["reason"]),
    ("connection_selected", &["attempt_id"]),
    ("connection_aborted", &["reason"]),
    ("metrics", &["outcome", "total_duration_ms", "attempts_total", "attempts_success", "attempts_failure"]),
];

/// Fields whose words the draft lists.
const WORDS: [(&str, &str, &[&str]); 10] = [
    ("config_set", "reason", &["startup", "app_config", "network_change"]),
    ("dns_query_finished", "answer_type", &["positive", "negative", "error"]),
    ("candidate_discovered", "source", &["dns", "svcb_hint", "nat64_synthesis"]),
    ("candidates_resorted", "reason", &["new_addresses", "new_svcb", "dns_push"]),
    (
        "attempt_scheduled",
        "reason",
        &["policy_timer", "dns_completed", "resolution_delay_expired", "last_resort_synthesis"],
    ),
    ("attempt_outcome", "result", &["success", "failure", "timeout", "canceled"]),
    ("next_attempt_timer_set", "reason", &["initial", "rtt_based", "handshake_progress"]),
    ("next_attempt_timer_canceled", "reason", &["success", "abort", "list_exhausted"]),
    ("metrics", "outcome", &["success", "aborted"]),
    ("metrics", "first_success_family", &["ipv4", "ipv6"]),
];

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn attempt(to: &str, reason: Reason, start: u64, end: u64, outcome: Outcome) -> Attempt {
    let failed = outcome == Outcome::Refused;
    let os_error = failed.then_some(OsError { operation: Operation::Connect, code: 111 });
    let (start, end) = (ms(start), ms(end));
    Attempt { address: address(to), reason, start, end, outcome, os_error, prepared: None }
}

fn resolution(addresses: &[&str], end: u64, failure: Option<Outcome>) -> Resolution {
    let addresses = addresses.iter().map(|text| address(text)).collect();
    Resolution { start: ms(0), end: ms(end), addresses, failure, os_error: None, answers: Vec::new() }
}

const V6: &str = "[2001:db8::1]:443";
const OTHER_V6: &str = "[2001:db8::2]:443";
const V4: &str = "198.18.0.1:443";
const LOCAL: &str = "127.0.0.1:443";

/// Every outcome, every reason, every way to end.
fn timelines() -> Vec<Timeline> {
    let timeline = |target: &str, resolution, attempts: &[Attempt], outcome, elapsed| Timeline {
        target: target.parse().unwrap(),
        resolution,
        attempts: attempts.iter().cloned().collect(),
        outcome,
        elapsed: ms(elapsed),
    };
    let slow = attempt(V6, Reason::DnsCompleted, 30, 400, Outcome::Cancelled);
    let won = attempt(V4, Reason::PolicyTimer, 280, 400, Outcome::Connected);
    let mut all = vec![
        timeline(
            "a.example:443",
            Some(resolution(&[V6, V4, OTHER_V6], 30, None)),
            &[slow.clone(), won],
            Outcome::Connected,
            400,
        ),
        timeline(
            "127.0.0.1:443",
            None,
            &[attempt(LOCAL, Reason::DnsCompleted, 0, 1, Outcome::Connected)],
            Outcome::Connected,
            1,
        ),
        timeline("a.example:443", Some(resolution(&[], 50, Some(Outcome::NoName))), &[], Outcome::NoName, 50),
        timeline(
            "a.example:443",
            Some(resolution(&[], 50, Some(Outcome::TimedOut))),
            &[],
            Outcome::TimedOut,
            50,
        ),
    ];
    let mut apart = resolution(&[V6, V4], 90, None);
    let answer = |family, end, addresses: &[&str], failure| {
        let addresses = addresses.iter().map(|text| address(text)).collect();
        FamilyAnswer { family, end: ms(end), addresses, failure }
    };
    apart.answers = vec![answer(Family::V4, 30, &[V4], None), answer(Family::V6, 90, &[V6], None)];
    let late = [
        attempt(V4, Reason::ResolutionDelayExpired, 80, 100, Outcome::Refused),
        attempt(V6, Reason::PreviousAttemptFailed, 100, 150, Outcome::Connected),
    ];
    all.push(timeline("a.example:443", Some(apart), &late, Outcome::Connected, 150));
    for reason in Reason::ALL {
        for outcome in Outcome::ALL {
            let last = attempt(V4, reason, 280, 400, outcome);
            let resolution = resolution(&[V6, V4], 30, None);
            all.push(timeline("a.example:443", Some(resolution), &[slow.clone(), last], outcome, 400));
        }
    }
    all
}

/// The events of a document, each as (name without the namespace, data, time).
fn events(text: &str) -> Vec<(String, Value, f64)> {
    let document: Value = serde_json::from_str(text).unwrap();
    assert_eq!(document["file_schema"], "urn:ietf:params:qlog:file:contained");
    assert_eq!(document["serialization_format"], "application/qlog+json");
    let trace = &document["traces"][0];
    assert_eq!(trace["event_schemas"][0], SCHEMA);
    assert_eq!(trace["common_fields"]["reference_time"]["clock_type"], "monotonic");
    let events = trace["events"].as_array().unwrap().iter();
    let event = |event: &Value| {
        let name = event["name"].as_str().unwrap().strip_prefix("hev3:").expect("the namespace").to_owned();
        (name, event["data"].clone(), event["time"].as_f64().unwrap())
    };
    events.map(event).collect()
}

fn written(timeline: &Timeline, config: &Config) -> Vec<(String, Value, f64)> {
    events(&document(timeline, config, "session-1", &|ip| ip.is_loopback()))
}

fn named<'a>(events: &'a [(String, Value, f64)], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|(of, ..)| of == name).map(|(_, data, _)| data).collect()
}

#[test]
fn the_table_is_the_drafts() {
    assert_eq!(SCHEMA, "urn:ietf:params:qlog:events:hev3-00");
    let names = Event::ALL.map(|event| event.name.strip_prefix("hev3:").unwrap());
    assert_eq!(names, DRAFT.map(|(name, _)| name));
}

#[test]
fn every_name_and_word_that_is_written_is_the_drafts() {
    let mut seen = HashSet::new();
    for timeline in timelines() {
        for (name, data, _) in written(&timeline, &Config::default()) {
            let (_, fields) = DRAFT.iter().find(|(of, _)| *of == name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(data["he_session_id"], "session-1", "{name}");
            for field in *fields {
                assert!(!data[*field].is_null(), "{name} lacks {field}: {data}");
            }
            for (_, field, words) in WORDS.iter().filter(|(of, ..)| *of == name) {
                let word = data[*field].as_str();
                assert!(word.is_none_or(|word| words.contains(&word)), "{name}.{field} is {word:?}");
            }
            seen.insert(name);
        }
    }
    for event in Event::ALL {
        let name = event.name.strip_prefix("hev3:").unwrap();
        assert_eq!(seen.contains(name), event.written, "{name}");
    }
}

/// The draft's "Conformance Requirements".
#[test]
fn each_attempt_has_one_outcome_and_each_session_one_end() {
    for timeline in timelines() {
        let events = written(&timeline, &Config::default());
        let mut results: HashMap<String, String> = HashMap::new();
        for data in named(&events, "attempt_outcome") {
            let result = data["result"].as_str().unwrap().to_owned();
            let id = data["attempt_id"].as_str().unwrap().to_owned();
            assert_eq!(results.insert(id, result), None, "a second outcome");
        }
        let started = named(&events, "attempt_started");
        assert_eq!((started.len(), results.len()), (timeline.attempts.len(), timeline.attempts.len()));
        assert!(started.iter().all(|data| results.contains_key(data["attempt_id"].as_str().unwrap())));
        let selected = named(&events, "connection_selected");
        let aborted = named(&events, "connection_aborted");
        assert_eq!(selected.len() + aborted.len(), 1);
        for data in selected {
            assert_eq!(results[data["attempt_id"].as_str().unwrap()], "success");
        }
        assert_eq!(named(&events, "metrics").len(), 1);
        assert_eq!(events.first().unwrap().0, "config_set");
        assert_eq!(events.last().unwrap().0, "metrics");
        assert!(events.windows(2).all(|pair| pair[0].2 <= pair[1].2), "in the order of time");
    }
}

/// One race in full, as a reader sees it.
#[test]
fn a_race_reads_as_it_went() {
    let events = written(&timelines()[0], &Config::default());
    let line = |(name, data, at): &(String, Value, f64)| {
        let field = |field: &str| data[field].as_str().map(|text| format!(" {text}")).unwrap_or_default();
        format!("{at} {name}{}{}{}", field("attempt_id"), field("result"), field("reason"))
    };
    let lines: Vec<_> = events.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "0 config_set startup",
            "0 dns_query_started",
            "30 dns_query_finished",
            "30 candidate_discovered",
            "30 candidate_discovered",
            "30 candidate_discovered",
            "30 candidates_sorted",
            "30 attempt_scheduled 0 dns_completed",
            "30 attempt_started 0",
            "30 attempt_scheduled 1 policy_timer",
            "30 next_attempt_timer_set initial",
            "280 attempt_started 1",
            "280 next_attempt_timer_fired",
            "280 next_attempt_timer_set initial",
            "400 attempt_outcome 0 canceled",
            "400 attempt_outcome 1 success",
            "400 next_attempt_timer_canceled success",
            "400 connection_selected 1",
            "400 metrics",
        ]
    );
}

#[test]
fn what_the_draft_has_no_word_for_has_a_field_of_ours() {
    let refused = attempt(V4, Reason::PreviousAttemptFailed, 280, 281, Outcome::Refused);
    let resolution = resolution(&[V6, V4], 30, None);
    let timeline = Timeline {
        target: "a.example:443".parse().unwrap(),
        resolution: Some(resolution),
        attempts: [attempt(V6, Reason::DnsCompleted, 30, 280, Outcome::Unreachable), refused]
            .into_iter()
            .collect(),
        outcome: Outcome::Refused,
        elapsed: ms(281),
    };
    let mut config = Config::default();
    config.attempt_delay = ms(1);
    let events = written(&timeline, &config);
    let scheduled = named(&events, "attempt_scheduled")[1];
    assert_eq!(
        (&scheduled["reason"], &scheduled["unstall_reason"]),
        (&"policy_timer".into(), &"previous_attempt_failed".into())
    );
    let outcome = named(&events, "attempt_outcome")[0];
    assert_eq!((&outcome["result"], &outcome["unstall_outcome"]), (&"failure".into(), &"unreachable".into()));
    let set = named(&events, "config_set")[0];
    assert_eq!(
        (&set["reason"], &set["policy"]["connection_attempt_delay_ms"]),
        (&"app_config".into(), &10.into())
    );
    let delays: Vec<_> =
        named(&events, "next_attempt_timer_set").iter().map(|data| data["delay_ms"].clone()).collect();
    assert_eq!(delays, [10, 0]);
}

#[test]
fn late_addresses_are_sorted_in() {
    let events = written(&timelines()[4], &Config::default());
    let sorted = named(&events, "candidates_sorted")[0];
    assert_eq!(sorted["groups"][0]["candidates"].as_array().unwrap().len(), 1);
    let order = &named(&events, "candidates_resorted")[0]["new_order"];
    let addresses: Vec<_> =
        order.as_array().unwrap().iter().map(|target| target["address"].clone()).collect();
    assert_eq!(addresses, ["2001:db8::1", "198.18.0.1"]);
    let started = named(&events, "dns_query_started");
    assert_eq!(started.iter().map(|data| data["qtypes"][0].clone()).collect::<Vec<_>>(), ["AAAA", "A"]);
}
