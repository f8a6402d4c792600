//! How times are written for people: one rule for every text that this project prints.

use std::time::Duration;

/// A time in milliseconds with about three significant digits, `0.016 ms`, `14.6 ms`, `2026 ms`; from 10 s on
/// in seconds, `21.0 s`. Rounded half up.
///
/// ```
/// # use std::time::Duration;
/// # use unstall_core::text::duration;
/// assert_eq!(duration(Duration::from_micros(212)), "0.21 ms");
/// ```
pub fn duration(time: Duration) -> String {
    const TABLE: [(u128, u128, usize, &str); 4] = [
        // Below this many ns: the last digit in ns, decimals, unit.
        (100_000, 1_000, 3, "ms"),
        (1_000_000, 10_000, 2, "ms"),
        (100_000_000, 100_000, 1, "ms"),
        (10_000_000_000, 1_000_000, 0, "ms"),
    ];
    let ns = time.as_nanos();
    let (digit, decimals, unit) = TABLE
        .into_iter()
        // What rounds up to the bound belongs to the next row, as 99.96 ms is 100 ms.
        .find(|(below, digit, ..)| round(ns, *digit) * digit < *below)
        .map_or((100_000_000, 1, "s"), |(_, digit, decimals, unit)| (digit, decimals, unit));
    let digits = round(ns, digit);
    let scale = 10_u128.pow(decimals as u32);
    match decimals {
        0 => format!("{digits} {unit}"),
        _ => format!("{}.{:0decimals$} {unit}", digits / scale, digits % scale),
    }
}

fn round(ns: u128, digit: u128) -> u128 {
    (ns + digit / 2) / digit
}

/// Whether text may use characters beyond ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Charset {
    /// ASCII alone: safe on every console.
    #[default]
    Ascii,
    /// Block elements for bars.
    Unicode,
}

impl Charset {
    /// The character that bars are made of.
    pub(crate) const fn bar(self) -> char {
        match self {
            Self::Ascii => '#',
            Self::Unicode => '\u{2588}',
        }
    }

    /// The character at both ends of a bar's space.
    pub(crate) const fn edge(self) -> char {
        match self {
            Self::Ascii => '|',
            Self::Unicode => '\u{2502}',
        }
    }

    /// `cells` cells between two edges, filled in `filled`.
    pub(crate) fn row(self, cells: usize, filled: std::ops::Range<usize>) -> String {
        let mut row = String::with_capacity((cells + 2) * 3);
        row.push(self.edge());
        row.extend((0..cells).map(|cell| if filled.contains(&cell) { self.bar() } else { ' ' }));
        row.push(self.edge());
        row
    }
}

/// Durations as integer nanoseconds, for `#[serde(with)]`. What does not fit into 64 bits (584 years) is the
/// most that does.
#[cfg(feature = "serde")]
pub(crate) mod ns {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    pub(crate) fn of(time: Duration) -> u64 {
        u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        of(*time).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}
