//! A timeline as text: one line for the resolution, one for each attempt, each with a bar on a common scale.

use super::Timeline;
use crate::text::{self, Charset};
use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

/// The bars' space is at least this wide, however narrow the terminal.
const LEAST_CELLS: usize = 10;

/// One line: what, what it came to, and from when to when.
struct Line {
    label: String,
    outcome: String,
    from: Duration,
    to: Duration,
}

impl Timeline {
    /// The timeline as text, `width` columns wide (at least what the words need and ten cells of bar),
    /// without colour, each line with a newline at its end. A bar shows when its attempt was pending, on the
    /// scale of the whole connect; however short, it has one cell.
    ///
    /// ```text
    /// resolve localhost  2 addresses  0.20 ms  |#                   |
    /// [::1]:5000         refused      2030 ms  |####################|
    /// 127.0.0.1:5000     connected    0.30 ms  |                   #|
    /// ```
    pub fn text(&self, width: usize, charset: Charset) -> String {
        let lines = self.lines();
        let label = widest(&lines, |line| &line.label);
        let outcome = widest(&lines, |line| &line.outcome);
        let took = |line: &Line| text::duration(line.to.saturating_sub(line.from));
        let time = lines.iter().map(|line| took(line).len()).max().unwrap_or(0);
        // Two columns between each, and the bar's two edges.
        let cells = width.saturating_sub(label + outcome + time + 6 + 2).max(LEAST_CELLS);
        let whole = lines.iter().map(|line| line.to).fold(self.elapsed, Duration::max);
        let mut text = String::new();
        for line in &lines {
            let bar = charset.row(cells, place(line, whole, cells));
            let Line { label: name, outcome: word, .. } = line;
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name:label$}  {word:outcome$}  {:>time$}  {bar}", took(line));
        }
        text
    }

    fn lines(&self) -> Vec<Line> {
        let resolution = self.resolution.as_ref().map(|resolution| Line {
            label: format!("resolve {}", self.target.host_str()),
            outcome: match (resolution.failure, resolution.addresses.len()) {
                (Some(failure), _) => failure.to_string(),
                (None, 1) => "1 address".into(),
                (None, count) => format!("{count} addresses"),
            },
            from: resolution.start,
            to: resolution.end,
        });
        let attempts = self.attempts.iter().map(|attempt| Line {
            label: attempt.address.to_string(),
            outcome: attempt.outcome.to_string(),
            from: attempt.start,
            to: attempt.end,
        });
        resolution.into_iter().chain(attempts).collect()
    }
}

fn widest(lines: &[Line], column: impl Fn(&Line) -> &String) -> usize {
    lines.iter().map(|line| column(line).chars().count()).max().unwrap_or(0)
}

/// The cells of a line's bar: at least one, even where times are out of order or beyond the scale.
fn place(line: &Line, whole: Duration, cells: usize) -> Range<usize> {
    let whole = whole.as_nanos().max(1);
    let cell = |time: Duration| time.as_nanos() * cells as u128;
    let from = usize::try_from(cell(line.from) / whole).unwrap_or(cells).min(cells - 1);
    let to = usize::try_from(cell(line.to).div_ceil(whole)).unwrap_or(cells).clamp(from + 1, cells);
    from..to
}
