//! `unstall lab`: a program under Windows' refusals or in a broken network; tables of what that does to programs.

pub(crate) mod args;
mod list;

pub(crate) use list::Everything;

use crate::document::to_json;
use crate::exit::Exit;
use crate::output;
use crate::progress::Progress;
use args::{Action, Backlog, Burst, Lab, Matrix, Reference};
use schemars::JsonSchema;
use serde::Serialize;
use std::env;
use std::io;
use std::net::TcpStream;
use std::time::Duration;
use unstall::{Connector, Target};
use unstall_doctor::report::{Header, Style};
use unstall_lab::matrix::{self, Client};
use unstall_lab::scenario::{self, Stage};
use unstall_lab::wine::Wine;
use unstall_lab::{
    Ended, Error, Foreground, Lab as Room, Privilege, Program, backlog, burst, client, reference,
};

pub(crate) fn run(options: Lab, style: Style, line: &[String]) -> Exit {
    let done = match options.action {
        None if options.print_rules => print_rules(&options),
        None => program(&options),
        Some(Action::List(list)) => list::run(&list, style, line),
        Some(Action::Matrix(matrix)) => run_matrix(&matrix, style, line),
        Some(Action::Reference(reference)) => run_reference(&reference, line),
        Some(Action::Burst(burst)) => run_burst(&burst, line),
        Some(Action::Backlog(backlog)) => run_backlog(&backlog, line),
        Some(Action::Client { request }) => return answer(client::main(&request)),
        Some(Action::Crowd { request }) => return answer(backlog::main(&request, by_library)),
    };
    done.unwrap_or_else(|error| {
        output::note(&error.to_string());
        Exit::Program(error.exit_code())
    })
}

/// Runs the program, and says what the lab cannot do as the profile says.
fn program(options: &Lab) -> Result<Exit, Error> {
    Privilege::acquire()?;
    let foreground = Foreground::prepare()?;
    let wine = options.wine.then(|| Wine::new(options.wine_shim.as_deref())).transpose()?;
    let builder = options.tcp.builder()?;
    let builder = match &wine {
        Some(wine) => wine.prepare(builder),
        None => builder,
    };
    let stage = match &options.scenario {
        Some(name) => Place::Stage(Stage::set_up(scenario::find(name)?, builder)?),
        None => Place::Room(builder.start()?),
    };
    for note in stage.room().notes() {
        output::note(note);
    }
    let ended = match foreground.interrupted()? {
        Some(interrupted) => interrupted,
        None => stage.run(&foreground, options, wine.as_ref())?,
    };
    if options.verbose {
        output::note(&counted(stage.room()));
    }
    Ok(Exit::Program(ended.code()))
}

/// Where the program runs.
enum Place {
    Room(Room),
    Stage(Stage),
}

impl Place {
    fn room(&self) -> &Room {
        match self {
            Self::Room(room) => room,
            Self::Stage(stage) => stage.lab(),
        }
    }

    fn run(&self, foreground: &Foreground, options: &Lab, wine: Option<&Wine>) -> Result<Ended, Error> {
        let words = match self {
            Self::Room(_) => options.program.clone(),
            Self::Stage(stage) => options.program.iter().map(|word| stage.fill(word)).collect(),
        };
        let program = match wine {
            Some(wine) => Some(wine.program(words)),
            None => Program::from_words(words),
        };
        let program = program.ok_or_else(|| Error::Usage("the program has no name".to_owned()))?;
        let program = match self {
            Self::Room(_) => program,
            Self::Stage(stage) => {
                stage.begins();
                stage.equip(program)
            }
        };
        foreground.run(self.room(), &program)
    }
}

fn counted(room: &Room) -> String {
    match room.counts() {
        Some(counts) => format!(
            "{} resets held back, {} passed on, {} SYNs for a full accept queue reset",
            counts.resets_held, counts.resets_passed, counts.full_queue_resets
        ),
        None => "this engine does not count".to_owned(),
    }
}

fn print_rules(options: &Lab) -> Result<Exit, Error> {
    Privilege::acquire()?;
    Ok(output::result(&options.tcp.builder()?.describe()?, Exit::Ok))
}

fn run_matrix(options: &Matrix, style: Style, line: &[String]) -> Result<Exit, Error> {
    Privilege::acquire()?;
    let clients: Result<Vec<Client>, Error> =
        options.client.iter().map(|client| Client::parse(client)).collect();
    let clients = if options.client.is_empty() { matrix::installed() } else { clients? };
    let mut plan = matrix::Plan::new(options.tcp.profile()?, clients);
    plan.engine = options.tcp.engine.into();
    plan.runs = options.runs;
    plan.limit = options.timeout;
    if !options.scenario.is_empty() {
        plan.scenarios =
            options.scenario.iter().map(|name| scenario::find(name)).collect::<Result<_, _>>()?;
    }
    let progress = Progress::new(options.progress.progress);
    let matrix = matrix::run(plan, |done, total| progress.step(done - 1, total, "runs"))?;
    drop(progress);
    Ok(if options.json.json {
        report(line, matrix)
    } else if options.markdown {
        output::result(&matrix.to_markdown(), Exit::Ok)
    } else {
        output::result(&matrix.to_text(style.width), Exit::Ok)
    })
}

fn run_reference(options: &Reference, line: &[String]) -> Result<Exit, Error> {
    Privilege::acquire()?;
    let mut plan = reference::Plan::new(own_client()?);
    plan.engine = options.engine.into();
    plan.runs = options.runs;
    plan.slow = options.slow;
    let progress = Progress::new(options.progress.progress);
    let reference = reference::run(&plan, |done, total| progress.step(done, total, "figures"))?;
    drop(progress);
    Ok(if options.json.json {
        report(line, reference)
    } else {
        output::result(&reference.to_text(), Exit::Ok)
    })
}

fn run_burst(options: &Burst, line: &[String]) -> Result<Exit, Error> {
    Privilege::acquire()?;
    let plan = burst::Plan {
        count: options.count,
        queue: options.queue,
        runs: options.runs,
        pace: options.pace,
        ..burst::Plan::new(own_client()?)
    };
    let cases = burst::run(&plan)?;
    Ok(if options.json.json {
        report(line, cases)
    } else {
        output::result(&burst::to_text(&cases), Exit::Ok)
    })
}

fn run_backlog(options: &Backlog, line: &[String]) -> Result<Exit, Error> {
    Privilege::acquire()?;
    let ms = |pause: &Duration| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
    let plan = backlog::Plan {
        client: own_program("crowd")?,
        profiles: options.profile.clone(),
        counts: options.count.clone(),
        backlogs: options.backlogs.clone(),
        pauses_ms: options.pause.iter().map(ms).collect(),
        others: !options.bursts_only,
        runs: options.runs,
    };
    let progress = Progress::new(options.progress.progress);
    let backlog = backlog::run(&plan, |done, total| progress.step(done, total, "situations"))?;
    drop(progress);
    Ok(if options.json.json {
        report(line, backlog)
    } else if options.markdown {
        output::result(&backlog.to_markdown(), Exit::Ok)
    } else {
        output::result(&backlog.to_text(), Exit::Ok)
    })
}

/// How the crowd of [`backlog`] connects with the library; each socket of a connect is an attempt of its timeline.
fn by_library(request: &backlog::Request) -> (io::Result<TcpStream>, Option<u32>) {
    unstall::testing::a_full_queue_refuses(request.refuses_when_full);
    let target = match Target::try_from(request.to) {
        Ok(target) => target,
        Err(error) => return (Err(io::Error::other(error)), None),
    };
    let (result, timeline) = Connector::new().connect_timeline(&target);
    (result.map_err(io::Error::from), u32::try_from(timeline.attempts.len()).ok())
}

/// This program as the lab's own client.
fn own_client() -> Result<Program, Error> {
    own_program("client")
}

fn own_program(action: &str) -> Result<Program, Error> {
    let this = env::current_exe()
        .map_err(|source| Error::System { operation: "find this program's own file".to_owned(), source })?;
    Ok(Program::new(this).arguments(["lab", action]))
}

/// What a client of the lab says to whoever started it.
fn answer(answer: io::Result<String>) -> Exit {
    match answer {
        Ok(answer) => output::result(&answer, Exit::Ok),
        Err(error) => {
            output::note(&error.to_string());
            Exit::Usage
        }
    }
}

/// What `unstall lab ... --json` prints: the envelope of every report, and one result. Durations are integers in nanoseconds
/// whose name ends in `_ns`; `null` is "not measured".
#[derive(Serialize, JsonSchema)]
pub(crate) struct Report<T> {
    #[serde(flatten)]
    header: Header,
    /// One element.
    results: [T; 1],
    /// Empty: a lab finds nothing about this machine.
    findings: [(); 0],
}

fn report<T: Serialize>(line: &[String], result: T) -> Exit {
    let report = Report { header: Header::now(line.to_vec()), results: [result], findings: [] };
    output::result(&to_json(&report), Exit::Ok)
}
