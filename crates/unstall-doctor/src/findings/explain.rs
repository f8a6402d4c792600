//! The long text of a finding or an outcome, offline.

use super::entry::{Entry, FixKind, Os, general};
use super::{all, get, outcomes};
use std::fmt::Write;
use unstall_core::outcome::Outcome;

/// There is no finding, outcome or check with this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} `{id}`{}", suggestion(.nearest.as_deref()))]
pub struct Unknown {
    /// What was looked for: `finding`, `check`.
    pub what: &'static str,
    /// The name that was asked for.
    pub id: String,
    /// The name that was meant, perhaps.
    pub nearest: Option<String>,
}

impl Unknown {
    /// An unknown `id`, with the nearest of `known` if one is near enough to be a slip.
    pub fn among<'a>(what: &'static str, id: &str, known: impl Iterator<Item = &'a str>) -> Self {
        let scored = known.map(|name| (strsim::jaro_winkler(id, name), name));
        let best = scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0));
        Self { what, id: id.to_owned(), nearest: best.map(|(_, name)| name.to_owned()) }
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(": did you mean `{name}`?"))
}

/// The long text of a finding (by id) or of an outcome (`refused`, `timed_out`), as plain text with long lines: one
/// paragraph per line, to be wrapped by whoever shows it.
///
/// # Errors
/// When neither a finding nor an outcome has this id; the error suggests the nearest.
pub fn explain(id: &str) -> Result<String, Unknown> {
    if let Some(entry) = get(id) {
        return Ok(finding(entry));
    }
    match Outcome::ALL.into_iter().find(|outcome| outcome.id() == id) {
        Some(outcome) => Ok(format!("{id} (outcome)\n\n{}\n", outcomes::meaning(outcome))),
        None => Err(Unknown::among("finding", id, ids())),
    }
}

/// Every name that [`explain`] knows.
fn ids() -> impl Iterator<Item = &'static str> {
    all().map(|entry| entry.id).chain(Outcome::ALL.into_iter().map(Outcome::id))
}

fn finding(entry: &Entry) -> String {
    let mut text =
        format!("{} ({})\n{}\n\n{}\n", entry.id, entry.severity, general(entry.title), general(entry.why));
    let mut line = |text_line: String| {
        text.push_str(&text_line);
        text.push('\n');
    };
    if !entry.affects.is_empty() {
        line(format!("\nAffects: {}", general(&entry.affects.join("; "))));
    }
    for (number, fix) in entry.fixes.iter().enumerate() {
        let heading = if number == 0 { "\nFixes, best first:\n" } else { "" };
        let kind = if fix.kind == FixKind::Automatic { ", automatic" } else { "" };
        line(format!("{heading}  {}. ({}{kind}) {}", number + 1, fix.place, general(fix.text)));
        for command in fix.commands {
            line(format!("     {}{}", os_prefix(command.os), general(command.line)));
        }
        if let Some(undo) = fix.undo {
            line(format!("     Undo: {}", general(undo)));
        }
    }
    if names_the_library(entry) {
        line(format!("\n{LIBRARY}"));
    }
    if !entry.links.is_empty() {
        line("\nMore:".to_owned());
        entry.links.iter().for_each(|link| line(format!("  {link}")));
    }
    text
}

/// Where the library is to be had, for an entry that names it as a fix.
pub(super) const LIBRARY: &str = "\
The library: in Rust `unstall::connect`; in Python `unstall.connect`, or `unstall.patch()`, which puts it under requests, urllib, httpx, \
aiohttp and asyncio; in C `unstall_connect`, or `unstall_prepare` in libcurl's socket callback. The README has ten lines for each.";

/// Whether the entry, or one of its fixes for clients, says that the library helps.
pub(super) fn names_the_library(entry: &Entry) -> bool {
    let says = |text: &str| {
        ["library unstall", "connect with unstall", "connects: unstall"]
            .iter()
            .any(|words| text.contains(words))
    };
    says(entry.why) || entry.fixes.iter().any(|fix| says(fix.text))
}

/// `Linux: ` and the like, nothing for a command that works anywhere.
pub(super) fn os_prefix(os: Os) -> String {
    let mut prefix = String::new();
    if os != Os::Any {
        let _ = write!(prefix, "{}: ", os.name());
    }
    prefix
}
