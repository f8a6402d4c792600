//! What the doctor can tell a person: one table of all findings, by topic, and the instances that checks make of it.
//!
//! An [`Entry`] is a row of the table: id, severity, title, the long text, the fixes best first. A check that finds
//! something calls [`Entry::found`] and gets a [`Finding`], which carries the evidence. `unstall explain`
//! ([`explain`]) and `docs/FINDINGS.md` ([`markdown`]) are rendered from the same table.

mod entry;
mod explain;
mod finding;
mod markdown;
mod outcomes;

pub(crate) mod backlog;
mod clients;
pub(crate) mod exchange;
pub(crate) mod names;
pub(crate) mod ports;
pub(crate) mod proxy;
pub(crate) mod refusal;
pub(crate) mod system;
pub(crate) mod target;

pub use entry::{Command, Entry, FixEntry, FixKind, Os, Place, Severity, Value};
pub use explain::{Unknown, explain};
pub use finding::{Evidence, Finding, Fix, Label};
pub use markdown::markdown;

/// A group of findings: a chapter of `docs/FINDINGS.md`.
#[derive(Debug)]
pub struct Topic {
    /// Its heading.
    pub title: &'static str,
    /// Its findings.
    pub entries: &'static [&'static Entry],
}

/// The table: every finding there is.
pub static TOPICS: &[Topic] = &[
    Topic { title: "Refusals", entries: refusal::ENTRIES },
    Topic { title: "Connects and exchanges on loopback", entries: exchange::ENTRIES },
    Topic { title: "Names", entries: names::ENTRIES },
    Topic { title: "Ports", entries: ports::ENTRIES },
    Topic { title: "Proxies", entries: proxy::ENTRIES },
    Topic { title: "Full accept queues", entries: backlog::ENTRIES },
    Topic { title: "The system", entries: system::ENTRIES },
    Topic { title: "A target", entries: target::ENTRIES },
    Topic { title: "Programs", entries: clients::ENTRIES },
];

/// Every finding, in the order of the table.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    TOPICS.iter().flat_map(|topic| topic.entries.iter().copied())
}

/// The finding with this id.
pub fn get(id: &str) -> Option<&'static Entry> {
    all().find(|entry| entry.id == id)
}

/// Defines a topic's findings and the list of them, so that none can be left out of the list.
macro_rules! findings {
    ($($name:ident = $entry:expr;)*) => {
        $(pub(crate) static $name: $crate::findings::Entry = $entry;)*
        pub(super) static ENTRIES: &[&$crate::findings::Entry] = &[$(&$name),*];
    };
}
#[cfg(test)]
pub(crate) use entry::placeholder;
pub(crate) use findings;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn is_kebab(id: &str) -> bool {
        let word = |word: &str| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        id.split('-').all(word)
    }

    #[test]
    fn ids_are_kebab_case_and_unique() {
        let mut seen = BTreeSet::new();
        for entry in all() {
            assert!(is_kebab(entry.id), "{}", entry.id);
            assert!(seen.insert(entry.id), "{} is there twice", entry.id);
            assert_eq!(get(entry.id), Some(entry));
        }
        assert!(seen.len() > 30);
    }

    #[test]
    fn fixes_come_best_first() {
        assert!(all().all(|entry| !entry.fixes.is_empty()));
        let disordered = all().filter(|entry| !entry.fixes.is_sorted_by_key(|fix| fix.place));
        assert_eq!(disordered.map(|entry| entry.id).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn what_unstall_may_run_by_itself_can_be_taken_back() {
        for entry in all() {
            for fix in entry.fixes.iter().filter(|fix| fix.kind == FixKind::Automatic) {
                assert!(fix.undo.is_some() && !fix.commands.is_empty(), "{}", entry.id);
            }
        }
    }

    #[test]
    fn texts_are_whole_and_links_are_links() {
        for entry in all() {
            assert!(!entry.title.ends_with('.') && !entry.title.contains('\n'), "{}", entry.id);
            assert!(entry.why.len() > 60, "{}: the long text is short", entry.id);
            for paragraph in entry.why.split("\n\n") {
                assert!(
                    paragraph.ends_with(['.', '}']) && !paragraph.contains('\n'),
                    "{}: {paragraph}",
                    entry.id
                );
            }
            assert!(!entry.affects.is_empty(), "{}", entry.id);
            assert!(entry.links.iter().all(|link| link.starts_with("https://")), "{}", entry.id);
        }
    }

    #[test]
    fn everything_is_explained_and_a_slip_gets_a_suggestion() {
        for entry in all() {
            let text = explain(entry.id).expect("explained");
            assert!(text.starts_with(entry.id) && !text.contains('{'), "{text}");
        }
        for outcome in unstall_core::outcome::Outcome::ALL {
            assert!(explain(outcome.id()).is_ok(), "{outcome}");
        }
        let slip = explain("slow-refusals").expect_err("no such finding");
        assert_eq!(slip.to_string(), "there is no finding `slow-refusals`: did you mean `slow-refusal`?");
        let nonsense = explain("qqq").expect_err("no such finding");
        assert_eq!(nonsense.to_string(), "there is no finding `qqq`");
    }

    #[test]
    fn the_page_is_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FINDINGS.md");
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(page == markdown(), "docs/FINDINGS.md is out of date: run cargo xtask docs");
    }
}
