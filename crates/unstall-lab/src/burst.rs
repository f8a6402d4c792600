//! nodejs/node#38736 by one call: 300 requests at once to a server of the same process, and its accept queue.
//!
//! Windows answers with RST when the queue is full; its SYN retry hides that, and whoever takes the retry away (libuv does
//! since 2020) gets refused by a server that listens. Linux drops the SYN instead, and the next comes after a second.
//!
//! Retries come in lockstep: Linux' timer wheel fires those of a burst in one tick, so each wave fills the queue before
//! anything is accepted, and a burst of more than about five times the queue is refused in part even with the retry. That is
//! a property of the emulation until it is shown on Windows; [`Plan::pace`] takes it away.

use crate::client::{self, Answer, End, Request};
use crate::engine::EngineChoice;
use crate::error::Error;
use crate::lab::Lab;
use crate::profile::{Profile, Retries};
use crate::program::Program;
use crate::units::shown;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The lab's own client, see [`crate::client`].
    pub client: Program,
    /// How many connects at once. Default 300.
    pub count: usize,
    /// How many may wait to be accepted. Default 232, which the report shows: presumably Windows' cap of 200 and the 32 calls
    /// to AcceptEx that libuv posts in advance.
    pub queue: u32,
    /// How often each case is run. Default 3.
    pub runs: usize,
    /// Whether the SYNs of a burst are spread. Default off.
    pub pace: bool,
}

impl Plan {
    /// With the defaults.
    pub const fn new(client: Program) -> Self {
        Self { client, count: 300, queue: 232, runs: 3, pace: false }
    }

    /// Whether this is the burst of the report.
    fn is_published(&self) -> bool {
        (self.count, self.queue) == (300, 232)
    }
}

/// One way to connect.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Case {
    /// Which.
    pub name: &'static str,
    /// The profile.
    pub profile: String,
    /// What somebody has published of it on Windows. null: nothing for this burst.
    pub published: Option<Published>,
    /// What came of each run.
    pub runs: Vec<Run>,
}

/// A published result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Published {
    /// How many connects were refused.
    pub refused: usize,
    /// The first that was, counted from 0.
    pub first: Option<usize>,
    /// The last that was.
    pub last: Option<usize>,
    /// Where.
    pub source: &'static str,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Run {
    /// How many connects were refused.
    pub refused: usize,
    /// The first that was, counted from 0.
    pub first: Option<usize>,
    /// The last that was.
    pub last: Option<usize>,
    /// How many were connected.
    pub connected: usize,
    /// How many connections the server accepted; fewer than connected are ghosts, which plain Linux makes.
    pub accepted: usize,
    /// How long the last connect took.
    pub longest_ns: u64,
}

impl Run {
    fn of(answer: &Answer) -> Self {
        let refused = answer.indices(End::Refused);
        Self {
            refused: refused.len(),
            first: refused.first().copied(),
            last: refused.last().copied(),
            connected: answer.indices(End::Connected).len(),
            accepted: answer.accepted,
            longest_ns: u64::try_from(answer.longest().as_nanos()).unwrap_or(u64::MAX),
        }
    }

    /// How long the last connect took.
    pub const fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest_ns)
    }
}

const REPORT: &str = "nodejs/node#38736 (Windows 10 20H2)";

/// Runs every case.
///
/// # Errors
///
/// As [`crate::Builder::start`]: this needs root.
pub fn run(plan: &Plan) -> Result<Vec<Case>, Error> {
    let windows = || Profile::find("windows-11");
    let published = |refused: usize, calls: Option<RangeInclusive<usize>>| {
        let (first, last) =
            (calls.as_ref().map(|calls| *calls.start()), calls.as_ref().map(|calls| *calls.end()));
        plan.is_published().then_some(Published { refused, first, last, source: REPORT })
    };
    let none = windows()?.with_retries(Retries::Count(0));
    Ok(vec![
        case(plan, "no retry, as libuv asks for since Node 12.19", &none, published(68, Some(232..=299)))?,
        case(plan, "Windows' default", &windows()?, published(0, None))?,
        case(plan, "plain Linux", &Profile::find("linux")?, None)?,
    ])
}

fn case(
    plan: &Plan,
    name: &'static str,
    profile: &Profile,
    published: Option<Published>,
) -> Result<Case, Error> {
    let runs: Result<Vec<Run>, Error> = (0..plan.runs).map(|_| burst(plan, profile.clone())).collect();
    Ok(Case { name, profile: profile.name.clone(), published, runs: runs? })
}

fn burst(plan: &Plan, profile: Profile) -> Result<Run, Error> {
    let profile = profile.with_longest_queue(plan.queue);
    let lab = Lab::builder(profile).engine(EngineChoice::Bpf).pace(plan.pace).start()?;
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    // The server asks for more than it gets, as servers do.
    let request = Request { count: plan.count, listen: Some(65_535), ..Request::new(at) };
    client::run(&lab, &plan.client, &request).map(|answer| Run::of(&answer))
}

/// The cases for a terminal.
pub fn to_text(cases: &[Case]) -> String {
    let mut text = String::new();
    for case in cases {
        let _ = writeln!(text, "burst, {}", case.name);
        if let Some(published) = case.published {
            let refused = refused(published.refused, published.first, published.last);
            let _ = writeln!(text, "  published {refused} ({})", published.source);
        }
        for run in &case.runs {
            let _ = writeln!(text, "  emulated  {}", outcome(*run));
        }
    }
    text + "Retries come in lockstep: a property of the emulation until shown otherwise on Windows; --pace spreads them.\n"
}

fn outcome(run: Run) -> String {
    let refused = refused(run.refused, run.first, run.last);
    let ghosts = match run.connected.saturating_sub(run.accepted) {
        0 => String::new(),
        ghosts => format!(", {ghosts} connected but not accepted"),
    };
    format!("{refused}, last after {}{ghosts}", shown(run.longest_ns))
}

fn refused(count: usize, first: Option<usize>, last: Option<usize>) -> String {
    match (first, last) {
        (Some(first), Some(last)) => format!("{count} refused, calls {first} to {last}"),
        _ => format!("{count} refused"),
    }
}
