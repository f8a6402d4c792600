//! The benchmark for people: a block for each situation on a terminal, a table for each profile in Markdown.

use super::{Backlog, Case, Cell, Client, Kind};
use crate::units::shown;
use std::fmt::Write as _;

/// The heads of the columns, and how wide they are in text.
const COLUMNS: [(&str, usize); 9] = [
    ("client", 11),
    ("connected", 9),
    ("refused", 7),
    ("timed out", 9),
    ("ghosts", 6),
    ("p50", 8),
    ("p99", 8),
    ("max", 8),
    ("SYNs each", 9),
];

impl Backlog {
    /// A block for each situation, and the criteria.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for case in &self.cases {
            let _ = writeln!(text, "{}", case.name());
            let _ = writeln!(text, "  {}", line(&COLUMNS.map(|(head, _)| head.to_owned())));
            for cell in &case.cells {
                let _ = writeln!(text, "  {}", line(&figures(cell)));
            }
            text.push('\n');
        }
        text + &self.verdicts("") + "\n" + NOTES + "\n"
    }

    /// A table for each profile, and the criteria.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        let mut profile = None;
        for case in &self.cases {
            if profile != Some(&case.profile) {
                profile = Some(&case.profile);
                let heads = COLUMNS.map(|(head, _)| head).join(" | ");
                let label = case.label();
                let _ = writeln!(text, "### `{}`, {label}\n\n| situation | {heads} |", case.profile);
                let _ = writeln!(text, "|---|---|{}", "--:|".repeat(COLUMNS.len() - 1));
            }
            for (index, cell) in case.cells.iter().enumerate() {
                let situation = if index == 0 { case.situation() } else { String::new() };
                let _ = writeln!(text, "| {situation} | {} |", figures(cell).join(" | "));
            }
            let last = self.cases.iter().rev().find(|other| other.profile == case.profile);
            if last.is_some_and(|last| std::ptr::eq(last, case)) {
                text.push('\n');
            }
        }
        text + &self.verdicts("* ") + "\n" + NOTES + "\n"
    }

    fn verdicts(&self, bullet: &str) -> String {
        let mut text = String::new();
        for criterion in &self.criteria {
            let (what, of, missed) = (criterion.what, criterion.of, criterion.missed.len());
            let _ = match (of, missed) {
                (0, _) => writeln!(text, "{bullet}not looked at: {what}"),
                (_, 0) => writeln!(text, "{bullet}kept in {of} of {of}: {what}"),
                _ => writeln!(text, "{bullet}missed in {missed} of {of}: {what}"),
            };
            for missed in &criterion.missed {
                let _ = writeln!(text, "{}{missed}", if bullet.is_empty() { "    " } else { "  * " });
            }
        }
        text
    }
}

const NOTES: &str = "\
Times are to the end of a connect, whatever it was; what has no end after 10 s counts as timed out, +n ended otherwise.
Ghosts are connected and not accepted 150 ms after the last connect had ended and the pause was over.
SYNs are counted by the packet filter. Emulated retries of a burst come in lockstep: a property of the emulation until
shown otherwise on Windows.";

impl Case {
    /// The figures of one client.
    pub fn cell(&self, client: Client) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.client == client)
    }

    const fn label(&self) -> &'static str {
        if self.emulated { "emulated" } else { "measured" }
    }

    /// The situation in a few words, with its profile.
    pub(super) fn name(&self) -> String {
        format!("{} ({}), {}", self.profile, self.label(), self.situation())
    }

    fn situation(&self) -> String {
        let runs = if self.runs > 1 { format!(", {} runs", self.runs) } else { String::new() };
        let backlog = self.backlog.map_or_else(|| "none".to_owned(), |backlog| backlog.to_string());
        match (self.kind, self.pause_ns) {
            (Kind::Closed, _) => "closed port, one connect after another".to_owned(),
            (Kind::NeverFull, _) => format!("{} at once, a queue that holds them all{runs}", self.count),
            (Kind::Report, _) => format!("nodejs/node#38736: {} at once, queue {backlog}{runs}", self.count),
            (_, None) => format!("{} connect, backlog {backlog}, full for ever", self.count),
            (_, Some(pause)) => {
                format!("{} at once, backlog {backlog}, pause {} ms{runs}", self.count, pause / 1_000_000)
            }
        }
    }
}

fn line(words: &[String; COLUMNS.len()]) -> String {
    let mut line = String::new();
    for (index, (word, (_, width))) in words.iter().zip(COLUMNS).enumerate() {
        let _ = if index == 0 { write!(line, "{word:width$}") } else { write!(line, "  {word:>width$}") };
    }
    line
}

fn figures(cell: &Cell) -> [String; COLUMNS.len()] {
    // What ended otherwise is rare, and nothing that a column is kept for.
    let timed_out = match cell.other {
        0 => cell.timed_out.to_string(),
        other => format!("{} +{other}", cell.timed_out),
    };
    [
        cell.client.name().to_owned(),
        cell.connected.to_string(),
        cell.refused.to_string(),
        timed_out,
        cell.ghosts.map_or_else(|| "-".to_owned(), |ghosts| ghosts.to_string()),
        shown(cell.p50_ns),
        shown(cell.p99_ns),
        shown(cell.max_ns),
        format!("{:.1}", cell.syns_per_connect()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backlog::Criterion;

    fn backlog() -> Backlog {
        let cell = |client, ms: u64| Cell {
            client,
            connected: 232,
            refused: 67,
            timed_out: 0,
            other: 1,
            ghosts: None,
            p50_ns: ms * 1_000_000,
            p99_ns: ms * 1_000_000,
            max_ns: ms * 1_000_000,
            syns: 450,
            most_tries: None,
        };
        let case = |profile: &str, kind, emulated| Case {
            kind,
            profile: profile.to_owned(),
            emulated,
            count: 300,
            runs: 1,
            backlog: Some(232),
            pause_ns: Some(300_000_000),
            cells: vec![cell(Client::Default, 1010), cell(Client::Ours, 12)],
        };
        let criteria = vec![
            Criterion { what: "kept", of: 2, missed: Vec::new() },
            Criterion { what: "not kept", of: 2, missed: vec!["linux: 3 ms".to_owned()] },
            Criterion { what: "nowhere", of: 0, missed: Vec::new() },
        ];
        let cases = vec![case("windows-11", Kind::Report, true), case("linux", Kind::Burst, false)];
        Backlog { cases, criteria }
    }

    #[test]
    fn the_text() {
        insta::assert_snapshot!(backlog().to_text());
    }

    #[test]
    fn the_markdown() {
        insta::assert_snapshot!(backlog().to_markdown());
    }
}
