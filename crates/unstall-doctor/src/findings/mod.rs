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
    Topic { title: "The system", entries: system::ENTRIES },
    Topic { title: "A target", entries: target::ENTRIES },
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
