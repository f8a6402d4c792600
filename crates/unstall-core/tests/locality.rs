//! What never leaves the host, and what only looks like it.

use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use unstall_core::locality::{
    is_local, is_local_by, is_local_socket, is_localhost_name, is_loopback, unmap, unmap_socket,
    unspecified_to_loopback,
};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn socket(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn loopback_is_all_of_127_and_1_and_their_mapped_forms() {
    for yes in [
        "127.0.0.1",
        "127.0.0.0",
        "127.255.255.255",
        "127.0.0.2",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:127.9.9.9",
    ] {
        assert!(is_loopback(ip(yes)), "{yes}");
        assert!(is_local(ip(yes), &[]), "{yes}");
    }
    for no in
        ["126.255.255.255", "128.0.0.0", "0.0.0.0", "::", "::2", "::127.0.0.1", "::ffff:128.0.0.1", "fe80::1"]
    {
        assert!(!is_loopback(ip(no)), "{no}");
    }
}

#[test]
fn an_unspecified_destination_is_local() {
    for yes in ["0.0.0.0", "::", "::ffff:0.0.0.0"] {
        assert!(is_local(ip(yes), &[]), "{yes}");
    }
    assert!(!is_local(ip("0.0.0.1"), &[]));
}

#[test]
fn the_hosts_own_addresses_are_local_in_either_form() {
    let own = [ip("192.0.2.7"), ip("::ffff:198.51.100.3"), ip("2001:db8::7")];
    for yes in ["192.0.2.7", "::ffff:192.0.2.7", "198.51.100.3", "2001:db8::7"] {
        assert!(is_local(ip(yes), &own), "{yes}");
        assert!(!is_local(ip(yes), &[]), "{yes}");
    }
    for no in ["192.0.2.8", "2001:db8::8", "::192.0.2.7"] {
        assert!(!is_local(ip(no), &own), "{no}");
    }
}

#[test]
fn the_own_addresses_are_asked_for_only_when_needed_and_unmapped() {
    assert!(is_local_by(ip("127.0.0.1"), |_| panic!("asked")));
    assert!(is_local_by(ip("::ffff:192.0.2.7"), |asked| asked == ip("192.0.2.7")));
    assert!(!is_local_by(ip("192.0.2.7"), |_| false));
}

#[test]
fn a_link_local_destination_is_local_only_on_its_own_link() {
    let own =
        [socket("[fe80::7%2]:0"), socket("192.0.2.7:0"), socket("[2001:db8::7%2]:0"), socket("[fe80::9]:0")];
    for yes in [
        "[fe80::7%2]:80",
        "192.0.2.7:80",
        "[::ffff:192.0.2.7]:80",
        "[2001:db8::7]:80",
        "[::1]:80",
        "0.0.0.0:80",
    ] {
        assert!(is_local_socket(socket(yes), &own), "{yes}");
    }
    // On another link it may be another host; without a scope id nobody knows.
    for no in ["[fe80::7%3]:80", "[fe80::7]:80", "[fe80::8%2]:80", "[fe80::9]:80", "192.0.2.8:80"] {
        assert!(!is_local_socket(socket(no), &own), "{no}");
    }
}

#[test]
fn localhost_names_are_localhost_and_what_is_below_it() {
    for yes in [
        "localhost",
        "localhost.",
        "LOCALHOST",
        "LocalHost.",
        "app.localhost",
        "a.b.localhost.",
        "_x.localhost",
    ] {
        assert!(is_localhost_name(yes), "{yes}");
    }
    let no = [
        "",
        ".",
        "localhos",
        "mylocalhost",
        "localhost.example",
        "localhost..",
        ".localhost",
        "x.localhost.y",
        "ülocalhost",
    ];
    for no in no {
        assert!(!is_localhost_name(no), "{no}");
    }
}

#[test]
fn unspecified_destinations_become_loopback_and_nothing_else_changes() {
    for (from, to) in [
        ("0.0.0.0:80", "127.0.0.1:80"),
        ("[::]:80", "[::1]:80"),
        ("[::%3]:80", "[::1]:80"),
        ("[::ffff:0.0.0.0]:80", "[::ffff:127.0.0.1]:80"),
        ("127.0.0.2:80", "127.0.0.2:80"),
        ("0.0.0.1:80", "0.0.0.1:80"),
        ("[fe80::1%3]:80", "[fe80::1%3]:80"),
        ("[::ffff:192.0.2.7]:80", "[::ffff:192.0.2.7]:80"),
    ] {
        assert_eq!(unspecified_to_loopback(socket(from)), socket(to), "{from}");
    }
    let flow = SocketAddrV6::new("::".parse().unwrap(), 80, 9, 0);
    let SocketAddr::V6(loopback) = unspecified_to_loopback(flow.into()) else { panic!() };
    assert_eq!(loopback.flowinfo(), 9);
}

#[test]
fn unmapping_a_socket_address_keeps_port_and_scope() {
    assert_eq!(unmap_socket(socket("[::ffff:127.0.0.1]:80")), socket("127.0.0.1:80"));
    for same in ["127.0.0.1:80", "[::1]:80", "[fe80::1%3]:80"] {
        assert_eq!(unmap_socket(socket(same)), socket(same));
    }
}

proptest! {
    #[test]
    fn a_mapped_address_is_judged_as_its_ipv4_address(v4 in any::<Ipv4Addr>(), own in any::<Ipv4Addr>()) {
        let (plain, mapped) = (IpAddr::V4(v4), IpAddr::V6(v4.to_ipv6_mapped()));
        prop_assert_eq!(unmap(mapped), plain);
        prop_assert_eq!(is_loopback(mapped), is_loopback(plain));
        prop_assert_eq!(is_local(mapped, &[IpAddr::V4(own)]), is_local(plain, &[IpAddr::V4(own)]));
        prop_assert!(is_local(plain, &[mapped]));
    }
}
