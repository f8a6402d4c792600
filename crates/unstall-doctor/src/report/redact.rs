//! Reports for strangers: nothing passes that is not on a list.
//!
//! Words pass that stand in unstall's own texts (the table of findings, the checks, the outcomes), addresses of loopback, times, small
//! numbers and ports that everybody knows. Everything else, which may be a name, an address, a path or a program of the machine, becomes a
//! placeholder, the same thing always the same one. What the checks hold for programs (`data`) is left out.

use super::{CheckResult, Header, Report};
use crate::checks::list_checks;
use crate::findings::{Finding, Fix, markdown};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use unstall_core::outcome::Outcome;

/// Ports that tell nothing about whose they are.
const PORTS: &[u16] = &[
    1433, 3000, 3001, 3306, 4200, 5000, 5173, 5432, 6379, 8000, 8008, 8080, 8081, 8443, 8888, 9000, 9090,
    27017,
];
/// Ports below are assigned to services that everybody knows.
const ASSIGNED: u16 = 1024;
/// Greater numbers may be process ids, ports or others that tell machines apart.
const SMALL: f64 = 1024.0;
/// What a number may count that is none of those.
const UNITS: &[&str] =
    &["ms", "ns", "us", "s", "min", "%", "MiB", "connects", "measurements", "samples", "entries"];
/// Words of the checks that stand in no other text.
const WORDS: &[&str] = &[
    "warning",
    "warnings",
    "error",
    "errors",
    "thing",
    "things",
    "worth",
    "check",
    "checks",
    "permission",
    "denied",
    "x",
    "denied",
    "such",
    "no",
    "localhost",
    "ipv4",
    "ipv6",
    "linux",
    "windows",
    "macos",
    "freebsd",
    "x86_64",
    "aarch64",
    "doctor",
    "unstall",
    "median",
    "p95",
    "p99",
    "max",
    "min",
    "n",
    "groups",
    "measurements",
    "ran",
    "connected",
    "refused",
    "measured",
    "emulated",
    "published",
    "predicted",
    "known",
    "unknown",
    "here",
    "client",
    "fails",
    "not",
    "given",
    "resolver",
    "hosts",
    "file",
    "byte",
    "back",
    "stated",
    "seen",
    "measuring",
    "nothing",
    "takes",
    "overhead",
    "clock",
    "kernel",
    "container",
    "docker",
    "wsl",
    "wine",
    "pid",
    "none",
    "same",
];
/// Options of the command line; their values are judged as other words.
const OPTIONS: &[&str] = &[
    "--check",
    "--color",
    "--csv",
    "--fail-on",
    "--family",
    "--html",
    "--json",
    "--json-lines",
    "--junit",
    "--markdown",
    "--progress",
    "--prometheus",
    "--redact",
    "--samples",
    "--timeout",
];
/// Numbers of RFCs that our texts name.
const RFCS: &[&str] = &["6555", "6724", "6761", "8305", "9293"];
/// What surrounds a word and is none of it.
const AROUND: &[char] = &[
    '(', ')', '[', ']', '{', '}', '`', '\'', '"', ',', ';', ':', '.', '!', '?', '<', '>', '=', '|', '*', '…',
    '·', '/',
];

/// Takes out of reports what strangers need not know. One for a run, so that a placeholder stands for one thing.
#[derive(Clone, Debug)]
pub struct Redactor {
    vocabulary: BTreeSet<String>,
    /// By kind, what was replaced: its place in the list is its number.
    replaced: BTreeMap<&'static str, Vec<String>>,
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new()
    }
}

impl Redactor {
    /// One that has replaced nothing yet.
    pub fn new() -> Self {
        let mut texts = vec![markdown()];
        texts.extend(
            list_checks().iter().map(|check| format!("{} {} {}", check.id, check.title, check.about)),
        );
        texts.extend(Outcome::ALL.iter().map(ToString::to_string));
        texts.extend(WORDS.iter().map(|word| (*word).to_owned()));
        let words = texts.iter().flat_map(|text| text.split_whitespace());
        let words = words.map(|word| word.trim_matches(AROUND).to_lowercase());
        // What would pass as an address or a number is judged as that.
        let vocabulary =
            words.filter(|word| word.chars().any(char::is_alphabetic) && address(word).is_none());
        Self { vocabulary: vocabulary.collect(), replaced: BTreeMap::new() }
    }

    /// The head of a report. Of the command line only options pass, of the kernel only its numbers.
    pub fn header(&mut self, header: &Header) -> Header {
        let mut header = header.clone();
        let numbers = |kernel: &String| {
            let end = kernel.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(kernel.len());
            kernel[..end].trim_end_matches('.').to_owned()
        };
        header.host.kernel = header.host.kernel.as_ref().map(numbers).filter(|kernel| !kernel.is_empty());
        header.command = header.command.iter().map(|word| self.text(word)).collect();
        header
    }

    /// What a check came to, without its data.
    pub fn result(&mut self, result: &CheckResult) -> CheckResult {
        CheckResult {
            target: result.target.as_deref().map(|target| self.text(target)),
            why: result.why.as_deref().map(|why| self.text(why)),
            lines: result.lines.iter().map(|line| self.text(line)).collect(),
            data: serde_json::Value::Null,
            ..result.clone()
        }
    }

    /// Something that was found.
    pub fn finding(&mut self, finding: &Finding) -> Finding {
        let mut finding = finding.clone();
        finding.title = self.text(&finding.title);
        finding.target = finding.target.as_deref().map(|target| self.text(target));
        for fact in &mut finding.evidence {
            fact.text = self.text(&fact.text);
        }
        finding.why = self.text(&finding.why);
        finding.affects = finding.affects.iter().map(|who| self.text(who)).collect();
        finding.fix = finding.fix.as_ref().map(|fix| self.fix(fix));
        finding.other_fixes = finding.other_fixes.iter().map(|fix| self.fix(fix)).collect();
        finding
    }

    fn fix(&mut self, fix: &Fix) -> Fix {
        Fix {
            text: self.text(&fix.text),
            commands: fix.commands.iter().map(|command| self.text(command)).collect(),
            undo: fix.undo.as_deref().map(|undo| self.text(undo)),
            ..fix.clone()
        }
    }

    /// The whole report.
    pub fn report(&mut self, report: &Report) -> Report {
        let mut summary = report.summary.clone();
        summary.text = self.text(&summary.text);
        summary.next_step = summary.next_step.as_deref().map(|step| self.text(step));
        Report {
            header: self.header(&report.header),
            label: report.label,
            results: report.results.iter().map(|result| self.result(result)).collect(),
            findings: report.findings.iter().map(|finding| self.finding(finding)).collect(),
            summary,
        }
    }

    /// A text, word by word; blanks and line ends stay as they are.
    fn text(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let blanks = rest.len() - rest.trim_start().len();
            out.push_str(&rest[..blanks]);
            rest = &rest[blanks..];
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let next = rest[end..].split_whitespace().next().unwrap_or_default();
            let word = self.word(&rest[..end], next.trim_matches(AROUND));
            out.push_str(&word);
            rest = &rest[end..];
        }
        out
    }

    /// A word with what surrounds it. `next`: the word after it, which may be its unit.
    fn word(&mut self, word: &str, next: &str) -> String {
        // An address has brackets of its own.
        for open in ["", "(", "`"] {
            let Some(inner) = word.strip_prefix(open) else { continue };
            let inner = inner.trim_end_matches([')', ',', ';', '.', '`']);
            let inner = inner.strip_suffix(':').filter(|inner| address(inner).is_some()).unwrap_or(inner);
            if let Some((ip, port)) = address(inner) {
                return word.replacen(inner, &self.address(ip, port), 1);
            }
        }
        let core = word.trim_matches(AROUND);
        if core.is_empty() {
            return word.to_owned();
        }
        let replacement = self.bare(core, next);
        word.replacen(core, &replacement, 1)
    }

    fn bare(&mut self, word: &str, next: &str) -> String {
        if let Ok(number) = word.parse::<f64>() {
            let passes =
                number.abs() < SMALL || word.contains('.') || UNITS.contains(&next) || RFCS.contains(&word);
            return if passes { word.to_owned() } else { self.port_or_number(word) };
        }
        if OPTIONS.contains(&word) || self.vocabulary.contains(&word.to_lowercase()) {
            return word.to_owned();
        }
        // A name with its port.
        if let Some((host, port)) = word.rsplit_once(':') {
            if port.parse::<u16>().is_ok() {
                return format!("{}:{}", self.bare(host, ""), self.port_or_number(port));
            }
        }
        self.placeholder("name", word)
    }

    fn address(&mut self, ip: IpAddr, port: Option<u16>) -> String {
        let passes = ip.is_loopback() || ip.is_unspecified();
        let shown = if passes { ip.to_string() } else { self.placeholder("address", &ip.to_string()) };
        match port {
            None => shown,
            Some(port) => {
                let port = self.port_or_number(&port.to_string());
                if passes && ip.is_ipv6() { format!("[{shown}]:{port}") } else { format!("{shown}:{port}") }
            }
        }
    }

    fn port_or_number(&mut self, digits: &str) -> String {
        let is_known = digits.parse::<u16>().is_ok_and(|port| port < ASSIGNED || PORTS.contains(&port));
        if is_known { digits.to_owned() } else { self.placeholder("number", digits) }
    }

    fn placeholder(&mut self, kind: &'static str, what: &str) -> String {
        let replaced = self.replaced.entry(kind).or_default();
        let place = replaced.iter().position(|present| present == what).unwrap_or_else(|| {
            replaced.push(what.to_owned());
            replaced.len() - 1
        });
        format!("{kind}-{}", place + 1)
    }
}

/// An address, with or without a port. Its zone, which names an interface, is left out.
fn address(word: &str) -> Option<(IpAddr, Option<u16>)> {
    let mut text = word.to_owned();
    if let Some(zone) = word.find('%') {
        let end = word[zone..].find(']').map_or(word.len(), |end| zone + end);
        text.replace_range(zone..end, "");
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some((address.ip(), Some(address.port())));
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(&text);
    bare.parse().ok().map(|ip| (ip, None))
}

#[cfg(test)]
mod tests {
    use super::Redactor;
    use crate::report::tests::{report, sound};
    use serde_json::json;

    fn redacted(text: &str) -> String {
        Redactor::new().text(text)
    }

    #[test]
    fn what_everybody_has_passes() {
        for text in [
            "127.0.0.1 in 2026 ms, ::1 in 0.014 ms",
            "[::1]:3000 refused after 0.059 ms",
            "localhost:8080 connected after 0.13 ms",
            "the name does not resolve",
            "median 44.0 ms, p95 44.1 ms, max 44.1 ms, n 10",
        ] {
            assert_eq!(redacted(text), text);
        }
    }

    #[test]
    fn what_tells_a_machine_apart_does_not() {
        for (text, expected) in [
            (
                "python3.11 (pid 30499) listens on 127.0.0.1:3917",
                "name-1 (pid number-1) listens on 127.0.0.1:number-2",
            ),
            ("10.1.2.3:443, [fe80::7%eth0]:22 and 10.1.2.3", "address-1:443, address-2:22 and address-1"),
            ("build.corp.example:3000 refused", "name-1:3000 refused"),
            ("/home/alice/secret", "/name-1"),
            ("http_proxy=http://bob:pw@10.0.0.9:3128/", "name-1:number-1/"),
        ] {
            assert_eq!(redacted(text), expected, "{text}");
        }
    }

    #[test]
    fn the_same_thing_has_the_same_placeholder_in_the_whole_report() {
        let mut redactor = Redactor::new();
        assert_eq!(redactor.text("alpha-box and beta-box"), "name-1 and name-2");
        assert_eq!(redactor.text("beta-box"), "name-2");
    }

    #[test]
    fn a_report_of_our_own_words_stays_readable() {
        let redacted = Redactor::new().report(&report());
        assert_eq!(redacted.findings.len(), report().findings.len());
        let text = redacted.to_json();
        let replaced: Vec<&str> = text.lines().filter(|line| line.contains("name-")).collect();
        assert!(replaced.is_empty(), "{replaced:?}");
        assert!(redacted.results.iter().all(|result| result.data.is_null()));
    }

    /// Words that no text of ours has, wherever a report has room for words.
    #[test]
    fn no_word_of_the_machine_comes_through() {
        let mut random = fastrand::Rng::with_seed(7);
        let redactor = Redactor::new();
        for _ in 0..200 {
            let secret: String = (0..random.usize(6..20)).map(|_| random.lowercase()).collect();
            let wrapped = match random.u8(0..6) {
                0 => format!("({secret})"),
                1 => format!("/home/{secret}/x"),
                2 => format!("{secret}:3000"),
                3 => format!("a,{secret};b"),
                4 => format!("\"{secret}\"="),
                _ => secret.clone(),
            };
            let mut report = report();
            report.header.command.push(wrapped.clone());
            report.header.host.kernel = Some(format!("6.1.0-{secret}"));
            for result in &mut report.results {
                result.target = Some(wrapped.clone());
                result.why = Some(format!("because {wrapped}"));
                result.lines.push(wrapped.clone());
                result.data = json!({ "x": wrapped });
            }
            for finding in &mut report.findings {
                finding.title.push_str(&wrapped);
                finding.target = Some(wrapped.clone());
                finding.why.push_str(&wrapped);
                finding.affects.push(wrapped.clone());
                finding.evidence.iter_mut().for_each(|fact| fact.text = format!("seen {wrapped}"));
                for fix in finding.fix.iter_mut().chain(&mut finding.other_fixes) {
                    fix.text = format!("take {wrapped} away");
                    fix.commands.push(wrapped.clone());
                    fix.undo = Some(wrapped.clone());
                }
            }
            report.summary.next_step = Some(wrapped.clone());
            let text = redactor.clone().report(&report).to_json();
            assert!(!text.contains(&secret), "{secret} came through in {wrapped}: {text}");
        }
    }

    #[test]
    fn the_kernel_keeps_its_numbers_alone() {
        let header = Redactor::new().header(&sound().header);
        assert_eq!(header.host.kernel.as_deref(), Some("6.1.0"));
    }
}
