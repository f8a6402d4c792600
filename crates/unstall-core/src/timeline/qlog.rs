//! A timeline as qlog, with the events of draft-kuehlewind-happy-qlog-00 ("Happy Eyeballs v3 Event Logging with qlog").
//!
//! [`document`] gives one JSON document (qlog's "contained" file, `application/qlog+json`), not a sequence of them. Times are
//! milliseconds since the start of the connect, by a monotonic clock.
//!
//! What the draft has no word for stands in fields of our own, which begin with `unstall_`: why an attempt started where the draft
//! knows no such reason (`unstall_reason`: `previous_attempt_failed`, `backlog_retry`, `syn_retry`; `reason` is `policy_timer` then,
//! since it is the policy that starts them), and what it came to (`unstall_outcome`, one of [`Outcome::ALL`]'s names; `result` is one
//! of the draft's four). An attempt that starts because another one failed has its timer set to 0.
//!
//! A TCP connect has no NAT64 prefix, service records or TLS, and its candidates stay, so [`Event::ALL`] says of four events that
//! they are never written.

use super::{Attempt, FamilyAnswer, Reason, Resolution, Timeline};
use crate::outcome::{OsError, Outcome};
use crate::race::{Config, Family, MAX_ATTEMPT_DELAY, MIN_ATTEMPT_DELAY};
use serde_json::{Map, Value, json};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The schema of the events; the draft's own number at its end, as it demands of whoever implements a draft.
pub const SCHEMA: &str = "urn:ietf:params:qlog:events:hev3-00";

/// An event of the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name, with the namespace: `hev3:attempt_started`.
    pub name: &'static str,
    /// Whether a TCP connect has it.
    pub written: bool,
}

const fn event(name: &'static str, written: bool) -> Event {
    Event { name, written }
}

const CONFIG_SET: Event = event("hev3:config_set", true);
const DNS_QUERY_STARTED: Event = event("hev3:dns_query_started", true);
const DNS_QUERY_FINISHED: Event = event("hev3:dns_query_finished", true);
const CANDIDATE_DISCOVERED: Event = event("hev3:candidate_discovered", true);
const CANDIDATES_SORTED: Event = event("hev3:candidates_sorted", true);
const CANDIDATES_RESORTED: Event = event("hev3:candidates_resorted", true);
const ATTEMPT_SCHEDULED: Event = event("hev3:attempt_scheduled", true);
const ATTEMPT_STARTED: Event = event("hev3:attempt_started", true);
const ATTEMPT_OUTCOME: Event = event("hev3:attempt_outcome", true);
const TIMER_SET: Event = event("hev3:next_attempt_timer_set", true);
const TIMER_FIRED: Event = event("hev3:next_attempt_timer_fired", true);
const TIMER_CANCELED: Event = event("hev3:next_attempt_timer_canceled", true);
const CONNECTION_SELECTED: Event = event("hev3:connection_selected", true);
const CONNECTION_ABORTED: Event = event("hev3:connection_aborted", true);
const METRICS: Event = event("hev3:metrics", true);

impl Event {
    /// The draft's events, in its order.
    pub const ALL: [Self; 19] = [
        CONFIG_SET,
        DNS_QUERY_STARTED,
        DNS_QUERY_FINISHED,
        event("hev3:nat64_prefix_discovered", false),
        CANDIDATE_DISCOVERED,
        CANDIDATES_SORTED,
        event("hev3:candidate_removed", false),
        CANDIDATES_RESORTED,
        ATTEMPT_SCHEDULED,
        ATTEMPT_STARTED,
        event("hev3:attempt_pended", false),
        event("hev3:attempt_resumed", false),
        ATTEMPT_OUTCOME,
        TIMER_SET,
        TIMER_FIRED,
        TIMER_CANCELED,
        CONNECTION_SELECTED,
        CONNECTION_ABORTED,
        METRICS,
    ];
}

/// The document of one connect. `session` names it among others (`he_session_id`); `config` is what it was made with; `is_local`
/// tells which addresses are this host's, whose attempt delay is the shorter one.
pub fn document(
    timeline: &Timeline,
    config: &Config,
    session: &str,
    is_local: &dyn Fn(IpAddr) -> bool,
) -> String {
    let mut log = Log { session, events: Vec::new() };
    let race = Race { timeline, config, is_local };
    log.add(Duration::ZERO, CONFIG_SET, policy(config));
    if let Some(resolution) = &timeline.resolution {
        race.resolution(&mut log, resolution);
    }
    race.candidates(&mut log);
    for (index, attempt) in timeline.attempts.iter().enumerate() {
        race.attempt(&mut log, index, attempt);
    }
    race.timers(&mut log);
    race.end(&mut log);
    log.events.sort_by_key(|(at, _)| *at);
    let events: Vec<Value> = log.events.into_iter().map(|(_, event)| event).collect();
    let document = json!({
        "file_schema": "urn:ietf:params:qlog:file:contained",
        "serialization_format": "application/qlog+json",
        "title": format!("connect to {}", timeline.target),
        "traces": [{
            "event_schemas": [SCHEMA],
            "vantage_point": { "name": "unstall", "type": "client" },
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": { "clock_type": "monotonic", "epoch": "unknown" }
            },
            "events": events
        }]
    });
    format!("{document:#}\n")
}

struct Log<'a> {
    session: &'a str,
    events: Vec<(Duration, Value)>,
}

impl Log<'_> {
    fn add(&mut self, at: Duration, event: Event, data: Value) {
        let mut all = Map::new();
        all.insert("he_session_id".to_owned(), self.session.into());
        if let Value::Object(data) = data {
            all.extend(data.into_iter().filter(|(_, value)| !value.is_null()));
        }
        self.events.push((at, json!({ "time": at.as_secs_f64() * 1000.0, "name": event.name, "data": all })));
    }
}

struct Race<'a> {
    timeline: &'a Timeline,
    config: &'a Config,
    is_local: &'a dyn Fn(IpAddr) -> bool,
}

impl Race<'_> {
    fn resolution(&self, log: &mut Log<'_>, resolution: &Resolution) {
        let hostname = self.timeline.target.host().to_string();
        let both = FamilyAnswer {
            family: self.config.family,
            end: resolution.end,
            addresses: resolution.addresses.clone(),
            failure: resolution.failure,
        };
        let apart = !resolution.answers.is_empty();
        let asked: &[Family] = match self.config.family {
            Family::Any if apart => &[Family::V6, Family::V4],
            Family::Any => &[Family::Any],
            Family::V6 => &[Family::V6],
            Family::V4 => &[Family::V4],
        };
        let answers = if apart { &resolution.answers[..] } else { std::slice::from_ref(&both) };
        for (id, &family) in asked.iter().enumerate() {
            let data =
                json!({ "dns_id": id.to_string(), "hostname": hostname, "qtypes": query_types(family) });
            log.add(resolution.start, DNS_QUERY_STARTED, data);
        }
        for answer in answers {
            let id = asked.iter().position(|&family| family == answer.family).unwrap_or_default();
            let results: Vec<_> = answer.addresses.iter().map(|&address| dns_result(address)).collect();
            let data = json!({
                "dns_id": id.to_string(),
                "hostname": hostname,
                "results": results,
                "answer_type": answer_type(answer),
                "error_code": answer.failure.and(resolution.os_error).and_then(OsError::name),
                "error_message": answer.failure.map(|failure| failure.to_string()),
                "duration_ms": ms(answer.end.saturating_sub(resolution.start)),
            });
            log.add(answer.end, DNS_QUERY_FINISHED, data);
            for &address in &answer.addresses {
                let data = json!({ "source": "dns", "target": target(address) });
                log.add(answer.end, CANDIDATE_DISCOVERED, data);
            }
        }
    }

    /// The candidates in their order when the race begins, and again when more have come.
    fn candidates(&self, log: &mut Log<'_>) {
        let begin = self.timeline.attempts.first().map(|attempt| attempt.start);
        let resolution = self.timeline.resolution.as_ref();
        let begin = begin.or(resolution.map(|resolution| resolution.end)).unwrap_or_default();
        let order = self.order();
        let late: Vec<_> = resolution.iter().flat_map(|r| &r.answers).filter(|a| a.end > begin).collect();
        let known = |at: Duration, address: &SocketAddr| {
            late.iter().all(|answer| answer.end <= at || !answer.addresses.contains(address))
        };
        let sorted: Vec<_> =
            order.iter().filter(|address| known(begin, address)).map(|&a| target(a)).collect();
        if !sorted.is_empty() {
            let data = json!({ "groups": [{ "group_id": "0", "candidates": sorted }] });
            log.add(begin, CANDIDATES_SORTED, data);
        }
        for answer in late.iter().filter(|answer| !answer.addresses.is_empty()) {
            let ended = |address: &SocketAddr| {
                let mut tries = self.timeline.attempts.iter().filter(|attempt| attempt.address == *address);
                tries.next_back().is_some_and(|attempt| attempt.end <= answer.end)
            };
            let still = order.iter().filter(|address| known(answer.end, address) && !ended(address));
            let still: Vec<_> = still.map(|&address| target(address)).collect();
            log.add(
                answer.end,
                CANDIDATES_RESORTED,
                json!({ "reason": "new_addresses", "new_order": still }),
            );
        }
    }

    fn order(&self) -> Vec<SocketAddr> {
        match &self.timeline.resolution {
            Some(resolution) => resolution.addresses.clone(),
            None => self.firsts().map(|attempt| attempt.address).collect(),
        }
    }

    /// The attempts without those that repeat one.
    fn firsts(&self) -> impl Iterator<Item = &Attempt> {
        self.timeline.attempts.iter().filter(|attempt| !is_repeated(attempt))
    }

    fn attempt(&self, log: &mut Log<'_>, index: usize, attempt: &Attempt) {
        let id = index.to_string();
        let before = self.firsts().take_while(|other| other.start < attempt.start).last();
        let scheduled = match (attempt.reason, before) {
            (Reason::PolicyTimer, Some(before)) => before.start,
            _ => attempt.start,
        };
        let known = matches!(
            attempt.reason,
            Reason::DnsCompleted | Reason::ResolutionDelayExpired | Reason::PolicyTimer
        );
        let data = json!({
            "attempt_id": id,
            "target": target(attempt.address),
            "scheduled_after_ms": ms(attempt.start.saturating_sub(scheduled)),
            "reason": if known { attempt.reason.id() } else { Reason::PolicyTimer.id() },
            "unstall_reason": (!known).then(|| attempt.reason.id()),
        });
        log.add(scheduled, ATTEMPT_SCHEDULED, data);
        let data = json!({ "attempt_id": id, "target": target(attempt.address) });
        log.add(attempt.start, ATTEMPT_STARTED, data);
        let data = json!({
            "attempt_id": id,
            "result": result(attempt.outcome),
            "error_code": attempt.os_error.map(|e| e.name().map_or(e.code.to_string(), str::to_owned)),
            "connect_duration_ms": ms(attempt.took()),
            "unstall_outcome": attempt.outcome.id(),
        });
        log.add(attempt.end, ATTEMPT_OUTCOME, data);
    }

    /// The timer runs after each start while there is a candidate left.
    fn timers(&self, log: &mut Log<'_>) {
        let firsts: Vec<_> = self.firsts().collect();
        let candidates = self.order().len();
        for (index, attempt) in firsts.iter().enumerate().filter(|(index, _)| index + 1 < candidates) {
            let delay = self.delay(attempt.start);
            log.add(attempt.start, TIMER_SET, json!({ "delay_ms": ms(delay), "reason": "initial" }));
            match firsts.get(index + 1) {
                Some(next) if next.reason == Reason::PreviousAttemptFailed => {
                    let data = json!({ "delay_ms": 0, "unstall_reason": next.reason.id() });
                    log.add(next.start, TIMER_SET, data);
                    log.add(next.start, TIMER_FIRED, Value::Null);
                }
                Some(next) => log.add(next.start, TIMER_FIRED, Value::Null),
                None => {
                    let won = self.timeline.winner();
                    let reason = if won.is_some() { "success" } else { "abort" };
                    let at = won.map_or(self.timeline.elapsed, |winner| winner.end);
                    log.add(at, TIMER_CANCELED, json!({ "reason": reason }));
                }
            }
        }
    }

    /// The attempt delay after the start of an attempt.
    fn delay(&self, at: Duration) -> Duration {
        let mut pending = self.firsts().filter(|attempt| attempt.start <= at && attempt.end >= at);
        let local = pending.all(|attempt| (self.is_local)(attempt.address.ip()));
        let delay = if local { self.config.local_attempt_delay } else { self.config.attempt_delay };
        delay.clamp(MIN_ATTEMPT_DELAY, MAX_ATTEMPT_DELAY)
    }

    fn end(&self, log: &mut Log<'_>) {
        let timeline = self.timeline;
        let winner = timeline.attempts.iter().position(|attempt| attempt.outcome == Outcome::Connected);
        let won = winner.map(|index| &timeline.attempts[index]);
        if let (Some(index), Some(won)) = (winner, won) {
            log.add(won.end, CONNECTION_SELECTED, json!({ "attempt_id": index.to_string() }));
        } else {
            let data = json!({ "reason": timeline.outcome.to_string() });
            log.add(timeline.elapsed, CONNECTION_ABORTED, data);
        }
        let data = json!({
            "outcome": if won.is_some() { "success" } else { "aborted" },
            "total_duration_ms": ms(timeline.elapsed),
            "tt_first_success_ms": won.map(|won| ms(won.end)),
            "first_success_family": won.map(|won| family(won.address)),
            "first_success_transport": won.map(|_| "tcp"),
            "attempts_total": timeline.attempts.len(),
            "attempts_success": usize::from(won.is_some()),
            "attempts_failure": timeline.attempts.len() - usize::from(won.is_some()),
        });
        let last = timeline.attempts.iter().map(|attempt| attempt.end).max();
        log.add(last.unwrap_or_default().max(timeline.elapsed), METRICS, data);
    }
}

fn policy(config: &Config) -> Value {
    let preferred = match config.family {
        Family::Any => "auto",
        Family::V4 => "ipv4",
        Family::V6 => "ipv6",
    };
    let bounded = |delay: Duration| ms(delay.clamp(MIN_ATTEMPT_DELAY, MAX_ATTEMPT_DELAY));
    json!({
        "policy": {
            "resolution_delay_ms": ms(config.resolution_delay),
            "preferred_address_family_count": 1,
            "connection_attempt_delay_ms": bounded(config.attempt_delay),
            "min_connection_attempt_delay_ms": ms(MIN_ATTEMPT_DELAY),
            "max_connection_attempt_delay_ms": ms(MAX_ATTEMPT_DELAY),
            "max_parallel_attempts": config.max_pending,
            "preferred_family": preferred,
            "success_definition": "tcp_connected",
            "use_historical_rtt": false,
            "unstall_local_attempt_delay_ms": bounded(config.local_attempt_delay),
        },
        "reason": if *config == Config::default() { "startup" } else { "app_config" },
    })
}

fn is_repeated(attempt: &Attempt) -> bool {
    matches!(attempt.reason, Reason::BacklogRetry | Reason::SynRetry)
}

fn query_types(family: Family) -> &'static [&'static str] {
    match family {
        Family::Any => &["AAAA", "A"],
        Family::V6 => &["AAAA"],
        Family::V4 => &["A"],
    }
}

fn answer_type(answer: &FamilyAnswer) -> &'static str {
    match answer.failure {
        None if !answer.addresses.is_empty() => "positive",
        None | Some(Outcome::NoName) => "negative",
        Some(_) => "error",
    }
}

fn result(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Connected => "success",
        Outcome::TimedOut => "timeout",
        Outcome::Cancelled => "canceled",
        _ => "failure",
    }
}

fn dns_result(address: SocketAddr) -> Value {
    json!({ "type": "address", "address": ip(address), "family": family(address) })
}

fn target(address: SocketAddr) -> Value {
    let family = family(address);
    json!({ "address": ip(address), "port": address.port(), "family": family, "transport": "tcp" })
}

/// The address with its zone, if it has one.
fn ip(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => format!("{}%{}", v6.ip(), v6.scope_id()),
        _ => address.ip().to_string(),
    }
}

const fn family(address: SocketAddr) -> &'static str {
    if address.is_ipv6() { "ipv6" } else { "ipv4" }
}

/// Whole milliseconds, as the draft has them; the times of the events are exact.
fn ms(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
