//! `docs/FINDINGS.md`, rendered from the table.

use super::entry::{Entry, general};
use super::explain::{LIBRARY, names_the_library, os_prefix};
use super::{TOPICS, outcomes};
use std::fmt::Write;
use unstall_core::outcome::Outcome;

const INTRO: &str = "\
# Findings

What `unstall doctor` can find, what it means and what to do about it. `unstall explain ID` shows the same text
offline. This page is generated from the finding table of unstall-doctor by `cargo xtask docs`; a test compares them.

Severities: **info** is worth knowing and fails nothing, **warn** is a stall or will be one for some programs, **error** is
something that does not work at all. `--fail-on` sets from which severity on the exit status is 1 (default: warn).
";

/// The page. `cargo xtask docs` writes it to `docs/FINDINGS.md`.
pub fn markdown() -> String {
    let mut page = INTRO.to_owned();
    for topic in TOPICS.iter().filter(|topic| !topic.entries.is_empty()) {
        let _ = write!(page, "\n## {}\n", topic.title);
        topic.entries.iter().for_each(|entry| section(&mut page, entry));
    }
    page.push_str("\n## Outcomes of a connect\n\n");
    for outcome in Outcome::ALL {
        let _ = writeln!(page, "- **`{}`**: {}", outcome.id(), outcomes::meaning(outcome));
    }
    page
}

fn section(page: &mut String, entry: &Entry) {
    let _ = write!(
        page,
        "\n### `{}`\n\n**{}**: {}.\n\n{}\n",
        entry.id,
        entry.severity,
        general(entry.title),
        general(entry.why)
    );
    if !entry.affects.is_empty() {
        let _ = write!(page, "\nAffects: {}.\n", general(&entry.affects.join("; ")));
    }
    if !entry.fixes.is_empty() {
        page.push_str("\nFixes, best first:\n\n");
    }
    for (number, fix) in entry.fixes.iter().enumerate() {
        let _ = writeln!(page, "{}. ({}) {}", number + 1, fix.place, general(fix.text));
        for command in fix.commands {
            let _ = writeln!(page, "   - {}`{}`", os_prefix(command.os), general(command.line));
        }
        if let Some(undo) = fix.undo {
            let _ = writeln!(page, "   - Undo: {}", general(undo));
        }
    }
    if names_the_library(entry) {
        let _ = write!(page, "\n{LIBRARY}\n");
    }
    for (number, link) in entry.links.iter().enumerate() {
        let _ = write!(page, "{}<{link}>", if number == 0 { "\nMore: " } else { ", " });
    }
    if !entry.links.is_empty() {
        page.push('\n');
    }
}
