//! Which listener an address reaches. The rows are what Linux does; tests/listener_kernel.rs asks the kernel.

use std::net::SocketAddr;
use unstall_core::listener::{
    Listener, Owner, all_for_port, different_owners, overlaps, reaches, same_port_other_family,
};
use unstall_core::outcome::Platform;

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn listener(address: &str, v6_only: Option<bool>) -> Listener {
    Listener { address: at(address), v6_only, waiting: None, backlog: None, owner: None }
}

fn owned(address: &str, pid: u32) -> Listener {
    Listener { owner: Some(Owner { pid, name: "node".into() }), ..listener(address, None) }
}

/// The bound address of the listener reached.
fn reached(table: &[Listener], destination: &str) -> Option<String> {
    reaches(table, at(destination)).map(|listener| listener.address.to_string())
}

#[test]
fn a_listener_accepts_what_its_address_covers() {
    let rows = [
        ("127.0.0.1:80", None, "127.0.0.1:80", Some(true)),
        ("127.0.0.1:80", None, "127.0.0.1:81", Some(false)),
        ("127.0.0.1:80", None, "127.0.0.2:80", Some(false)),
        ("127.0.0.1:80", None, "[::1]:80", Some(false)),
        ("127.0.0.1:80", None, "[::ffff:127.0.0.1]:80", Some(true)),
        ("127.0.0.1:80", None, "0.0.0.0:80", Some(true)),
        ("[::ffff:127.0.0.1]:80", None, "127.0.0.1:80", Some(true)),
        ("[::1]:80", None, "[::1]:80", Some(true)),
        ("[::1]:80", None, "[::]:80", Some(true)),
        ("[::1]:80", None, "[2001:db8::7]:80", Some(false)),
        ("[::1]:80", Some(false), "127.0.0.1:80", Some(false)),
        ("0.0.0.0:80", None, "192.0.2.7:80", Some(true)),
        ("0.0.0.0:80", None, "[::1]:80", Some(false)),
        ("0.0.0.0:80", None, "0.0.0.0:80", Some(true)),
        ("[::ffff:0.0.0.0]:80", None, "127.0.0.1:80", Some(true)),
        ("[::]:80", Some(false), "[::1]:80", Some(true)),
        ("[::]:80", Some(true), "[::1]:80", Some(true)),
        ("[::]:80", None, "[::1]:80", Some(true)),
        ("[::]:80", Some(false), "127.0.0.1:80", Some(true)),
        ("[::]:80", Some(true), "127.0.0.1:80", Some(false)),
        ("[::]:80", None, "127.0.0.1:80", None),
        ("[::]:80", None, "[::ffff:127.0.0.1]:80", None),
        ("[fe80::1%2]:80", None, "[fe80::1%2]:80", Some(true)),
        ("[fe80::1%2]:80", None, "[fe80::1%3]:80", Some(false)),
        ("[fe80::1]:80", None, "[fe80::1%3]:80", Some(true)),
        ("[fe80::1%2]:80", None, "[fe80::1]:80", Some(true)),
    ];
    for (bound, v6_only, destination, accepted) in rows {
        assert_eq!(
            listener(bound, v6_only).accepts(at(destination)),
            accepted,
            "{bound} {v6_only:?} <- {destination}"
        );
    }
}

#[test]
fn the_closest_listener_is_reached_in_any_order_of_the_table() {
    let mut table = vec![
        listener("[::]:80", None),
        listener("[::]:80", Some(false)),
        listener("0.0.0.0:80", None),
        listener("127.0.0.1:80", None),
    ];
    for _ in 0..2 {
        let mut rest = table.clone();
        for closest in ["127.0.0.1:80", "0.0.0.0:80", "[::]:80", "[::]:80"] {
            let best = reaches(&rest, at("127.0.0.1:80")).unwrap().clone();
            assert_eq!(best.address.to_string(), closest);
            // Of the two IPv6 wildcards the one that is known to take IPv4 comes first.
            assert_eq!(best.v6_only.is_none() && best.address.is_ipv6(), rest.len() == 1);
            rest.retain(|listener| *listener != best);
        }
        assert_eq!(reaches(&rest, at("127.0.0.1:80")), None);
        table.reverse();
    }
}

#[test]
fn of_equal_listeners_the_first_is_taken() {
    let table = [owned("127.0.0.1:80", 1), owned("127.0.0.1:80", 2)];
    let first = reaches(&table, at("127.0.0.1:80")).unwrap();
    assert_eq!(first.owner.as_ref().map(|owner| owner.pid), Some(1));
}

#[test]
fn an_ipv6_address_comes_before_the_ipv6_wildcard() {
    let mut table = [listener("[::]:80", Some(true)), listener("[::1]:80", None)];
    for _ in 0..2 {
        assert_eq!(reached(&table, "[::1]:80"), Some("[::1]:80".into()));
        assert_eq!(reached(&table, "[2001:db8::7]:80"), Some("[::]:80".into()));
        table.reverse();
    }
}

#[test]
fn a_socket_of_the_family_comes_before_a_mapped_one() {
    let mut table = [listener("[::ffff:127.0.0.1]:80", Some(false)), listener("127.0.0.1:80", None)];
    for _ in 0..2 {
        assert_eq!(reached(&table, "127.0.0.1:80"), Some("127.0.0.1:80".into()));
        table.reverse();
    }
    let mut table = [listener("[::ffff:0.0.0.0]:80", Some(false)), listener("0.0.0.0:80", None)];
    for _ in 0..2 {
        assert_eq!(reached(&table, "127.0.0.1:80"), Some("0.0.0.0:80".into()));
        table.reverse();
    }
}

#[test]
fn nobody_is_reached_where_nobody_listens() {
    let table = [listener("127.0.0.1:3000", None)];
    assert_eq!(reached(&table, "[::1]:3000"), None);
    assert_eq!(reached(&table, "127.0.0.1:3001"), None);
    assert_eq!(reached(&[], "127.0.0.1:3000"), None);
}

#[test]
fn the_mismatch_is_the_listener_of_the_other_family() {
    let v4 = [listener("127.0.0.1:3000", None)];
    let found = |table, destination| {
        same_port_other_family(table, at(destination)).map(|l: &Listener| l.address.to_string())
    };
    assert_eq!(found(&v4, "[::1]:3000"), Some("127.0.0.1:3000".into()));
    assert_eq!(found(&v4, "[::]:3000"), Some("127.0.0.1:3000".into()));
    assert_eq!(found(&v4, "127.0.0.1:3000"), None);
    assert_eq!(found(&v4, "[::1]:3001"), None);
    let v6 = [listener("[::1]:3000", None)];
    assert_eq!(found(&v6, "127.0.0.1:3000"), Some("[::1]:3000".into()));
    assert_eq!(found(&v6, "[::ffff:127.0.0.1]:3000"), Some("[::1]:3000".into()));
    // One listener for both is no mismatch.
    let both = [listener("[::]:3000", Some(false))];
    assert_eq!(found(&both, "127.0.0.1:3000"), None);
    let only = [listener("[::]:3000", Some(true))];
    assert_eq!(found(&only, "127.0.0.1:3000"), Some("[::]:3000".into()));
    // Two listeners, each reached by its own family.
    let two = [listener("127.0.0.1:3000", None), listener("[::1]:3000", None)];
    assert_eq!(found(&two, "127.0.0.1:3000"), Some("[::1]:3000".into()));
    // Away from loopback there is no counterpart address; the family counts.
    let lan = [
        listener("127.0.0.1:3000", None),
        listener("192.0.2.7:3000", None),
        listener("[2001:db8::7]:3000", None),
    ];
    assert_eq!(found(&lan, "192.0.2.7:3000"), Some("[2001:db8::7]:3000".into()));
    assert_eq!(found(&lan, "[2001:db8::7]:3000"), Some("127.0.0.1:3000".into()));
    let wild = [listener("0.0.0.0:3000", None)];
    assert_eq!(found(&wild, "[2001:db8::7]:3000"), Some("0.0.0.0:3000".into()));
    assert_eq!(found(&wild, "192.0.2.7:3000"), None);
}

#[test]
fn every_listener_of_a_port_is_listed() {
    let table = [listener("127.0.0.1:80", None), listener("127.0.0.1:81", None), listener("[::]:80", None)];
    let addresses: Vec<_> = all_for_port(&table, 80).map(|listener| listener.address).collect();
    assert_eq!(addresses, [at("127.0.0.1:80"), at("[::]:80")]);
}

#[test]
fn two_servers_on_a_port_and_who_is_reached_where() {
    let table = [
        listener("0.0.0.0:8888", None),
        listener("127.0.0.1:8888", None),
        listener("[::1]:8888", None),
        listener("[::1]:1", None),
    ];
    let shown: Vec<_> = overlaps(&table, 8888)
        .into_iter()
        .map(|reach| {
            let hidden: Vec<_> = reach.hidden.iter().map(|listener| listener.address.to_string()).collect();
            (reach.destination.to_string(), reach.listener.address.to_string(), hidden)
        })
        .collect();
    let row = |destination: &str, listener: &str, hidden: &[&str]| {
        (
            destination.to_owned(),
            listener.to_owned(),
            hidden.iter().map(ToString::to_string).collect::<Vec<_>>(),
        )
    };
    assert_eq!(
        shown,
        [row("127.0.0.1:8888", "127.0.0.1:8888", &["0.0.0.0:8888"]), row("[::1]:8888", "[::1]:8888", &[])]
    );
}

#[test]
fn an_ipv6_wildcard_is_shown_for_both_families_if_it_takes_both() {
    let destinations = |v6_only| {
        let table = [listener("[::]:80", v6_only), listener("192.0.2.7:80", None)];
        overlaps(&table, 80).iter().map(|reach| reach.destination.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(destinations(Some(false)), ["[::1]:80", "127.0.0.1:80", "192.0.2.7:80"]);
    assert_eq!(destinations(None), ["[::1]:80", "127.0.0.1:80", "192.0.2.7:80"]);
    assert_eq!(destinations(Some(true)), ["[::1]:80", "192.0.2.7:80"]);
}

#[test]
fn one_listener_overlaps_with_nobody() {
    assert_eq!(overlaps(&[listener("[::]:80", Some(false)), listener("[::]:81", None)], 80), []);
    assert_eq!(overlaps(&[], 80), []);
}

#[test]
fn owners_differ_agree_or_are_not_known() {
    let none = listener("[::]:80", None);
    let rows: [(&[Listener], Option<bool>); 8] = [
        (&[], Some(false)),
        (std::slice::from_ref(&none), Some(false)),
        (&[owned("127.0.0.1:80", 1), owned("[::1]:80", 1)], Some(false)),
        (&[owned("127.0.0.1:80", 1), owned("[::1]:80", 2)], Some(true)),
        (&[owned("127.0.0.1:80", 1), owned("[::1]:80", 2), none.clone()], Some(true)),
        (&[owned("127.0.0.1:80", 1), owned("[::1]:80", 1), none.clone()], None),
        (&[owned("127.0.0.1:80", 1), none.clone()], None),
        (&[none.clone(), none.clone()], None),
    ];
    for (table, expected) in rows {
        assert_eq!(different_owners(table, 80), expected, "{table:?}");
    }
    assert_eq!(different_owners(&[owned("127.0.0.1:80", 1), owned("[::1]:81", 2)], 80), Some(false));
}

#[test]
fn a_queue_is_full_by_the_platforms_rule() {
    let queue = |waiting, backlog| Listener { waiting, backlog, ..listener("127.0.0.1:80", None) };
    let rows = [
        (Platform::Linux, Some(1), Some(1), Some(false)),
        (Platform::Linux, Some(2), Some(1), Some(true)),
        (Platform::Linux, Some(0), Some(0), Some(false)),
        (Platform::Linux, Some(1), Some(0), Some(true)),
        (Platform::Bsd, Some(15), Some(10), Some(false)),
        (Platform::Bsd, Some(16), Some(10), Some(true)),
        (Platform::Bsd, Some(u32::MAX), Some(u32::MAX), Some(false)),
        (Platform::Windows, Some(9), Some(1), None),
        (Platform::Apple, Some(9), Some(1), None),
        (Platform::Linux, None, Some(1), None),
        (Platform::Linux, Some(1), None, None),
    ];
    for (platform, waiting, backlog, full) in rows {
        assert_eq!(
            queue(waiting, backlog).queue_full(platform),
            full,
            "{platform:?} {waiting:?} {backlog:?}"
        );
    }
    let room = |platform, backlog| queue(Some(0), backlog).room(platform);
    assert_eq!(room(Platform::Linux, Some(128)), Some(129));
    assert_eq!(room(Platform::Bsd, Some(5)), Some(8));
    assert_eq!([room(Platform::Windows, Some(5)), room(Platform::Linux, None)], [None, None]);
}

#[test]
fn wildcards_are_wildcards_in_any_form() {
    for (address, wildcard) in
        [("0.0.0.0:1", true), ("[::]:1", true), ("[::ffff:0.0.0.0]:1", true), ("[::1]:1", false)]
    {
        assert_eq!(listener(address, None).is_wildcard(), wildcard, "{address}");
    }
}
