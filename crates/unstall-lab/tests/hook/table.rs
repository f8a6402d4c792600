//! The client's lines: a connect, what it came to, and the milliseconds, which alone may differ.

use std::collections::BTreeMap;

/// A line of the client's table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) outcome: String,
    pub(crate) ms: f64,
}

/// The rows by what was connected: API, family, state of the port.
pub(crate) fn rows(text: &str) -> BTreeMap<String, Row> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split('\t').collect();
        let (ms, rest) = words.split_last()?;
        let row = Row { outcome: rest.get(3..)?.join(" "), ms: ms.parse().ok()? };
        Some((rest[..3].join(" "), row))
    };
    text.lines().filter_map(row).collect()
}

/// The faster time of each row of two runs, whose outcomes must be the same.
pub(crate) fn faster(first: BTreeMap<String, Row>, second: &BTreeMap<String, Row>) -> BTreeMap<String, Row> {
    let least = |(name, row): (String, Row)| {
        let other = &second[&name];
        assert_eq!(row.outcome, other.outcome, "{name}: two runs differ");
        (name, Row { ms: row.ms.min(other.ms), ..row })
    };
    first.into_iter().map(least).collect()
}
