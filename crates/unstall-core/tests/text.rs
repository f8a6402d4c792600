//! How times are written.

use proptest::prelude::*;
use std::time::Duration;
use unstall_core::text::duration;

#[test]
fn times_have_about_three_digits() {
    let rows = [
        (0, "0.000 ms"),
        (499, "0.000 ms"),
        (500, "0.001 ms"),
        (16_000, "0.016 ms"),
        (99_499, "0.099 ms"),
        (99_500, "0.10 ms"),
        (100_000, "0.10 ms"),
        (212_499, "0.21 ms"),
        (994_999, "0.99 ms"),
        (995_000, "1.0 ms"),
        (14_649_999, "14.6 ms"),
        (14_650_000, "14.7 ms"),
        (99_949_999, "99.9 ms"),
        (99_950_000, "100 ms"),
        (2_026_400_000, "2026 ms"),
        (9_999_499_999, "9999 ms"),
        (9_999_500_000, "10.0 s"),
        (10_000_000_000, "10.0 s"),
        (21_049_999_999, "21.0 s"),
        (134_900_000_000, "134.9 s"),
    ];
    for (ns, text) in rows {
        assert_eq!(duration(Duration::from_nanos(ns)), text, "{ns} ns");
    }
    assert_eq!(duration(Duration::MAX), "18446744073709551616.0 s");
}

proptest! {
    /// What is read is within half a percent of what was, from a hundredth of a millisecond on.
    #[test]
    fn rounding_costs_at_most_a_twentieth(ns in 10_000_u64..200_000_000_000) {
        let text = duration(Duration::from_nanos(ns));
        let (number, unit) = text.split_once(' ').unwrap();
        let read = number.parse::<f64>().unwrap() * if unit == "s" { 1e9 } else { 1e6 };
        prop_assert!((read / ns as f64 - 1.0).abs() <= 0.051, "{ns} ns: {text}");
    }
}
