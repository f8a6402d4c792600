//! How well-known clients try the addresses of a name, and what a connect by that name therefore costs each of them.
//!
//! [`CLIENTS`] is the table, [`predict`] plays a client's strategy over what each address alone came to. Nothing is run:
//! the figures are predictions from measured answers and from the timers that the sources name.

use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// How a client goes through the addresses of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// One after another, each until it ends.
    Sequential,
    /// One after another, but each except the last is given up after this long.
    GiveUp(Duration),
    /// Two racers, one for each family; within a family one after another. The second starts after this long, or as
    /// soon as the first has failed.
    TwoFamilies(Duration),
    /// Each address starts this long after the one before it, or as soon as none is pending.
    Race(Duration),
    /// Each address starts after the first delay (the second where all pending ones are local), or as soon as the newest
    /// one has failed: RFC 8305 as unstall does it.
    RaceAtOnce(Duration, Duration),
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    /// What people call it.
    pub(crate) name: &'static str,
    /// How it goes through the addresses.
    pub(crate) strategy: Strategy,
    /// Whether its local refusals are fast on Windows (it sets `SIO_TCP_INITIAL_RTO`). `None`: not known.
    pub(crate) fast_on_windows: Option<bool>,
    /// Where the strategy was read.
    pub(crate) source: &'static str,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The clients, the most common first. Sources: what was read in the named source code or measured on Linux; see
/// docs/PLATFORM.md.
pub(crate) static CLIENTS: &[Client] = &[
    Client {
        name: "curl >= 8.22",
        strategy: Strategy::Race(ms(200)),
        fast_on_windows: Some(true),
        source: "lib/cf-ip-happy.c: CURL_HET_DEFAULT 200 ms; loopback refusals fast since 8.22",
    },
    Client {
        name: "curl < 8.22",
        strategy: Strategy::Race(ms(200)),
        fast_on_windows: Some(false),
        source: "lib/cf-ip-happy.c: CURL_HET_DEFAULT 200 ms",
    },
    Client {
        name: "Node >= 20",
        strategy: Strategy::GiveUp(ms(250)),
        fast_on_windows: Some(true),
        source: "net autoSelectFamily, 250 ms, then the attempt is aborted (nodejs/node#54359)",
    },
    Client {
        name: "Go",
        strategy: Strategy::TwoFamilies(ms(300)),
        fast_on_windows: Some(true),
        source: "net/dial.go: FallbackDelay 300 ms, RFC 6555",
    },
    Client {
        name: "Chromium",
        strategy: Strategy::TwoFamilies(ms(300)),
        fast_on_windows: None,
        source: "tcp_connect_job.h: kIPv6FallbackTime 300 ms",
    },
    Client {
        name: "hyper, reqwest",
        strategy: Strategy::TwoFamilies(ms(300)),
        fast_on_windows: Some(false),
        source: "hyper-util client/legacy/connect/http.rs: 300 ms, RFC 6555",
    },
    Client {
        name: "Rust std, tokio",
        strategy: Strategy::Sequential,
        fast_on_windows: Some(false),
        source: "TcpStream::connect: one address after another (measured on Linux)",
    },
    Client {
        name: "Python",
        strategy: Strategy::Sequential,
        fast_on_windows: Some(false),
        source: "socket.create_connection (urllib, requests too): one after another; asyncio's happy_eyeballs_delay is off by default",
    },
    Client {
        name: ".NET HttpClient",
        strategy: Strategy::Sequential,
        fast_on_windows: Some(false),
        source: "SocketsHttpHandler: one after another (dotnet/runtime#117548)",
    },
    Client {
        name: "Java",
        strategy: Strategy::Sequential,
        fast_on_windows: Some(true),
        source: "OpenJDK: no happy eyeballs; loopback refusals fast since JDK-8250521",
    },
    Client {
        name: "PHP, wget, others",
        strategy: Strategy::Sequential,
        fast_on_windows: Some(false),
        source: "one address after another",
    },
    Client {
        name: "unstall",
        strategy: Strategy::RaceAtOnce(ms(250), ms(10)),
        fast_on_windows: Some(true),
        source: "this library",
    },
];

/// What one address alone came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) v6: bool,
    pub(crate) local: bool,
    pub(crate) answer: Answer,
}

/// How an address answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It connects after this long.
    Connects(Duration),
    /// It fails after this long.
    Fails(Duration),
    /// It does not answer; how long the client waits is its own limit, or the OS's.
    Silent,
}

/// What a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prediction {
    /// Connected after this long.
    Connects(Duration),
    /// Every address failed; told after this long.
    Fails(Duration),
    /// It waits for a silent address until its own limit, or the OS's.
    Waits,
}

/// How long after the start an address is over; `None`: not by itself.
fn end(answer: Answer) -> Option<Duration> {
    match answer {
        Answer::Connects(after) | Answer::Fails(after) => Some(after),
        Answer::Silent => None,
    }
}

/// Plays a strategy over the addresses, in the order in which the OS gives them.
pub(crate) fn predict(strategy: Strategy, replies: &[Reply]) -> Prediction {
    match strategy {
        Strategy::Sequential => sequential(replies, None),
        Strategy::GiveUp(limit) => sequential(replies, Some(limit)),
        Strategy::TwoFamilies(delay) => two_families(replies, delay),
        Strategy::Race(delay) => race(&interleaved(replies), |_| delay, false),
        Strategy::RaceAtOnce(delay, local) => {
            let pause = move |reply: &Reply| if reply.local { local } else { delay };
            race(&interleaved(replies), pause, true)
        }
    }
}

fn sequential(replies: &[Reply], give_up: Option<Duration>) -> Prediction {
    let mut now = Duration::ZERO;
    for (i, reply) in replies.iter().enumerate() {
        let limit = give_up.filter(|_| i + 1 < replies.len());
        match (reply.answer, limit) {
            (answer, Some(limit)) if end(answer).is_none_or(|end| end > limit) => now += limit,
            (Answer::Connects(after), _) => return Prediction::Connects(now + after),
            (Answer::Fails(after), _) => now += after,
            (Answer::Silent, _) => return Prediction::Waits,
        }
    }
    Prediction::Fails(now)
}

fn two_families(replies: &[Reply], delay: Duration) -> Prediction {
    let Some(first) = replies.first() else { return Prediction::Fails(Duration::ZERO) };
    let (primary, fallback): (Vec<Reply>, Vec<Reply>) =
        replies.iter().partition(|reply| reply.v6 == first.v6);
    let primary = sequential(&primary, None);
    if fallback.is_empty() {
        return primary;
    }
    let start = match primary {
        Prediction::Fails(after) => after.min(delay),
        Prediction::Connects(_) | Prediction::Waits => delay,
    };
    best(primary, later(sequential(&fallback, None), start))
}

fn later(prediction: Prediction, by: Duration) -> Prediction {
    match prediction {
        Prediction::Connects(after) => Prediction::Connects(after + by),
        Prediction::Fails(after) => Prediction::Fails(after + by),
        Prediction::Waits => Prediction::Waits,
    }
}

/// What a race of two comes to: the earlier connect, else whatever takes longest.
fn best(a: Prediction, b: Prediction) -> Prediction {
    match (a, b) {
        (Prediction::Connects(a), Prediction::Connects(b)) => Prediction::Connects(a.min(b)),
        (Prediction::Connects(after), _) | (_, Prediction::Connects(after)) => Prediction::Connects(after),
        (Prediction::Fails(a), Prediction::Fails(b)) => Prediction::Fails(a.max(b)),
        _ => Prediction::Waits,
    }
}

/// The first family kept first, then alternating, as every racing client does.
fn interleaved(replies: &[Reply]) -> Vec<Reply> {
    let Some(first) = replies.first() else { return Vec::new() };
    let (mut one, mut other): (Vec<Reply>, Vec<Reply>) =
        replies.iter().partition(|reply| reply.v6 == first.v6);
    let mut order = Vec::with_capacity(replies.len());
    while !one.is_empty() || !other.is_empty() {
        order.extend((!one.is_empty()).then(|| one.remove(0)));
        order.extend((!other.is_empty()).then(|| other.remove(0)));
    }
    order
}

fn race(replies: &[Reply], pause: impl Fn(&Reply) -> Duration, at_once: bool) -> Prediction {
    let mut start = Duration::ZERO;
    let mut latest = Duration::ZERO;
    let mut outcome: Option<Prediction> = None;
    for reply in replies {
        // Nothing starts once one has connected.
        if matches!(outcome, Some(Prediction::Connects(at)) if at <= start) {
            break;
        }
        let ended = end(reply.answer).map(|after| start + after);
        let this = match reply.answer {
            Answer::Connects(after) => Prediction::Connects(start + after),
            Answer::Fails(after) => Prediction::Fails(start + after),
            Answer::Silent => Prediction::Waits,
        };
        outcome = Some(outcome.map_or(this, |so_far| best(so_far, this)));
        let timer = start + pause(reply);
        latest = ended.map_or(Duration::MAX, |ended| latest.max(ended));
        // Either the newest one's failure starts the next, or the end of all that are pending.
        let trigger = if at_once { ended.unwrap_or(Duration::MAX) } else { latest };
        start = timer.min(trigger);
    }
    outcome.unwrap_or(Prediction::Fails(Duration::ZERO))
}

/// What a connect costs a client, for the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Cost {
    /// The client.
    pub(crate) client: &'static str,
    /// With the answers as they were measured here.
    pub(crate) here: Predicted,
    /// With the same answers on Windows, where a refused local connect takes 2026 ms (published) unless the client
    /// prevents it.
    pub(crate) on_windows: Predicted,
    /// Where the client's way was read.
    pub(crate) source: &'static str,
}

/// A prediction, for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Predicted {
    /// What the client gets.
    pub(crate) result: Gets,
    /// After how long; null where it waits or is not known.
    pub(crate) after_ns: Option<u64>,
}

/// What a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Gets {
    /// A connection.
    Connected,
    /// An error: every address failed.
    Failed,
    /// Nothing, until its own time limit or the operating system's strikes.
    Waits,
    /// Not known for this client.
    Unknown,
}

impl From<Prediction> for Predicted {
    fn from(prediction: Prediction) -> Self {
        let (result, after) = match prediction {
            Prediction::Connects(after) => (Gets::Connected, Some(after)),
            Prediction::Fails(after) => (Gets::Failed, Some(after)),
            Prediction::Waits => (Gets::Waits, None),
        };
        Self { result, after_ns: after.map(crate::stats::ns) }
    }
}

/// How long Windows takes to refuse a local connect by default (published: 2026 ms, curl-library, 2026-08-04).
pub(crate) const WINDOWS_REFUSAL: Duration = Duration::from_millis(2026);

/// What each client of the table pays.
pub(crate) fn costs(replies: &[Reply]) -> Vec<Cost> {
    CLIENTS.iter().map(|client| cost(client, replies)).collect()
}

fn cost(client: &Client, replies: &[Reply]) -> Cost {
    let unknown = Predicted { result: Gets::Unknown, after_ns: None };
    let on_windows = client
        .fast_on_windows
        .map_or(unknown, |fast| predict(client.strategy, &on_windows(fast, replies)).into());
    Cost {
        client: client.name,
        here: predict(client.strategy, replies).into(),
        on_windows,
        source: client.source,
    }
}

/// The same answers on Windows: a local refusal takes 2.03 s unless the client takes the retransmission away.
fn on_windows(fast: bool, replies: &[Reply]) -> Vec<Reply> {
    let stalled = |reply: &Reply| match reply.answer {
        Answer::Fails(after) if reply.local && !fast => {
            Reply { answer: Answer::Fails(after.max(WINDOWS_REFUSAL)), ..*reply }
        }
        _ => *reply,
    };
    replies.iter().map(stalled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const V6: bool = true;
    const V4: bool = false;

    fn replies(answers: &[(bool, Answer)]) -> Vec<Reply> {
        answers.iter().map(|&(v6, answer)| Reply { v6, local: true, answer }).collect()
    }

    fn of(name: &str) -> &'static Client {
        CLIENTS.iter().find(|client| client.name.starts_with(name)).expect("a row")
    }

    #[test]
    fn a_refused_first_address_costs_what_was_published_for_windows() {
        // facts: curl localhost 212 to 225 ms, Node a few ms, sequential clients 2.0 s.
        let answers = replies(&[(V6, Answer::Fails(ms(0))), (V4, Answer::Connects(ms(1)))]);
        for (name, expected) in
            [("curl <", 201), ("curl >=", 1), ("Node", 1), ("Python", 2027), (".NET", 2027), ("unstall", 1)]
        {
            let cost = cost(of(name), &answers);
            let after = |ms: u64| Predicted { result: Gets::Connected, after_ns: Some(ms * 1_000_000) };
            assert_eq!((cost.here, cost.on_windows), (after(1), after(expected)), "{name}");
        }
    }

    #[test]
    fn a_silent_first_address_costs_the_timer_or_for_ever() {
        let answers = replies(&[(V6, Answer::Silent), (V4, Answer::Connects(ms(1)))]);
        for (name, expected) in [
            ("curl >=", Some(201)),
            ("Node", Some(251)),
            ("Go", Some(301)),
            ("Chromium", Some(301)),
            ("hyper", Some(301)),
            ("Rust std", None),
            ("Python", None),
            ("unstall", Some(11)),
        ] {
            assert_eq!(cost(of(name), &answers).here.after_ns, expected.map(|ms| ms * 1_000_000), "{name}");
        }
    }

    #[test]
    fn two_families_are_serial_inside_and_races_are_not() {
        // The row `dead6, dead4, v4 ok` of the table of connectors: hyper-util more than 4 s, a race two delays.
        let answers = replies(&[(V6, Answer::Silent), (V4, Answer::Silent), (V4, Answer::Connects(ms(0)))]);
        assert_eq!(predict(Strategy::TwoFamilies(ms(300)), &answers), Prediction::Waits);
        assert_eq!(predict(Strategy::Race(ms(200)), &answers), Prediction::Connects(ms(400)));
        assert_eq!(predict(Strategy::GiveUp(ms(250)), &answers), Prediction::Connects(ms(500)));
    }

    #[test]
    fn curl_waits_for_its_timer_while_another_attempt_is_pending() {
        let answers =
            replies(&[(V6, Answer::Silent), (V4, Answer::Fails(ms(0))), (V6, Answer::Connects(ms(0)))]);
        assert_eq!(predict(Strategy::Race(ms(200)), &answers), Prediction::Connects(ms(400)));
        assert_eq!(predict(Strategy::RaceAtOnce(ms(250), ms(250)), &answers), Prediction::Connects(ms(250)));
    }

    #[test]
    fn a_slow_answer_is_aborted_by_node_alone() {
        let answers = replies(&[(V6, Answer::Connects(ms(260))), (V4, Answer::Fails(ms(0)))]);
        assert_eq!(predict(Strategy::GiveUp(ms(250)), &answers), Prediction::Fails(ms(250)));
        assert_eq!(predict(Strategy::Race(ms(200)), &answers), Prediction::Connects(ms(260)));
    }

    #[test]
    fn what_is_not_known_of_a_client_is_not_predicted() {
        let cost = cost(of("Chromium"), &replies(&[(V6, Answer::Fails(ms(0)))]));
        assert_eq!(cost.on_windows, Predicted { result: Gets::Unknown, after_ns: None });
        assert_eq!(cost.here.result, Gets::Failed);
    }

    #[test]
    fn refused_everywhere_fails_and_no_address_fails_at_once() {
        let answers = replies(&[(V6, Answer::Fails(ms(5))), (V4, Answer::Fails(ms(7)))]);
        assert_eq!(predict(Strategy::Sequential, &answers), Prediction::Fails(ms(12)));
        assert_eq!(predict(Strategy::TwoFamilies(ms(300)), &answers), Prediction::Fails(ms(12)));
        for client in CLIENTS {
            assert_eq!(predict(client.strategy, &[]), Prediction::Fails(Duration::ZERO), "{}", client.name);
        }
    }
}
