//! `unstall doctor --watch`: one target, connect after connect, until Ctrl-C.
//!
//! [`View`] is what is known and how it looks; the rest connects, draws and waits.

use crate::args::Watching;
use crate::connect::many::{Tally, pause};
use crate::emulated::Label;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output;
use jiff::Timestamp;
use std::collections::VecDeque;
use std::env;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};
use unstall::{Connector, Outcome, Target, Timeline};
use unstall_core::text::{Charset, duration};
use unstall_doctor::report::Style;

/// How many changes are listed; all of them are counted.
const CHANGES: usize = 5;
/// Clears from the cursor to the end of the screen.
const CLEAR_BELOW: &str = "\x1b[J";

pub(crate) fn run(target: &Target, connector: &Connector, options: &Watching, style: Style) -> Exit {
    let in_place = io::stdout().is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb");
    let interrupt = Interrupt::watch();
    let start = Instant::now();
    let mut view = View::new(target.to_string(), style);
    Label::here().note();
    let mut drawn = 0;
    while options.count.is_none_or(|count| view.tally.n() < count.get() as usize) {
        if interrupt.within(pause(view.tally.n(), options.every, start.elapsed()).unwrap_or_default()) {
            break;
        }
        let (_, timeline) = connector.connect_timeline(target);
        let changed = view.add(&timeline, &Timestamp::now().strftime("%H:%M:%SZ").to_string());
        let written = if in_place {
            let frame = view.frame();
            let up = if drawn == 0 { String::new() } else { format!("\x1b[{drawn}A\r{CLEAR_BELOW}") };
            drawn = frame.lines().count();
            output::styled(&format!("{up}{frame}"), Exit::Ok)
        } else if let Some(line) = changed {
            output::result(&line, Exit::Ok)
        } else {
            Exit::Ok
        };
        if written != Exit::Ok {
            return written;
        }
    }
    // The frame stays, with the statistics below it.
    let exit = if view.last.is_none_or(|last| last == Outcome::Connected) { Exit::Ok } else { Exit::Found };
    if view.tally.n() == 0 {
        return exit;
    }
    output::styled(&format!("\n{}", view.tally.text(&view.target, start.elapsed(), style)), exit)
}

/// What has been seen of a target.
struct View {
    target: String,
    style: Style,
    tally: Tally,
    /// The newest connects, the oldest first: how long, and whether it connected.
    recent: VecDeque<(Duration, bool)>,
    last: Option<Outcome>,
    /// The words for the last connect.
    now: String,
    changes: VecDeque<String>,
    changed: usize,
}

impl View {
    fn new(target: String, style: Style) -> Self {
        let (tally, recent, changes) = (Tally::default(), VecDeque::new(), VecDeque::new());
        Self { target, style, tally, recent, last: None, now: String::new(), changes, changed: 0 }
    }

    /// Takes a connect in. A line if it came to something else than the one before; `at`: the time of day, UTC.
    fn add(&mut self, timeline: &Timeline, at: &str) -> Option<String> {
        self.tally.add(timeline);
        self.recent.push_back((timeline.elapsed, timeline.outcome == Outcome::Connected));
        while self.recent.len() > self.room() {
            self.recent.pop_front();
        }
        let to = timeline.winner().map_or_else(String::new, |winner| format!(" to {}", winner.address));
        self.now = format!("{at} {}{to} after {}", timeline.outcome, duration(timeline.elapsed));
        let before = self.last.replace(timeline.outcome);
        if before == Some(timeline.outcome) {
            return None;
        }
        if let Some(before) = before {
            self.changed += 1;
            self.changes.push_back(format!("{at} {before} -> {}", timeline.outcome));
            if self.changes.len() > CHANGES {
                self.changes.pop_front();
            }
        }
        Some(format!("{}: {}\n", self.target, self.now))
    }

    /// How many connects the line of the newest has room for.
    fn room(&self) -> usize {
        self.style.width.saturating_sub(10).clamp(10, 120)
    }

    /// Everything, for a terminal.
    fn frame(&self) -> String {
        let mut text = format!(
            "{}  (Ctrl-C ends it)\nnow       {}\nrecent    {}\n",
            self.target,
            self.now,
            self.spark()
        );
        for row in self.tally.statistics() {
            let [median, p99, max] =
                [row.median_ns, row.p99_ns, row.max_ns].map(|ns| duration(Duration::from_nanos(ns)));
            // Writing to a String cannot fail.
            let _ =
                writeln!(text, "{:<10}{} times, median {median}, p99 {p99}, max {max}", row.outcome, row.n);
        }
        let _ = writeln!(text, "changes   {}", self.changed);
        for change in &self.changes {
            let _ = writeln!(text, "          {change}");
        }
        // A line that the terminal breaks would be two to it and one to us.
        let cut = |line: &str| line.chars().take(self.style.width).chain(['\n']).collect::<String>();
        text.lines().map(cut).collect()
    }

    /// The newest connects, each a column as high as its time is long, on a logarithmic scale; `x`: it did not connect.
    fn spark(&self) -> String {
        let steps: &[char] = match self.style.charset {
            Charset::Ascii => &['_', '.', '-', '=', '^'],
            Charset::Unicode => &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
        };
        let logs = || self.recent.iter().map(|(time, _)| (time.as_nanos().max(1) as f64).ln());
        let least = logs().fold(f64::INFINITY, f64::min);
        let most = logs().fold(f64::NEG_INFINITY, f64::max);
        // Below a factor of ten there is nothing to see.
        let span = (most - least).max(10_f64.ln());
        let column = |((_, connected), log): (&(Duration, bool), f64)| {
            if *connected {
                steps[(((log - least) / span) * (steps.len() - 1) as f64).round() as usize]
            } else {
                'x'
            }
        };
        self.recent.iter().zip(logs()).map(column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::View;
    use std::time::Duration;
    use unstall::{Outcome, Timeline};
    use unstall_doctor::report::Style;

    fn timeline(outcome: Outcome, us: u64) -> Timeline {
        Timeline {
            target: "127.0.0.1:9".parse().expect("a target"),
            resolution: None,
            attempts: Vec::new().into(),
            outcome,
            elapsed: Duration::from_micros(us),
        }
    }

    #[test]
    fn a_line_comes_with_each_change_and_with_the_first_connect() {
        let mut view = View::new("a:9".to_owned(), Style::default());
        let mut add = |outcome, at: &str| view.add(&timeline(outcome, 100), at);
        assert_eq!(
            add(Outcome::Connected, "10:00:00").as_deref(),
            Some("a:9: 10:00:00 connected after 0.10 ms\n")
        );
        assert_eq!(add(Outcome::Connected, "10:00:01"), None);
        assert_eq!(
            add(Outcome::Refused, "10:00:02").as_deref(),
            Some("a:9: 10:00:02 refused after 0.10 ms\n")
        );
        assert_eq!(add(Outcome::Refused, "10:00:03"), None);
        let frame = view.frame();
        assert!(frame.contains("\nchanges   1\n          10:00:02 connected -> refused\n"), "{frame}");
        assert!(frame.contains("\nrecent    __xx\n"), "{frame}");
    }

    #[test]
    fn the_newest_connects_have_room_and_the_slow_ones_stand_out() {
        let mut view = View::new("a:9".to_owned(), Style::default());
        for _ in 0..500 {
            view.add(&timeline(Outcome::Connected, 100), "");
        }
        view.add(&timeline(Outcome::Connected, 2_026_000), "");
        let spark = view.spark();
        assert_eq!((spark.len(), spark.chars().last()), (70, Some('^')), "{spark}");
        assert!(view.frame().lines().all(|line| line.chars().count() <= 80));
    }
}
