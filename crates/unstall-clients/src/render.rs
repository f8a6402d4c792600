//! The survey for people.

use crate::{Cell, Survey, Surveyed};
use std::fmt::Write;
use std::time::Duration;
use textwrap::Options;
use unstall_core::text;

/// The widest column of names.
const NAME: usize = 26;
/// The width of a cell in the table.
const CELL: usize = 17;

const INTRO: &str = "What each program got, and how long its user waits; start-up is included, as the column \"answers\" shows.";

impl Survey {
    /// A table where lines are wide enough, else a block for each program.
    pub fn to_text(&self, width: usize) -> String {
        let names = self.clients.iter().map(|client| label(client).chars().count());
        let name = names.max().unwrap_or_default().min(NAME);
        let mut text = filled("", INTRO, width);
        let columns: Vec<usize> = self.columns();
        // As many columns as fit, in as many tables as it takes.
        let fit = (width.saturating_sub(name) / CELL).max(1);
        for columns in columns.chunks(fit) {
            text.push('\n');
            self.table(&mut text, name, columns);
        }
        text.push('\n');
        for put in &self.situations {
            let why = put.why_not.as_ref().map_or_else(String::new, |why| format!(" (not made here: {why})"));
            text += &filled(&format!("{:<10} ", put.head), &format!("{}{why}", put.about), width);
        }
        self.notes(&mut text, width);
        text
    }

    /// The situations that were made.
    fn columns(&self) -> Vec<usize> {
        (0..self.situations.len()).filter(|column| self.situations[*column].why_not.is_none()).collect()
    }

    fn table(&self, text: &mut String, name: usize, columns: &[usize]) {
        let heads = columns
            .iter()
            .map(|column| format!("  {:<width$}", self.situations[*column].head, width = CELL - 2));
        let _ = writeln!(text, "{}", format!("{:name$}{}", "", heads.collect::<String>()).trim_end());
        for client in self.clients.iter().filter(|client| client.why_not.is_none()) {
            let label: String = label(client).chars().take(name).collect();
            let cells = columns
                .iter()
                .map(|column| format!("  {:<width$}", figure(&client.cells[*column]), width = CELL - 2));
            let _ = writeln!(text, "{}", format!("{label:name$}{}", cells.collect::<String>()).trim_end());
        }
    }

    /// Who was not run and why, and what is known to help.
    fn notes(&self, text: &mut String, width: usize) {
        for client in &self.clients {
            if let Some(why) = &client.why_not {
                *text += &filled("", &format!("{} was not run: {why}", label(client)), width);
            }
        }
        let asking = self.clients.iter().filter(|client| client.asks_for_no_retry);
        let asking: Vec<&str> = asking.map(|client| &*client.client).collect();
        if !asking.is_empty() {
            let what = "got sockets without SYN retransmission from the lab, as they ask for on Windows";
            *text += &filled("", &format!("{} {what}", asking.join(", ")), width);
        }
        // Programs of one kind have one cure.
        let mut cures: Vec<(&str, Vec<&str>)> = Vec::new();
        for client in &self.clients {
            let Some(cure) = client.cure.as_deref() else { continue };
            match cures.iter_mut().find(|(known, _)| *known == cure) {
                Some((_, clients)) => clients.push(&client.client),
                None => cures.push((cure, vec![&client.client])),
            }
        }
        if !cures.is_empty() {
            *text += "\nKnown to help where refusals are slow (Windows), for the versions that are here:\n";
        }
        for (cure, clients) in cures {
            *text += &filled("  ", &format!("{}: {cure}", clients.join(", ")), width);
        }
    }
}

fn filled(first: &str, words: &str, width: usize) -> String {
    let rest = " ".repeat(first.chars().count());
    let options =
        Options::new(width.max(1)).initial_indent(first).subsequent_indent(&rest).break_words(false);
    textwrap::fill(words, options) + "\n"
}

fn label(client: &Surveyed) -> String {
    match &client.version {
        Some(version) => format!("{} {version}", client.client),
        None => client.client.clone(),
    }
}

fn figure(cell: &Cell) -> String {
    match (cell.result, cell.median_ns) {
        (Some(gets), Some(ns)) => format!("{} {}", gets.words(), text::duration(Duration::from_nanos(ns))),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn lines_are_broken_and_indented() {
        assert_eq!(filled("a  ", "one two three", 10), "a  one two\n   three\n");
    }
}
