//! Every published figure of refused connects on Windows that Linux can carry, published beside emulated.

mod render;
mod table;

use crate::burst;
use crate::client::{self, End, Request};
use crate::engine::{Engine, EngineChoice};
use crate::error::Error;
use crate::isolation::privilege::Privilege;
use crate::lab::Lab;
use crate::profile::{Profile, Retries};
use crate::program::{Ended, Program};
use crate::scenario::{self, Stage};
use schemars::JsonSchema;
use serde::Serialize;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use table::{Client, Place, ROWS, Row};

/// From this on a row is slow: it is run once, and only if asked for.
const SLOW: Duration = Duration::from_secs(60);

/// From this on a row mostly waits, and others can run beside it.
const WAITS: Duration = Duration::from_millis(100);

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The lab's own client, see [`crate::client`].
    pub client: Program,
    /// What plays the profiles.
    pub engine: EngineChoice,
    /// How often each row is run, at least once. Default 5; rows of several seconds are run once.
    pub runs: usize,
    /// Whether the rows of more than a minute are run as well. Default no.
    pub slow: bool,
    /// How many rows that mostly wait are run at the same time. Default 8.
    pub jobs: usize,
}

impl Plan {
    /// With the defaults.
    pub const fn new(client: Program) -> Self {
        Self { client, engine: EngineChoice::Auto, runs: 5, slow: false, jobs: 8 }
    }
}

/// Published beside emulated.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reference {
    /// What played the profiles.
    pub engine: Engine,
    /// A row for each published time.
    pub rows: Vec<Figure>,
    /// The burst of nodejs/node#38736. null: left out.
    pub bursts: Option<Vec<burst::Case>>,
    /// Why the burst was left out.
    pub bursts_left_out: Option<String>,
}

/// A published time and its emulation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Figure {
    /// What was measured.
    pub what: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// The least that was published.
    pub published_least_ns: u64,
    /// The most that was published.
    pub published_most_ns: u64,
    /// The exit code that was published.
    pub published_exit_code: Option<u8>,
    /// The profile of the lab.
    pub profile: &'static str,
    /// Each run's time, in nanoseconds, shortest first; empty: left out.
    pub emulated_ns: Vec<u64>,
    /// The median of those. null: left out.
    pub median_ns: Option<u64>,
    /// The last run's exit code, where the client is a program.
    pub exit_code: Option<u8>,
    /// How far the median lies outside of what was published, in per cent of the nearer end; 0 within.
    pub deviation_percent: Option<f64>,
    /// Why the row was left out, or what went wrong.
    pub left_out: Option<String>,
}

/// Runs the rows. `progress` is told how many of how many are done.
///
/// # Errors
///
/// [`Error::Missing`] when no lab can be made here at all. A row that fails says so in its place.
pub fn run(plan: &Plan, progress: impl Fn(usize, usize) + Sync) -> Result<Reference, Error> {
    let engine = plan.engine.resolve(&Profile::find("windows-11")?, Privilege::now()?)?;
    let done = AtomicUsize::new(0);
    let figures: Mutex<Vec<(usize, Figure)>> = Mutex::new(Vec::new());
    let work = |index: usize| {
        let figure = figure(plan, &ROWS[index]);
        figures.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, figure));
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, ROWS.len() + 1);
    };
    let (waiting, quick): (Vec<usize>, Vec<usize>) =
        (0..ROWS.len()).partition(|index| ROWS[*index].published.1 >= WAITS);
    let queue = Mutex::new(waiting.into_iter());
    let next = || queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..plan.jobs.max(1) {
            scope.spawn(|| {
                while let Some(index) = next() {
                    work(index);
                }
            });
        }
    });
    // Alone, since they take less than others would disturb them.
    quick.into_iter().for_each(work);
    let bursts = burst::run(&burst::Plan { runs: plan.runs.min(3), ..burst::Plan::new(plan.client.clone()) });
    progress(ROWS.len() + 1, ROWS.len() + 1);
    let mut figures = figures.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    figures.sort_by_key(|(index, _)| *index);
    let bursts_left_out = bursts.as_ref().err().map(ToString::to_string);
    let rows = figures.into_iter().map(|(_, figure)| figure).collect();
    Ok(Reference { engine, rows, bursts: bursts.ok(), bursts_left_out })
}

fn figure(plan: &Plan, row: &Row) -> Figure {
    let runs = if row.published.1 >= Duration::from_secs(5) { 1 } else { plan.runs.max(1) };
    let measured = if row.published.1 >= SLOW && !plan.slow {
        Err("takes more than a minute; --slow runs it".to_owned())
    } else {
        measure(plan, row, runs)
    };
    let (mut times, exit_code, left_out) = match measured {
        Ok((times, exit_code)) => (times, exit_code, None),
        Err(why) => (Vec::new(), None, Some(why)),
    };
    times.sort_unstable();
    let median = median(&times);
    Figure {
        what: row.what,
        source: row.source,
        published_least_ns: nanoseconds(row.published.0),
        published_most_ns: nanoseconds(row.published.1),
        published_exit_code: row.exit_code,
        profile: row.place.profile(),
        emulated_ns: times.into_iter().map(nanoseconds).collect(),
        median_ns: median.map(nanoseconds),
        exit_code,
        deviation_percent: median.map(|median| deviation(median, row.published)),
        left_out,
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Of times in order; between the two in the middle if their number is even.
fn median(times: &[Duration]) -> Option<Duration> {
    let upper = *times.get(times.len() / 2)?;
    let lower = times[(times.len() - 1) / 2];
    Some((lower + upper) / 2)
}

/// How far outside, in per cent of the nearer end.
fn deviation(median: Duration, (least, most): (Duration, Duration)) -> f64 {
    let nearer = median.clamp(least, most);
    if nearer == median { 0.0 } else { (median.as_secs_f64() / nearer.as_secs_f64() - 1.0) * 100.0 }
}

impl Place {
    const fn profile(self) -> &'static str {
        match self {
            Self::Profile(name) | Self::Silent(name) | Self::Scenario(name, _) => name,
        }
    }
}

/// The times of so many runs, and the last exit code if the client is a program.
fn measure(plan: &Plan, row: &Row, runs: usize) -> Result<(Vec<Duration>, Option<u8>), String> {
    let said = |error: Error| error.to_string();
    let profile = Profile::find(row.place.profile()).map_err(said)?;
    let profile =
        if matches!(row.place, Place::Silent(_)) { profile.with_retries(Retries::Lost) } else { profile };
    let elsewhere: SocketAddr = address(table::ELSEWHERE)?;
    let both = [Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()];
    let builder = Lab::builder(profile).engine(plan.engine).address(elsewhere.ip()).name(table::BOTH, &both);
    let (mut times, mut exit_code) = (Vec::new(), None);
    let mut note = |(time, code): (Duration, Option<u8>)| {
        times.push(time);
        exit_code = code;
    };
    if let Place::Scenario(_, id) = row.place {
        let stage = Stage::set_up(scenario::find(id).map_err(said)?, builder).map_err(said)?;
        for _ in 0..runs {
            stage.begins();
            let program = |words: &[&str]| stage.program(words).ok_or_else(|| "no program".to_owned());
            note(once(stage.lab(), plan, row, &program)?);
        }
    } else {
        let lab = builder.start().map_err(said)?;
        for _ in 0..runs {
            let program = |words: &[&str]| Program::from_words(words).ok_or_else(|| "no program".to_owned());
            note(once(&lab, plan, row, &program)?);
        }
    }
    Ok((times, exit_code))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("{text} is no address"))
}

type MakeProgram<'a> = dyn Fn(&[&str]) -> Result<Program, String> + 'a;

fn once(
    lab: &Lab,
    plan: &Plan,
    row: &Row,
    program: &MakeProgram<'_>,
) -> Result<(Duration, Option<u8>), String> {
    let limit = row.published.1 * 2 + Duration::from_secs(10);
    match row.client {
        Client::Own(to, ask) => {
            let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            let request = Request { ask, limit_ms, ..Request::new(address(to)?) };
            let answer = client::run(lab, &plan.client, &request).map_err(|e| e.to_string())?;
            match answer.attempts.first() {
                Some(attempt) if matches!(attempt.end, End::Refused | End::TimedOut) => {
                    Ok((attempt.elapsed(), None))
                }
                other => Err(format!("ended otherwise: {other:?}")),
            }
        }
        Client::Lasts(words) | Client::Writes(words) => {
            let finished = lab.output(&program(words)?, Some(limit)).map_err(|e| e.to_string())?;
            let Ended::Exited(code) = finished.ended else {
                return Err(format!("ended by {:?}", finished.ended));
            };
            let time = match row.client {
                Client::Lasts(_) => finished.elapsed,
                _ => written_seconds(&finished.stdout)?,
            };
            Ok((time, Some(code)))
        }
    }
}

/// The time that a program wrote, in seconds.
fn written_seconds(stdout: &[u8]) -> Result<Duration, String> {
    let text = String::from_utf8_lossy(stdout);
    let seconds: Option<f64> = text.trim().parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("wrote {:?} instead of a time", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviation_is_zero_within_and_counts_from_the_nearer_end() {
        let published = (Duration::from_millis(200), Duration::from_millis(400));
        let tenths = |ms: u64| (deviation(Duration::from_millis(ms), published) * 10.0).round() as i64;
        assert_eq!([200, 300, 400, 100, 440].map(tenths), [0, 0, 0, -500, 100]);
    }

    #[test]
    fn every_row_can_be_run() {
        for row in ROWS {
            assert!(Profile::find(row.place.profile()).is_ok(), "{}", row.what);
            assert!(row.published.0 <= row.published.1, "{}", row.what);
            if let Place::Scenario(_, id) = row.place {
                assert!(scenario::find(id).is_ok(), "{}", row.what);
            }
            if let Client::Own(to, _) = row.client {
                assert!(address(to).is_ok(), "{}", row.what);
            }
        }
    }

    #[test]
    fn a_written_time_is_read() {
        assert_eq!(written_seconds(b"2.034\n"), Ok(Duration::from_millis(2034)));
        assert_eq!(written_seconds(b"soon"), Err("wrote \"soon\" instead of a time".to_owned()));
        assert!(written_seconds(b"-1").is_err());
    }
}
