//! The report as one page: no script, nothing from the network, for screens light and dark and for paper.
//!
//! [`charts`] draws what a check measured; the template escapes whatever is put into it.

mod charts;

use super::text::sentence;
use super::{CheckResult, Report, Status, Verdict};
use crate::findings::{Evidence, Finding, Fix, Label, Severity};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");
/// Nothing is loaded and nothing runs, whatever a report contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

pub(super) fn render(report: &Report) -> String {
    let title = format!("unstall doctor: {}", report.summary.text);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head(report))
                main {
                    (findings(report))
                    (checks(report))
                }
                (foot())
            }
        }
    };
    page.into_string() + "\n"
}

fn head(report: &Report) -> Markup {
    let (header, summary) = (&report.header, &report.summary);
    let verdict = match summary.verdict {
        Verdict::Sound => "good",
        Verdict::Found => "warn",
        Verdict::NotMeasured => "unknown",
    };
    html! {
        header {
            h1 { "unstall doctor" }
            p.meta {
                (header.tool.name) " " (header.tool.version) " on " (header.host.os) " "
                (header.host.kernel.as_deref().unwrap_or("(kernel unknown)")) ", " (header.host.arch) ", "
                time datetime=(header.started_at) { (header.started_at) }
                " · " (chip(report.label)) " unless a figure says otherwise"
            }
            p.verdict.(verdict) { (sentence(&summary.text)) }
            @if let Some(step) = &summary.next_step {
                section.next aria-labelledby="next" {
                    h2 #next { "Next" }
                    p { (prose(&sentence(step))) }
                    @if let Some(fix) = next_fix(report) { (commands(fix)) }
                }
            }
        }
    }
}

/// The fix that the next step is.
fn next_fix(report: &Report) -> Option<&Fix> {
    let id = report.summary.next_finding.as_ref()?;
    report.findings.iter().find(|finding| finding.id == *id)?.fix.as_ref()
}

fn findings(report: &Report) -> Markup {
    let (info, found): (Vec<&Finding>, Vec<&Finding>) =
        report.findings.iter().partition(|finding| finding.severity == Severity::Info);
    html! {
        @if !found.is_empty() {
            section { h2 { "Found" } @for finding in found { (whole(finding)) } }
        }
        @if !info.is_empty() {
            section {
                h2 { "Worth knowing " small { "information, no fault" } }
                @for finding in info { (in_short(finding)) }
            }
        }
    }
}

fn whole(finding: &Finding) -> Markup {
    html! {
        article.finding.(finding.severity.to_string()) {
            (title(finding))
            ul.evidence { @for fact in &finding.evidence { (evidence(fact)) } }
            @for paragraph in finding.why.split("\n\n") { p { (prose(paragraph)) } }
            @if !finding.affects.is_empty() {
                p { b { "Affects: " } (prose(&finding.affects.join("; "))) "." }
            }
            @if finding.fix.is_some() {
                h4 { "Fixes, best first" }
                ol { @for fix in finding.fixes() {
                    li { span.place { (fix.place) } " " (prose(&sentence(&fix.text))) (commands(fix)) }
                } }
            }
            (more(finding))
        }
    }
}

fn in_short(finding: &Finding) -> Markup {
    html! {
        article.finding.info {
            (title(finding))
            ul.evidence { @for fact in finding.evidence.iter().take(1) { (evidence(fact)) } }
            (more(finding))
        }
    }
}

fn title(finding: &Finding) -> Markup {
    html! {
        h3 {
            span.badge { (finding.severity) } " "
            @if let Some(target) = &finding.target { (target) ": " }
            (prose(&finding.title))
        }
    }
}

fn evidence(fact: &Evidence) -> Markup {
    html! {
        li {
            (chip(fact.label)) " " (fact.text)
            @if let Some(source) = &fact.source { " " span.source { "(" (source) ")" } }
        }
    }
}

fn more(finding: &Finding) -> Markup {
    html! { p.more { "More: " code { "unstall explain " (finding.id) } } }
}

fn commands(fix: &Fix) -> Markup {
    html! { @if !fix.commands.is_empty() { pre { (fix.commands.join("\n")) } } }
}

fn checks(report: &Report) -> Markup {
    let mut targets: Vec<Option<&str>> = Vec::new();
    for result in &report.results {
        let target = result.target.as_deref();
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    html! {
        section {
            h2 { "Checks" }
            @for target in targets {
                h3 { (target.unwrap_or("This machine")) }
                @for result in report.results.iter().filter(|result| result.target.as_deref() == target) {
                    (check(result, report.label))
                }
            }
        }
    }
}

fn check(result: &CheckResult, label: Label) -> Markup {
    let (class, word) = match result.status {
        Status::Ran => ("ran", None),
        Status::CouldNotRun => ("unknown", Some("could not run")),
        Status::NotApplicable => ("unknown", Some("not applicable here")),
    };
    html! {
        div.check.(class) {
            h4 { (result.title) @if let Some(word) = word { " " span.badge { (word) } } }
            @if !result.lines.is_empty() { pre.lines { (result.lines.join("\n")) } }
            @if let Some(why) = &result.why { p { (why) } }
            (charts::of(&result.data, label))
        }
    }
}

fn foot() -> Markup {
    html! {
        footer {
            h2 { "What the labels mean" }
            ul.evidence {
                li { (chip(Label::Measured)) " in this run, on this machine" }
                li { (chip(Label::Emulated)) " in this run, in a lab that plays another system or network, or under Wine" }
                li { (chip(Label::Published)) " by somebody else, who is named" }
            }
        }
    }
}

fn chip(label: Label) -> Markup {
    html! { span.chip.(label.id()) { (label.id()) } }
}

/// With what stands between backticks as code.
fn prose(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::report::tests::{blind, report, sound};
    use serde_json::json;

    /// Every tag that is opened is closed again, in order; maud writes void elements without an end.
    fn assert_balanced(page: &str) {
        let mut open: Vec<&str> = Vec::new();
        for tag in page.split('<').skip(1).filter(|tag| !tag.starts_with('!')) {
            let name = tag.split([' ', '>']).next().expect("a name");
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
                None if name == "meta" => {}
                None => open.push(name),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn every_page_is_whole_and_asks_for_nothing() {
        for report in [report(), sound(), blind()] {
            let page = render(&report);
            assert_balanced(&page);
            for loads in ["<script", "src=", "href=", "url(", "@import", "<link"] {
                assert!(!page.contains(loads), "{loads}");
            }
        }
    }

    #[test]
    fn the_next_step_comes_before_the_findings_and_those_before_the_checks() {
        let page = render(&report());
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text} in {page}"));
        assert!(at("<h2 id=\"next\">") < at("<h2>Found") && at("<h2>Found") < at("<h2>Checks"));
        assert!(page.contains("sudo nft list ruleset"));
    }

    #[test]
    fn nothing_that_a_check_says_is_markup() {
        let mut report = sound();
        let evil = "\"><script>alert(1)</script>&amp;";
        report.results[0].lines = vec![evil.to_owned()];
        report.results[0].target = Some(evil.to_owned());
        report.results[0].data = json!({
            "addresses": [{ "address": evil, "elapsed_ns": 7, "outcome": evil }],
            "series": { "name": evil, "samples_ns": [1, 2] },
        });
        let page = render(&report);
        assert_balanced(&page);
        assert!(!page.contains("<script") && page.contains("&lt;script&gt;"));
    }

    #[test]
    fn every_chart_has_a_name_and_the_label_of_its_figures() {
        let mut report = sound();
        report.results[0].data = json!({ "series": { "samples_ns": [1000, 2000, 900_000] } });
        let page = render(&report);
        assert!(
            page.contains("role=\"img\"") && page.contains("aria-label=\"series: 3 measurements"),
            "{page}"
        );
        assert!(page.contains("<figcaption><span class=\"chip measured\">"), "{page}");
    }
}
