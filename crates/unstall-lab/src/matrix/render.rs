//! The matrix for people: blocks for a terminal, a table in Markdown.

use super::{Cell, Matrix, Row};
use std::fmt::Write;
use std::time::Duration;

impl Matrix {
    /// A block for each scenario, at most `width` columns wide.
    pub fn to_text(&self, width: usize) -> String {
        let names = self.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.client.chars().count());
        let widest = names.max().unwrap_or_default().min(width.saturating_sub(40).max(12));
        let mut text =
            format!("profile {} (emulated); every figure includes the client's start-up\n", self.profile);
        for row in &self.rows {
            let _ = write!(text, "\n{}: {}\n", row.scenario, row.about);
            let _ =
                writeln!(text, "  {:widest$}  {:11}  {:>9}", "best possible", row.best.words(), best(row));
            for cell in &row.cells {
                let name: String = cell.client.chars().take(widest).collect();
                let _ = writeln!(text, "  {name:widest$}  {}", line(cell, width.saturating_sub(widest + 4)));
            }
        }
        text
    }

    /// A table in Markdown: a row for each scenario, a column for each client.
    pub fn to_markdown(&self) -> String {
        let clients: Vec<&str> = self
            .rows
            .first()
            .map(|row| row.cells.iter().map(|cell| &*cell.client).collect())
            .unwrap_or_default();
        let mut text =
            format!("Profile `{}`, emulated; every figure includes the client's start-up.\n\n", self.profile);
        let head: Vec<String> = clients.iter().map(|name| escape(name)).collect();
        let _ = writeln!(text, "| scenario | best | {} |", head.join(" | "));
        let _ = writeln!(text, "|{}", "---|".repeat(clients.len() + 2));
        for row in &self.rows {
            let cells: Vec<String> = row.cells.iter().map(|cell| escape(&figure(cell))).collect();
            let _ = writeln!(
                text,
                "| {} | {} {} | {} |",
                row.scenario,
                row.best.words(),
                best(row),
                cells.join(" | ")
            );
        }
        text
    }
}

fn best(row: &Row) -> String {
    row.best_after_ns.map_or_else(
        || "its limit".to_owned(),
        |after| if after == 0 { "at once".to_owned() } else { show(after) },
    )
}

fn line(cell: &Cell, width: usize) -> String {
    let (Some(result), Some(median)) = (cell.result, cell.median_ns) else {
        return format!("not run: {}", cell.words).chars().take(width).collect();
    };
    let line =
        format!("{:11}  {:>9}  n {}  {}", result.words(), show(median), cell.samples_ns.len(), words(cell));
    line.trim_end().chars().take(width).collect()
}

/// What it said, where that tells more than its result.
fn words(cell: &Cell) -> &str {
    if cell.exit_code == Some(0) { "" } else { &cell.words }
}

fn figure(cell: &Cell) -> String {
    match (cell.result, cell.median_ns) {
        (Some(result), Some(median)) => format!("{} {}", result.words(), show(median)),
        _ => "not run".to_owned(),
    }
}

fn show(ns: u64) -> String {
    let seconds = Duration::from_nanos(ns).as_secs_f64();
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Result as Gets;

    fn matrix() -> Matrix {
        let cell = |client: &str, result, ms: Option<u64>, words: &str| Cell {
            client: client.to_owned(),
            result,
            exit_code: Some(7),
            median_ns: ms.map(|ms| ms * 1_000_000),
            samples_ns: ms.into_iter().map(|ms| ms * 1_000_000).collect(),
            words: words.to_owned(),
        };
        let cells = vec![
            cell("curl", Some(Gets::Refused), Some(2025), "curl: (7) Failed to connect to 127.0.0.1 port 9"),
            cell("a|b", None, None, "a|b: command not found"),
        ];
        let about = "nobody listens on 127.0.0.1";
        let row = Row { scenario: "closed", about, best: Gets::Refused, best_after_ns: Some(0), cells };
        Matrix { profile: "windows-11".to_owned(), limit_ns: 6_000_000_000, rows: vec![row] }
    }

    #[test]
    fn text_fits_its_width_and_unknown_is_no_figure() {
        let text = matrix().to_text(60);
        assert!(text.lines().skip(1).all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.contains("  curl  refused         2.02 s  n 1"), "{text}");
        assert!(text.contains("not run: a|b"), "{text}");
    }

    #[test]
    fn markdown_has_as_many_columns_in_every_row() {
        let text = matrix().to_markdown();
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        let counts: Vec<_> = text.lines().filter(|line| line.starts_with('|')).map(columns).collect();
        assert_eq!(counts, [5, 5, 5], "{text}");
    }
}
