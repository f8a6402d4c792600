//! Progress on stderr: one line that is rewritten on a terminal, plain lines elsewhere.

use crate::args::When;
use std::env;
use std::io::{self, IsTerminal, Write};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Rewritten,
    Lines,
    None,
}

/// Shows progress until it is dropped.
pub(crate) struct Progress(Style);

/// Moves to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[K";

impl Progress {
    pub(crate) fn new(when: When) -> Self {
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self(style(when, io::stderr().is_terminal() && !dumb))
    }

    /// A step begins. Progress that cannot be written is no reason to stop.
    pub(crate) fn step(&self, done: usize, total: usize, what: &str) {
        let line = format!("[{}/{total}] {what}", done + 1);
        let _ = match self.0 {
            Style::Rewritten => write!(io::stderr(), "{CLEAR}{line}"),
            Style::Lines => writeln!(io::stderr(), "{line}"),
            Style::None => Ok(()),
        };
    }
}

impl Progress {
    /// Takes the rewritten line away, before something else is printed.
    pub(crate) fn clear(&self) {
        if self.0 == Style::Rewritten {
            let _ = write!(io::stderr(), "{CLEAR}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn style(when: When, can_rewrite: bool) -> Style {
    match (when, can_rewrite) {
        (When::Never, _) => Style::None,
        (When::Auto, false) => Style::Lines,
        (When::Auto, true) | (When::Always, _) => Style::Rewritten,
    }
}

#[cfg(test)]
mod tests {
    use super::{Style, style};
    use crate::args::When;

    #[test]
    fn only_a_terminal_gets_a_rewritten_line_unless_it_is_asked_for() {
        assert_eq!(style(When::Auto, true), Style::Rewritten);
        assert_eq!(style(When::Auto, false), Style::Lines);
        assert_eq!(style(When::Always, false), Style::Rewritten);
        assert_eq!(style(When::Never, true), Style::None);
    }
}
