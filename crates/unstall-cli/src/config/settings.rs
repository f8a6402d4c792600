//! What can be set in the file: every option with an environment variable, under its long name.

use clap::{Arg, ArgAction, Command};
use std::ffi::OsString;

/// An option that the file may set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    /// Its long name.
    pub(crate) key: &'a str,
    pub(crate) variable: &'a str,
    pub(crate) argument: &'a Arg,
}

/// What says where the file is cannot stand in it.
const NEVER: &str = "config";

/// The settings of a command, those of every command first.
pub(crate) fn of<'a>(program: &'a Command, command: &'a Command) -> impl Iterator<Item = Setting<'a>> {
    let global = program.get_arguments().filter(|argument| argument.is_global_set());
    let all = global.chain(command.get_arguments().filter(|argument| !argument.is_global_set()));
    all.filter_map(|argument| {
        let key = argument.get_long().filter(|key| *key != NEVER)?;
        Some(Setting { key, variable: argument.get_env()?.to_str()?, argument })
    })
}

/// The commands that have settings of their own.
pub(crate) fn commands(program: &Command) -> impl Iterator<Item = &Command> {
    program.get_subcommands().filter(|sub| {
        !sub.is_hide_set() && sub.get_arguments().any(|it| !it.is_global_set() && it.get_env().is_some())
    })
}

/// Whether a word of the command line is this option.
pub(crate) fn is(argument: &Arg, word: &str) -> bool {
    let is_long = |long: &str| word.strip_prefix("--").and_then(|rest| rest.strip_prefix(long));
    let long =
        argument.get_long().and_then(is_long).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
    let short = argument.get_short().is_some_and(|short| {
        word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.starts_with(short))
    });
    long || short
}

impl Setting<'_> {
    /// Whether it is on or off, and has no other value.
    pub(crate) fn is_switch(&self) -> bool {
        matches!(self.argument.get_action(), ArgAction::SetTrue)
    }

    /// Whether it may have several values.
    pub(crate) fn is_list(&self) -> bool {
        self.argument.get_value_delimiter().is_some()
    }

    /// The flag that says the same; `None`: a switch that is off.
    pub(crate) fn flag(&self, value: &str) -> Option<OsString> {
        if self.is_switch() {
            return (value == "true").then(|| format!("--{}", self.key).into());
        }
        Some(format!("--{}={value}", self.key).into())
    }

    /// The built-in default, as it stands in the file; `None`: it has none.
    pub(crate) fn default(&self) -> Option<String> {
        if self.is_switch() {
            return Some("false".to_owned());
        }
        let values = self.argument.get_default_values();
        let value = values.first()?.to_string_lossy().into_owned();
        Some(if value.parse::<i64>().is_ok() { value } else { format!("\"{value}\"") })
    }
}
