//! The rows of the finding table.

use super::finding::{Finding, Fix};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// How bad a finding is. Ordered: info is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing stalls because of it alone. Does not fail a run by default.
    Info,
    /// Something stalls, or will for some programs.
    Warn,
    /// Something does not work at all.
    Error,
}

impl Severity {
    /// Every severity, the least first.
    pub const ALL: [Self; 3] = [Self::Info, Self::Warn, Self::Error];

    /// The stable identifier, as in the JSON report and on the command line: `info`, `warn`, `error`.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

impl Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// Where a fix is made. Ordered best first: what is fixed at the server is fixed for every client, and a setting of
/// the whole system touches programs that had no trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// How the server binds, listens, accepts or writes.
    Server,
    /// An option, a version or an environment variable of the client.
    Client,
    /// A setting of the operating system.
    System,
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::System => "system",
        })
    }
}

/// Whether unstall could carry a fix out itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FixKind {
    /// Its commands are safe to run as they are, and [`FixEntry::undo`] takes them back.
    Automatic,
    /// A person has to decide or edit something.
    Manual,
}

/// The operating system that a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Os {
    /// Any.
    Any,
    /// Linux.
    Linux,
    /// Windows.
    Windows,
    /// macOS.
    MacOs,
}

impl Os {
    /// Whether a command for this OS is of use on `os`, a name as in [`std::env::consts::OS`].
    pub fn is(self, os: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Linux => os == "linux",
            Self::Windows => os == "windows",
            Self::MacOs => os == "macos",
        }
    }

    /// Its name for people; empty for [`Os::Any`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Linux => "Linux",
            Self::Windows => "Windows",
            Self::MacOs => "macOS",
        }
    }
}

/// A command line of a fix. Placeholders such as `{port}` are filled in by [`Entry::found`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Where it works.
    pub os: Os,
    /// What to type.
    pub line: &'static str,
}

/// A fix as the table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixEntry {
    /// Where it is made.
    pub place: Place,
    /// What to do, one or two sentences.
    pub text: &'static str,
    /// The commands that do it, if commands do.
    pub commands: &'static [Command],
    /// Whether unstall could run them.
    pub kind: FixKind,
    /// How to take it back; always there for [`FixKind::Automatic`].
    pub undo: Option<&'static str>,
}

impl FixEntry {
    /// A fix that a person makes, without commands.
    pub const fn manual(place: Place, text: &'static str) -> Self {
        Self { place, text, commands: &[], kind: FixKind::Manual, undo: None }
    }

    /// The same with commands.
    #[must_use]
    pub const fn with_commands(mut self, commands: &'static [Command]) -> Self {
        self.commands = commands;
        self
    }

    /// The same, which unstall may carry out; it needs a way back.
    #[must_use]
    pub const fn automatic(mut self) -> Self {
        self.kind = FixKind::Automatic;
        self
    }

    /// The same with the way back.
    #[must_use]
    pub const fn with_undo(mut self, undo: &'static str) -> Self {
        self.undo = Some(undo);
        self
    }
}

/// A row of the finding table. Texts may hold placeholders, `{address}`, which [`Entry::found`] fills in.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// Stable name, kebab case.
    pub id: &'static str,
    /// Severity unless the check that finds it knows better.
    pub severity: Severity,
    /// One line: what is the matter.
    pub title: &'static str,
    /// The long text: what happens, why, how to see it. Paragraphs are separated by empty lines.
    pub why: &'static str,
    /// Who notices it.
    pub affects: &'static [&'static str],
    /// What to do, best first.
    pub fixes: &'static [FixEntry],
    /// Where it is documented or was reported.
    pub links: &'static [&'static str],
}

/// A value for a placeholder.
pub type Value<'a> = (&'a str, &'a dyn Display);

impl Entry {
    /// An instance of this finding, its placeholders filled in, for the OS that this runs on. Evidence is added with
    /// [`Finding::with_evidence`].
    pub fn found(&self, values: &[Value<'_>]) -> Finding {
        self.found_on(std::env::consts::OS, values)
    }

    /// [`Entry::found`] with the commands for `os`.
    pub fn found_on(&self, os: &str, values: &[Value<'_>]) -> Finding {
        let mut fixes = self.fixes.iter().map(|fix| Fix::new(fix, os, values));
        let finding = Finding {
            id: self.id.to_owned(),
            severity: self.severity,
            title: fill(self.title, values),
            check: String::new(),
            target: None,
            evidence: Vec::new(),
            why: fill(self.why, values),
            affects: self.affects.iter().map(|text| fill(text, values)).collect(),
            fix: fixes.next(),
            other_fixes: fixes.collect(),
            links: self.links.iter().map(|&link| link.to_owned()).collect(),
        };
        debug_assert_eq!(finding.texts().find(|text| placeholder(text).is_some()), None, "{}", self.id);
        finding
    }
}

/// Fills in a text's placeholders. One without a value stays as it is, which tests look for.
pub(super) fn fill(template: &str, values: &[Value<'_>]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, name, after)) = placeholder(rest) {
        text.push_str(before);
        match values.iter().find(|(key, _)| *key == name) {
            Some((_, value)) => text.push_str(&value.to_string()),
            None => text.push_str(&rest[before.len()..rest.len() - after.len()]),
        }
        rest = after;
    }
    text + rest
}

/// A text as it reads without any instance: `{port}` becomes `PORT`.
pub(super) fn general(template: &str) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, name, after)) = placeholder(rest) {
        text.push_str(before);
        text.push_str(&name.to_uppercase());
        rest = after;
    }
    text + rest
}

/// The first placeholder of a text, with what stands before and behind it. Braces that hold anything but lower-case
/// letters and `_` are plain text.
pub(crate) fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(open) = text[from..].find('{').map(|at| at + from) {
        if let Some(length) = text[open + 1..].find('}') {
            let name = &text[open + 1..open + 1 + length];
            if !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
                return Some((&text[..open], name, &text[open + length + 2..]));
            }
        }
        from = open + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_and_unknown_ones_stay() {
        let values: &[Value<'_>] = &[("port", &80), ("address", &"::1")];
        assert_eq!(fill("{address} port {port}: {x}", values), "::1 port 80: {x}");
        assert_eq!(fill("curl {} {URL} {a b} {", values), "curl {} {URL} {a b} {");
    }

    #[test]
    fn general_text_shows_placeholders_in_capitals() {
        assert_eq!(general("port {port} on {own_address}"), "port PORT on OWN_ADDRESS");
    }
}
