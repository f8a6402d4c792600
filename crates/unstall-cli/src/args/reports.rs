//! Files that a report is written to as well: an option for each format of the doctor's table.

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use std::path::{Path, PathBuf};
use unstall_doctor::report::{FORMATS, Format};

/// The formats that were asked for, with their files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports(Vec<(&'static Format, PathBuf)>);

/// The file that stands for stdout.
pub(crate) const STDOUT: &str = "-";

pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new(STDOUT)
}

impl Reports {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static Format, &Path)> {
        self.0.iter().map(|(format, path)| (*format, path.as_path()))
    }

    /// The format that goes to stdout, in place of the text.
    pub(crate) fn on_stdout(&self) -> impl Iterator<Item = &'static Format> {
        self.iter().filter(|(_, path)| is_stdout(path)).map(|(format, _)| format)
    }
}

impl Args for Reports {
    fn augment_args(command: Command) -> Command {
        FORMATS.iter().fold(command, |command, format| {
            let argument = Arg::new(format.name)
                .long(format.name)
                .value_name("FILE")
                .value_parser(clap::value_parser!(PathBuf))
                .help(format!("Also write {}", format.about))
                .long_help(format!(
                    "Also write {}\n\n`-` is stdout, in place of the text. The file is made before anything is measured, and replaced \
                     when all of it is there.",
                    format.about
                ))
                .env(format.variable)
                .hide_env_values(true)
                // One of them reminds of all.
                .hide_short_help(format.name != FORMATS[0].name);
            command.arg(argument)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Reports {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = |format: &'static Format| {
            let path: PathBuf = matches.get_one::<PathBuf>(format.name)?.clone();
            Some((format, path))
        };
        Ok(Self(FORMATS.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
