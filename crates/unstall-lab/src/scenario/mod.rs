//! Scenarios: who listens where and what the network does to whom, as data, and the stage that sets one up.
//!
//! [`all`] is the table. A [`Stage`] is a lab in which a scenario's servers run; it fills a client's `{url}`, `{host}` and
//! `{port}`.

mod names;
mod relay;
mod serve;
mod stage;
mod table;

pub use stage::Stage;
pub use table::all;

use crate::Error;
use std::time::Duration;

/// A network in which connects go well or badly in one particular way.
#[derive(Debug)]
pub struct Scenario {
    /// Stable name, kebab case.
    pub id: &'static str,
    /// Who listens where and what the network does, one sentence.
    pub about: &'static str,
    /// What people see of it.
    pub shows: &'static str,
    /// The host that clients are given.
    pub host: &'static str,
    /// The port that clients are given.
    pub port: u16,
    /// The best that a client can get.
    pub best: Best,
    servers: &'static [Server],
    network: &'static [Effect],
}

/// The best that a client can get out of a scenario, from the timers involved alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// What it gets.
    pub result: Result,
    /// After how long; zero stands for the microseconds that a handshake takes. `None`: its own limit decides.
    pub after: Option<Duration>,
}

/// What a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Result {
    /// A connection and an answer.
    Answered,
    /// Told that nobody listens.
    Refused,
    /// Told that nothing came in time, or it was still waiting at the end of the run's limit.
    TimedOut,
    /// A connection that ends without an answer.
    Dropped,
    /// Told that the name has no address.
    NoName,
    /// Told that the address cannot be reached or used from here.
    Unreachable,
    /// An error that says none of these.
    Failed,
}

/// A server of a scenario.
#[derive(Debug)]
struct Server {
    address: &'static str,
    port: u16,
    does: Does,
}

/// What a server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Answers each request, HTTP or not, after this long.
    Answers(Duration),
    /// Starts to listen this long after the program started, then answers.
    AnswersFrom(Duration),
    /// Accepts and closes, until this long after the program started; then answers.
    ClosesUntil(Duration),
    /// Accepts and closes.
    Closes,
    /// Accepts and resets.
    Resets,
    /// Accepts and says nothing.
    Deaf,
    /// Answers one connection at a time, and somebody else's idle one is there already.
    OneAtATime,
    /// Listens with a full accept queue, which is emptied this long after the program started, if ever.
    Full(Option<Duration>),
    /// Listens with this backlog and answers, but takes a new connection only every so often.
    Slow(u32, Duration),
    /// Answers after 20 bytes have come: two small writes make a request.
    SmallWrites,
    /// A proxy that says `502 Bad Gateway` after this long.
    BadGateway(Duration),
}

/// What the network does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// SYNs to this address get no answer. It is put on `lo`.
    Silent(&'static str),
    /// SYNs to this port get no answer.
    Filtered(u16),
    /// The routing table says that this address cannot be reached.
    Unreachable(&'static str),
    /// This host forbids its programs to reach this address.
    Forbidden(&'static str),
    /// What `localhost` is.
    Localhost(&'static [&'static str]),
    /// What a name is.
    Name(&'static str, &'static [&'static str]),
    /// The name server never answers.
    MuteNameServer,
    /// The name server answers everything with 127.0.0.1, after this long.
    SlowNameServer(Duration),
    /// A kernel setting below `/proc/sys/net`.
    Setting(&'static str, &'static str),
    /// An environment variable of the program.
    Variable(&'static str, &'static str),
    /// Every local port is taken by a connection to the first server.
    NoPortLeft,
    /// 198.18.0.1 is this far away, one way.
    Distance(Duration),
}

/// The scenario with this name.
///
/// # Errors
///
/// [`Error::Usage`], with the nearest names.
pub fn find(id: &str) -> std::result::Result<&'static Scenario, Error> {
    all().iter().find(|scenario| scenario.id == id).ok_or_else(|| {
        let known: Vec<&str> = all().iter().map(|scenario| scenario.id).collect();
        Error::Usage(format!("there is no scenario `{id}`; there are: {}", known.join(", ")))
    })
}

impl Result {
    /// In words, for tables.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::TimedOut => "timed out",
            Self::Dropped => "dropped",
            Self::NoName => "no name",
            Self::Unreachable => "unreachable",
            Self::Failed => "failed",
        }
    }
}
