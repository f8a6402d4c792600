//! The reference and bursts as tables for a terminal.

use super::{Figure, Reference};
use crate::burst;
use crate::engine::Engine;
use crate::units::{range, shown};
use std::fmt::Write as _;

impl Reference {
    /// For a terminal.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        line(
            &mut text,
            ["published on Windows", "published", "emulated (median, range)", "deviation", "source"]
                .map(str::to_owned),
        );
        for row in &self.rows {
            line(&mut text, cells(row));
        }
        text += played_by(self.engine);
        text += "[n]: exit code. Figures below 10 ms are the machine's own speed, not a timer's.\n\n";
        match (&self.bursts, &self.bursts_left_out) {
            (Some(cases), _) => text += &burst::to_text(cases),
            (None, why) => {
                let _ = writeln!(text, "bursts left out: {}", why.as_deref().unwrap_or("not run"));
            }
        }
        text
    }
}

fn played_by(engine: Engine) -> &'static str {
    match engine {
        Engine::Bpf => "Emulated on Linux by the exact engine; nothing here was measured on Windows.\n",
        Engine::Coarse => {
            "Emulated on Linux by the coarse engine, in steps of a second; nothing here was measured on Windows.\n"
        }
        Engine::Nothing => "",
    }
}

fn line(text: &mut String, [what, published, emulated, deviation, source]: [String; 5]) {
    let _ = writeln!(text, "{what:<52} {published:>19}  {emulated:<32} {deviation:>9}  {source}");
}

fn cells(row: &Figure) -> [String; 5] {
    let (least, most) = (row.published_least_ns, row.published_most_ns);
    let published = if least == most { shown(least) } else { range(least, most) };
    let published = with_exit(published, row.published_exit_code);
    let emulated = match (&row.left_out, row.median_ns) {
        (Some(why), _) => format!("left out: {why}"),
        (None, Some(median)) => {
            let runs = match row.emulated_ns[..] {
                [shortest, .., longest] => format!(" ({})", range(shortest, longest)),
                _ => String::new(),
            };
            with_exit(shown(median) + &runs, row.exit_code.filter(|_| row.published_exit_code.is_some()))
        }
        (None, None) => String::new(),
    };
    let deviation = row.deviation_percent.map_or_else(String::new, |percent| format!("{percent:+.1} %"));
    [row.what.to_owned(), published, emulated, deviation, row.source.to_owned()]
}

fn with_exit(text: String, code: Option<u8>) -> String {
    match code {
        Some(code) => format!("{text} [{code}]"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burst::{Case, Published, Run};

    #[test]
    fn the_table() {
        let row =
            |what: &'static str, published: (u64, u64), emulated: &[u64], left_out: Option<&str>| Figure {
                what,
                source: "somewhere",
                published_least_ns: published.0 * 1_000_000,
                published_most_ns: published.1 * 1_000_000,
                published_exit_code: Some(7),
                profile: "windows-11",
                emulated_ns: emulated.iter().map(|ms| ms * 1_000_000).collect(),
                median_ns: emulated.get(emulated.len() / 2).map(|ms| ms * 1_000_000),
                exit_code: Some(7),
                deviation_percent: emulated.first().map(|_| 1.25),
                left_out: left_out.map(str::to_owned),
            };
        let run = Run {
            refused: 68,
            first: Some(232),
            last: Some(299),
            connected: 232,
            accepted: 232,
            longest_ns: 4_000_000,
        };
        let ghosts = Run {
            refused: 0,
            first: None,
            last: None,
            connected: 300,
            accepted: 290,
            longest_ns: 1_060_000_000,
        };
        let published = Published { refused: 68, first: Some(232), last: Some(299), source: "somewhere" };
        let reference = Reference {
            engine: Engine::Bpf,
            rows: vec![
                row("a range", (2020, 2100), &[2030, 2045, 2060], None),
                row("a figure", (506, 506), &[512], None),
                row("nothing", (128_000, 128_000), &[], Some("takes more than a minute")),
            ],
            bursts: Some(vec![
                Case {
                    name: "no retry",
                    profile: "windows-11".into(),
                    published: Some(published),
                    runs: vec![run],
                },
                Case { name: "plain Linux", profile: "linux".into(), published: None, runs: vec![ghosts] },
            ]),
            bursts_left_out: None,
        };
        insta::assert_snapshot!(reference.to_text());
    }
}
