//! Times for people.

use std::time::Duration;

/// Three digits, in the unit that fits.
pub(crate) fn shown(nanoseconds: u64) -> String {
    let (number, unit) = in_unit(nanoseconds, nanoseconds);
    format!("{number} {unit}")
}

/// Both in the unit that fits the greater.
pub(crate) fn range(least: u64, most: u64) -> String {
    let (least, _) = in_unit(least, most);
    let (most, unit) = in_unit(most, most);
    format!("{least} to {most} {unit}")
}

fn in_unit(nanoseconds: u64, of: u64) -> (String, &'static str) {
    let ms = Duration::from_nanos(nanoseconds).as_secs_f64() * 1e3;
    match of {
        0..10_000_000 => (format!("{ms:.2}"), "ms"),
        10_000_000..10_000_000_000 => (format!("{ms:.0}"), "ms"),
        _ => (format!("{:.1}", ms / 1e3), "s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        assert_eq!(
            [300_000, 9_990_000, 2_026_000_000, 21_000_000_000].map(shown),
            ["0.30 ms", "9.99 ms", "2026 ms", "21.0 s"]
        );
        assert_eq!(range(180_000, 210_000), "0.18 to 0.21 ms");
        assert_eq!(range(3_000_000, 2_100_000_000), "3 to 2100 ms");
    }
}
