//! Every scenario against any clients, side by side: what each gets, and after how long.
//!
//! Each run is a lab of its own, so that no run finds another's ports in TIME_WAIT. A figure is what the client's user
//! waits, the program's start-up included; how long that is shows in the scenario `both`, which is always run.

mod client;
mod judge;
mod render;

pub use client::{Client, installed};

use crate::engine::EngineChoice;
use crate::error::Error;
use crate::lab::Lab;
use crate::profile::Profile;
use crate::program::{Ended, Finished};
use crate::scenario::{self, Result as Gets, Scenario, Stage};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The scenario in which nothing is wrong.
const SOUND: &str = "both";
/// How much of a client's output is kept for the report.
const WORDS: usize = 200;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How TCP behaves.
    pub profile: Profile,
    /// What plays it.
    pub engine: EngineChoice,
    /// Which scenarios; the sound one is added when it is missing.
    pub scenarios: Vec<&'static Scenario>,
    /// Which clients.
    pub clients: Vec<Client>,
    /// How often each is run. One that does not end within the limit is not run again. Default 3.
    pub runs: usize,
    /// How long a run may take. Default 6 s: two refusals of 2.03 s each, one after the other, end within.
    pub limit: Duration,
    /// How many runs go on at the same time. Default 4: most of them only wait.
    pub jobs: usize,
}

impl Plan {
    /// Every scenario against these clients, with the defaults.
    pub fn new(profile: Profile, clients: Vec<Client>) -> Self {
        let scenarios = scenario::all().iter().collect();
        let limit = Duration::from_secs(6);
        Self { profile, engine: EngineChoice::Auto, scenarios, clients, runs: 3, limit, jobs: 4 }
    }
}

/// What came of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Matrix {
    /// The profile's name.
    pub profile: String,
    /// How long a run might take.
    pub limit_ns: u64,
    /// A row for each scenario, in the order of the plan.
    pub rows: Vec<Row>,
}

/// A scenario.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Row {
    /// Its name.
    pub scenario: &'static str,
    /// Who listens where and what the network does.
    pub about: &'static str,
    /// The best that a client can get.
    pub best: Gets,
    /// After how long, from the timers alone; null: the client's own limit decides.
    pub best_after_ns: Option<u64>,
    /// A cell for each client, in the order of the plan.
    pub cells: Vec<Cell>,
}

/// A client in a scenario.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Cell {
    /// The client's name.
    pub client: String,
    /// What it got, in the median run; null: no run could be made.
    pub result: Option<Gets>,
    /// Its exit code in that run; null: it was still waiting at the end of the limit.
    pub exit_code: Option<u8>,
    /// How long its user waits, start-up included; null: no run could be made.
    pub median_ns: Option<u64>,
    /// Every run, in the order in which they ended.
    pub samples_ns: Vec<u64>,
    /// The last line of what it said in that run; or why there was no run.
    pub words: String,
}

/// One run of one client.
#[derive(Clone, Debug)]
struct Run {
    gets: Gets,
    exit_code: Option<u8>,
    elapsed: Duration,
    words: String,
}

/// Runs the plan. `progress` hears how many of how many cells are done.
///
/// # Errors
///
/// [`Error::Usage`] when there is nothing to run; the first lab's error when no lab can be made at all.
pub fn run(mut plan: Plan, progress: impl Fn(usize, usize) + Sync) -> Result<Matrix, Error> {
    if plan.clients.is_empty() {
        return Err(Error::Usage(
            "no client is given, and none of those that are known is installed".to_owned(),
        ));
    }
    if !plan.scenarios.iter().any(|scenario| scenario.id == SOUND) {
        plan.scenarios.insert(0, scenario::find(SOUND)?);
    }
    // What keeps every lab from starting is told once, not in every cell.
    drop(Lab::builder(plan.profile.clone()).engine(plan.engine).start()?);
    let wide = plan.clients.len();
    let total = plan.scenarios.len() * wide;
    let queue: Mutex<VecDeque<usize>> = Mutex::new((0..total).collect());
    let cells: Mutex<Vec<Option<Cell>>> = Mutex::new(vec![None; total]);
    thread::scope(|scope| {
        for _ in 0..plan.jobs.clamp(1, total) {
            scope.spawn(|| {
                while let Some(index) = lock(&queue).pop_front() {
                    let cell = plan.cell(plan.scenarios[index / wide], &plan.clients[index % wide]);
                    let mut cells = lock(&cells);
                    cells[index] = Some(cell);
                    progress(cells.iter().flatten().count(), total);
                }
            });
        }
    });
    let mut cells = cells.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten();
    let rows = plan.scenarios.iter().map(|scenario| Row {
        scenario: scenario.id,
        about: scenario.about,
        best: scenario.best.result,
        best_after_ns: scenario.best.after.map(ns),
        cells: cells.by_ref().take(wide).collect(),
    });
    Ok(Matrix { rows: rows.collect(), profile: plan.profile.name.clone(), limit_ns: ns(plan.limit) })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Plan {
    fn cell(&self, scenario: &'static Scenario, client: &Client) -> Cell {
        let mut runs: Vec<Run> = Vec::new();
        while runs.len() < self.runs.max(1) && runs.iter().all(|run| run.exit_code.is_some()) {
            match self.once(scenario, client) {
                Ok(run) => runs.push(run),
                Err(error) if runs.is_empty() => return Cell::not_run(client, &error),
                Err(_) => break,
            }
        }
        Cell::of(client, &runs)
    }

    fn once(&self, scenario: &'static Scenario, client: &Client) -> Result<Run, Error> {
        let stage = Stage::set_up(scenario, Lab::builder(self.profile.clone()).engine(self.engine))?;
        let program = stage
            .program(&client.words)
            .ok_or_else(|| Error::Usage(format!("the client `{}` has no command", client.name)))?;
        stage.begins();
        let finished = stage.lab().output(&program, Some(self.limit))?;
        Ok(Run::of(client, &finished))
    }
}

impl Run {
    fn of(client: &Client, finished: &Finished) -> Self {
        // The last words of its errors tell most.
        let text = [&finished.stdout[..], b"\n", &finished.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let words = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        Self {
            gets: judge::judge(client.program(), finished.ended, &text),
            exit_code: (finished.ended != Ended::TimedOut).then(|| finished.ended.code()),
            elapsed: finished.elapsed,
            words: words.chars().take(WORDS).collect(),
        }
    }
}

impl Cell {
    fn of(client: &Client, runs: &[Run]) -> Self {
        let mut sorted: Vec<&Run> = runs.iter().collect();
        sorted.sort_by_key(|run| run.elapsed);
        let median = sorted.get(sorted.len().saturating_sub(1) / 2);
        Self {
            client: client.name.clone(),
            result: median.map(|run| run.gets),
            exit_code: median.and_then(|run| run.exit_code),
            median_ns: median.map(|run| ns(run.elapsed)),
            samples_ns: runs.iter().map(|run| ns(run.elapsed)).collect(),
            words: median.map(|run| run.words.clone()).unwrap_or_default(),
        }
    }

    fn not_run(client: &Client, error: &Error) -> Self {
        Self { words: error.to_string(), ..Self::of(client, &[]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ms: u64, gets: Gets) -> Run {
        Run { gets, exit_code: Some(7), elapsed: Duration::from_millis(ms), words: format!("after {ms}") }
    }

    #[test]
    fn a_cell_is_its_median_run() {
        let client = Client::parse("curl {url}").expect("a client");
        let runs = [run(9, Gets::TimedOut), run(2, Gets::Answered), run(5, Gets::Refused)];
        let cell = Cell::of(&client, &runs);
        assert_eq!(
            (cell.result, cell.median_ns, &*cell.words),
            (Some(Gets::Refused), Some(5_000_000), "after 5")
        );
        assert_eq!(cell.samples_ns, [9_000_000, 2_000_000, 5_000_000]);
        assert_eq!(Cell::of(&client, &runs[..2]).median_ns, Some(2_000_000));
    }

    #[test]
    fn a_cell_without_a_run_has_no_figures() {
        let client = Client::parse("nowhere {url}").expect("a client");
        let cell = Cell::not_run(&client, &Error::NotFound("nowhere".to_owned()));
        assert_eq!((cell.result, cell.exit_code, cell.median_ns), (None, None, None));
        assert_eq!(cell.words, "nowhere: command not found");
    }
}
