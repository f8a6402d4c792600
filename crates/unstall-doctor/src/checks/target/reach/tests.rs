use super::*;
use crate::Severity;
use std::net::SocketAddr;
use unstall_core::listener::Owner;

/// An address that came to something after so many ms.
pub(in crate::checks::target) fn probe(address: &str, outcome: Outcome, ms: f64) -> Probe {
    let address: SocketAddr = address.parse().expect("an address");
    Probe {
        address,
        from_resolver: true,
        local: address.ip().is_loopback() || address.ip().is_unspecified(),
        outcome,
        elapsed_ns: (ms * 1e6) as u64,
        os_error: None,
        error: (outcome != Outcome::Connected).then(|| format!("connect to {address}: {outcome}")),
    }
}

fn listener(address: &str, pid: u32, queue: (u32, u32)) -> Listener {
    Listener {
        address: address.parse().expect("an address"),
        v6_only: Some(false),
        waiting: Some(queue.0),
        backlog: Some(queue.1),
        owner: Some(Owner { pid, name: "node".to_owned() }),
    }
}

fn reached(addresses: Vec<Probe>, listeners: Vec<Listener>) -> Reached {
    let listening = Listening {
        listeners: Some(listeners),
        error: None,
        to_themselves: Some(0),
        ephemeral_range: Some((32768, 60999)),
    };
    Reached { name: Some("localhost".to_owned()), port: 3000, limit_ns: 3_000_000_000, addresses, listening }
}

fn found(data: &Reached) -> Vec<(String, Severity)> {
    Reach::judge(data).into_iter().map(|finding| (finding.id, finding.severity)).collect()
}

fn expect(data: &Reached, expected: &[(&str, Severity)]) {
    let expected: Vec<_> = expected.iter().map(|&(id, severity)| (id.to_owned(), severity)).collect();
    assert_eq!(found(data), expected);
}

const IDLE: (u32, u32) = (0, 128);

#[test]
fn a_server_that_answers_on_every_address_is_no_finding() {
    let both =
        vec![probe("[::1]:3000", Outcome::Connected, 0.1), probe("127.0.0.1:3000", Outcome::Connected, 0.1)];
    expect(&reached(both, vec![listener("[::]:3000", 1, IDLE)]), &[]);
    let one = vec![probe("127.0.0.1:3000", Outcome::Connected, 99.9)];
    expect(&reached(one, vec![listener("127.0.0.1:3000", 1, IDLE)]), &[]);
}

#[test]
fn a_server_on_the_other_address_is_named_with_its_process() {
    let refused = vec![probe("[::1]:3000", Outcome::Refused, 0.1)];
    let data = reached(refused, vec![listener("127.0.0.1:3000", 4242, IDLE)]);
    expect(&data, &[("listens-on-other-address", Severity::Error)]);
    assert_eq!(
        Reach::judge(&data)[0].title,
        "nothing on [::1]:3000, but node (pid 4242) listens on 127.0.0.1:3000"
    );
}

#[test]
fn a_refused_first_address_is_a_warning_unless_the_resolver_does_not_give_it() {
    let mut addresses =
        vec![probe("[::1]:3000", Outcome::Refused, 0.1), probe("127.0.0.1:3000", Outcome::Connected, 0.1)];
    let listeners = vec![listener("127.0.0.1:3000", 1, IDLE)];
    expect(&reached(addresses.clone(), listeners.clone()), &[("one-address-refused", Severity::Warn)]);
    addresses[0].from_resolver = false;
    expect(&reached(addresses, listeners), &[]);
}

#[test]
fn nobody_is_one_finding_for_all_addresses() {
    let refused =
        vec![probe("[::1]:3000", Outcome::Refused, 0.1), probe("127.0.0.1:3000", Outcome::Refused, 0.1)];
    let data = reached(refused, vec![]);
    expect(&data, &[("nobody-listens", Severity::Error)]);
    assert_eq!(Reach::judge(&data)[0].title, "nobody listens on [::1]:3000 or 127.0.0.1:3000");
}

#[test]
fn a_slow_refusal_and_a_limit_that_hides_it() {
    let slow = |ms| vec![probe("127.0.0.1:3000", Outcome::Refused, ms)];
    let nobody = ("nobody-listens", Severity::Error);
    expect(&reached(slow(99.9), vec![]), &[nobody]);
    expect(&reached(slow(2030.0), vec![]), &[nobody, ("target-refusal-slow", Severity::Warn)]);
    let mut data = reached(slow(2030.0), vec![]);
    data.limit_ns = 2_000_000_000;
    expect(
        &data,
        &[nobody, ("target-refusal-slow", Severity::Warn), ("limit-below-refusal", Severity::Warn)],
    );
}

#[test]
fn a_refusal_in_spite_of_a_listener_is_not_called_nobody() {
    let data = reached(
        vec![probe("127.0.0.1:3000", Outcome::Refused, 0.1)],
        vec![listener("0.0.0.0:3000", 1, IDLE)],
    );
    expect(&data, &[("refused-though-listening", Severity::Error)]);
}

#[test]
fn silence_is_a_full_queue_a_dead_address_or_a_filter() {
    let silent = vec![probe("127.0.0.1:3000", Outcome::TimedOut, 2600.0)];
    let full = listener("127.0.0.1:3000", 1, (2, 1));
    if Platform::CURRENT == Platform::Linux {
        expect(&reached(silent.clone(), vec![full]), &[("backlog-full", Severity::Error)]);
    }
    let room = listener("127.0.0.1:3000", 1, (1, 1));
    expect(&reached(silent.clone(), vec![room]), &[("no-answer", Severity::Error)]);
    expect(&reached(silent, vec![]), &[("no-answer", Severity::Error)]);
    let dead_first = vec![
        probe("[::1]:3000", Outcome::TimedOut, 2600.0),
        probe("127.0.0.1:3000", Outcome::Connected, 0.1),
    ];
    expect(&reached(dead_first, vec![]), &[("one-address-silent", Severity::Warn)]);
}

#[test]
fn what_the_system_forbids_is_an_error_unless_another_address_works() {
    for (outcome, id) in [
        (Outcome::NotPermitted, "connect-not-permitted"),
        (Outcome::Unreachable, "unreachable"),
        (Outcome::NotAvailable, "address-not-available"),
        (Outcome::Exhausted, "target-ports-exhausted"),
    ] {
        let mut addresses = vec![probe("[::1]:3000", outcome, 0.1)];
        expect(&reached(addresses.clone(), vec![]), &[(id, Severity::Error)]);
        addresses.push(probe("127.0.0.1:3000", Outcome::Connected, 0.1));
        expect(&reached(addresses, vec![]), &[(id, Severity::Info)]);
    }
}

#[test]
fn a_slow_local_connect_is_told() {
    let data = reached(
        vec![probe("127.0.0.1:3000", Outcome::Connected, 1013.0)],
        vec![listener("127.0.0.1:3000", 1, (2, 1))],
    );
    expect(&data, &[("target-connect-slow", Severity::Warn)]);
}

#[test]
fn two_processes_on_one_port_are_told_and_one_on_two_addresses_is_not() {
    let both =
        vec![probe("[::1]:3000", Outcome::Connected, 0.1), probe("127.0.0.1:3000", Outcome::Connected, 0.1)];
    let listeners = |other| vec![listener("[::]:3000", 7, IDLE), listener("127.0.0.1:3000", other, IDLE)];
    expect(&reached(both.clone(), listeners(7)), &[]);
    let data = reached(both, listeners(8));
    expect(&data, &[("two-servers-one-port", Severity::Warn)]);
    let finding = &Reach::judge(&data)[0];
    assert!(finding.title.contains("[::1]:3000 is node (pid 7)"), "{}", finding.title);
    assert!(finding.title.contains("127.0.0.1:3000 is node (pid 8)"), "{}", finding.title);
}

#[test]
fn a_self_connection_and_the_chance_of_one() {
    let mut data = reached(vec![probe("127.0.0.1:3000", Outcome::Refused, 0.1)], vec![]);
    data.listening.to_themselves = Some(1);
    expect(&data, &[("self-connected", Severity::Error), ("nobody-listens", Severity::Error)]);
    data.listening.to_themselves = None;
    data.port = 40000;
    expect(&data, &[("nobody-listens", Severity::Error), ("self-connect-possible", Severity::Info)]);
    data.listening.listeners = None;
    expect(&data, &[("nobody-listens", Severity::Error)]);
}

#[test]
fn an_unspecified_destination_is_told() {
    let data = reached(vec![probe("0.0.0.0:3000", Outcome::Connected, 0.1)], vec![]);
    expect(&data, &[("unspecified-destination", Severity::Warn)]);
    // Refused, it is a server on the other family, and that alone: two fixes would contradict each other.
    let refused =
        reached(vec![probe("[::]:3000", Outcome::Refused, 0.1)], vec![listener("127.0.0.1:3000", 1, IDLE)]);
    expect(&refused, &[("listens-on-other-address", Severity::Error)]);
}

#[test]
fn who_listens_here_says_nothing_of_another_host() {
    for (outcome, id) in [(Outcome::Refused, "nobody-listens"), (Outcome::TimedOut, "no-answer")] {
        let data = reached(
            vec![probe("192.0.2.7:3000", outcome, 3100.0)],
            vec![listener("0.0.0.0:3000", 4242, IDLE)],
        );
        let findings = Reach::judge(&data);
        assert!(findings.iter().any(|finding| finding.id == id), "{findings:?}");
        let said = format!("{findings:?}{:?}", Reach::describe(&data));
        assert!(!said.contains("4242"), "{said}");
    }
}

#[test]
fn every_placeholder_is_filled() {
    let outcomes = Outcome::ALL.map(|outcome| probe("[::1]:3000", outcome, 3100.0));
    for first in outcomes {
        for second in [None, Some(probe("127.0.0.1:3000", Outcome::Connected, 2000.0))] {
            for listeners in
                [vec![], vec![listener("[::1]:3000", 1, (3, 1)), listener("0.0.0.0:3000", 2, IDLE)]]
            {
                let mut data =
                    reached([Some(first.clone()), second.clone()].into_iter().flatten().collect(), listeners);
                data.listening.to_themselves = Some(1);
                for finding in Reach::judge(&data) {
                    let json = serde_json::to_string(&finding).expect("JSON");
                    assert_eq!(crate::findings::placeholder(&json), None, "{json}");
                }
            }
        }
    }
}

/// The first fix of a finding.
fn best_fix(data: &Reached, id: &str) -> String {
    let found = Reach::judge(data).into_iter().find(|finding| finding.id == id).expect("found");
    found.fix.expect("a fix").text
}

#[test]
fn a_server_on_loopback_is_to_listen_on_the_address_that_was_tried() {
    let mut tried = probe("192.0.2.7:3000", Outcome::Refused, 0.1);
    tried.local = true;
    let data = reached(vec![tried], vec![listener("127.0.0.1:3000", 1, IDLE)]);
    assert!(
        best_fix(&data, "listens-on-other-address").starts_with("let the server listen on 192.0.2.7 as well")
    );
    let other = vec![probe("127.0.0.2:3000", Outcome::Refused, 0.1)];
    let data = reached(other, vec![listener("127.0.0.1:3000", 1, IDLE)]);
    assert!(best_fix(&data, "listens-on-other-address").contains("--host 127.0.0.2"));
}

#[test]
fn a_full_queue_comes_before_the_address_that_nobody_listens_on() {
    if Platform::CURRENT != Platform::Linux {
        return;
    }
    let addresses =
        vec![probe("[::1]:3000", Outcome::Refused, 0.1), probe("127.0.0.1:3000", Outcome::TimedOut, 2600.0)];
    let data = reached(addresses, vec![listener("127.0.0.1:3000", 1, (2, 1))]);
    expect(&data, &[("backlog-full", Severity::Error), ("listens-on-other-address", Severity::Error)]);
}

#[test]
fn a_refusal_by_a_server_with_room_is_a_filters() {
    let refused = vec![probe("127.0.0.1:3000", Outcome::Refused, 0.1)];
    let fix = |queue| {
        best_fix(
            &reached(refused.clone(), vec![listener("0.0.0.0:3000", 1, queue)]),
            "refused-though-listening",
        )
    };
    // Elsewhere the queue's figures do not tell whether it is full.
    if Platform::CURRENT == Platform::Linux {
        assert!(fix(IDLE).contains("firewall"));
        assert!(fix((129, 128)).contains("backlog"));
    }
}

#[test]
fn a_link_local_address_needs_its_zone() {
    let data = reached(vec![probe("[fe80::1]:3000", Outcome::NotAvailable, 0.1)], vec![]);
    expect(&data, &[("link-local-without-zone", Severity::Error)]);
    assert_eq!(best_fix(&data, "link-local-without-zone"), "add the zone: [fe80::1%INTERFACE]:3000");
    let data = reached(vec![probe("[fe80::1%2]:3000", Outcome::NotAvailable, 0.1)], vec![]);
    expect(&data, &[("address-not-available", Severity::Error)]);
}
