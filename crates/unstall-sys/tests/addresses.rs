//! The host's own addresses.

mod common;

use common::{V4, V6};
use std::net::IpAddr;
use unstall_sys::addresses::{is_own, own};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn loopback_is_own_without_asking() {
    for address in ["127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"] {
        assert!(is_own(ip(address)), "{address}");
    }
}

#[test]
fn documentation_addresses_are_not_own() {
    for address in ["192.0.2.77", "2001:db8::77", "0.0.0.0", "::"] {
        assert!(!is_own(ip(address)), "{address}");
    }
}

#[test]
fn the_list_has_loopback_and_nothing_twice() {
    let mut list = own().unwrap();
    assert!(list.contains(&V4) || list.contains(&V6), "{list:?}");
    let count = list.len();
    list.sort_unstable();
    list.dedup();
    assert_eq!(list.len(), count);
}

#[cfg(target_os = "linux")]
#[test]
fn an_added_address_is_own() {
    let name = "an_added_address_is_own";
    common::namespace::with_network(name, || {
        let ip_command = |arguments: &str| {
            let status = std::process::Command::new("ip").args(arguments.split(' ')).status();
            status.is_ok_and(|status| status.success())
        };
        if !ip_command("address add 192.0.2.9/32 dev lo") || !ip_command("address add 2001:db8::9/128 dev lo")
        {
            common::left_out(name, "the command `ip` is missing");
            return;
        }
        // The same on a second interface, one without a cable. A kernel without veth has no such interface.
        let _ = ip_command("link add one type veth peer name two")
            && ip_command("address add 192.0.2.9/32 dev one");
        let list = own().unwrap();
        assert_eq!(list, [ip("127.0.0.1"), ip("192.0.2.9"), ip("::1"), ip("2001:db8::9")]);
    });
}
