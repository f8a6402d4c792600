//! Full accept queues, side by side in one run: servers with small backlogs that pause, crowds of clients, the default of the OS
//! beside the ioctl alone and beside a library.
//!
//! The clients are a process of the lab with a thread for each connect, the server is another process. What stands for
//! `SIO_TCP_INITIAL_RTO` is the TTL of the lab's whole network ([`crate::opt_out`]), so a client needs no change to be run with it,
//! and a library's own way to go on after a refusal is what is measured. SYNs are counted where they leave (nft), not by the client.

mod clock;
mod crowd;
mod judge;
mod render;
mod server;

pub use crowd::{Answer, Attempt, Library, Request, main};
pub use judge::Criterion;

use crate::client::End;
use crate::engine::EngineChoice;
use crate::error::{Error, Step};
use crate::isolation::privilege::Privilege;
use crate::lab::{Builder, Lab};
use crate::opt_out;
use crate::profile::{Profile, QueueAnswer};
use crate::program::Program;
use schemars::JsonSchema;
use serde::Serialize;
use server::{Served, Server};
use std::io;
use std::time::Duration;
use unstall_core::sample::Sample;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The client program, see [`main`].
    pub client: Program,
    /// Profiles. Default `windows-11` and `linux`.
    pub profiles: Vec<String>,
    /// How many connects at once. Default 300 and 2,000.
    pub counts: Vec<usize>,
    /// What the servers ask listen(2) for. Default 1, 16 and 128.
    pub backlogs: Vec<u32>,
    /// How long the servers do not accept after the first connection, in milliseconds. Default 0, 50, 300 and 1000.
    pub pauses_ms: Vec<u64>,
    /// Whether the burst of nodejs/node#38736, a queue that holds everybody, a closed port and a server that never accepts are run
    /// too. Default yes.
    pub others: bool,
    /// How often each burst is run; its figures are of all runs together. Default 1.
    pub runs: usize,
}

impl Plan {
    /// With the defaults.
    pub fn new(client: Program) -> Self {
        Self {
            client,
            profiles: ["windows-11", "linux"].map(str::to_owned).into(),
            counts: vec![300, 2000],
            backlogs: vec![1, 16, 128],
            pauses_ms: vec![0, 50, 300, 1000],
            others: true,
            runs: 1,
        }
    }
}

/// Everything that was run, and what it is judged by.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Backlog {
    /// What was run.
    pub cases: Vec<Case>,
    /// What the library is to keep.
    pub criteria: Vec<Criterion>,
}

/// One situation, with each client in it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Case {
    /// What kind of situation.
    pub kind: Kind,
    /// The profile.
    pub profile: String,
    /// Whether the profile emulates another system, so that the figures are emulated; else they are measured.
    pub emulated: bool,
    /// How many connects at once, or one after another.
    pub count: usize,
    /// How often that was run; every cell counts all runs.
    pub runs: usize,
    /// What the server asks listen(2) for. null: nobody listens.
    pub backlog: Option<u32>,
    /// How long it does not accept after the first connection. null: it never accepts.
    pub pause_ns: Option<u64>,
    /// Each client.
    pub cells: Vec<Cell>,
}

/// What kind of situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Many connects at once to a server that accepts after a pause.
    Burst,
    /// The same as in nodejs/node#38736: a queue of 232 and 300 connects.
    Report,
    /// A queue that holds everybody: what the machine itself needs for so many connects at once.
    NeverFull,
    /// Nobody listens; one connect after another.
    Closed,
    /// One connect to a server whose queue is full and stays so.
    NeverDrained,
}

/// A client in a situation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Cell {
    /// Which.
    pub client: Client,
    /// How many of its connects were connected.
    pub connected: usize,
    /// How many were refused.
    pub refused: usize,
    /// How many timed out, or had no end when the benchmark stopped waiting.
    pub timed_out: usize,
    /// How many ended otherwise: out of ports, out of memory.
    pub other: usize,
    /// How many were connected and not accepted by the server 150 ms after the last connect had ended and the pause was over.
    /// null: the server never accepts.
    pub ghosts: Option<usize>,
    /// The median of the time to the end of a connect, whatever it was.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// SYNs that left, counted by the lab's packet filter.
    pub syns: u64,
    /// The most sockets that one connect took. null: the client does not tell.
    pub most_tries: Option<u32>,
}

/// Who connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Client {
    /// `std::net::TcpStream::connect`: the OS decides.
    Default,
    /// The same with the SYN retransmission taken away and nothing done about it.
    IoctlAlone,
    /// The library.
    Ours,
}

impl Client {
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "OS default",
            Self::IoctlAlone => "ioctl alone",
            Self::Ours => "ours",
        }
    }
}

impl Cell {
    /// How many SYNs left for each connect.
    pub fn syns_per_connect(&self) -> f64 {
        let connects = self.connected + self.refused + self.timed_out + self.other;
        self.syns as f64 / connects.max(1) as f64
    }
}

/// When a burst is no longer waited for. The OS default of Linux goes on for two minutes.
const BURST_LIMIT_MS: u64 = 10_000;

/// More than anybody asks for at once.
const NEVER_FULL: u32 = 16_384;

/// How late a connection may come to a server that accepts, as for [`crate::client`].
const LATE: Duration = Duration::from_millis(150);

/// How long the client holds its connections after that.
const HELD_MS: u64 = 100;

/// The queue of nodejs/node#38736, presumably Windows' cap of 200 and the 32 calls to AcceptEx that libuv posts in advance.
const REPORT_QUEUE: u32 = 232;

/// Longer than a client needs to start all of its connects, as a server in the same thread would not accept before.
const REPORT_PAUSE_MS: u64 = 300;

/// A situation that is to be run.
#[derive(Clone, Copy, Debug)]
struct Situation {
    kind: Kind,
    count: usize,
    backlog: Option<u32>,
    pause_ms: Option<u64>,
}

/// Runs everything. `progress` is told how many situations are done, and of how many.
///
/// # Errors
///
/// As [`Builder::start`]: this needs root, and `nft`.
pub fn run(plan: &Plan, progress: impl Fn(usize, usize)) -> Result<Backlog, Error> {
    let most = plan.counts.iter().copied().max().unwrap_or_default();
    crowd::allow_descriptors(most).step("open a socket for every connect")?;
    let profiles: Vec<Profile> =
        plan.profiles.iter().map(|name| Profile::find(name)).collect::<Result<_, _>>()?;
    let resets = profiles.iter().find(|profile| answers_with_reset(profile));
    if let Some(profile) = resets.filter(|_| !matches!(Privilege::now(), Ok(Privilege::Full))) {
        return Err(Error::Missing {
            what: format!(
                "full accept queues that answer as those of `{}` need root on the host",
                profile.name
            ),
            remedy: "run it with sudo, or with --profile linux".to_owned(),
        });
    }
    let situations = situations(plan);
    let total = profiles.len() * situations.len();
    let mut cases = Vec::new();
    for profile in &profiles {
        for situation in &situations {
            progress(cases.len(), total);
            cases.push(case(plan, profile, *situation)?);
        }
    }
    let criteria = judge::all(&cases);
    Ok(Backlog { cases, criteria })
}

fn situations(plan: &Plan) -> Vec<Situation> {
    let mut situations = Vec::new();
    for &count in &plan.counts {
        for &backlog in &plan.backlogs {
            situations.extend(plan.pauses_ms.iter().map(|&pause| Situation {
                kind: Kind::Burst,
                count,
                backlog: Some(backlog),
                pause_ms: Some(pause),
            }));
        }
    }
    if plan.others {
        situations.extend(plan.counts.iter().map(|&count| Situation {
            kind: Kind::NeverFull,
            count,
            backlog: Some(NEVER_FULL),
            pause_ms: Some(0),
        }));
        let (backlog, pause_ms) = (Some(REPORT_QUEUE), Some(REPORT_PAUSE_MS));
        situations.extend([
            Situation { kind: Kind::Report, count: 300, backlog, pause_ms },
            Situation { kind: Kind::Closed, count: 100, backlog: None, pause_ms: None },
            Situation { kind: Kind::NeverDrained, count: 1, backlog: Some(1), pause_ms: None },
        ]);
    }
    situations
}

fn case(plan: &Plan, profile: &Profile, situation: Situation) -> Result<Case, Error> {
    let emulated = profile.refused.is_some() || profile.full_queue.is_some();
    // Where the OS has no SYN retransmission after a RST there is nothing to take away.
    let clients: &[Client] = if profile.refused.is_some() {
        &[Client::Default, Client::IoctlAlone, Client::Ours]
    } else {
        &[Client::Default, Client::Ours]
    };
    let cells = clients.iter().map(|client| cell(plan, profile, situation, *client));
    let (Situation { kind, count, backlog, pause_ms }, runs) = (situation, situation.runs(plan));
    let pause_ns = pause_ms.map(|ms| clock::nanoseconds(Duration::from_millis(ms)));
    let cells = cells.collect::<Result<_, _>>()?;
    Ok(Case { kind, profile: profile.name.clone(), emulated, count, runs, backlog, pause_ns, cells })
}

impl Situation {
    /// What takes seconds by the clock is the same every time.
    fn runs(self, plan: &Plan) -> usize {
        match self.kind {
            Kind::Closed | Kind::NeverDrained => 1,
            Kind::Burst | Kind::Report | Kind::NeverFull => plan.runs.max(1),
        }
    }
}

fn cell(plan: &Plan, profile: &Profile, situation: Situation, client: Client) -> Result<Cell, Error> {
    let runs = (0..situation.runs(plan)).map(|_| one_run(plan, profile, situation, client));
    Ok(counted(client, &runs.collect::<Result<Vec<_>, _>>()?))
}

/// What a run has shown.
struct Seen {
    answer: Answer,
    /// `None`: the server never accepts, or there is none.
    served: Option<Served>,
    syns: u64,
}

fn one_run(plan: &Plan, profile: &Profile, situation: Situation, client: Client) -> Result<Seen, Error> {
    let lab = builder(profile, situation, client).start()?;
    let closed = situation.backlog.is_none().then(|| server::closed(&lab)).transpose()?;
    let pause = situation.pause_ms.map(Duration::from_millis);
    let server = situation.backlog.map(|backlog| Server::start(&lab, backlog, pause)).transpose()?;
    let to = match (&server, &closed) {
        (Some(server), _) => server.address,
        (None, Some((_, address))) => *address,
        (None, None) => return Err(Error::Usage("there is nothing to connect to".to_owned())),
    };
    // A refusal that takes 2 s is not waited for a hundred times.
    let slow = situation.kind == Kind::Closed && client == Client::Default && profile.refused.is_some();
    let request = Request {
        to,
        count: if slow { 1 } else { situation.count },
        at_once: situation.kind != Kind::Closed,
        library: client == Client::Ours,
        refuses_when_full: answers_with_reset(profile),
        limit_ms: BURST_LIMIT_MS,
        hold_ms: situation.pause_ms.unwrap_or_default() + LATE.as_millis() as u64 + HELD_MS,
    };
    let before = syns(&lab)?;
    let answer = crowd::run(&lab, &plan.client, &request)?;
    let syns = syns(&lab)? - before;
    let end = server.map(Server::end);
    Ok(Seen { answer, served: end.filter(|_| pause.is_some()), syns })
}

fn builder(profile: &Profile, situation: Situation, client: Client) -> Builder {
    let profile = match situation.kind {
        Kind::Report => profile.clone().with_longest_queue(REPORT_QUEUE),
        // Windows' own cap is 200.
        Kind::NeverFull => profile.clone().with_longest_queue(NEVER_FULL),
        _ => profile.clone(),
    };
    // The coarse engine has no full queue that answers with a reset.
    let engine = if answers_with_reset(&profile) { EngineChoice::Bpf } else { EngineChoice::Auto };
    let builder = Lab::builder(profile).engine(engine).rules(COUNTER);
    if client == Client::Default {
        builder
    } else {
        builder.setting("ipv4/ip_default_ttl", &opt_out::TTL_NONE.to_string())
    }
}

fn answers_with_reset(profile: &Profile) -> bool {
    profile.full_queue.as_ref().is_some_and(|queue| queue.answer == QueueAnswer::Reset)
}

/// Counts what leaves with SYN and without ACK.
const COUNTER: &str = "\
table inet unstall_count {
  counter syns { }
  chain output {
    type filter hook output priority 0; policy accept;
    tcp flags & (syn | ack) == syn counter name syns
  }
}
";

/// How many SYNs have left so far.
fn syns(lab: &Lab) -> Result<u64, Error> {
    let nft = Program::new("nft").arguments(["list", "counter", "inet", "unstall_count", "syns"]);
    let finished = lab.output(&nft, Some(Duration::from_secs(10)))?;
    let text = String::from_utf8_lossy(&finished.stdout);
    packets(&text)
        .ok_or_else(|| io::Error::other(format!("nft says {:?}", text.trim())))
        .step("read the number of SYNs")
}

/// The number after `packets`.
fn packets(text: &str) -> Option<u64> {
    text.split_whitespace().skip_while(|word| *word != "packets").nth(1)?.parse().ok()
}

impl Seen {
    fn connected(&self) -> usize {
        self.answer.attempts.iter().filter(|attempt| attempt.end == End::Connected).count()
    }

    fn ghosts(&self) -> Option<usize> {
        let served = self.served.as_ref()?;
        let in_time = self.answer.ended_ns.max(served.resumed_ns).saturating_add(clock::nanoseconds(LATE));
        let accepted = served.accepted_ns.iter().filter(|&&time| time <= in_time).count();
        Some(self.connected().saturating_sub(accepted))
    }
}

fn counted(client: Client, runs: &[Seen]) -> Cell {
    let attempts = || runs.iter().flat_map(|seen| &seen.answer.attempts);
    let of = |wanted: fn(End) -> bool| attempts().filter(|attempt| wanted(attempt.end)).count();
    let times: Sample = attempts().map(|attempt| Duration::from_nanos(attempt.elapsed_ns)).collect();
    let figure = |time: Option<Duration>| clock::nanoseconds(time.unwrap_or_default());
    Cell {
        client,
        connected: runs.iter().map(Seen::connected).sum(),
        refused: of(|end| end == End::Refused),
        timed_out: of(|end| matches!(end, End::TimedOut | End::Limit)),
        other: of(|end| matches!(end, End::Other(_))),
        ghosts: runs.iter().map(Seen::ghosts).sum(),
        p50_ns: figure(times.median()),
        p99_ns: figure(times.p99()),
        max_ns: figure(times.max()),
        syns: runs.iter().map(|seen| seen.syns).sum(),
        most_tries: attempts().filter_map(|attempt| attempt.tries).max(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nft_s_counter_is_read() {
        let text = "table inet unstall_count {\n\tcounter syns {\n\t\tpackets 301 bytes 18060\n\t}\n}\n";
        assert_eq!(packets(text), Some(301));
        assert_eq!(packets("packets"), None);
        assert_eq!(packets("packets many"), None);
    }

    #[test]
    fn the_default_plan_has_every_situation_once() {
        let plan = Plan::new(Program::new("client"));
        let all = situations(&plan);
        assert_eq!(all.len(), 2 * 3 * 4 + 2 + 3);
        let none = Plan { others: false, pauses_ms: vec![50], counts: vec![1], ..plan };
        assert_eq!(situations(&none).len(), 3);
    }

    #[test]
    fn a_connection_that_comes_too_late_is_a_ghost() {
        let attempt = |end, ms: u64| Attempt { end, elapsed_ns: ms * 1_000_000, tries: Some(ms as u32) };
        let attempts = vec![
            attempt(End::Connected, 1),
            attempt(End::Connected, 2),
            attempt(End::Connected, 3),
            attempt(End::Refused, 4),
            attempt(End::Limit, 5),
            attempt(End::Other(12), 6),
        ];
        let answer = Answer { attempts, ended_ns: 1_000_000_000 };
        let accepted_ns = vec![900_000_000, 1_150_000_000, 1_150_000_001];
        let served = |resumed_ns| Some(Served { resumed_ns, accepted_ns: accepted_ns.clone() });
        let seen = |served| Seen { answer: answer.clone(), served, syns: 12 };
        let cell = counted(Client::Ours, &[seen(served(1))]);
        assert_eq!((cell.connected, cell.ghosts), (3, Some(1)));
        assert_eq!((cell.refused, cell.timed_out, cell.other), (1, 1, 1));
        assert_eq!((cell.max_ns, cell.most_tries), (6_000_000, Some(6)));
        assert!((cell.syns_per_connect() - 2.0).abs() < 1e-9);
        let both = counted(Client::Ours, &[seen(served(1)), seen(served(1_000_000_001))]);
        assert_eq!((both.connected, both.ghosts, both.syns), (6, Some(1), 24));
        assert_eq!(counted(Client::Ours, &[seen(None)]).ghosts, None);
    }
}
