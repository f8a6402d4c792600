//! What the library is to keep, worked out from the figures.

use super::{Case, Cell, Client, Kind};
use crate::units::shown;
use schemars::JsonSchema;
use serde::Serialize;

/// Something that the library is to keep in every situation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Criterion {
    /// What.
    pub what: &'static str,
    /// In how many situations it was looked at.
    pub of: usize,
    /// Where it was not kept, with the figures. Empty: it was kept everywhere.
    pub missed: Vec<String>,
}

impl Criterion {
    /// Whether it was kept everywhere that it was looked at, and was looked at somewhere.
    pub fn is_met(&self) -> bool {
        self.of > 0 && self.missed.is_empty()
    }
}

/// One rule: which situations it is about, and what is wrong in one of them.
struct Rule {
    what: &'static str,
    holds_for: fn(&Case) -> bool,
    wrong: fn(&Case, ours: &Cell, default: &Cell) -> Option<String>,
}

const MS: u64 = 1_000_000;

/// Two runs of one client differ by that on a busy machine: the kernel's timers and when a thread gets its turn.
const NOISE: u64 = 5 * MS;
/// A server that accepts after 50 ms is reached by then.
const DRAINED_AFTER_50_MS: u64 = 100 * MS;
/// The most SYNs for a connect.
const MOST_SYNS: f64 = 12.0;
/// A closed port is refused by then: as it is on this machine, or with the lab in between.
const REFUSED_BY: u64 = MS;
const REFUSED_BY_IN_THE_LAB: u64 = 5 * MS;

const RULES: &[Rule] = &[
    Rule {
        what: "ours connects all that the OS default connects",
        holds_for: |case| case.kind != Kind::Closed,
        wrong: |_, ours, default| {
            (ours.connected < default.connected)
                .then(|| format!("{} of the default's {}", ours.connected, default.connected))
        },
    },
    Rule {
        what: "ours is never later than the OS default (p99; 5 % and 5 ms are noise)",
        holds_for: |case| matches!(case.kind, Kind::Burst | Kind::Report),
        wrong: |_, ours, default| {
            (ours.p99_ns > default.p99_ns + default.p99_ns / 20 + NOISE)
                .then(|| format!("{} against {}", shown(ours.p99_ns), shown(default.p99_ns)))
        },
    },
    Rule {
        what: "on linux, a server that accepts after 50 ms is reached within 100 ms (p99)",
        holds_for: |case| !case.emulated && case.kind == Kind::Burst && case.pause_ns == Some(50 * MS),
        wrong: |_, ours, _| (ours.p99_ns > DRAINED_AFTER_50_MS).then(|| shown(ours.p99_ns)),
    },
    Rule {
        what: "at most 12 SYNs for each connect",
        holds_for: |_| true,
        wrong: |_, ours, _| {
            (ours.syns_per_connect() > MOST_SYNS).then(|| format!("{:.1}", ours.syns_per_connect()))
        },
    },
    Rule {
        what: "a closed port is refused within 1 ms, 5 ms where that is emulated (p99)",
        holds_for: |case| case.kind == Kind::Closed,
        wrong: |case, ours, _| {
            let bound = if case.emulated { REFUSED_BY_IN_THE_LAB } else { REFUSED_BY };
            (ours.p99_ns > bound || ours.refused < case.count)
                .then(|| format!("{} refused, p99 {}", ours.refused, shown(ours.p99_ns)))
        },
    },
];

/// Every rule, looked at in every situation that it is about.
pub(super) fn all(cases: &[Case]) -> Vec<Criterion> {
    RULES.iter().map(|rule| criterion(rule, cases)).collect()
}

fn criterion(rule: &Rule, cases: &[Case]) -> Criterion {
    let mut criterion = Criterion { what: rule.what, of: 0, missed: Vec::new() };
    for case in cases.iter().filter(|case| (rule.holds_for)(case)) {
        let (Some(ours), Some(default)) = (case.cell(Client::Ours), case.cell(Client::Default)) else {
            continue;
        };
        criterion.of += 1;
        let wrong = (rule.wrong)(case, ours, default);
        criterion.missed.extend(wrong.map(|wrong| format!("{}: {wrong}", case.name())));
    }
    criterion
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(client: Client, connected: usize, p99_ms: u64, syns: u64) -> Cell {
        Cell {
            client,
            connected,
            refused: 0,
            timed_out: 0,
            other: 0,
            ghosts: Some(0),
            p50_ns: 0,
            p99_ns: p99_ms * MS,
            max_ns: 0,
            syns,
            most_tries: None,
        }
    }

    fn case(kind: Kind, pause_ms: u64, cells: Vec<Cell>) -> Case {
        Case {
            kind,
            profile: "linux".to_owned(),
            emulated: false,
            count: 10,
            runs: 1,
            backlog: Some(1),
            pause_ns: Some(pause_ms * MS),
            cells,
        }
    }

    /// Which rules a case with these figures misses.
    fn missed(ours: Cell, kind: Kind) -> Vec<usize> {
        let cases = [case(kind, 50, vec![cell(Client::Default, 10, 1010, 20), ours])];
        let criteria = all(&cases);
        (0..criteria.len()).filter(|&index| !criteria[index].missed.is_empty()).collect()
    }

    #[test]
    fn each_rule_can_be_missed() {
        assert_eq!(missed(cell(Client::Ours, 10, 100, 120), Kind::Burst), [0; 0]);
        assert_eq!(missed(cell(Client::Ours, 9, 100, 20), Kind::Burst), [0]);
        assert_eq!(missed(cell(Client::Ours, 10, 101, 20), Kind::Burst), [2]);
        assert_eq!(missed(cell(Client::Ours, 10, 1066, 20), Kind::Burst), [1, 2]);
        assert_eq!(missed(cell(Client::Ours, 10, 1065, 20), Kind::Burst), [2]);
        assert_eq!(missed(cell(Client::Ours, 10, 100, 121), Kind::Burst), [3]);
        assert_eq!(missed(Cell { refused: 10, ..cell(Client::Ours, 0, 1, 10) }, Kind::Closed), [0; 0]);
        assert_eq!(missed(Cell { refused: 9, ..cell(Client::Ours, 0, 1, 10) }, Kind::Closed), [4]);
        assert_eq!(missed(Cell { refused: 10, ..cell(Client::Ours, 0, 2, 10) }, Kind::Closed), [4]);
    }

    #[test]
    fn what_was_not_looked_at_is_not_met() {
        assert!(all(&[]).iter().all(|criterion| !criterion.is_met()));
        let alone = [case(Kind::Burst, 0, vec![cell(Client::Ours, 1, 1, 1)])];
        assert!(all(&alone).iter().all(|criterion| criterion.of == 0));
    }
}
