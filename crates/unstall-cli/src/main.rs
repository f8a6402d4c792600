//! The command-line tool: arguments in, exit code out, nothing decided here.
//!
//! [`args`] is the whole command line, [`exit`] the table of exit codes, [`output`] the rule for stdout and stderr. Each
//! command has a file that asks a library and prints what it said.
#![forbid(unsafe_code)]

mod args;
mod clients;
mod compare;
mod config;
mod connect;
mod doctor;
mod document;
mod duration;
mod emulated;
mod examples;
mod exit;
mod explain;
mod fix;
mod interrupt;
#[cfg(target_os = "linux")]
mod lab;
mod man;
mod output;
mod print;
mod progress;
mod report_file;
mod run;
mod terminal;
mod usage;
mod wait;
mod watch;

use args::{Arguments, Command};
use clap::FromArgMatches;
use clap::error::ErrorKind;
use config::Config;
use exit::Exit;
use std::env;
use std::ffi::OsString;
use std::iter;
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(windows)]
    end_at_interrupt();
    // Where the program lies is nobody's business in a report that is passed on.
    let arguments = env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    run(&iter::once("unstall".to_owned()).chain(arguments).collect::<Vec<_>>()).into()
}

/// Does what the command line says. `line` is the command line as the report quotes it.
fn run(line: &[String]) -> Exit {
    let typed: Vec<OsString> = env::args_os().collect();
    let mut command = args::command();
    command.build();
    let config = match config::load(&typed, &command) {
        Ok(config) => config,
        Err(sentence) => return usage::refuse(&sentence, usage::wants_json(line), line),
    };
    let arguments = match parse(typed, config.as_ref(), command) {
        Ok(arguments) => arguments,
        Err(error) => return usage::answer(&error, config.as_ref(), line),
    };
    let style = terminal::of_stdout(arguments.color);
    match arguments.command {
        Command::Doctor(options) if options.list_checks => {
            doctor::list_checks(options.json.json, style, line)
        }
        Command::Doctor(options) => match options.compare.as_slice() {
            [before, after] => compare::run([before, after], options.json.json, line),
            _ => doctor::run(options, style, line),
        },
        Command::Connect(options) => connect::run(&options, style, line),
        Command::Wait(options) => wait::run(&options, line),
        Command::Clients(options) => clients::run(options, style, line),
        #[cfg(target_os = "linux")]
        Command::Lab(options) => lab::run(options, style, line),
        #[cfg(not(target_os = "linux"))]
        Command::Lab(_) => {
            output::note(NO_LAB);
            Exit::Usage
        }
        Command::Run(options) => run::run(&options, line),
        Command::Explain(options) => explain::run(&options, style),
        Command::Config(options) => config::command::run(&options, config.as_ref()),
        Command::Completions(options) => print::completions(options.shell),
        Command::Man(options) => man::run(options.out.as_deref()),
        Command::Schema(options) => print::schema(options.of),
    }
}

#[cfg(not(target_os = "linux"))]
const NO_LAB: &str = "the lab needs Linux: its networks are Linux namespaces; on Windows, run it in WSL 2";

/// Windows would end the program with a code of its own; elsewhere the signal does what every caller expects.
#[cfg(windows)]
fn end_at_interrupt() {
    // Without a handler Windows' code remains, which is no reason to stop.
    let _ = ctrlc::set_handler(interrupt::happened);
}

fn parse(
    typed: Vec<OsString>,
    config: Option<&Config>,
    mut command: clap::Command,
) -> Result<Arguments, clap::Error> {
    let words = match config {
        Some(config) => config::applied(typed, config, &command, |variable| env::var_os(variable).is_some()),
        None => typed,
    };
    let arguments = Arguments::from_arg_matches(&command.try_get_matches_from_mut(words)?)?;
    match arguments.contradiction() {
        Some(sentence) => Err(command.error(ErrorKind::ArgumentConflict, sentence)),
        None => Ok(arguments),
    }
}
