//! Reading the file: TOML, every key a setting, every mistake with its line.

use super::settings::{self, Setting};
use clap::Command;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use unstall_doctor::Unknown;

/// What a file says.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) path: PathBuf,
    /// By table (empty: above all tables) and key.
    values: BTreeMap<(String, String), String>,
}

impl Config {
    pub(crate) fn read(path: PathBuf, command: &Command) -> Result<Self, String> {
        let text = fs::read_to_string(&path).map_err(|error| {
            format!(
                "cannot read the config file {}: {error}; correct its path, or give --no-config",
                path.display()
            )
        })?;
        Self::parse(path, &text, command)
    }

    pub(crate) fn parse(path: PathBuf, text: &str, command: &Command) -> Result<Self, String> {
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or_else(String::new, |span| format!(", line {}", line(text, &span)));
            format!("{}{line}: {}", path.display(), error.message())
        })?;
        let mut values = BTreeMap::new();
        let reader = Reader { path: &path, text, command };
        for (key, value) in table.get_ref() {
            if let DeValue::Table(inner) = value.get_ref() {
                let sub = reader.table(key)?;
                for (key, value) in inner {
                    let value = reader.value(Some(sub), key, value)?;
                    values.insert((sub.get_name().to_owned(), key.get_ref().to_string()), value);
                }
            } else {
                let value = reader.value(None, key, value)?;
                values.insert((String::new(), key.get_ref().to_string()), value);
            }
        }
        Ok(Self { path, values })
    }

    /// What a setting is for a command: by its own table, else above all tables.
    pub(crate) fn value(&self, command: &str, key: &str) -> Option<&str> {
        let at = |table: &str| self.values.get(&(table.to_owned(), key.to_owned())).map(String::as_str);
        at(command).or_else(|| at(""))
    }
}

/// What is needed to say where a mistake is.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    command: &'a Command,
}

type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;

impl Reader<'_> {
    fn mistake(&self, span: &Range<usize>, what: &str) -> String {
        format!("{}, line {}: {what}", self.path.display(), line(self.text, span))
    }

    fn table(&self, key: &Key<'_>) -> Result<&Command, String> {
        let name = key.get_ref();
        settings::commands(self.command).find(|sub| sub.get_name() == name).ok_or_else(|| {
            let known = settings::commands(self.command).map(Command::get_name);
            self.mistake(&key.span(), &Unknown::among("command", name, known).to_string())
        })
    }

    /// A value as the command line would have it.
    fn value(
        &self,
        of: Option<&Command>,
        key: &Key<'_>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<String, String> {
        let commands: Vec<&Command> =
            of.map_or_else(|| settings::commands(self.command).collect(), |sub| vec![sub]);
        let all: Vec<Setting<'_>> = commands.iter().flat_map(|sub| settings::of(self.command, sub)).collect();
        let setting = all.iter().find(|setting| setting.key == key.get_ref()).ok_or_else(|| {
            let known = all.iter().map(|setting| setting.key);
            self.mistake(&key.span(), &Unknown::among("setting", key.get_ref(), known).to_string())
        })?;
        plain(value.get_ref(), setting)
            .ok_or_else(|| self.mistake(&value.span(), &format!("{} wants {}", setting.key, wanted(setting))))
    }
}

fn plain(value: &DeValue<'_>, setting: &Setting<'_>) -> Option<String> {
    match value {
        DeValue::Boolean(value) if setting.is_switch() => Some(value.to_string()),
        _ if setting.is_switch() => None,
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Array(values) if setting.is_list() => {
            let parts: Option<Vec<String>> =
                values.iter().map(|value| plain(value.get_ref(), setting)).collect();
            parts.map(|parts| parts.join(","))
        }
        _ => None,
    }
}

fn wanted(setting: &Setting<'_>) -> &'static str {
    match (setting.is_switch(), setting.is_list()) {
        (true, _) => "true or false",
        (_, true) => "a text in quotes or a list of them",
        _ => "a number, or a text in quotes",
    }
}

/// The line that a place is on, counted from 1.
fn line(text: &str, span: &Range<usize>) -> usize {
    text[..span.start.min(text.len())].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::Config;
    use crate::args;
    use std::path::PathBuf;

    fn mistake(text: &str) -> String {
        Config::parse(PathBuf::from("c.toml"), text, &args::command()).expect_err("a mistake")
    }

    #[test]
    fn every_mistake_has_its_line_and_a_hint() {
        assert_eq!(
            mistake("\n[doctor]\nsampels = 3\n"),
            "c.toml, line 3: there is no setting `sampels`: did you mean `samples`?"
        );
        assert_eq!(
            mistake("[docter]\n"),
            "c.toml, line 1: there is no command `docter`: did you mean `doctor`?"
        );
        assert_eq!(mistake("timeout = '1s'\njson = 'yes'\n"), "c.toml, line 2: json wants true or false");
        assert!(mistake("a = \n").starts_with("c.toml, line 1: "), "{}", mistake("a = \n"));
        assert_eq!(mistake("[connect]\nsamples = 3\n").split(':').next(), Some("c.toml, line 2"));
    }

    #[test]
    fn lists_are_one_value() {
        let text = "[doctor]\ncheck = ['clock', 'platform']\n";
        let config = Config::parse(PathBuf::from("c.toml"), text, &args::command()).expect("a config");
        assert_eq!(config.value("doctor", "check"), Some("clock,platform"));
        assert_eq!(config.value("connect", "check"), None);
    }
}
