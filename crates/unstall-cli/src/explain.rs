//! `unstall explain`: the long text of a finding or an outcome.

use crate::args::Explain;
use crate::exit::Exit;
use crate::output;
use textwrap::Options;
use unstall::Outcome;
use unstall_doctor::findings;
use unstall_doctor::report::Style;

pub(crate) fn run(options: &Explain, style: Style) -> Exit {
    if options.markdown {
        return output::result(&findings::markdown(), Exit::Ok);
    }
    let Some(id) = &options.id else { return output::result(&list(style.width), Exit::Ok) };
    match unstall_doctor::explain(id) {
        Ok(text) => output::result(&wrapped(&text, style.width), Exit::Ok),
        Err(unknown) => {
            output::note(&format!("{unknown} (unstall explain --list lists them)"));
            Exit::Usage
        }
    }
}

/// Every id with the first line of its text. An outcome that has a finding's name is explained by the finding.
fn list(width: usize) -> String {
    let findings: Vec<&str> = findings::all().map(|entry| entry.id).collect();
    let outcomes = Outcome::ALL.into_iter().map(Outcome::id).filter(|id| !findings.contains(id));
    let ids: Vec<&str> = findings.iter().copied().chain(outcomes).collect();
    let column = ids.iter().map(|id| id.len()).max().unwrap_or_default() + 2;
    let hanging = " ".repeat(column);
    let options = Options::new(width).subsequent_indent(&hanging);
    let lines = ids.iter().map(|id| textwrap::fill(&format!("{id:<column$}{}", first_line(id)), &options));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// The line after the heading.
fn first_line(id: &str) -> String {
    let text = unstall_doctor::explain(id).unwrap_or_default();
    text.lines().skip(1).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// Breaks long lines, items of a list under their first word. Commands, which are deeply indented, stay whole so
/// that they can be copied.
fn wrapped(text: &str, width: usize) -> String {
    let mut wrapped = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if indent > 3 {
            wrapped += line;
        } else {
            let hanging = " ".repeat(if indent > 0 { indent + 3 } else { 0 });
            wrapped += &textwrap::fill(line, Options::new(width).subsequent_indent(&hanging));
        }
        wrapped.push('\n');
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::{list, wrapped};

    #[test]
    fn paragraphs_are_wrapped_and_commands_are_not() {
        let text = "one two three four\n\n  1. five six seven\n     a command of any length\n";
        let expected =
            "one two\nthree four\n\n  1. five\n     six\n     seven\n     a command of any length\n";
        assert_eq!(wrapped(text, 11), expected);
    }

    #[test]
    fn every_id_has_a_line() {
        for line in list(usize::MAX).lines() {
            assert!(line.split_whitespace().count() > 2, "{line}");
        }
    }
}
