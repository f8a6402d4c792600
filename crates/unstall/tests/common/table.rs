//! The rows of the published table of connectors: who is tried, who listens, and what there is to wait for.

use super::namespace::{Namespace, OWN_V4, OWN_V6, SILENT_V4, SILENT_V6};

/// One row: addresses in the OS's order, who listens, what is to be waited for, how many attempts are made.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) addresses: Vec<&'static str>,
    pub(crate) listens: Option<&'static str>,
    pub(crate) delays: u32,
    pub(crate) attempts: usize,
}

/// The addresses of more than one row.
const ORDER: [&str; 9] = [
    "::1",
    "127.0.0.1",
    SILENT_V6[0],
    SILENT_V6[1],
    SILENT_V6[2],
    SILENT_V4[0],
    SILENT_V4[1],
    OWN_V4,
    OWN_V6,
];

pub(crate) fn rows() -> Vec<Row> {
    let [six, more_six, most_six] = SILENT_V6;
    let row = |name, addresses: &[&'static str], listens, delays, attempts| Row {
        name,
        addresses: addresses.to_vec(),
        listens,
        delays,
        attempts,
    };
    let many = &["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7"];
    let thousand: Vec<&'static str> =
        (0..1000).map(|n| &*format!("127.1.{}.{}", n / 250, n % 250 + 1).leak()).collect();
    vec![
        row("a", &["::1", "127.0.0.1"], Some("127.0.0.1"), 0, 2),
        row("b", &[six, OWN_V4], Some(OWN_V4), 1, 2),
        row("c", &[six, SILENT_V4[0], OWN_V4], Some(OWN_V4), 2, 3),
        row("d", &[six, more_six, most_six, OWN_V4], Some(OWN_V4), 1, 2),
        row("e", &[SILENT_V4[0], SILENT_V4[1], OWN_V4], Some(OWN_V4), 2, 3),
        row("f", &[six, OWN_V4, OWN_V6], Some(OWN_V6), 1, 3),
        row("g", many, Some("127.0.0.7"), 0, 6),
        row("h", &["::1", "127.0.0.1", OWN_V4, OWN_V6], None, 0, 4),
        row("i", &thousand, Some("127.1.0.1"), 0, 1),
    ]
}

impl Namespace {
    /// Lets the name of each row have the row's addresses.
    pub(crate) fn name_rows(&mut self, rows: &[Row]) {
        // The OS has one order for all names, and reads it once.
        let mut hosts: Vec<(&str, &[&str])> = vec![("order", &ORDER)];
        hosts.extend(rows.iter().map(|row| (row.name, &row.addresses[..])));
        self.hosts(&hosts);
    }
}
