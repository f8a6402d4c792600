//! What the target's name resolves to, and how long that takes.

use super::Subject;
use super::survey::Names;
use crate::checks::{Check, Measured};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Place, target};
use crate::stats::show;
use std::net::SocketAddr;
use std::time::Duration;
use unstall_core::outcome::Outcome;

/// From here on a lookup is called slow: what people notice, and far from the 0.1 s of a distant name server.
const SLOW: Duration = Duration::from_millis(500);

pub(crate) struct Resolve;

impl Check for Resolve {
    type Subject = Subject;
    type Data = Names;
    const ID: &'static str = "target-resolve";
    const TITLE: &'static str = "name";
    const ABOUT: &'static str =
        "What the target's name resolves to, in which order, and how long the resolver takes.";
    const BUDGET: Duration = Duration::from_secs(1);

    fn measure(context: &Context, subject: &Subject) -> Measured<Names> {
        Ok(subject.names(context).clone())
    }

    fn judge(names: &Names) -> Vec<Finding> {
        let mut findings = Vec::new();
        let name = names.name.as_deref().unwrap_or("the address");
        let elapsed = names.elapsed_ns.map(Duration::from_nanos);
        if let Some(error) = &names.error {
            let found = target::NAME_NOT_FOUND.found(&[("name", &name), ("cause", error)]);
            // Without an answer nothing says that the name is wrong.
            let unanswered = names.failure == Some(Outcome::TimedOut);
            let found = if unanswered { found.without_fixes_at(Place::Client) } else { found };
            let severity = if names.completed.is_empty() { found.severity } else { crate::Severity::Info };
            let after =
                elapsed.map(|time| Evidence::measured(format!("no answer after {}", show(time)), time, 1));
            findings.push(found.with_severity(severity).with_all(after));
        }
        if let Some(family) = names.only.as_ref().filter(|family| lacks(names, family)) {
            let values =
                [("name", &name as _), ("family", family as _), ("addresses", &list(&names.addresses) as _)];
            let answer = Evidence::seen(format!("`{name}` is {}", list(&names.addresses)));
            findings.push(target::NO_ADDRESS_OF_FAMILY.found(&values).with_evidence(answer));
        }
        if let Some(time) = elapsed.filter(|&time| time >= SLOW) {
            let evidence = Evidence::measured(format!("resolving `{name}` took {}", show(time)), time, 1);
            findings.push(
                target::NAME_SLOW.found(&[("name", &name), ("time", &show(time))]).with_evidence(evidence),
            );
        }
        findings
    }

    fn describe(names: &Names) -> Vec<String> {
        let (Some(name), Some(time)) = (&names.name, names.elapsed_ns) else { return Vec::new() };
        let answer = match (names.addresses.is_empty(), names.failure) {
            (false, _) => list(&names.addresses),
            (true, Some(Outcome::TimedOut)) => "not known, no answer".to_owned(),
            (true, _) => "nothing".to_owned(),
        };
        let completed = match &names.completed[..] {
            [] => String::new(),
            added => format!("; by RFC 6761 also {}", list(added)),
        };
        vec![format!("{name} is {answer} ({}){completed}", show(Duration::from_nanos(time)))]
    }
}

fn list(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(|address| address.ip().to_string()).collect::<Vec<_>>().join(", ")
}

/// Whether the name has addresses, and none of the family.
fn lacks(names: &Names, family: &str) -> bool {
    let of_family = |address: &SocketAddr| address.is_ipv6() == (family == "IPv6");
    !names.addresses.is_empty() && !names.addresses.iter().chain(&names.completed).any(of_family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_the_family_that_was_asked_for_is_an_error() {
        let mut v4 = names(Duration::from_millis(1), None, false);
        v4.addresses = vec!["192.0.2.7:80".parse().expect("an address")];
        for (only, expected) in [(None, 0), (Some("IPv4"), 0), (Some("IPv6"), 1)] {
            v4.only = only.map(str::to_owned);
            assert_eq!(ids(&v4).len(), expected, "{only:?}");
        }
        assert_eq!(Resolve::judge(&v4)[0].title, "`app.localhost` has no IPv6 address: it is 192.0.2.7");
        // What RFC 6761 adds is an address like any other.
        v4.completed = vec!["[::1]:80".parse().expect("an address")];
        assert_eq!(ids(&v4), []);
    }

    fn names(elapsed: Duration, error: Option<&str>, completed: bool) -> Names {
        Names {
            name: Some("app.localhost".to_owned()),
            addresses: Vec::new(),
            completed: completed.then(|| "[::1]:80".parse().expect("an address")).into_iter().collect(),
            elapsed_ns: Some(crate::stats::ns(elapsed)),
            only: None,
            error: error.map(str::to_owned),
            failure: error.map(|_| Outcome::NoName),
        }
    }

    fn ids(names: &Names) -> Vec<(String, crate::Severity)> {
        Resolve::judge(names).into_iter().map(|finding| (finding.id, finding.severity)).collect()
    }

    #[test]
    fn a_missing_name_is_an_error_unless_it_is_loopback_by_rfc_6761() {
        let quick = Duration::from_millis(1);
        assert_eq!(
            ids(&names(quick, Some("no"), false)),
            [("name-not-found".to_owned(), crate::Severity::Error)]
        );
        assert_eq!(
            ids(&names(quick, Some("no"), true)),
            [("name-not-found".to_owned(), crate::Severity::Info)]
        );
        assert_eq!(ids(&names(quick, None, false)), []);
    }

    #[test]
    fn a_name_without_answer_is_not_called_misspelt() {
        let mut silent = names(SLOW, Some("no answer"), false);
        let first = |names: &Names| Resolve::judge(names)[0].fix.clone().expect("a fix").place;
        assert_eq!(first(&silent), Place::Client);
        silent.failure = Some(Outcome::TimedOut);
        assert_eq!(first(&silent), Place::System);
        assert!(Resolve::describe(&silent)[0].contains("no answer"));
    }

    #[test]
    fn a_slow_answer_is_told_from_half_a_second_on() {
        assert_eq!(ids(&names(Duration::from_nanos(499_999_999), None, false)), []);
        assert_eq!(ids(&names(SLOW, None, false)), [("name-slow".to_owned(), crate::Severity::Warn)]);
    }
}
