//! Percentiles, modes and histograms of series of times. The series are drawn from seeded generators, so that every
//! run sees the same ones.

use fastrand::Rng;
use proptest::prelude::*;
use std::time::Duration;
use unstall_core::sample::{LEAST_SHARE, Sample};
use unstall_core::text::Charset;

fn ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1000.0)
}

/// A standard normal variate (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

fn log_normal(rng: &mut Rng, median: f64, sigma: f64) -> f64 {
    median * (sigma * normal(rng)).exp()
}

fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    -mean * (1.0 - rng.f64()).ln()
}

/// A shape that has one mode, in ms.
type Draw = fn(&mut Rng) -> f64;

/// What connect times on a busy machine may look like: narrow, broad, with light and heavy tails, with outliers, at a
/// floor, at a ceiling.
const UNIMODAL: [(&str, Draw); 12] =
    [
        ("log-normal, narrow", |rng| log_normal(rng, 0.2, 0.05)),
        ("log-normal", |rng| log_normal(rng, 0.2, 0.4)),
        ("log-normal, broad", |rng| log_normal(rng, 0.2, 1.5)),
        ("exponential", |rng| exponential(rng, 0.3)),
        ("exponential on a floor", |rng| 0.015 + exponential(rng, 0.005)),
        ("uniform", |rng| 10.0 * rng.f64()),
        ("Pareto, a = 3", |rng| 0.1 * (1.0 - rng.f64()).powf(-1.0 / 3.0)),
        ("Pareto, a = 1", |rng| 0.1 / (1.0 - rng.f64())),
        ("Pareto, a = 0.5", |rng| 0.1 * (1.0 - rng.f64()).powi(-2)),
        ("normal", |rng| (14.0 + 3.0 * normal(rng)).max(0.001)),
        ("with 1 % outliers", |rng| {
            if rng.f64() < 0.01 { 5.0 + 50.0 * rng.f64() } else { log_normal(rng, 0.2, 0.1) }
        }),
        ("a sum of delays", |rng| (0..4).map(|_| exponential(rng, 0.1)).sum()),
    ];

#[test]
fn a_noisy_series_with_one_mode_has_one_mode() {
    let mut rng = Rng::with_seed(0x0005_eed0);
    let mut wrong = Vec::new();
    let mut series = 0;
    for (name, draw) in UNIMODAL {
        for n in [5, 20, 50, 100, 300, 1000] {
            for _ in 0..(8_000 / n).min(150) {
                let sample: Sample = (0..n).map(|_| ms(draw(&mut rng))).collect();
                series += 1;
                if sample.modes().len() != 1 {
                    wrong.push((name, n, sample.modes()));
                }
            }
        }
    }
    assert!(wrong.len() * 1000 < series, "{} of {series}: {wrong:?}", wrong.len());
}

/// `n` connects of about 0.2 ms, the first `slow` of them replaced.
fn two_modes(rng: &mut Rng, n: usize, slow: usize, draw: Draw) -> Sample {
    (0..n).map(|i| ms(if i < slow { draw(rng) } else { log_normal(rng, 0.2, 0.2) })).collect()
}

/// The effects that this is for, with how many of 200 series must show two modes.
#[test]
fn the_stalls_of_windows_are_second_modes() {
    let so_error: Draw = |rng| 10.0 + 15.0 * rng.f64();
    let tick: Draw = |rng| log_normal(rng, 14.6, 0.06);
    let refusal: Draw = |rng| log_normal(rng, 2030.0, 0.01);
    let close: Draw = |rng| log_normal(rng, 1.0, 0.1);
    let rows = [
        (300, 210, so_error, 200),
        (300, 10, so_error, 199),
        (50, 10, so_error, 198),
        (20, 8, so_error, 190),
        (50, 5, tick, 190),
        (20, 6, tick, 198),
        (20, 4, refusal, 200),
        (10, 3, refusal, 160),
        (300, 150, close, 199),
        (50, 10, close, 180),
    ];
    let mut rng = Rng::with_seed(0x0002_3456);
    for (row, (n, slow, draw, least)) in rows.into_iter().enumerate() {
        let mut found = 0;
        for _ in 0..200 {
            let modes = two_modes(&mut rng, n, slow, draw).modes();
            assert!(modes.len() <= 2, "row {row}: {modes:?}");
            if modes.len() == 2 {
                found += 1;
                assert_eq!(modes[1].count, slow, "row {row}: {modes:?}");
                assert_eq!(modes[0].count, n - slow, "row {row}");
            }
        }
        assert!(found >= least, "row {row}: {found} of 200");
    }
}

#[test]
fn three_modes_are_three() {
    let mut rng = Rng::with_seed(3);
    let sample: Sample =
        (0..300).map(|i| ms(log_normal(&mut rng, [0.2, 44.0, 2030.0][i % 3], 0.05))).collect();
    let modes = sample.modes();
    let centres: Vec<_> = modes.iter().map(|mode| mode.centre.as_micros()).collect();
    assert_eq!(modes.len(), 3, "{modes:?}");
    assert!((190..210).contains(&centres[0]) && (42_000..46_000).contains(&centres[1]), "{centres:?}");
    assert!((2_000_000..2_060_000).contains(&centres[2]), "{centres:?}");
    assert!(modes.iter().all(|mode| mode.count == 100 && (mode.share - 1.0 / 3.0).abs() < 1e-9));
}

#[test]
fn a_mode_says_where_it_is_and_how_much_it_holds() {
    let values = (0..30).map(|i| 180 + i).chain((0..70).map(|i| 14_000 + 10 * i));
    let modes = values.map(Duration::from_micros).collect::<Sample>().modes();
    let [fast, slow] = modes[..] else { panic!("{modes:?}") };
    let figures = |us: [u64; 3]| us.map(Duration::from_micros);
    assert_eq!([fast.min, fast.centre, fast.max], figures([180, 194, 209]));
    assert_eq!([slow.min, slow.centre, slow.max], figures([14_000, 14_340, 14_690]));
    assert_eq!((fast.count, slow.count), (30, 70));
    assert!((fast.share - 0.3).abs() < 1e-9);
    assert_eq!(slow.to_string(), "14.3 ms (70 %, 70 measurements)");
}

#[test]
fn rare_values_are_outliers_of_the_mode_beside_them() {
    let series = |slow: u64| -> Sample {
        let fast = (0..1000 - slow).map(|i| Duration::from_nanos(200_000 + 7 * (i % 991)));
        fast.chain((0..slow).map(|i| Duration::from_nanos(14_000_003 + 1_000 * i))).collect()
    };
    let rare = (1000.0 * LEAST_SHARE) as u64 - 1;
    assert_eq!(series(rare).modes().len(), 1);
    assert_eq!(series(rare).modes()[0].max, Duration::from_nanos(14_000_003 + 1_000 * (rare - 1)));
    assert_eq!(series(rare + 1).modes().len(), 2);
}

/// A clock that ticks every 15.6 ms or 1 us makes values pile up on its ticks; that is no mode of what was timed.
#[test]
fn a_coarse_clock_makes_no_modes() {
    let mut rng = Rng::with_seed(9);
    for (tick, mean) in
        [(15_625_000, 15.0), (15_625_000, 4.0), (1_000, 0.003), (100, 0.0005), (1_000_000, 2.0)]
    {
        let sample: Sample = (0..300)
            .map(|_| {
                let ns = ms(log_normal(&mut rng, mean, 0.3)).as_nanos() as u64;
                Duration::from_nanos(ns / tick * tick)
            })
            .collect();
        assert_eq!(sample.modes().len(), 1, "tick {tick} ns: {:?}", sample.modes());
    }
    // But what is many ticks away is.
    let sample: Sample = (0..100).map(|i| Duration::from_micros(if i < 50 { 1 } else { 40 })).collect();
    assert_eq!(sample.modes().len(), 2);
}

#[test]
fn few_or_equal_values_have_one_mode_and_none_have_none() {
    assert!(Sample::new().modes().is_empty());
    for n in 1..=4 {
        let sample: Sample = (0..n).map(|i| Duration::from_micros(10_u64.pow(i))).collect();
        assert_eq!(sample.modes().len(), 1, "{n}");
    }
    for value in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
        let modes = Sample::from(vec![value; 100]).modes();
        assert_eq!(modes.len(), 1);
        assert_eq!((modes[0].min, modes[0].max, modes[0].count), (value, value, 100));
    }
}

#[test]
fn percentiles_are_the_nearest_rank() {
    let sample: Sample = (1..=10).rev().map(Duration::from_millis).collect();
    let rows = [
        (0, 1),
        (1, 1),
        (10, 1),
        (11, 2),
        (50, 5),
        (51, 6),
        (90, 9),
        (91, 10),
        (99, 10),
        (100, 10),
        (255, 10),
    ];
    for (percent, ms) in rows {
        assert_eq!(sample.percentile(percent), Some(Duration::from_millis(ms)), "p{percent}");
    }
    assert_eq!(sample.median(), Some(Duration::from_millis(5)));
    let hundred: Sample = (1..=100).map(Duration::from_millis).collect();
    assert_eq!(hundred.p95(), Some(Duration::from_millis(95)));
    assert_eq!(hundred.p99(), Some(Duration::from_millis(99)));
    assert_eq!([hundred.min(), hundred.max()], [1, 100].map(|ms| Some(Duration::from_millis(ms))));
}

#[test]
fn nothing_measured_is_none_and_not_zero() {
    let mut sample = Sample::new();
    assert!(sample.is_empty() && sample.n() == 0);
    for figure in
        [sample.min(), sample.median(), sample.p95(), sample.p99(), sample.max(), sample.percentile(0)]
    {
        assert_eq!(figure, None);
    }
    assert_eq!(sample.histogram(20, Charset::Ascii), "");
    sample.push(Duration::ZERO);
    assert_eq!(sample.median(), Some(Duration::ZERO));
    assert!(!sample.is_empty());
}

#[test]
fn the_order_of_the_measurements_is_kept() {
    let mut sample = Sample::from(vec![Duration::from_millis(3), Duration::from_millis(1)]);
    sample.extend([Duration::from_millis(2)]);
    assert_eq!(sample.values(), [3, 1, 2].map(Duration::from_millis));
    assert_eq!(sample.n(), 3);
}

#[test]
fn a_histogram_shows_both_modes_and_the_gap_between() {
    let values = [210, 220, 230, 490, 500, 14_000, 14_600];
    let sample: Sample = values.into_iter().map(Duration::from_micros).collect();
    let expected = [
        " 0.20 ms ..  0.50 ms |########| 4",
        " 0.50 ms ..   1.0 ms |##      | 1",
        "  1.0 ms ..   2.0 ms |        | 0",
        "  2.0 ms ..   5.0 ms |        | 0",
        "  5.0 ms ..  10.0 ms |        | 0",
        " 10.0 ms ..  20.0 ms |####    | 2",
    ];
    assert_eq!(sample.histogram(8, Charset::Ascii).lines().collect::<Vec<_>>(), expected);
    assert!(sample.histogram(8, Charset::Unicode).starts_with(" 0.20 ms ..  0.50 ms \u{2502}\u{2588}"));
}

#[test]
fn buckets_hold_the_extremes() {
    let sample = Sample::from(vec![Duration::ZERO, Duration::from_nanos(1), Duration::MAX]);
    let buckets = sample.buckets();
    assert_eq!(buckets[0], (Duration::ZERO, Duration::from_nanos(1), 1));
    assert_eq!(buckets[1], (Duration::from_nanos(1), Duration::from_nanos(2), 1));
    assert_eq!(buckets.last().map(|(_, to, count)| (*to, *count)), Some((Duration::MAX, 1)));
}

proptest! {
    #[test]
    fn every_figure_was_measured_and_is_in_order(values in prop::collection::vec(any::<u64>(), 1..60)) {
        let sample: Sample = values.iter().copied().map(Duration::from_nanos).collect();
        let figures: Vec<_> = (0..=100).filter_map(|percent| sample.percentile(percent)).collect();
        prop_assert_eq!(figures.len(), 101);
        prop_assert!(figures.is_sorted());
        prop_assert!(figures.iter().all(|figure| sample.values().contains(figure)));
        prop_assert_eq!((figures[0], figures[100]), (sample.min().unwrap(), sample.max().unwrap()));
    }

    #[test]
    fn modes_divide_the_measurements(values in prop::collection::vec(any::<u64>(), 1..200)) {
        let sample: Sample = values.iter().copied().map(Duration::from_nanos).collect();
        let modes = sample.modes();
        prop_assert_eq!(modes.iter().map(|mode| mode.count).sum::<usize>(), values.len());
        prop_assert!((modes.iter().map(|mode| mode.share).sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!(modes.iter().all(|mode| mode.min <= mode.centre && mode.centre <= mode.max));
        prop_assert!(modes.windows(2).all(|pair| pair[0].max < pair[1].min));
    }

    #[test]
    fn buckets_hold_every_measurement(values in prop::collection::vec(any::<u64>(), 1..60)) {
        let sample: Sample = values.iter().copied().map(Duration::from_nanos).collect();
        let buckets = sample.buckets();
        prop_assert_eq!(buckets.iter().map(|bucket| bucket.2).sum::<usize>(), values.len());
        for (from, to, count) in &buckets {
            let inside = sample.values().iter().filter(|value| (*from..*to).contains(value)).count();
            prop_assert_eq!(inside, *count);
        }
        prop_assert!(buckets.windows(2).all(|pair| pair[0].1 == pair[1].0));
    }
}

#[cfg(feature = "serde")]
#[test]
fn the_json_has_the_figures_and_every_value() {
    let sample: Sample = (1..=4).map(Duration::from_micros).collect();
    let json = serde_json::to_value(&sample).unwrap();
    let expected = serde_json::json!({
        "n": 4, "min_ns": 1000, "median_ns": 2000, "p95_ns": 4000, "p99_ns": 4000, "max_ns": 4000,
        "modes": [{"centre_ns": 2000, "min_ns": 1000, "max_ns": 4000, "count": 4, "share": 1.0}],
        "samples_ns": [1000, 2000, 3000, 4000],
    });
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_value::<Sample>(json).unwrap(), sample);
    let empty = serde_json::to_value(Sample::new()).unwrap();
    assert_eq!(empty["median_ns"], serde_json::Value::Null);
}
