//! The five cases of Node's `test-net-autoselectfamily.js` (nodejs/node, test/parallel), in simulated time, and the
//! hosts that its algorithm loses: there every attempt but the last is ended after 250 ms (nodejs/node#54359).

mod race_sim;

use race_sim::{Sim, config, connects, fails, local4, local6, ms, refused, v4, v6};
use unstall_core::outcome::Outcome;
use unstall_core::race::{Config, Family};

#[test]
fn ipv4_is_reached_if_ipv6_is_not_reachable() {
    let run = Sim::known(Config::default(), &[local6(), local4()])
        .fate(local6(), refused(0))
        .fate(local4(), connects(0))
        .run();
    run.assert_won(local4(), 0);
    assert_eq!(run.tried(), [local6(), local4()]);
}

#[test]
fn six_addresses_alternate_until_the_last_connects() {
    let addresses = [v6(1), v6(2), local6(), v4(1), v4(2), local4()];
    let dead =
        [v6(1), v6(2), v4(1), v4(2), local6()].map(|address| (address, fails(Outcome::Unreachable, 1)));
    let run = Sim::known(Config::default(), &addresses).fates(dead).fate(local4(), connects(0)).run();
    assert_eq!(run.tried(), [v6(1), v4(1), v6(2), v4(2), local6(), local4()]);
    run.assert_won(local4(), 5);
}

#[test]
fn ipv4_is_not_touched_if_ipv6_answers() {
    let run = Sim::known(Config::default(), &[local6(), local4()])
        .fate(local6(), connects(5))
        .fate(local4(), connects(0))
        .run();
    run.assert_won(local6(), 5);
    assert_eq!(run.tried(), [local6()]);
}

#[test]
fn every_failure_is_reported_when_nothing_connects() {
    let run = Sim::known(Config::default(), &[local6(), local4()])
        .fate(local6(), refused(0))
        .fate(local4(), refused(0))
        .run();
    run.assert_failed(Outcome::Refused, 0);
    assert_eq!(run.tried(), [local6(), local4()]);
}

/// There the option is turned off, and only the first address is tried. Here one family is chosen.
#[test]
fn with_one_family_the_other_is_not_tried() {
    let v6_alone = config(|config| config.family = Family::V6);
    let run = Sim::known(v6_alone, &[local6(), local4()])
        .fate(local6(), refused(0))
        .fate(local4(), connects(0))
        .run();
    run.assert_failed(Outcome::Refused, 0);
    assert_eq!(run.tried(), [local6()]);
}

#[test]
fn hosts_more_than_250_ms_away_are_reached() {
    for round_trip in [251, 500, 1_000, 3_000] {
        let far = [v6(1), v4(1)].map(|address| (address, connects(round_trip)));
        let run = Sim::known(Config::default(), &[v6(1), v4(1)]).fates(far).run();
        run.assert_won(v6(1), round_trip);
        assert_eq!(run.times(), [0, 250]);
        assert_eq!(run.cancels.iter().map(|cancel| cancel.0).collect::<Vec<_>>(), [ms(round_trip)]);
    }
}
