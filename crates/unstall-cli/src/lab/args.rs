//! The part of the command line that belongs to the lab.

use crate::args::{Json, When};
use crate::duration;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use unstall_lab::{Builder, EngineChoice, Error, Lab as Room, Profile, Retries};

/// Run a program under Windows' refusals or in a broken network
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Lab {
    #[command(subcommand)]
    pub(crate) action: Option<Action>,

    #[command(flatten)]
    pub(crate) tcp: Tcp,

    /// Set up a scenario of `unstall lab list`: its servers, its network, its names
    ///
    /// The program finds it by {url}, {host}, {port} and {target} (host:port) in its arguments, which are filled in, and
    /// by UNSTALL_LAB_URL, UNSTALL_LAB_HOST and UNSTALL_LAB_PORT in its environment.
    #[arg(long, value_name = "NAME", env = "UNSTALL_LAB_SCENARIO", hide_env_values = true)]
    pub(crate) scenario: Option<String>,

    /// Run a Windows program by Wine, with a wineserver of the lab's own
    #[arg(long)]
    pub(crate) wine: bool,

    /// With --wine: where unstall_rtoshim.dll and rtoshim-run.exe are, which make SIO_TCP_INITIAL_RTO work
    #[arg(long, value_name = "DIR", env = "UNSTALL_WINDOWS_PROGRAMS", hide_env_values = true)]
    pub(crate) wine_shim: Option<PathBuf>,

    /// Print the settings, programs and rules that play the profile, and stop
    #[arg(long)]
    pub(crate) print_rules: bool,

    /// Say at the end what was held back
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "print_rules")]
    pub(crate) program: Vec<OsString>,
}

/// How the lab's TCP behaves.
#[derive(Args, Debug)]
pub(crate) struct Tcp {
    /// How TCP behaves: a profile of `unstall lab list`, or a file (./mine.toml)
    #[arg(long, value_name = "NAME|FILE", default_value = "windows-11")]
    #[arg(env = "UNSTALL_LAB_PROFILE", hide_env_values = true)]
    pub(crate) profile: String,

    /// What plays it: auto, bpf (exact, needs root) or coarse (steps of a second, needs nft)
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    #[arg(env = "UNSTALL_LAB_ENGINE", hide_env_values = true)]
    pub(crate) engine: Engine,

    /// How often a refused SYN is sent again, in place of the profile's number: 0 to 255, or lost
    #[arg(long, value_name = "N", value_parser = retries)]
    #[arg(env = "UNSTALL_LAB_RETRIES", hide_env_values = true)]
    pub(crate) retries: Option<Retries>,

    /// The longest accept queue that a listener gets, in place of the profile's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    #[arg(env = "UNSTALL_LAB_QUEUE", hide_env_values = true)]
    pub(crate) queue: Option<u32>,

    /// Spread the SYNs of a burst, which would otherwise be sent again in lockstep; needs tc
    #[arg(long, env = "UNSTALL_LAB_PACE", hide_env_values = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) pace: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    List(List),
    Matrix(Matrix),
    Reference(Reference),
    Burst(Burst),
    Backlog(Backlog),
    /// The lab's own client, which it starts in labs
    #[command(hide = true)]
    Client {
        /// A request, as JSON
        request: String,
    },
    /// The client of `backlog`
    #[command(hide = true)]
    Crowd {
        /// A request, as JSON
        request: String,
    },
}

/// List the profiles with their sources, and the scenarios
#[derive(Args, Debug)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Run every scenario against any clients, side by side
#[derive(Args, Debug)]
pub(crate) struct Matrix {
    #[command(flatten)]
    pub(crate) tcp: Tcp,

    /// Only this scenario; may be given several times
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    #[arg(env = "UNSTALL_LAB_SCENARIO", hide_env_values = true)]
    pub(crate) scenario: Vec<String>,

    /// A client's command line with {url}, {host}, {port} or {target}; may be given several times
    ///
    /// `NAME=COMMAND LINE` gives it a name. Without any: those that are known and installed.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) client: Vec<String>,

    /// How often each is run
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = runs)]
    #[arg(env = "UNSTALL_LAB_RUNS", hide_env_values = true)]
    pub(crate) runs: usize,

    /// How long a run may take
    #[arg(long, value_name = "TIME", default_value = "6s", value_parser = duration::parse)]
    #[arg(env = "UNSTALL_TIMEOUT", hide_env_values = true)]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) json: Json,

    /// Print a Markdown table
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressWhen,
}

/// Run every published figure that Linux can carry, and print published beside emulated
#[derive(Args, Debug)]
pub(crate) struct Reference {
    /// What plays the profiles: auto, bpf (exact, needs root) or coarse (steps of a second, needs nft)
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    #[arg(env = "UNSTALL_LAB_ENGINE", hide_env_values = true)]
    pub(crate) engine: Engine,

    /// How often each is run; those of several seconds are run once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = runs)]
    #[arg(env = "UNSTALL_LAB_RUNS", hide_env_values = true)]
    pub(crate) runs: usize,

    /// Run those of two minutes as well
    #[arg(long)]
    pub(crate) slow: bool,

    #[command(flatten)]
    pub(crate) json: Json,

    #[command(flatten)]
    pub(crate) progress: ProgressWhen,
}

/// Connect many times at once to a server of the same process, as in nodejs/node#38736
#[derive(Args, Debug)]
pub(crate) struct Burst {
    /// How many connects
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = runs)]
    #[arg(env = "UNSTALL_LAB_COUNT", hide_env_values = true)]
    pub(crate) count: usize,

    /// How many may wait to be accepted
    #[arg(long, value_name = "N", default_value_t = 232, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    #[arg(env = "UNSTALL_LAB_QUEUE", hide_env_values = true)]
    pub(crate) queue: u32,

    /// How often each case is run
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = runs)]
    #[arg(env = "UNSTALL_LAB_RUNS", hide_env_values = true)]
    pub(crate) runs: usize,

    /// Spread the SYNs of a burst, which would otherwise be sent again in lockstep; needs tc
    #[arg(long, env = "UNSTALL_LAB_PACE", hide_env_values = true)]
    #[arg(value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) pace: bool,

    #[command(flatten)]
    pub(crate) json: Json,
}

/// Connect many times at once to servers with small backlogs that pause: the OS default, the ioctl alone and this library
#[derive(Args, Debug)]
pub(crate) struct Backlog {
    /// How TCP behaves: a profile of `unstall lab list`, or a file; several with commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "windows-11,linux")]
    #[arg(env = "UNSTALL_LAB_PROFILE", hide_env_values = true)]
    pub(crate) profile: Vec<String>,

    /// How many connects at once; several with commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "300,2000", value_parser = crowd)]
    #[arg(env = "UNSTALL_LAB_COUNT", hide_env_values = true)]
    pub(crate) count: Vec<usize>,

    /// The servers' backlogs; several with commas
    #[arg(long = "backlog", value_name = "N", value_delimiter = ',', default_value = "1,16,128")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_535))]
    #[arg(env = "UNSTALL_LAB_BACKLOG", hide_env_values = true)]
    pub(crate) backlogs: Vec<u32>,

    /// How long the servers do not accept after the first connection; several with commas
    #[arg(long, value_name = "TIME", value_delimiter = ',', default_value = "0ms,50ms,300ms,1s")]
    #[arg(value_parser = pause)]
    #[arg(env = "UNSTALL_LAB_PAUSE", hide_env_values = true)]
    pub(crate) pause: Vec<Duration>,

    /// Leave out the burst of nodejs/node#38736, the queue that holds everybody, the closed port and the server that never accepts
    #[arg(long)]
    pub(crate) bursts_only: bool,

    /// How often each burst is run; its figures are of all runs together
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = runs)]
    #[arg(env = "UNSTALL_LAB_RUNS", hide_env_values = true)]
    pub(crate) runs: usize,

    #[command(flatten)]
    pub(crate) json: Json,

    /// Print Markdown tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressWhen,
}

#[derive(Args, Debug)]
pub(crate) struct ProgressWhen {
    /// Progress on stderr: auto, always or never
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, hide_possible_values = true)]
    #[arg(env = "UNSTALL_PROGRESS", hide_env_values = true)]
    pub(crate) progress: When,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    #[default]
    Auto,
    Bpf,
    Coarse,
}

impl From<Engine> for EngineChoice {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Auto => Self::Auto,
            Engine::Bpf => Self::Bpf,
            Engine::Coarse => Self::Coarse,
        }
    }
}

impl Tcp {
    /// The profile, with what is to be different.
    pub(crate) fn profile(&self) -> Result<Profile, Error> {
        let profile = Profile::find(&self.profile)?;
        let profile = match self.retries {
            Some(retries) => profile.with_retries(retries),
            None => profile,
        };
        Ok(match self.queue {
            Some(queue) => profile.with_longest_queue(queue),
            None => profile,
        })
    }

    /// A lab so, to be completed and started.
    pub(crate) fn builder(&self) -> Result<Builder, Error> {
        Ok(Room::builder(self.profile()?).engine(self.engine.into()).pace(self.pace))
    }
}

fn retries(text: &str) -> Result<Retries, String> {
    match (text, text.parse::<u8>()) {
        ("lost", _) => Ok(Retries::Lost),
        (_, Ok(number)) => Ok(Retries::Count(number.into())),
        _ => Err("write a whole number from 0 to 255, or lost".to_owned()),
    }
}

/// A time, or none.
fn pause(text: &str) -> Result<Duration, String> {
    if matches!(text, "0" | "0ms" | "0s") { Ok(Duration::ZERO) } else { duration::parse(text) }
}

fn crowd(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=10_000) => Ok(number),
        _ => Err("write a whole number from 1 to 10000".to_owned()),
    }
}

fn runs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=1000) => Ok(number),
        _ => Err("write a whole number from 1 to 1000".to_owned()),
    }
}
