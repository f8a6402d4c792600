//! The config file: defaults for options that have an environment variable.
//!
//! A flag goes before the environment, the environment before the file, the file before the built-in default. The settings are the options of
//! the command line themselves ([`settings`]), so that there is no second table.

pub(crate) mod command;
mod file;
pub(crate) mod settings;

pub(crate) use file::Config;

use etcetera::BaseStrategy;
use settings::Setting;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The variable that names the file.
const VARIABLE: &str = "UNSTALL_CONFIG";

/// Which file is read.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    /// This one, which must be there.
    Named(PathBuf),
    /// The usual one, if it is there.
    Usual,
    /// None at all.
    None,
}

/// Where the file is looked for: `$XDG_CONFIG_HOME/unstall/config.toml`, `%APPDATA%\unstall\config.toml`.
pub(crate) fn usual_path() -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.config_dir().join("unstall").join("config.toml"))
}

/// The file that this command line reads; `Ok(None)`: there is none.
///
/// # Errors
/// It cannot be read, or says something that is no setting.
pub(crate) fn load(arguments: &[OsString], command: &clap::Command) -> Result<Option<Config>, String> {
    let path = match choice(arguments) {
        Choice::None => return Ok(None),
        Choice::Named(path) => path,
        Choice::Usual => match usual_path() {
            Some(path) if path.exists() => path,
            _ => return Ok(None),
        },
    };
    Config::read(path, command).map(Some)
}

/// What the command line and the environment say about the file. Only what stands before `--` counts.
fn choice(arguments: &[OsString]) -> Choice {
    let ours: Vec<&OsStr> =
        arguments.iter().map(OsString::as_os_str).take_while(|word| *word != "--").collect();
    // They must work whatever the file says.
    if ours.iter().any(|word| ["-h", "--help", "-V", "--version", "--no-config"].iter().any(|it| word == it))
    {
        return Choice::None;
    }
    let mut words = ours.iter();
    while let Some(word) = words.next() {
        if *word == "--config" {
            return words.next().map_or(Choice::None, |path| Choice::Named(PathBuf::from(path)));
        }
        if let Some(path) = word.to_str().and_then(|word| word.strip_prefix("--config=")) {
            return Choice::Named(PathBuf::from(path));
        }
    }
    match env::var_os(VARIABLE) {
        Some(path) if !path.is_empty() => Choice::Named(PathBuf::from(path)),
        _ => Choice::Usual,
    }
}

/// The command line with the settings of the file as flags behind the command. `is_set`: whether a variable of the environment is.
pub(crate) fn applied(
    mut arguments: Vec<OsString>,
    config: &Config,
    command: &clap::Command,
    is_set: impl Fn(&str) -> bool,
) -> Vec<OsString> {
    let Some((at, sub)) = subcommand(&arguments, command) else { return arguments };
    let given: Vec<String> = arguments[1..]
        .iter()
        .take_while(|word| *word != "--")
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let is_given = |argument: &clap::Arg| given.iter().any(|word| settings::is(argument, word));
    let conflicts = |a: &clap::Arg, b: &clap::Arg| {
        sub.get_arg_conflicts_with(a).iter().any(|other| other.get_id() == b.get_id())
    };
    // Only one of two options says that they conflict.
    let contradicts_one_given = |argument: &clap::Arg| {
        sub.get_arguments()
            .filter(|other| is_given(other))
            .any(|it| conflicts(it, argument) || conflicts(argument, it))
    };
    let flags: Vec<OsString> = settings::of(command, sub)
        .filter(|setting| !is_set(setting.variable))
        .filter(|Setting { argument, .. }| !is_given(argument) && !contradicts_one_given(argument))
        .filter_map(|setting| setting.flag(config.value(sub.get_name(), setting.key)?))
        .collect();
    arguments.splice(at + 1..=at, flags);
    arguments
}

/// The command of a command line, and its place.
fn subcommand<'a>(arguments: &[OsString], command: &'a clap::Command) -> Option<(usize, &'a clap::Command)> {
    let mut words = arguments.iter().enumerate().skip(1);
    while let Some((at, word)) = words.next() {
        let word = word.to_str()?;
        if !word.starts_with('-') {
            return command.find_subcommand(word).map(|sub| (at, sub));
        }
        let takes_value = command.get_arguments().any(|argument| {
            argument.get_action().takes_values()
                && argument.get_long().is_some_and(|long| word == format!("--{long}"))
        });
        if takes_value {
            words.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Choice, Config, applied, choice};
    use crate::args;
    use std::ffi::OsString;
    use std::path::PathBuf;

    fn line(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    fn with(config: &str, typed: &str, set: &[&str]) -> String {
        let command = args::command();
        let config = Config::parse(PathBuf::from("c.toml"), config, &command).expect("a config");
        let applied = applied(line(typed), &config, &command, |name| set.contains(&name));
        applied.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_setting_stands_behind_the_command_and_before_what_was_typed() {
        let config = "timeout = '1s'\n[doctor]\nsamples = 7\njson = true\n";
        assert_eq!(
            with(config, "unstall --color never doctor :80", &[]),
            "unstall --color never doctor --samples=7 --timeout=1s --json :80"
        );
        assert_eq!(with(config, "unstall connect :80", &[]), "unstall connect --timeout=1s :80");
        assert_eq!(with(config, "unstall explain refused", &[]), "unstall explain refused");
    }

    #[test]
    fn flags_and_the_environment_go_before_the_file() {
        let config = "timeout = '1s'\n[doctor]\nsamples = 7\n";
        assert_eq!(
            with(config, "unstall doctor --samples 3", &["UNSTALL_TIMEOUT"]),
            "unstall doctor --samples 3"
        );
        assert_eq!(
            with(config, "unstall doctor --timeout=2s", &["UNSTALL_SAMPLES"]),
            "unstall doctor --timeout=2s"
        );
        assert_eq!(with("[connect]\ncount = 5\n", "unstall connect -n3 :80", &[]), "unstall connect -n3 :80");
    }

    #[test]
    fn a_flag_takes_back_what_it_contradicts() {
        let config = "[doctor]\njson = true\n";
        assert_eq!(with(config, "unstall doctor --json-lines", &[]), "unstall doctor --json-lines");
    }

    #[test]
    fn the_commands_own_table_goes_before_the_rest() {
        let config = "timeout = '1s'\n[wait]\ntimeout = '1m'\n";
        assert_eq!(
            with(config, "unstall wait :80 -- x --timeout 3s", &[]),
            "unstall wait --timeout=1m :80 -- x --timeout 3s"
        );
    }

    #[test]
    fn the_file_is_named_before_the_end_of_options() {
        assert_eq!(choice(&line("unstall doctor --config a.toml")), Choice::Named("a.toml".into()));
        assert_eq!(choice(&line("unstall --config=b.toml doctor")), Choice::Named("b.toml".into()));
        assert_eq!(choice(&line("unstall doctor --no-config --config a.toml")), Choice::None);
        assert_eq!(choice(&line("unstall doctor --help")), Choice::None);
        assert_ne!(choice(&line("unstall wait :80 -- x --config a.toml")), Choice::Named("a.toml".into()));
    }
}
