//! The report as Markdown: what to paste into an issue.

use super::text::sentence;
use super::{CheckResult, Report, Status};
use crate::findings::{Finding, Fix, Severity};
use std::fmt::Write;

pub(super) fn render(report: &Report) -> String {
    let mut page = String::from("# unstall doctor\n\n");
    let header = &report.header;
    let kernel = header.host.kernel.as_deref().unwrap_or("(kernel unknown)");
    let _ = writeln!(
        page,
        "{} {} on {} {}, {}, {}. Figures are {} unless they say otherwise.\n",
        header.tool.name,
        header.tool.version,
        header.host.os,
        escaped(kernel),
        header.host.arch,
        header.started_at,
        report.label
    );
    let _ = writeln!(page, "**{}**", prose(&sentence(&report.summary.text)));
    if let Some(step) = &report.summary.next_step {
        let _ = writeln!(page, "\nNext: {}", prose(&sentence(step)));
    }
    for finding in &report.findings {
        section(&mut page, finding);
    }
    page.push_str("\n## Checks\n");
    let mut target = None;
    for (index, result) in report.results.iter().enumerate() {
        if index == 0 || target != result.target {
            table_head(&mut page, result.target.as_deref());
            target.clone_from(&result.target);
        }
        row(&mut page, result);
    }
    page
}

fn section(page: &mut String, finding: &Finding) {
    let at = finding.target.as_ref().map_or_else(String::new, |target| format!("{target}: "));
    let _ = writeln!(page, "\n## {}: {}\n", finding.severity, escaped(&format!("{at}{}", finding.title)));
    for fact in &finding.evidence {
        let source = fact.source.as_ref().map_or_else(String::new, |source| format!(" ({source})"));
        let _ = writeln!(page, "- {}: {}", fact.label, escaped(&format!("{}{source}", fact.text)));
    }
    if finding.severity == Severity::Info {
        let _ = writeln!(page, "\nMore: `unstall explain {}`", finding.id);
        return;
    }
    let why = finding.why.split("\n\n").next().unwrap_or_default();
    let _ = writeln!(page, "\n{}", prose(why));
    if !finding.affects.is_empty() {
        let _ = writeln!(page, "\nAffects: {}.", prose(&finding.affects.join("; ")));
    }
    if finding.fix.is_some() {
        page.push_str("\nFixes, best first:\n\n");
    }
    finding.fixes().enumerate().for_each(|(index, it)| fix(page, index + 1, it));
    let _ = writeln!(page, "\nMore: `unstall explain {}`", finding.id);
}

fn fix(page: &mut String, number: usize, fix: &Fix) {
    let _ = writeln!(page, "{number}. ({}) {}", fix.place, prose(&fix.text));
    if !fix.commands.is_empty() {
        let _ = writeln!(page, "\n   ```\n   {}\n   ```\n", fix.commands.join("\n   "));
    }
}

fn table_head(page: &mut String, target: Option<&str>) {
    if let Some(target) = target {
        let _ = writeln!(page, "\n### {}", escaped(target));
    }
    page.push_str("\n| check | | what it saw |\n|---|---|---|\n");
}

fn row(page: &mut String, result: &CheckResult) {
    let status = match result.status {
        Status::Ran => "",
        Status::CouldNotRun => "could not run",
        Status::NotApplicable => "not applicable",
    };
    let lines: Vec<String> =
        result.lines.iter().map(String::as_str).chain(result.why.as_deref()).map(cell).collect();
    let _ = writeln!(page, "| {} | {status} | {} |", cell(&result.title), lines.join("<br>"));
}

/// In a table: columns that are made of blanks stay columns.
fn cell(text: &str) -> String {
    escaped(text).replace('|', "\\|").replace("  ", "&nbsp; ")
}

/// Our own words, in which backticks mean what they mean in Markdown.
fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 1 { format!("`{part}`") } else { escaped(part) }).collect()
}

/// Without meaning for Markdown, and on one line.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::report::tests::{report, sound};

    #[test]
    fn a_report_reads_from_the_next_step_to_the_checks() {
        let page = render(&report());
        // A test that was built on another system does not find its snapshots.
        #[cfg(not(windows))]
        insta::assert_snapshot!("markdown", page);
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text} in {page}"));
        assert!(at("\nNext: ") < at("\n## error: ") && at("\n## error: ") < at("\n## Checks\n"));
    }

    #[test]
    fn nothing_that_a_check_says_is_markup() {
        let mut report = sound();
        report.results[0].lines = vec!["a | b <script> `x` *y*\n# z".to_owned()];
        let page = render(&report);
        let line = page.lines().find(|line| line.contains("script")).expect("the row");
        assert_eq!(line, "| check of clock |  | a \\| b &lt;script&gt; \\`x\\` \\*y\\* \\# z |");
    }
}
