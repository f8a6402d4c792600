//! How the programs of this machine behave when a connect is refused, not answered, or reaches a server on one family alone.
//!
//! [`survey`] looks for the programs of a table (or takes those it is given), runs each before servers of our own on loopback, and
//! says what each got, after how long, and what that comes to as findings. Every figure is what the program's user
//! waits, its start-up included; how long that is shows in the situation `answers`, and findings speak of what comes on top.
//!
//! Every run is bounded, and ends with everything that it started. Nothing leaves this host. The sources of programs lie in a
//! temporary folder that goes with the survey.
#![forbid(unsafe_code)]

mod client;
mod judge;
mod lab;
mod process;
mod render;
mod situation;
mod table;
mod verdict;

pub use judge::Gets;

use client::Client;
use schemars::JsonSchema;
use serde::Serialize;
use situation::{SITUATIONS, Situation};
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use unstall_doctor::Finding;

/// Why there is no survey.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A command line that is no client.
    #[error("{0}; write for example 'curl -s {{url}}'")]
    Client(&'static str),
    /// The folder for the sources of programs.
    #[error("cannot write the sources of programs to the temporary folder: {0}")]
    Folder(#[source] io::Error),
}

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Options {
    /// Command lines with `{url}`, `{host}`, `{port}`, `{target}`, and `{limit}` for the seconds of the program's own limit. Empty:
    /// the programs of the table that are on this machine.
    pub clients: Vec<String>,
    /// How often each is run; one that takes long is run less often. Default 3.
    pub runs: usize,
    /// How long a run may take. Default 6 s: two refusals of 2.03 s one after the other end within.
    pub limit: Duration,
    /// How many run at the same time. Default 2: most of them only wait.
    pub jobs: usize,
    /// Whether the figures come from a lab that plays another system, or from Wine.
    pub emulated: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { clients: Vec::new(), runs: 3, limit: Duration::from_secs(6), jobs: 2, emulated: false }
    }
}

/// What came of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Survey {
    /// What the programs were put before.
    pub situations: Vec<Put>,
    /// How long a run might take.
    pub limit_ns: u64,
    /// The programs, in the order of the table or as they were given.
    pub clients: Vec<Surveyed>,
}

/// A situation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Put {
    /// Stable name.
    pub id: &'static str,
    /// Who listens where, and how the program is told.
    pub about: &'static str,
    /// Why it cannot be made here; null: it was made.
    pub why_not: Option<String>,
    #[serde(skip)]
    pub(crate) head: &'static str,
}

/// A program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Surveyed {
    /// What it is called, or its command line without braces.
    pub client: String,
    /// Its version; null: it tells none, or was not asked.
    pub version: Option<String>,
    /// What is known to take its stalls on Windows away; null: nothing has to, or it is not known.
    pub cure: Option<String>,
    /// Whether the lab gave its sockets what it asks for on Windows, no SYN retransmission on loopback. `false` where no lab plays
    /// Windows, or for a program that does not ask.
    pub asks_for_no_retry: bool,
    /// Why it was not run; null: it was.
    pub why_not: Option<String>,
    /// A cell for each situation, in their order.
    pub cells: Vec<Cell>,
}

/// A program in a situation.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Cell {
    /// What it got, in the median run; null: it was not run.
    pub result: Option<Gets>,
    /// Its exit code in that run; null: none.
    pub exit_code: Option<i32>,
    /// How long its user waits, start-up included; null: it was not run.
    pub median_ns: Option<u64>,
    /// Every run, in order.
    pub samples_ns: Vec<u64>,
    /// The last line that it wrote in that run, or why there was none.
    pub words: String,
}

/// The folder with the sources, for [`abandon`].
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends every program that a survey of this process runs, takes its folder away and ends the process: for the handler of an
/// interrupt.
pub fn abandon(code: u8) -> ! {
    // Held until the end: no other program starts.
    let _running = process::end_running();
    if let Some(folder) = lock(&FOLDER).take() {
        // A program that dies now may still write; what can be removed is.
        let _ = std::fs::remove_dir_all(folder);
    }
    std::process::exit(code.into())
}

/// Runs the survey. `progress` hears how many of how many runs are done, and of whom.
///
/// # Errors
///
/// [`Error::Client`] for a command line that is none; [`Error::Folder`].
pub fn survey(
    options: &Options,
    progress: impl Fn(usize, usize, &str) + Sync,
) -> Result<(Survey, Vec<Finding>), Error> {
    let given: Vec<Client> =
        options.clients.iter().map(|text| Client::parse(text)).collect::<Result<_, _>>()?;
    let folder = TempDir::with_prefix("unstall-clients-").map_err(Error::Folder)?;
    *lock(&FOLDER) = Some(folder.path().to_owned());
    let clients = if given.is_empty() {
        client::installed(folder.path(), &mut |name| progress(0, 1, &format!("looking at {name}")))?
    } else {
        given
    };
    let puts: Vec<Put> = thread::scope(|scope| {
        let why: Vec<_> = SITUATIONS.iter().map(|situation| scope.spawn(|| situation.why_not())).collect();
        let put = |(situation, why): (&Situation, thread::ScopedJoinHandle<'_, Option<String>>)| Put {
            id: situation.id,
            about: situation.about,
            why_not: why.join().unwrap_or_else(|_| Some("it could not be tried".to_owned())),
            head: situation.head,
        };
        SITUATIONS.iter().zip(why).map(put).collect()
    });
    let mut surveyed: Vec<Option<Surveyed>> = vec![None; clients.len()];
    let (asking, others): (Vec<usize>, Vec<usize>) =
        (0..clients.len()).partition(|index| options.emulated && clients[*index].asks_for_none);
    run_all(options, &clients, &others, &puts, false, &progress, &mut surveyed);
    let asks = if asking.is_empty() { None } else { lab::Asking::start().ok() };
    run_all(options, &clients, &asking, &puts, asks.is_some(), &progress, &mut surveyed);
    drop(asks);
    let clients = surveyed.into_iter().flatten().collect();
    drop(folder);
    *lock(&FOLDER) = None;
    let survey = Survey { situations: puts, limit_ns: ns(options.limit), clients };
    let findings = verdict::findings(&survey, options.emulated);
    Ok((survey, findings))
}

/// Whether a command line is a client that [`Options::clients`] can have.
///
/// # Errors
///
/// [`Error::Client`] for an empty command, one whose quotes do not match, or one that is not told where to go.
pub fn check(client: &str) -> Result<(), Error> {
    Client::parse(client).map(drop)
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Runs the clients of these places, and fills those places in.
fn run_all(
    options: &Options,
    clients: &[Client],
    places: &[usize],
    puts: &[Put],
    asks_for_no_retry: bool,
    progress: &(impl Fn(usize, usize, &str) + Sync),
    surveyed: &mut [Option<Surveyed>],
) {
    let these: Vec<&Client> = places.iter().map(|place| &clients[*place]).collect();
    let cells = all_cells(options, &these, puts, progress);
    for ((place, client), cells) in places.iter().zip(these).zip(cells) {
        let row = Surveyed {
            client: client.name.clone(),
            version: client.version.clone(),
            cure: client.cure.clone(),
            asks_for_no_retry,
            why_not: client.why_not.clone(),
            cells,
        };
        surveyed[*place] = Some(row.believed());
    }
}

/// Every client before every situation.
fn all_cells(
    options: &Options,
    clients: &[&Client],
    puts: &[Put],
    progress: &(impl Fn(usize, usize, &str) + Sync),
) -> Vec<Vec<Cell>> {
    let wide = SITUATIONS.len();
    let total = clients.len() * wide;
    let queue: Mutex<VecDeque<usize>> = Mutex::new((0..total).collect());
    let cells: Mutex<Vec<Option<Cell>>> = Mutex::new(vec![None; total]);
    let work = || {
        loop {
            let Some(index) = lock(&queue).pop_front() else { return };
            let client = clients[index / wide];
            let cell = cell(options, client, &SITUATIONS[index % wide], &puts[index % wide]);
            let mut cells = lock(&cells);
            let done = cells.iter().flatten().count();
            cells[index] = Some(cell);
            progress(done, total, &client.name);
        }
    };
    thread::scope(|scope| (0..options.jobs.clamp(1, total.max(1))).for_each(|_| drop(scope.spawn(work))));
    let cells = cells.into_inner().unwrap_or_else(PoisonError::into_inner);
    let cells: Vec<Cell> = cells.into_iter().flatten().collect();
    cells.chunks(wide).map(<[Cell]>::to_vec).collect()
}

/// One run.
struct Run {
    gets: Gets,
    code: Option<i32>,
    elapsed: Duration,
    words: String,
}

/// No further run once they have taken this long together.
const ENOUGH: Duration = Duration::from_millis(3500);

/// How much of a client's last line is kept.
const WORDS: usize = 200;

fn cell(options: &Options, client: &Client, situation: &Situation, put: &Put) -> Cell {
    let not_run = |words: String| Cell { words, ..Cell::default() };
    if let Some(why) = client.why_not.as_ref().or(put.why_not.as_ref()) {
        return not_run(why.clone());
    }
    if situation.limited && !client.has_limit() {
        return not_run("it has no time limit, or its {limit} is not given".to_owned());
    }
    let mut runs: Vec<Run> = Vec::new();
    while runs.len() < options.runs.max(1) && runs.iter().map(|run| run.elapsed).sum::<Duration>() < ENOUGH {
        match once(options, client, situation) {
            Ok(run) => runs.push(run),
            Err(error) if runs.is_empty() => return not_run(error.to_string()),
            Err(_) => break,
        }
    }
    Cell::of(&runs)
}

fn once(options: &Options, client: &Client, situation: &Situation) -> io::Result<Run> {
    let server = (situation.make)()?;
    let command = client.command(&server, situation.by, situation.limited);
    let ended = process::run(command, options.limit)?;
    let gets = if ended.in_time {
        judge::judge(client.program(), ended.code, &ended.text)
    } else {
        Gets::StillWaiting
    };
    let words = judge::last_line(&ended.text).chars().filter(|c| !c.is_control()).take(WORDS).collect();
    Ok(Run { gets, code: ended.code, elapsed: ended.elapsed, words })
}

impl Cell {
    fn of(runs: &[Run]) -> Self {
        let mut sorted: Vec<&Run> = runs.iter().collect();
        sorted.sort_by_key(|run| run.elapsed);
        let median = sorted.get(sorted.len().saturating_sub(1) / 2);
        Self {
            result: median.map(|run| run.gets),
            exit_code: median.and_then(|run| run.code),
            median_ns: median.map(|run| ns(run.elapsed)),
            samples_ns: runs.iter().map(|run| ns(run.elapsed)).collect(),
            words: median.map(|run| run.words.clone()).unwrap_or_default(),
        }
    }

    /// The fastest run: what other programs on the machine did meanwhile is in it least.
    pub(crate) fn fastest(&self) -> Option<Duration> {
        self.samples_ns.iter().min().map(|ns| Duration::from_nanos(*ns))
    }
}

/// What is said of a program whose word is worth nothing.
const NOT_BELIEVED: &str = "it ends as if it had reached a closed port, so its exit code tells nothing";

impl Surveyed {
    /// Without figures, where the program says that a closed port answers: a stand-in that does nothing, for example.
    fn believed(mut self) -> Self {
        let closed = SITUATIONS.iter().position(|situation| situation.id == situation::CLOSED);
        let gets = closed.and_then(|at| self.cells.get(at)?.result);
        if gets == Some(Gets::Answered) {
            self.why_not = Some(NOT_BELIEVED.to_owned());
            self.cells
                .iter_mut()
                .for_each(|cell| *cell = Cell { words: NOT_BELIEVED.to_owned(), ..Cell::default() });
        }
        self
    }
}

impl Survey {
    /// The cell of a client in a situation.
    pub(crate) fn cell<'a>(&self, client: &'a Surveyed, id: &str) -> Option<&'a Cell> {
        client.cells.get(self.situations.iter().position(|put| put.id == id)?)
    }

    /// Whether any program got anywhere.
    pub fn has_figures(&self) -> bool {
        self.clients.iter().flat_map(|client| &client.cells).any(|cell| cell.result.is_some())
    }
}
