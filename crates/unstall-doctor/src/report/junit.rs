//! The report as JUnit XML: each check a test case, each finding from warn on a failure of it.
//!
//! The form is that of Jenkins' schema (testsuites, testsuite, testcase with skipped, error, failure, system-out), which CI servers read.

use super::text::{Style, Writer};
use super::{CheckResult, Report, Status};
use crate::findings::{Finding, Severity};
use quick_xml::Writer as Xml;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io::{self, Cursor};

type Out = Xml<Cursor<Vec<u8>>>;

/// The class of the checks that are about no target.
const MACHINE: &str = "this machine";

pub(super) fn render(report: &Report) -> String {
    let mut xml = Xml::new_with_indent(Cursor::new(Vec::new()), b' ', 2);
    // Into memory: nothing that could fail.
    let _ = document(&mut xml, report);
    String::from_utf8(xml.into_inner().into_inner()).unwrap_or_default() + "\n"
}

fn document(xml: &mut Out, report: &Report) -> io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let cases: Vec<Case<'_>> = report.results.iter().map(|result| Case::of(result, report)).collect();
    let count = |is: fn(&Case<'_>) -> bool| cases.iter().filter(|case| is(case)).count().to_string();
    let tests = cases.len().to_string();
    let failures = count(|case| !case.failures.is_empty());
    let errors = count(|case| case.result.status == Status::CouldNotRun);
    let skipped = count(|case| case.result.status == Status::NotApplicable);
    let time = seconds(report.results.iter().map(|result| result.elapsed_ns).sum());
    // The schema's time has no zone.
    let timestamp = report.header.started_at.split(['.', 'Z']).next().unwrap_or_default();
    let totals = [
        ("name", "unstall doctor"),
        ("tests", &tests),
        ("failures", &failures),
        ("errors", &errors),
        ("time", &time),
    ];
    xml.create_element("testsuites").with_attributes(totals).write_inner_content(|xml| {
        let suite = xml.create_element("testsuite").with_attributes(totals);
        let suite = suite.with_attributes([("skipped", skipped.as_str()), ("timestamp", timestamp)]);
        suite.write_inner_content(|xml| {
            properties(xml, report)?;
            cases.iter().try_for_each(|case| case.write(xml))
        })?;
        Ok(())
    })?;
    Ok(())
}

fn properties(xml: &mut Out, report: &Report) -> io::Result<()> {
    let header = &report.header;
    let properties = [
        ("unstall.version", Some(header.tool.version.as_str())),
        ("os", Some(header.host.os.as_str())),
        ("kernel", header.host.kernel.as_deref()),
        ("arch", Some(header.host.arch.as_str())),
        ("figures", Some(report.label.id())),
    ];
    xml.create_element("properties").write_inner_content(|xml| {
        for (name, value) in properties {
            let Some(value) = value.map(clean) else { continue };
            let attributes = [("name", name), ("value", value.as_str())];
            xml.create_element("property").with_attributes(attributes).write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

/// A check with what it found.
struct Case<'a> {
    result: &'a CheckResult,
    /// From warn on.
    failures: Vec<&'a Finding>,
    information: Vec<&'a Finding>,
}

impl<'a> Case<'a> {
    fn of(result: &'a CheckResult, report: &'a Report) -> Self {
        let found = report.findings.iter().filter(|it| it.check == result.id && it.target == result.target);
        let (information, failures) = found.partition(|finding| finding.severity == Severity::Info);
        Self { result, failures, information }
    }

    fn write(&self, xml: &mut Out) -> io::Result<()> {
        let class = clean(self.result.target.as_deref().unwrap_or(MACHINE));
        let time = seconds(self.result.elapsed_ns);
        let attributes = [("classname", class.as_str()), ("name", &self.result.id), ("time", &time)];
        xml.create_element("testcase").with_attributes(attributes).write_inner_content(|xml| {
            self.status(xml)?;
            for finding in &self.failures {
                let attributes = [("type", finding.id.as_str()), ("message", &clean(&finding.title))];
                let text = clean(Writer::new(Style::default()).finding(finding).trim_end());
                let failure = xml.create_element("failure").with_attributes(attributes);
                failure.write_text_content(BytesText::new(&text))?;
            }
            self.output(xml)
        })?;
        Ok(())
    }

    /// Why it did not run.
    fn status(&self, xml: &mut Out) -> io::Result<()> {
        let why = clean(self.result.why.as_deref().unwrap_or("the reason is not known"));
        match self.result.status {
            Status::Ran => {}
            Status::CouldNotRun => {
                let attributes = [("type", "could-not-run"), ("message", why.as_str())];
                xml.create_element("error").with_attributes(attributes).write_empty()?;
            }
            Status::NotApplicable => {
                xml.create_element("skipped").with_attribute(("message", why.as_str())).write_empty()?;
            }
        }
        Ok(())
    }

    /// What it measured, and what is worth knowing.
    fn output(&self, xml: &mut Out) -> io::Result<()> {
        let information = self.information.iter().map(|finding| format!("{}: {}", finding.id, finding.title));
        let lines: Vec<String> = self.result.lines.iter().cloned().chain(information).collect();
        if !lines.is_empty() {
            let text = clean(&lines.join("\n"));
            xml.create_element("system-out").write_text_content(BytesText::new(&text))?;
        }
        Ok(())
    }
}

fn seconds(ns: u64) -> String {
    format!("{:.6}", ns as f64 / 1e9)
}

/// Without the characters that XML 1.0 has not.
fn clean(text: &str) -> String {
    text.chars()
        .filter(|c| matches!(c, '\t' | '\n' | '\r' | ' '..) && !matches!(c, '\u{fffe}' | '\u{ffff}'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::report::tests::{report, sound};
    use quick_xml::Reader;
    use quick_xml::events::Event;

    /// The names of the elements with their depth; the text must be well formed.
    fn elements(text: &str) -> Vec<(usize, String)> {
        let mut reader = Reader::from_str(text);
        let (mut depth, mut found) = (0, Vec::new());
        loop {
            match reader.read_event().expect("well formed") {
                Event::Start(element) => {
                    depth += 1;
                    found.push((depth, String::from_utf8_lossy(element.name().as_ref()).into_owned()));
                }
                Event::Empty(element) => {
                    found.push((depth + 1, String::from_utf8_lossy(element.name().as_ref()).into_owned()));
                }
                Event::End(_) => depth -= 1,
                Event::Eof => return found,
                _ => {}
            }
        }
    }

    #[test]
    fn findings_from_warn_on_are_failures_of_their_check() {
        let text = render(&report());
        // A test that was built on another system does not find its snapshots.
        #[cfg(not(windows))]
        insta::assert_snapshot!("junit", text);
        let names: Vec<_> = elements(&text).into_iter().map(|(_, name)| name).collect();
        let count = |name: &str| names.iter().filter(|it| *it == name).count();
        assert_eq!((count("testcase"), count("failure"), count("error"), count("skipped")), (6, 2, 1, 1));
        assert!(text.contains("tests=\"6\" failures=\"2\" errors=\"1\""), "{text}");
    }

    #[test]
    fn nothing_that_a_check_says_breaks_the_document() {
        let mut report = sound();
        report.results[0].lines = vec!["<a href=\"x\">&amp;\u{1b}[31m]]>\u{0}".to_owned()];
        report.results[0].target = Some("\"><script>".to_owned());
        let text = render(&report);
        elements(&text);
        assert!(!text.contains('\u{1b}') && !text.contains("<script>"), "{text}");
    }
}
