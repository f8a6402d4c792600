//! The report for people: text of any width, with or without colour. A verdict is always a word, colour only repeats it.

use super::{CheckResult, Header, Report, Status, Verdict};
use crate::findings::{Evidence, Finding, Fix, Severity};
use anstyle::{AnsiColor, Style as Ansi};
use textwrap::{Options, WordSplitter};
use unstall_core::text::Charset;

/// How text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// How many columns a line may have. Commands are not broken, so that they can be copied.
    pub width: usize,
    /// Whether to use colour (ANSI sequences).
    pub color: bool,
    /// Whether characters beyond ASCII come out right.
    pub charset: Charset,
}

/// 80 columns of plain ASCII.
impl Default for Style {
    fn default() -> Self {
        Self { width: 80, color: false, charset: Charset::Ascii }
    }
}

/// The width of the column with the verdict's word.
const WORD: usize = 10;
/// The width of the column with the label of a finding's line, below its title.
const LABEL: usize = 11;

/// Writes a report piece by piece, so that checks can be shown as they finish.
#[derive(Clone, Debug)]
pub struct Writer {
    style: Style,
    /// The target whose heading was written last.
    target: Option<String>,
}

impl Writer {
    /// A writer that has written nothing yet.
    pub fn new(style: Style) -> Self {
        Self { style, target: None }
    }

    /// The line above everything: who made the report, where and when.
    pub fn head(&self, header: &Header) -> String {
        let kernel = header.host.kernel.as_deref().unwrap_or("(kernel unknown)");
        let line = format!(
            "{} {} on {} {kernel}, {}, {}",
            header.tool.name, header.tool.version, header.host.os, header.host.arch, header.started_at
        );
        textwrap::fill(&line, self.style.width.max(1)) + "\n\n"
    }

    /// A check: its verdict, and what it measured. A heading comes before the first check of each target.
    pub fn check(&mut self, result: &CheckResult, findings: &[Finding]) -> String {
        let mut text = String::new();
        if self.target != result.target {
            if let Some(target) = &result.target {
                text = self.style.paint(target, Ansi::new().bold()) + "\n";
            }
            self.target.clone_from(&result.target);
        }
        let (word, color) = verdict(result, findings);
        let mut lines = result.lines.iter().map(String::as_str).chain(result.why.as_deref());
        let first =
            lines.next().map_or_else(|| result.title.clone(), |line| format!("{}: {line}", result.title));
        text += &self.style.tagged(0, word, color, WORD, &first);
        text.extend(lines.map(|line| self.style.tagged(0, "", Ansi::new(), WORD, line)));
        text
    }

    /// What was found, and the summary.
    pub fn rest(&self, report: &Report) -> String {
        let mut text = String::new();
        let (info, found): (Vec<_>, Vec<_>) =
            report.findings.iter().partition(|finding| finding.severity == Severity::Info);
        if !found.is_empty() {
            text += &self.heading("Found");
            text.extend(found.into_iter().map(|finding| self.finding(finding)));
        }
        if !info.is_empty() {
            text += &self.heading("Worth knowing (information, no fault)");
            text.extend(info.into_iter().map(|finding| self.in_short(finding)));
        }
        text + "\n" + &self.summary(report)
    }

    /// A finding with all that is to be said about it but the long text.
    /// A finding in full.
    pub fn finding(&self, finding: &Finding) -> String {
        let mut text = self.title(finding);
        text.extend(finding.evidence.iter().map(|fact| self.fact(fact)));
        let why = finding.why.split("\n\n").next().unwrap_or_default();
        text += &self.labelled("why", why);
        if !finding.affects.is_empty() {
            text += &self.labelled("affects", &finding.affects.join("; "));
        }
        let labels = std::iter::once("fix").chain(std::iter::repeat("or"));
        text.extend(finding.fixes().zip(labels).map(|(fix, label)| self.fix(label, fix)));
        text += &self.labelled("more", &format!("unstall explain {}", finding.id));
        text + "\n"
    }

    /// A finding in two lines.
    fn in_short(&self, finding: &Finding) -> String {
        let mut text = self.title(finding);
        text.extend(finding.evidence.first().map(|fact| self.fact(fact)));
        text + &self.labelled("more", &format!("unstall explain {}", finding.id))
    }

    fn title(&self, finding: &Finding) -> String {
        let (word, color) = severity(finding.severity);
        let at = finding.target.as_ref().map_or_else(String::new, |target| format!("{target}: "));
        self.style.tagged(0, word, color.bold(), WORD, &format!("{at}{}", finding.title))
    }

    fn fact(&self, fact: &Evidence) -> String {
        let source = fact.source.as_ref().map_or_else(String::new, |source| format!(" ({source})"));
        self.labelled(&fact.label.to_string(), &format!("{}{source}", fact.text))
    }

    fn fix(&self, label: &str, fix: &Fix) -> String {
        let mut text = self.labelled(label, &format!("({}) {}", fix.place, fix.text));
        let indent = " ".repeat(WORD + LABEL);
        text.extend(fix.commands.iter().map(|command| format!("{indent}{command}\n")));
        text
    }

    fn labelled(&self, label: &str, words: &str) -> String {
        self.style.tagged(WORD, label, Ansi::new().dimmed(), LABEL, words)
    }

    fn heading(&self, words: &str) -> String {
        format!("\n{}\n", self.style.paint(words, Ansi::new().bold()))
    }

    fn summary(&self, report: &Report) -> String {
        let summary = &report.summary;
        let color = match summary.verdict {
            Verdict::Sound => AnsiColor::Green.on_default(),
            Verdict::Found => AnsiColor::Yellow.on_default(),
            Verdict::NotMeasured => AnsiColor::Magenta.on_default(),
        };
        let mut text = self.style.tagged(0, "summary", color.bold(), WORD, &sentence(&summary.text));
        if let Some(step) = &summary.next_step {
            text += &self.style.tagged(0, "next", Ansi::new().bold(), WORD, &sentence(step));
        }
        text
    }
}

impl Report {
    /// The whole report as text.
    pub fn text(&self, style: Style) -> String {
        let mut writer = Writer::new(style);
        let mut text = writer.head(&self.header);
        for result in &self.results {
            let own: Vec<_> = self
                .findings
                .iter()
                .filter(|finding| finding.check == result.id && finding.target == result.target)
                .cloned()
                .collect();
            text += &writer.check(result, &own);
        }
        text + &writer.rest(self)
    }
}

/// A check's word: the worst that it found, or why it found nothing.
fn verdict(result: &CheckResult, findings: &[Finding]) -> (&'static str, Ansi) {
    match (result.status, findings.iter().map(|finding| finding.severity).max()) {
        (Status::CouldNotRun, _) => ("unknown", AnsiColor::Magenta.on_default()),
        (Status::NotApplicable, _) => ("not here", Ansi::new().dimmed()),
        (Status::Ran, None) => ("ok", AnsiColor::Green.on_default()),
        (Status::Ran, Some(worst)) => severity(worst),
    }
}

fn severity(severity: Severity) -> (&'static str, Ansi) {
    let color = match severity {
        Severity::Info => AnsiColor::Cyan,
        Severity::Warn => AnsiColor::Yellow,
        Severity::Error => AnsiColor::Red,
    };
    (severity.id(), color.on_default())
}

/// With a capital and a full stop.
pub(super) fn sentence(words: &str) -> String {
    let mut chars = words.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    let stop = if words.ends_with('.') { "" } else { "." };
    format!("{first}{}{stop}", chars.as_str())
}

impl Style {
    fn paint(self, words: &str, color: Ansi) -> String {
        if self.color && !words.is_empty() { format!("{color}{words}{color:#}") } else { words.to_owned() }
    }

    /// A word in a column of its own, and text beside it, broken at the style's width.
    fn tagged(self, indent: usize, word: &str, color: Ansi, column: usize, words: &str) -> String {
        // A long word pushes the text on, it is never cut.
        let column = column.max(word.len() + 1);
        let hanging = " ".repeat(indent + column);
        // Whatever the width, some words fit beside the column.
        let width = self.width.max(indent + column + 20);
        let words = self.in_charset(words);
        let options = Options::new(width)
            .initial_indent(&hanging)
            .subsequent_indent(&hanging)
            .break_words(false)
            .word_splitter(WordSplitter::NoHyphenation);
        let filled = textwrap::fill(&words, options);
        let padding = " ".repeat(column - word.len());
        let body = filled.get(indent + column..).unwrap_or_default();
        format!("{}{}{padding}{body}\n", " ".repeat(indent), self.paint(word, color))
    }

    /// With `?` for what the place where text goes cannot show.
    fn in_charset(self, words: &str) -> String {
        match self.charset {
            Charset::Unicode => words.to_owned(),
            Charset::Ascii => words.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    /// The text does not depend on the system, and a test that was built on another one does not find its snapshots.
    #[cfg(unix)]
    mod snapshots {
        use super::*;
        use crate::report::tests::sound;

        #[test]
        fn a_report_with_findings() {
            insta::assert_snapshot!(report().text(Style::default()));
        }

        #[test]
        fn a_report_with_findings_in_60_columns() {
            insta::assert_snapshot!(report().text(Style { width: 60, ..Style::default() }));
        }

        #[test]
        fn a_report_with_findings_in_colour() {
            insta::assert_snapshot!(
                report().text(Style { color: true, ..Style::default() }).replace('\u{1b}', "ESC")
            );
        }

        #[test]
        fn a_report_without_findings() {
            insta::assert_snapshot!(sound().text(Style::default()));
        }
    }

    /// Commands stay whole, so that they can be copied; everything else is broken.
    #[test]
    fn no_line_is_wider_than_the_style_but_commands() {
        let report = report();
        let commands: Vec<_> = report
            .findings
            .iter()
            .flat_map(|finding| finding.fixes().flat_map(|fix| &fix.commands))
            .collect();
        for width in 44..120 {
            let text = report.text(Style { width, ..Style::default() });
            let too_long = |line: &&str| line.chars().count() > width && !line.contains("https://");
            let is_command = |line: &str| commands.iter().any(|command| line.trim() == command.as_str());
            let mut wide = text.lines().filter(too_long).filter(|line| !is_command(line));
            assert_eq!(wide.next(), None, "{width}");
        }
    }

    #[test]
    fn a_target_is_named_above_its_checks_and_only_there() {
        let mut report = report();
        let targets = [None, Some("a:1"), Some("a:1"), Some("b:2")];
        let mut writer = Writer::new(Style::default());
        for (result, target) in report.results.iter_mut().zip(targets) {
            result.target = target.map(str::to_owned);
        }
        let text: String = report.results[..4].iter().map(|result| writer.check(result, &[])).collect();
        let headings: Vec<_> = text.lines().filter(|line| line.len() == 3).collect();
        assert_eq!(headings, ["a:1", "b:2"]);
        assert!(!text.starts_with("a:1"));
    }

    #[test]
    fn colour_changes_no_letter() {
        let plain = report().text(Style::default());
        let colour = report().text(Style { color: true, ..Style::default() });
        assert_ne!(plain, colour);
        assert_eq!(plain, anstream::adapter::strip_str(&colour).to_string());
    }

    #[test]
    fn ascii_alone_unless_more_is_asked_for() {
        let mut report = report();
        report.results[0].lines = vec!["ein h\u{f6}lzerner Name".to_owned()];
        assert!(report.text(Style::default()).is_ascii());
        assert!(
            report.text(Style { charset: Charset::Unicode, ..Style::default() }).contains("h\u{f6}lzern")
        );
    }
}
