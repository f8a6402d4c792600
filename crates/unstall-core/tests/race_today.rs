//! The hosts at which today's connectors were measured (rows A to I: tokio 1.54 needs more than 4 s in five of them,
//! hyper-util 0.1.21 in three) and what the race does there, in simulated time. A dead address is silent, and a refusal
//! or a connect takes no time.

mod race_sim;

use race_sim::{Sim, connects, local4, local6, refused, v4, v6};
use std::net::SocketAddr;
use unstall_core::outcome::Outcome;
use unstall_core::race::Config;

/// The attempt delay.
const DELAY: u64 = 250;

#[derive(Clone, Copy)]
enum Host {
    Dead(SocketAddr),
    Refuses(SocketAddr),
    Listens(SocketAddr),
}
use Host::{Dead, Listens, Refuses};

/// Runs a race with these addresses in the OS's order.
fn race(hosts: &[Host]) -> race_sim::Run {
    let addresses: Vec<_> = hosts
        .iter()
        .map(|&host| match host {
            Dead(address) | Refuses(address) | Listens(address) => address,
        })
        .collect();
    let fates = hosts.iter().filter_map(|&host| match host {
        Dead(_) => None,
        Refuses(address) => Some((address, refused(0))),
        Listens(address) => Some((address, connects(0))),
    });
    Sim::known(Config::default(), &addresses).fates(fates).run()
}

#[test]
fn a_refused_ipv6_loopback_costs_nothing() {
    race(&[Refuses(local6()), Listens(local4())]).assert_won(local4(), 0);
}

#[test]
fn b_a_dead_ipv6_costs_one_delay() {
    race(&[Dead(v6(1)), Listens(v4(1))]).assert_won(v4(1), DELAY);
}

#[test]
fn c_a_dead_address_of_each_family_costs_two_delays() {
    race(&[Dead(v6(1)), Dead(v4(1)), Listens(v4(2))]).assert_won(v4(2), 2 * DELAY);
}

#[test]
fn d_three_dead_ipv6_cost_one_delay() {
    race(&[Dead(v6(1)), Dead(v6(2)), Dead(v6(3)), Listens(v4(1))]).assert_won(v4(1), DELAY);
}

#[test]
fn e_two_dead_ipv4_cost_two_delays() {
    race(&[Dead(v4(1)), Dead(v4(2)), Listens(v4(3))]).assert_won(v4(3), 2 * DELAY);
}

#[test]
fn f_a_refusal_after_a_dead_address_costs_nothing_more() {
    race(&[Dead(v6(1)), Refuses(v4(1)), Listens(local6())]).assert_won(local6(), DELAY);
}

#[test]
fn g_five_refusals_cost_nothing() {
    let mut hosts: Vec<_> = (1..=5).map(|n| Refuses(v4(n))).collect();
    hosts.push(Listens(v4(6)));
    race(&hosts).assert_won(v4(6), 0);
}

#[test]
fn h_all_refused_is_known_at_once() {
    let run = race(&[Refuses(local6()), Refuses(local4()), Refuses(v4(1))]);
    run.assert_failed(Outcome::Refused, 0);
    assert_eq!(run.starts.len(), 3);
}

#[test]
fn i_a_thousand_that_listen_are_one_attempt() {
    let hosts: Vec<_> = (0..1000).map(|n| Listens(v4(n))).collect();
    let run = race(&hosts);
    run.assert_won(v4(0), 0);
    assert_eq!(run.starts.len(), 1);
}

/// `localhost` with a server on 127.0.0.1 alone and a firewall that drops what goes to ::1.
#[test]
fn a_silent_ipv6_loopback_costs_the_local_delay() {
    race(&[Dead(local6()), Listens(local4())]).assert_won(local4(), 10);
}

#[test]
fn six_refusals_cost_nothing() {
    let mut hosts: Vec<_> = (1..=6).map(|n| Refuses(v6(n))).collect();
    hosts.push(Listens(v4(1)));
    // Interleaved: the good one is second.
    let run = race(&hosts);
    run.assert_won(v4(1), 0);
    assert_eq!(run.starts.len(), 2);
}
