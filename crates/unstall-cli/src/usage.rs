//! What the parser answers instead of arguments: help, version, or that the command line makes no sense.

use crate::config::Config;
use crate::document::{self, ErrorReport};
use crate::exit::Exit;
use crate::output;
use clap::builder::{FalseyValueParser, TypedValueParser};
use clap::error::ErrorKind;
use std::env;
use std::ffi::OsString;
use std::io::Write;
use unstall_doctor::report::Header;

/// Prints help and version to stdout; anything else is an error, on stderr.
pub(crate) fn answer(error: &clap::Error, config: Option<&Config>, line: &[String]) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render().ansi().to_string();
            output::styled(&text, Exit::Ok)
        }
        _ => {
            let text = in_one_line(error.render().ansi().to_string(), line);
            let _ = write!(anstream::stderr(), "{text}{}{}", from_environment(), from_file(config));
            if wants_json(line) {
                let sentence = first_line(&in_one_line(error.render().to_string(), line));
                let report = ErrorReport::new(Header::now(line.to_vec()), sentence);
                return output::result(&document::to_json(&report), Exit::Usage);
            }
            Exit::Usage
        }
    }
}

/// Refuses a command line that the parser let through; nothing was done.
pub(crate) fn refuse(sentence: &str, json: bool, line: &[String]) -> Exit {
    output::note(sentence);
    if json {
        let report = ErrorReport::new(Header::now(line.to_vec()), sentence.to_owned());
        return output::result(&document::to_json(&report), Exit::Usage);
    }
    Exit::Usage
}

/// Settings that come from the environment are easily forgotten when the parser complains about one of them.
fn from_environment() -> String {
    let set = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> =
        set.filter(|name| name.starts_with("UNSTALL_") && !name.starts_with("UNSTALL_LAB_")).collect();
    names.sort();
    if names.is_empty() {
        String::new()
    } else {
        format!("note: set in the environment: {}\n", names.join(", "))
    }
}

/// The same for a config file.
fn from_file(config: Option<&Config>) -> String {
    config.map_or_else(String::new, |config| {
        format!("note: settings were read from {}\n", config.path.display())
    })
}

/// Whether the command line that makes no sense asked for JSON; its environment counts as well.
pub(crate) fn wants_json(line: &[String]) -> bool {
    let parse = |value: OsString| FalseyValueParser::new().parse(&clap::Command::new("unstall"), None, value);
    let by_variable = env::var_os("UNSTALL_JSON").is_some_and(|value| parse(value).unwrap_or(false));
    by_variable || line.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
}

/// The parser quotes arguments as they are; one with a line break or another control character in it is escaped here.
fn in_one_line(text: String, line: &[String]) -> String {
    let unprintable = line.iter().filter(|argument| argument.contains(char::is_control));
    unprintable
        .fold(text, |text, argument| text.replace(argument.as_str(), &argument.escape_debug().to_string()))
}

/// The parser's sentence without its hints on usage.
fn first_line(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

#[cfg(test)]
mod tests {
    use super::wants_json;

    fn line(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn json_counts_only_before_the_end_of_options() {
        assert!(wants_json(&line("unstall connect --json :0")));
        assert!(!wants_json(&line("unstall connect :0")));
        assert!(!wants_json(&line("unstall connect -- --json")));
    }
}
