//! `unstall lab list`: profiles with their sources, and scenarios.

use super::args::List;
use super::report;
use crate::exit::Exit;
use crate::output;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;
use unstall_doctor::report::Style;
use unstall_lab::scenario::{self, Scenario};
use unstall_lab::{Error, Profile};

/// What there is.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Everything {
    /// How TCP can behave.
    profiles: Vec<Profile>,
    /// Who can listen where, and what the network can do.
    scenarios: Vec<Row>,
}

/// A scenario in words.
#[derive(Serialize, JsonSchema)]
struct Row {
    /// Stable name, for `--scenario`.
    name: &'static str,
    /// Who listens where and what the network does.
    about: &'static str,
    /// What people see of it.
    shows: &'static str,
}

#[allow(clippy::unnecessary_wraps, reason = "as every action of the lab")]
pub(super) fn run(options: &List, style: Style, line: &[String]) -> Result<Exit, Error> {
    let row = |scenario: &Scenario| Row { name: scenario.id, about: scenario.about, shows: scenario.shows };
    let everything =
        Everything { profiles: Profile::all(), scenarios: scenario::all().iter().map(row).collect() };
    Ok(if options.json.json {
        report(line, everything)
    } else {
        output::result(&text(&everything, style.width), Exit::Ok)
    })
}

fn text(everything: &Everything, width: usize) -> String {
    let mut text = "Profiles (--profile NAME, or a file)\n".to_owned();
    for profile in &everything.profiles {
        let _ = writeln!(text, "\n  {}\n{}", profile.name, wrapped(&profile.summary, width, 6));
        for source in &profile.sources {
            text += &(wrapped(source, width, 8) + "\n");
        }
    }
    text += "\nScenarios (--scenario NAME)\n";
    for row in &everything.scenarios {
        let _ = writeln!(
            text,
            "\n  {}\n{}\n{}",
            row.name,
            wrapped(row.about, width, 6),
            wrapped(row.shows, width, 8)
        );
    }
    text
}

fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let options = textwrap::Options::new(width).initial_indent(&indent).subsequent_indent(&indent);
    textwrap::fill(text, options)
}
