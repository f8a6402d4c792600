//! From figure to cause: every figure that was published or measured finds its cause, everything between finds none.

use std::collections::HashSet;
use std::time::Duration;
use unstall_core::outcome::{Outcome, Platform};
use unstall_core::sample::Sample;
use unstall_core::signature::{Figure, Phase, SIGNATURES, Shape, causes, causes_of_modes};

use Outcome::{Connected, Refused, TimedOut};
use Phase::{Connect, Exchange, Resolve, SecondFamily};

fn ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1000.0)
}

fn ids(figure: Figure) -> Vec<&'static str> {
    causes(&figure).iter().map(|signature| signature.id).collect()
}

/// What was measured somewhere, on which platform, and what it is called.
const KNOWN: &[(Phase, f64, Option<Outcome>, Platform, &str)] = &[
    (Connect, 2026.0, Some(Refused), Platform::Windows, "syn-resent-after-rst"),
    (Connect, 2015.0, Some(Refused), Platform::Windows, "syn-resent-after-rst"),
    (Connect, 2002.3, Some(Refused), Platform::Windows, "syn-resent-after-rst"),
    (Connect, 2110.0, Some(Refused), Platform::Windows, "syn-resent-after-rst"),
    (Connect, 506.0, Some(Refused), Platform::Windows, "syn-resent-after-rst"),
    (Connect, 1010.0, Some(Refused), Platform::Windows, "syn-resent-after-rst"),
    (Connect, 4040.0, Some(Refused), Platform::Windows, "syn-resent-after-rst"),
    (Connect, 540.0, Some(Connected), Platform::Windows, "accept-queue-full-windows"),
    (Connect, 1530.0, Some(Connected), Platform::Windows, "accept-queue-full-windows"),
    (Connect, 1002.0, Some(Connected), Platform::Linux, "syn-lost"),
    (Connect, 1023.0, Some(Connected), Platform::Linux, "syn-lost"),
    (Connect, 1090.0, Some(Connected), Platform::Linux, "syn-lost"),
    (Connect, 3004.0, Some(Connected), Platform::Linux, "syn-lost"),
    (Connect, 7010.0, Some(Connected), Platform::Linux, "syn-lost"),
    (Connect, 128_000.0, Some(Refused), Platform::Windows, "no-syn-retransmission-misread"),
    (Connect, 21_000.0, Some(TimedOut), Platform::Windows, "no-answer-windows"),
    (Connect, 7_000.0, Some(TimedOut), Platform::Windows, "no-answer-windows"),
    (Connect, 123_000.0, Some(TimedOut), Platform::Windows, "no-answer-windows"),
    (Connect, 127_000.0, Some(TimedOut), Platform::Linux, "no-answer-linux"),
    (Connect, 134_900.0, Some(TimedOut), Platform::Linux, "no-answer-linux"),
    (SecondFamily, 201.0, None, Platform::Linux, "happy-eyeballs-200"),
    (SecondFamily, 225.0, None, Platform::Windows, "happy-eyeballs-200"),
    (SecondFamily, 251.0, None, Platform::Linux, "happy-eyeballs-250"),
    (SecondFamily, 273.0, None, Platform::Linux, "happy-eyeballs-250"),
    (SecondFamily, 301.0, None, Platform::Linux, "happy-eyeballs-300"),
    (Exchange, 43.99, None, Platform::Linux, "nagle-delayed-ack"),
    (Exchange, 50.0, None, Platform::Windows, "nagle-delayed-ack"),
    (Exchange, 200.0, None, Platform::Windows, "nagle-delayed-ack"),
    (Resolve, 5000.0, Some(Outcome::NoName), Platform::Linux, "resolver-timeout"),
    (Resolve, 10_010.0, None, Platform::Linux, "resolver-timeout"),
];

#[test]
fn every_known_figure_has_its_cause() {
    for &(phase, time, outcome, platform, id) in KNOWN {
        let mut figure = Figure::new(phase, ms(time)).platform(platform);
        figure.outcome = outcome;
        assert_eq!(ids(figure), [id], "{phase:?} {time} ms {outcome:?}");
    }
}

/// Which outcomes and which platforms each row asks for; none: it does not matter.
const CONDITIONS: &[(&str, &[Outcome], &[Platform])] = &[
    ("syn-resent-after-rst", &[Refused], &[Platform::Windows]),
    ("accept-queue-full-windows", &[Connected], &[Platform::Windows]),
    ("syn-lost", &[Connected], &[]),
    ("no-syn-retransmission-misread", &[Refused], &[Platform::Windows]),
    ("no-answer-windows", &[TimedOut], &[Platform::Windows]),
    ("no-answer-linux", &[TimedOut], &[Platform::Linux]),
    ("failure-not-seen", &[TimedOut], &[]),
    ("limit-below-refusal", &[TimedOut], &[Platform::Windows]),
    ("so-error-race", &[], &[Platform::Windows]),
    ("happy-eyeballs-200", &[], &[]),
    ("happy-eyeballs-250", &[], &[]),
    ("happy-eyeballs-300", &[], &[]),
    ("nagle-delayed-ack", &[], &[]),
    ("resolver-timeout", &[], &[]),
];

/// A time that the signature matches, in ms, and the limit that goes with it.
fn example(shape: Shape) -> Option<(f64, f64)> {
    match shape {
        Shape::Between(from, _) => Some((from as f64 / 1000.0, 60_000.0)),
        Shape::AnyOf(ranges) => Some((ranges[0].0 as f64 / 1000.0, 60_000.0)),
        Shape::WholeLimit | Shape::WholeLimitBelow(_) => Some((1501.0, 1500.0)),
        _ => None,
    }
}

#[test]
fn every_row_asks_for_its_outcome_and_its_platform() {
    assert_eq!(SIGNATURES.len(), CONDITIONS.len());
    for (signature, &(id, outcomes, platforms)) in SIGNATURES.iter().zip(CONDITIONS) {
        assert_eq!(signature.id, id);
        let Some((time, limit)) = example(signature.shape) else { continue };
        for outcome in Outcome::ALL {
            for platform in Platform::ALL {
                let figure = Figure::new(signature.phase, ms(time)).outcome(outcome).platform(platform);
                let expected = (outcomes.is_empty() || outcomes.contains(&outcome))
                    && (platforms.is_empty() || platforms.contains(&platform));
                let figure = figure.limit(ms(limit)).truth(Refused);
                assert_eq!(signature.matches(&figure), expected, "{id} {outcome} {platform:?}");
            }
        }
    }
}

/// Whether a connect that took so many microseconds is this signature.
fn is(id: &str, outcome: Outcome, us: u64) -> bool {
    ids(Figure::new(Connect, Duration::from_micros(us)).outcome(outcome)).contains(&id)
}

#[test]
fn the_steps_of_a_timer_end_where_they_are_said_to_end() {
    let both = |id: &str, outcome, from: u64, to: u64| {
        assert!(is(id, outcome, from) && is(id, outcome, to), "{id}: {from} to {to} us");
        assert!(!is(id, outcome, from - 1) && !is(id, outcome, to + 1), "{id}: {from} to {to} us");
    };
    for n in 1..=8 {
        for (id, outcome) in [("syn-resent-after-rst", Refused), ("accept-queue-full-windows", Connected)] {
            both(id, outcome, n * 500_000, n * 525_000 + 15_000);
        }
    }
    assert!(!is("syn-resent-after-rst", Refused, 9 * 505_000));
    for s in [1, 2, 3, 4, 5, 7, 11, 15, 19, 31, 35, 63, 67] {
        both("syn-lost", Connected, s * 1_000_000 - 5_000, s * 1_010_000 + 90_000);
    }
    both("no-syn-retransmission-misread", Refused, 126_000_000, 132_000_000);
    both("no-answer-linux", TimedOut, 126_000_000, 137_000_000);
}

#[test]
fn what_is_near_no_timer_has_no_cause() {
    for time in [
        0.0, 0.2, 15.0, 499.9, 541.0, 900.0, 999.9, 1066.0, 1400.0, 1999.9, 2116.0, 30_000.0, 125_999.9,
        132_001.0,
    ] {
        assert_eq!(ids(Figure::new(Connect, ms(time)).outcome(Refused)), [""; 0], "refused after {time}");
    }
    for time in [0.2, 300.0, 994.9, 1101.0, 1500.0, 8_000.0, 100_000.0] {
        let figure = Figure::new(Connect, ms(time)).outcome(Connected).platform(Platform::Linux);
        assert_eq!(ids(figure), [""; 0], "connected after {time}");
    }
    for time in [1_000.0, 6_799.0, 7_301.0, 20_499.0, 22_001.0, 121_999.0, 125_001.0, 125_999.0, 137_001.0] {
        assert_eq!(ids(Figure::new(Connect, ms(time)).outcome(TimedOut)), [""; 0], "timed out after {time}");
    }
    for time in [0.0, 100.0, 198.9, 235.1, 248.9, 285.1, 298.9, 335.1] {
        assert_eq!(ids(Figure::new(SecondFamily, ms(time))), [""; 0], "second family after {time}");
    }
    for time in [0.02, 38.9, 55.1, 194.9, 220.1] {
        assert_eq!(ids(Figure::new(Exchange, ms(time))), [""; 0], "exchange of {time}");
    }
    for time in [0.1, 4_949.0, 5_501.0, 9_899.0, 10_801.0, 14_849.0, 16_101.0, 19_799.0, 21_401.0] {
        assert_eq!(ids(Figure::new(Resolve, ms(time))), [""; 0], "resolved in {time}");
    }
}

#[test]
fn the_same_time_means_another_thing_in_another_phase_or_with_another_outcome() {
    assert_eq!(ids(Figure::new(Exchange, ms(2026.0)).outcome(Refused)), [""; 0]);
    assert_eq!(ids(Figure::new(Connect, ms(2026.0)).outcome(TimedOut)), [""; 0]);
    assert_eq!(ids(Figure::new(Connect, ms(2026.0))), [""; 0], "nobody knows how it ended");
    assert_eq!(ids(Figure::new(Connect, ms(43.99)).outcome(Connected)), [""; 0]);
    assert_eq!(ids(Figure::new(Resolve, ms(43.99))), [""; 0]);
}

#[test]
fn an_unknown_platform_leaves_every_cause_open() {
    let figure = Figure::new(Connect, ms(1010.0)).outcome(Connected);
    assert_eq!(ids(figure), ["accept-queue-full-windows", "syn-lost"]);
    assert_eq!(ids(figure.platform(Platform::Linux)), ["syn-lost"]);
}

#[test]
fn a_refusal_that_looks_like_a_time_out_is_the_callers_limit() {
    let figure = |elapsed, limit| {
        Figure::new(Connect, ms(elapsed))
            .outcome(TimedOut)
            .limit(ms(limit))
            .truth(Refused)
            .platform(Platform::Windows)
    };
    assert_eq!(ids(figure(2001.0, 2000.0)), ["failure-not-seen", "limit-below-refusal"]);
    assert_eq!(ids(figure(4001.0, 4000.0)), ["failure-not-seen"]);
    assert_eq!(ids(figure(2031.0, 2030.0)), ["failure-not-seen"]);
    // Up to 50 ms or a twentieth late, never early.
    assert_eq!(ids(figure(550.0, 500.0)).len(), 2);
    assert_eq!(ids(figure(550.1, 500.0)), [""; 0]);
    assert_eq!(ids(figure(499.9, 500.0)), [""; 0]);
    assert_eq!(ids(figure(4200.0, 4000.0)).len(), 1);
    assert_eq!(ids(figure(4200.1, 4000.0)), [""; 0]);
    // It takes a limit, and knowing that the truth is a refusal.
    let mut blind = figure(2001.0, 2000.0);
    blind.truth = None;
    assert_eq!(ids(blind), [""; 0]);
    blind.truth = Some(TimedOut);
    assert_eq!(ids(blind), [""; 0]);
    let mut endless = figure(2001.0, 2000.0);
    endless.limit = None;
    assert_eq!(ids(endless), [""; 0]);
    let on_linux = figure(2001.0, 2000.0).platform(Platform::Linux);
    assert_eq!(ids(on_linux), ["failure-not-seen"]);
    assert_eq!(ids(figure(2001.0, 2000.0).limit(Duration::MAX)), [""; 0]);
}

#[test]
fn two_modes_are_the_so_error_race() {
    let series = |fast: u64, slow: u64| -> Sample {
        let spread =
            |middle: u64| (0..100).map(move |i| Duration::from_nanos(middle * (9_500 + 10 * i) / 10));
        spread(fast).chain(spread(slow)).collect()
    };
    let found = |sample: &Sample, platform| {
        causes_of_modes(Connect, sample, platform).iter().map(|signature| signature.id).collect::<Vec<_>>()
    };
    let race = series(200, 14_600);
    assert_eq!(found(&race, Some(Platform::Windows)), ["so-error-race"]);
    assert_eq!(found(&race, None), ["so-error-race"]);
    assert_eq!(found(&race, Some(Platform::Linux)), [""; 0]);
    assert!(causes_of_modes(Exchange, &race, None).is_empty());
    for (fast, slow) in [(25, 10_000), (1_900, 25_000)] {
        assert_eq!(found(&series(fast, slow), None), ["so-error-race"], "{fast} and {slow}");
    }
    for (fast, slow) in
        [(15, 14_600), (2_200, 14_600), (200, 27_000), (200, 9_000), (200, 44_000), (5_000, 14_600)]
    {
        assert_eq!(found(&series(fast, slow), None), [""; 0], "{fast} and {slow}");
    }
    let all_slow: Sample = (0..100).map(|i| Duration::from_micros(14_000 + 10 * i)).collect();
    assert_eq!(found(&all_slow, None), [""; 0]);
    // No single time is a mode.
    assert_eq!(ids(Figure::new(Connect, ms(14.6)).outcome(Connected)), [""; 0]);
}

#[test]
fn the_table_is_whole() {
    let names: HashSet<_> = SIGNATURES.iter().map(|signature| signature.id).collect();
    assert_eq!(names.len(), SIGNATURES.len());
    for signature in SIGNATURES {
        let id = signature.id;
        assert!(
            id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
            "{id}"
        );
        for text in [id, signature.figure, signature.cause, signature.source] {
            assert!(!text.is_empty() && !text.ends_with('.') && !text.contains('\n'), "{id}: {text}");
        }
        let ranges: &[(u64, u64)] = match signature.shape {
            Shape::AnyOf(ranges) => ranges,
            Shape::Between(from, to) => &[(from, to)],
            Shape::WholeLimit => {
                assert_eq!(id, "failure-not-seen");
                &[]
            }
            _ => &[],
        };
        assert!(ranges.iter().all(|(from, to)| 0 < *from && from < to), "{id}: {ranges:?}");
        assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{id}: {ranges:?}");
    }
}
