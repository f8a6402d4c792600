//! The command line: one table for parsing, `-h`, `--help`, completions and man pages.

pub(crate) mod reports;

pub(crate) use reports::Reports;

use crate::duration;
use crate::examples::{self, Page};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;
use unstall::{Family, Target};
use unstall_core::hook::fixes::Fix;
use unstall_doctor::{Options, Selection, Severity};

/// Finds, fixes and proves TCP connect stalls, above all on localhost.
#[derive(Debug, Parser)]
#[command(name = "unstall", version, arg_required_else_help = true, propagate_version = true)]
#[command(max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Colour: auto, always or never
    ///
    /// `auto`: on a terminal, unless NO_COLOR is set or TERM is dumb; CLICOLOR_FORCE=1 turns it on anywhere.
    #[arg(long, value_name = "WHEN", global = true, env = "UNSTALL_COLOR", hide_env_values = true)]
    #[arg(value_enum, default_value_t, hide_possible_values = true, display_order = 900)]
    pub(crate) color: When,

    /// Read defaults from this file [default: config.toml in the folder for settings]
    ///
    /// `unstall config --path` prints where it is, `unstall config --template` what can stand in it.
    #[arg(long, value_name = "FILE", global = true, env = "UNSTALL_CONFIG", hide_env_values = true)]
    #[arg(display_order = 901, hide_short_help = true)]
    pub(crate) config: Option<PathBuf>,

    /// Read no config file
    #[arg(long, global = true, display_order = 902, hide_short_help = true)]
    pub(crate) no_config: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Doctor(Doctor),
    Connect(Connect),
    Wait(Wait),
    Clients(Clients),
    #[cfg(target_os = "linux")]
    Lab(crate::lab::args::Lab),
    #[cfg(not(target_os = "linux"))]
    #[command(hide = true)]
    Lab(NoLab),
    Run(Run),
    Explain(Explain),
    Config(Config),
    Completions(Completions),
    Man(Man),
    Schema(Schema),
}

/// Find what stalls on this machine, or on the way to targets
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// What to look at: host:port, [::1]:80, a bare port, a URL. Without one: this machine.
    #[arg(value_name = "TARGET", value_parser = typed_target)]
    pub(crate) targets: Vec<Typed>,

    /// Only this check; may be given several times
    #[arg(long = "check", value_name = "ID", value_delimiter = ',', value_parser = check_id)]
    #[arg(env = "UNSTALL_CHECK", hide_env_values = true)]
    pub(crate) checks: Vec<&'static str>,

    /// List the checks and what each can find, and stop
    #[arg(long, conflicts_with = "targets")]
    pub(crate) list_checks: bool,

    /// How many samples a series takes
    #[arg(long, value_name = "N", default_value_t = Options::SAMPLES, value_parser = samples)]
    #[arg(env = "UNSTALL_SAMPLES", hide_env_values = true)]
    pub(crate) samples: usize,

    /// Exit with 1 from this severity on: info, warn or error
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t, hide_possible_values = true)]
    #[arg(env = "UNSTALL_FAIL_ON", hide_env_values = true)]
    pub(crate) fail_on: FailOn,

    /// How long one connect, exchange or lookup may take before it counts as unanswered
    ///
    /// Local addresses are given 2.6 s at least, so that a slow refusal is told from silence.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = duration::parse)]
    #[arg(env = "UNSTALL_TIMEOUT", hide_env_values = true)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) family: FamilyArguments,

    #[command(flatten)]
    pub(crate) json: Json,

    /// Print a JSON object for each check and finding as it happens, and nothing else on stdout
    ///
    /// The lines are log records of OpenTelemetry's data model (schema: unstall schema lines).
    #[arg(long, conflicts_with = "json", hide_short_help = true)]
    #[arg(env = "UNSTALL_JSON_LINES", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) json_lines: bool,

    /// Leave out of every output what may tell this machine apart
    ///
    /// Only words of unstall's own texts, loopback addresses, times, small numbers and ports that everybody knows pass; anything else becomes
    /// a placeholder, the same thing always the same one. What checks hold for programs (`data`) is left out.
    #[arg(long, hide_short_help = true)]
    #[arg(env = "UNSTALL_REDACT", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) redact: bool,

    /// Compare two JSON reports and measure nothing: what got better, what got worse
    ///
    /// Exit code 1 if anything got worse. Reports that say nothing about each other are refused: of different targets, or one measured and the
    /// other emulated.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], hide_short_help = true)]
    #[arg(conflicts_with_all = ["targets", "list_checks", "checks", "redact", "json_lines"])]
    pub(crate) compare: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) watching: Watching,

    #[command(flatten)]
    pub(crate) fixing: Fixing,

    #[command(flatten)]
    pub(crate) reports: Reports,

    /// Progress on stderr: auto, always or never
    ///
    /// `auto`: one line that is rewritten on a terminal, plain lines elsewhere; `always`: the rewritten line
    /// everywhere; `never`: none.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, hide_possible_values = true)]
    #[arg(env = "UNSTALL_PROGRESS", hide_env_values = true)]
    pub(crate) progress: When,
}

/// A live view.
#[derive(Args, Debug)]
pub(crate) struct Watching {
    /// Connect to one target again and again, and show how it goes until Ctrl-C
    ///
    /// On a terminal a view that is redrawn: the newest connects, statistics, and when the outcome changed. Elsewhere a line for each change. Then
    /// the statistics. Exit code 0 if the last connect succeeded, 1 if not.
    #[arg(long, hide_short_help = true, requires = "targets")]
    #[arg(conflicts_with_all = ["list_checks", "compare", "redact", "json", "json_lines", "checks", "fix", "undo_fix"])]
    pub(crate) watch: bool,

    /// From the start of one connect of --watch to that of the next
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration::parse, hide_short_help = true)]
    #[arg(env = "UNSTALL_EVERY", hide_env_values = true)]
    pub(crate) every: Duration,

    /// After how many connects --watch ends [default: at Ctrl-C]
    #[arg(long, value_name = "N", hide_short_help = true)]
    #[arg(env = "UNSTALL_COUNT", hide_env_values = true)]
    pub(crate) count: Option<NonZeroU32>,
}

/// Changes that can be taken back.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Fixing {
    /// After the report, offer what unstall can change safely: a hosts file without `localhost`
    ///
    /// Each change is shown and asked for; a copy of the file stays beside it, and --undo-fix takes the change back. Everything else that the
    /// report advises is left to people.
    #[arg(long, conflicts_with_all = ["list_checks", "compare", "redact"], hide_short_help = true)]
    pub(crate) fix: bool,

    /// Take back what --fix has changed, and measure nothing
    #[arg(long, conflicts_with_all = ["fix", "targets", "list_checks", "compare"], hide_short_help = true)]
    pub(crate) undo_fix: bool,

    /// Make the changes of --fix without asking
    #[arg(long, requires = "fix", hide_short_help = true)]
    pub(crate) yes: bool,

    /// Show what --fix or --undo-fix would change, and change nothing
    #[arg(long, hide_short_help = true)]
    pub(crate) dry_run: bool,

    /// The hosts file that --fix and --undo-fix change [default: the system's]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    #[arg(env = "UNSTALL_HOSTS_FILE", hide_env_values = true)]
    pub(crate) hosts_file: Option<PathBuf>,
}

/// Connect once, and show every attempt
#[derive(Args, Debug)]
pub(crate) struct Connect {
    /// Where to: host:port, [::1]:80, a bare port, a URL
    #[arg(value_name = "TARGET")]
    pub(crate) target: Target,

    /// How long the whole connect may take, the name included
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration::parse)]
    #[arg(env = "UNSTALL_TIMEOUT", hide_env_values = true)]
    pub(crate) timeout: Duration,

    /// How many connects to make, one after the other, and show statistics [default: 1]
    ///
    /// Minimum, median, percentiles and maximum for each outcome, a histogram, and the slowest connect. Ctrl-C ends it with what there
    /// is. Each connection is closed before the next connect.
    #[arg(short = 'n', long, value_name = "N", value_parser = connects)]
    #[arg(env = "UNSTALL_COUNT", hide_env_values = true)]
    pub(crate) count: Option<NonZeroU32>,

    /// From the start of one connect to that of the next [default: the next follows at once]
    ///
    /// Without -n: until Ctrl-C, or 100000 connects.
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    #[arg(env = "UNSTALL_EVERY", hide_env_values = true)]
    pub(crate) every: Option<Duration>,

    #[command(flatten)]
    pub(crate) family: FamilyArguments,

    /// Write the connect to a file as qlog, for viewers such as qvis
    ///
    /// One JSON document with the events of draft-kuehlewind-happy-qlog (hev3). The file is made before the connect, and
    /// what it had is lost.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["count", "every"])]
    pub(crate) qlog: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) json: Json,
}

/// Wait until servers listen, or until nobody does, then maybe run a command
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Wait {
    /// What to wait for: host:port, [::1]:80, a bare port, a URL
    #[arg(value_name = "TARGET", required = true)]
    pub(crate) targets: Vec<Target>,

    /// How long to wait as a whole
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration::parse)]
    #[arg(env = "UNSTALL_TIMEOUT", hide_env_values = true)]
    pub(crate) timeout: Duration,

    /// Until every target listens (or is free): the default
    #[arg(long, conflicts_with = "any", hide_short_help = true)]
    pub(crate) all: bool,

    /// Until one target listens (or is free)
    #[arg(long)]
    pub(crate) any: bool,

    /// Until nobody listens: every address refuses
    #[arg(long, conflicts_with_all = ["http", "first_byte", "hold"])]
    pub(crate) free: bool,

    /// How many tries in a row must show it, an interval apart
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(env = "UNSTALL_STABLE", hide_env_values = true)]
    pub(crate) stable: NonZeroU32,

    /// Until GET of this path is answered with a status from 200 to 399
    #[arg(long, value_name = "PATH", value_parser = http_path, conflicts_with_all = ["first_byte", "hold"])]
    pub(crate) http: Option<String>,

    /// Until the server sends a byte of its own accord (SSH, SMTP, MySQL)
    #[arg(long, conflicts_with = "hold")]
    pub(crate) first_byte: bool,

    /// How long a server must keep the connection [default: 100ms; 1ms after it accepted, if known]
    ///
    /// A proxy accepts although its backend is down, and closes when it finds out. Where Linux tells that the program behind a
    /// local port has accepted, 1 ms more is enough; everywhere else 100 ms.
    #[arg(long, value_name = "TIME", value_parser = duration::parse, env = "UNSTALL_HOLD", hide_env_values = true)]
    #[arg(hide_short_help = true)]
    pub(crate) hold: Option<Duration>,

    /// The longest pause between two tries of a target
    ///
    /// Tries begin 2 ms apart on this host, 10 ms apart on others, where the pause doubles up to this.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = duration::parse)]
    #[arg(env = "UNSTALL_INTERVAL", hide_env_values = true, hide_short_help = true)]
    pub(crate) interval: Duration,

    #[command(flatten)]
    pub(crate) family: FamilyArguments,

    #[command(flatten)]
    pub(crate) json: Json,

    /// Print a JSON object for each target as it comes to it, and nothing else on stdout
    ///
    /// The lines are log records of OpenTelemetry's data model (schema: unstall schema lines).
    #[arg(long, conflicts_with = "json", hide_short_help = true)]
    #[arg(env = "UNSTALL_JSON_LINES", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) json_lines: bool,

    /// Also write the results for node_exporter's textfile collector (name it NAME.prom)
    ///
    /// The file is made before the wait begins, and replaced when all of it is there.
    #[arg(
        long,
        value_name = "FILE",
        env = "UNSTALL_PROMETHEUS",
        hide_env_values = true,
        hide_short_help = true
    )]
    pub(crate) prometheus: Option<PathBuf>,

    /// Progress on stderr: auto, always or never
    ///
    /// A line for each target that comes to it, as soon as it does, when there are several; `never`: none.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, hide_possible_values = true)]
    #[arg(env = "UNSTALL_PROGRESS", hide_env_values = true, hide_short_help = true)]
    pub(crate) progress: When,

    /// What to run then, in place of this program
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Show how each program on this machine behaves: refusals, localhost, silence, time limits
#[derive(Args, Debug)]
pub(crate) struct Clients {
    /// A command line with {url}, {host}, {port} or {target}; may be given several times
    ///
    /// `{limit}` stands for the seconds of the program's own time limit. Without any: the programs that are known and installed.
    #[arg(long, value_name = "COMMAND", value_parser = client)]
    pub(crate) client: Vec<String>,

    /// How often each is run; what takes long is run less often
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(env = "UNSTALL_CLIENTS_RUNS", hide_env_values = true)]
    pub(crate) runs: u32,

    /// How long a run may take
    #[arg(long, value_name = "TIME", default_value = "6s", value_parser = duration::parse)]
    #[arg(env = "UNSTALL_TIMEOUT", hide_env_values = true)]
    pub(crate) timeout: Duration,

    /// Exit with 1 from this severity on: info, warn or error
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t, hide_possible_values = true)]
    #[arg(env = "UNSTALL_FAIL_ON", hide_env_values = true)]
    pub(crate) fail_on: FailOn,

    #[command(flatten)]
    pub(crate) json: Json,

    /// Progress on stderr: auto, always or never
    ///
    /// `auto`: one line that is rewritten on a terminal, plain lines elsewhere; `always`: the rewritten line
    /// everywhere; `never`: none.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, hide_possible_values = true)]
    #[arg(env = "UNSTALL_PROGRESS", hide_env_values = true, hide_short_help = true)]
    pub(crate) progress: When,
}

/// Run a program under Windows' refusals or in a broken network (on Linux)
#[cfg(not(target_os = "linux"))]
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct NoLab {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _anything: Vec<String>,
}

/// Run an unchanged Windows program with the fixes (on Windows)
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// What to do: fast-refusal, no-so-error-stall, nodelay, unspecified-to-loopback
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = fix)]
    #[arg(default_values = Fix::DEFAULT.map(Fix::id), env = "UNSTALL_FIX", hide_env_values = true)]
    pub(crate) fix: Vec<Fix>,

    /// What not to do of that
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = fix)]
    #[arg(env = "UNSTALL_NO_FIX", hide_env_values = true)]
    pub(crate) no_fix: Vec<Fix>,

    /// Write each local connect to a JSON file (schema: unstall schema run)
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Say on stderr at the end what it came to
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// For tests: a DLL to load before ours; may be given several times
    #[arg(long, value_name = "DLL", hide = true)]
    pub(crate) test_load: Vec<PathBuf>,

    /// For tests: how long each real SO_ERROR takes, in ms
    #[arg(long, value_name = "MS", hide = true, default_value_t)]
    pub(crate) test_so_error_stall: u32,

    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM", required = true)]
    pub(crate) program: Vec<OsString>,
}

/// Print the long text of a finding or an outcome
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct Explain {
    /// A finding's or an outcome's id, as doctor and connect print it
    pub(crate) id: Option<String>,

    /// List every id
    #[arg(long)]
    pub(crate) list: bool,

    /// Print all of them as one Markdown page
    #[arg(long)]
    pub(crate) markdown: bool,
}

/// Print the completions for a shell
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// bash, elvish, fish, powershell or zsh
    #[arg(value_enum, hide_possible_values = true)]
    pub(crate) shell: clap_complete::Shell,
}

/// Print the man page, or write one per command
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Print the JSON schema of a report
#[derive(Args, Debug)]
pub(crate) struct Schema {
    /// Whose: doctor, connect, wait, clients, checks (doctor --list-checks), lab-list, lab-matrix, lab-reference, lab-burst, lab-backlog,
    /// or error (any command line that makes no sense)
    #[arg(value_enum, hide_possible_values = true)]
    pub(crate) of: Document,
}

#[derive(Args, Debug)]
pub(crate) struct FamilyArguments {
    /// Addresses to try: any, v4 or v6
    #[arg(long, value_enum, default_value_t, value_name = "FAMILY", hide_possible_values = true)]
    #[arg(env = "UNSTALL_FAMILY", hide_env_values = true)]
    family: FamilyChoice,

    /// IPv4 alone, whatever --family says
    #[arg(short = '4', conflicts_with = "v6")]
    v4: bool,

    /// IPv6 alone, whatever --family says
    #[arg(short = '6')]
    v6: bool,
}

/// Show the settings and where each comes from, or print a config file to begin with
#[derive(Args, Debug)]
pub(crate) struct Config {
    /// Print a file with every setting at its default, each explained
    #[arg(long, conflicts_with = "path")]
    pub(crate) template: bool,

    /// Print which file is read
    #[arg(long)]
    pub(crate) path: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Json {
    /// Print one JSON document and nothing else on stdout (schema: unstall schema)
    #[arg(long, env = "UNSTALL_JSON", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) json: bool,
}

/// When to do something that a terminal makes useful.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FamilyChoice {
    #[default]
    Any,
    V4,
    V6,
}

/// The severity from which a run fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Info,
    #[default]
    Warn,
    Error,
}

/// A JSON document of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Document {
    Doctor,
    /// Each line of `--json-lines`.
    Lines,
    /// What `doctor --compare` prints.
    Compare,
    Connect,
    Wait,
    Clients,
    Run,
    Checks,
    #[cfg(target_os = "linux")]
    LabList,
    #[cfg(target_os = "linux")]
    LabMatrix,
    #[cfg(target_os = "linux")]
    LabReference,
    #[cfg(target_os = "linux")]
    LabBurst,
    #[cfg(target_os = "linux")]
    LabBacklog,
    Error,
}

/// A target with what the person typed for it.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) text: String,
    pub(crate) target: Target,
}

impl Arguments {
    /// What the parser cannot see: an address of a family that was excluded.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let (family, targets) = match &self.command {
            Command::Doctor(doctor) => {
                (&doctor.family, doctor.targets.iter().map(|typed| &typed.target).collect::<Vec<_>>())
            }
            Command::Connect(connect) => (&connect.family, vec![&connect.target]),
            Command::Wait(wait) => (&wait.family, wait.targets.iter().collect()),
            _ => return None,
        };
        let family = family.choice();
        let excluded = |target: &&&Target| target.address().is_some_and(|address| !family.allows(address));
        let target = targets.iter().find(excluded)?;
        let (is, allowed) = if family == Family::V6 { ("IPv4", "IPv6") } else { ("IPv6", "IPv4") };
        Some(format!(
            "{target} is an {is} address, and only {allowed} may be tried: leave out the family, or give a name"
        ))
    }
}

impl FamilyArguments {
    pub(crate) fn choice(&self) -> Family {
        match self.family {
            _ if self.v4 => Family::V4,
            _ if self.v6 => Family::V6,
            FamilyChoice::Any => Family::Any,
            FamilyChoice::V4 => Family::V4,
            FamilyChoice::V6 => Family::V6,
        }
    }
}

impl From<FailOn> for Severity {
    fn from(fail_on: FailOn) -> Self {
        match fail_on {
            FailOn::Info => Self::Info,
            FailOn::Warn => Self::Warn,
            FailOn::Error => Self::Error,
        }
    }
}

fn typed_target(text: &str) -> Result<Typed, unstall::ParseTargetError> {
    Ok(Typed { text: text.to_owned(), target: text.parse()? })
}

fn client(text: &str) -> Result<String, unstall_clients::Error> {
    unstall_clients::check(text).map(|()| text.to_owned())
}

/// How many connects are made at most: what all of them came to is kept until the end.
pub(crate) const MOST_CONNECTS: u32 = 100_000;

fn connects(text: &str) -> Result<NonZeroU32, String> {
    match text.parse::<NonZeroU32>() {
        Ok(number) if number.get() <= MOST_CONNECTS => Ok(number),
        _ => Err(format!("write a whole number from 1 to {MOST_CONNECTS}")),
    }
}

fn http_path(path: &str) -> Result<String, String> {
    let printable = path.bytes().all(|byte| byte.is_ascii_graphic());
    if path.starts_with('/') && printable {
        Ok(path.to_owned())
    } else {
        Err("write a path that starts with /, without blanks: /healthz".to_owned())
    }
}

fn check_id(id: &str) -> Result<&'static str, String> {
    match Selection::only(&[id]) {
        Ok(Selection::Only(ids)) if ids.len() == 1 => Ok(ids[0]),
        Ok(_) => Err("one check at a time".to_owned()),
        Err(unknown) => Err(format!("{unknown} (unstall doctor --list-checks lists them)")),
    }
}

fn fix(id: &str) -> Result<Fix, String> {
    Fix::from_id(id).ok_or_else(|| format!("write any of {}", Fix::ALL.map(Fix::id).join(", ")))
}

fn samples(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=100_000) => Ok(number),
        _ => Err("write a whole number from 1 to 100000".to_owned()),
    }
}

/// The whole command line, with the examples and exit codes of each command in its `--help`.
pub(crate) fn command() -> clap::Command {
    each(|command, page| {
        let long_about = format!("{}\n\n{}", about(&command, page), page.examples_text());
        command.long_about(long_about).after_long_help(page.exit_codes_text())
    })
}

/// The whole command line without examples and exit codes, which have sections of their own in a man page.
pub(crate) fn without_pages() -> clap::Command {
    each(|command, page| {
        let about = about(&command, page);
        command.long_about(about)
    })
}

/// Changes the program's and every command's help with the help of its page.
fn each(change: impl Fn(clap::Command, &Page) -> clap::Command) -> clap::Command {
    let mut command = change(Arguments::command(), examples::page("unstall"));
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(&name, |sub| change(sub, examples::page(&name)));
    }
    command
}

/// The first sentence and those that follow it.
fn about(command: &clap::Command, page: &Page) -> String {
    let first = command.get_about().map(ToString::to_string).unwrap_or_default();
    format!("{first}{}", page.more())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn the_default_time_limits_are_those_of_the_doctor() {
        assert_eq!(duration::parse("3s"), Ok(Options::TIMEOUT));
    }
}
