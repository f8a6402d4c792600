//! Names, against hosts files and name servers that the test made: what is asked, in which order the addresses come, how long a
//! silent resolver is waited for. The answers are glibc's and musl's alike.

mod common;

use std::net::SocketAddr;
use std::time::Duration;
use unstall_core::outcome::{Operation, Outcome};
use unstall_core::target::Target;
use unstall_sys::resolve::{Answer, Origin, resolve, resolve_detailed};

fn target(text: &str) -> Target {
    text.parse().unwrap()
}

fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn answer(text: &str) -> Answer {
    resolve_detailed(&target(text), None).unwrap()
}

#[test]
fn an_address_is_its_own_answer() {
    for (text, expected) in [("127.0.0.1:80", "127.0.0.1:80"), ("[2001:db8::1]:81", "[2001:db8::1]:81")] {
        let answer = resolve_detailed(&target(text), Some(Duration::ZERO)).unwrap();
        assert_eq!((answer.addresses, answer.origin), (addresses(&[expected]), Origin::Literal));
    }
}

#[test]
fn an_unknown_zone_is_a_clear_error() {
    let error = resolve(&target("[fe80::1%nosuch0]:80"), None).unwrap_err();
    assert_eq!((error.outcome(), error.operation()), (Outcome::NotAvailable, Operation::Resolve));
    let expected = "cannot resolve fe80::1%nosuch0: this host has no network interface nosuch0; \
                    use another address or the other address family";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn localhost_has_both_families_whatever_the_resolver_says() {
    for name in ["localhost", "localhost.", "a.localhost", "a.b.localhost."] {
        let addresses = resolve(&target(&format!("{name}:80")), None).unwrap();
        let loopback = |address: &SocketAddr| address.ip().is_loopback() && address.port() == 80;
        assert!(
            addresses.iter().any(|address| address.is_ipv4() && loopback(address)),
            "{name}: {addresses:?}"
        );
        assert!(
            addresses.iter().any(|address| address.is_ipv6() && loopback(address)),
            "{name}: {addresses:?}"
        );
    }
}

#[cfg(target_os = "linux")]
mod in_a_namespace {
    use super::common::PATIENCE;
    use super::common::namespace::{replace_file, set, with_network, with_network_and_mounts};
    use super::*;
    use std::net::UdpSocket;
    use std::time::Instant;
    use unstall_sys::resolve::ask_os;

    const SHORT: Duration = Duration::from_millis(30);

    /// A name server that hears everything and says nothing.
    fn silent_resolver(hosts: &str) -> UdpSocket {
        let server = UdpSocket::bind("127.0.0.53:53").unwrap();
        server.set_nonblocking(true).unwrap();
        replace_file("/etc/resolv.conf", "nameserver 127.0.0.53\noptions timeout:1 attempts:1\n");
        replace_file("/etc/hosts", hosts);
        replace_file("/etc/nsswitch.conf", "hosts: files dns\n");
        server
    }

    fn was_asked(server: &UdpSocket) -> bool {
        server.recv(&mut [0; 512]).is_ok()
    }

    #[test]
    fn a_zone_is_its_interface() {
        with_network("a_zone_is_its_interface", || {
            for text in ["[fe80::1%lo]:80", "[fe80::1%1]:80"] {
                let [SocketAddr::V6(address)] = resolve(&target(text), None).unwrap()[..] else { panic!() };
                assert_eq!(address.scope_id(), 1, "lo is the first interface of a namespace");
            }
        });
    }

    #[test]
    fn an_answer_with_both_families_is_kept_as_it_is() {
        with_network_and_mounts("an_answer_with_both_families_is_kept_as_it_is", || {
            let server = silent_resolver("127.0.0.1 localhost\n::1 localhost\n127.0.0.3 other\n");
            let Answer { addresses, origin, .. } = answer("localhost:80");
            assert_eq!(addresses, super::addresses(&["[::1]:80", "127.0.0.1:80"]));
            assert_eq!(origin, Origin::Os);
            let Answer { addresses, origin, .. } = answer("other:81");
            assert_eq!((addresses, origin), (super::addresses(&["127.0.0.3:81"]), Origin::Os));
            assert!(!was_asked(&server));
        });
    }

    #[test]
    fn an_answer_with_one_family_is_completed() {
        with_network_and_mounts("an_answer_with_one_family_is_completed", || {
            let _server = silent_resolver("127.0.0.1 localhost\n");
            let Answer { addresses, origin, .. } = answer("localhost:80");
            assert_eq!(addresses, super::addresses(&["127.0.0.1:80", "[::1]:80"]));
            assert_eq!(origin, Origin::OsCompleted);
        });
        with_network_and_mounts("an_answer_with_one_family_is_completed", || {
            let _server = silent_resolver("::1 localhost\n");
            let Answer { addresses, origin, .. } = answer("localhost:80");
            assert_eq!(addresses, super::addresses(&["[::1]:80", "127.0.0.1:80"]));
            assert_eq!(origin, Origin::OsCompleted);
        });
    }

    #[test]
    fn a_resolver_that_hangs_does_not_stall_localhost() {
        with_network_and_mounts("a_resolver_that_hangs_does_not_stall_localhost", || {
            let server = silent_resolver("127.0.0.1 other\n");
            let start = Instant::now();
            let Answer { addresses, origin, os_error } = answer("localhost:80");
            let elapsed = start.elapsed();
            assert_eq!(addresses, super::addresses(&["[::1]:80", "127.0.0.1:80"]));
            assert_eq!((origin, os_error), (Origin::Unanswered, None));
            // The Resolution Delay, and well before the resolver's own second.
            assert!(
                elapsed >= Duration::from_millis(50) && elapsed < Duration::from_millis(900),
                "{elapsed:?}"
            );
            assert!(was_asked(&server));
            // A shorter limit does not make it fail either.
            assert_eq!(resolve(&target("localhost:80"), Some(Duration::ZERO)).unwrap(), addresses);
        });
    }

    #[test]
    fn a_resolver_that_fails_does_not_take_localhost_away() {
        with_network_and_mounts("a_resolver_that_fails_does_not_take_localhost_away", || {
            replace_file("/etc/nsswitch.conf", "hosts: files\n");
            replace_file("/etc/hosts", "127.0.0.1 other\n");
            let Answer { addresses, origin, os_error } = answer("localhost:80");
            assert_eq!(addresses, super::addresses(&["[::1]:80", "127.0.0.1:80"]));
            // musl answers for localhost by itself.
            if origin == Origin::Unanswered {
                assert_eq!(os_error.unwrap().name(), Some("EAI_NONAME"));
            }
        });
    }

    #[test]
    fn names_below_localhost_are_never_asked_for() {
        with_network_and_mounts("names_below_localhost_are_never_asked_for", || {
            let server = silent_resolver("127.0.0.1 other\n");
            for name in ["localhost.", "app.localhost", "app.localhost."] {
                let Answer { addresses, origin, .. } = answer(&format!("{name}:80"));
                assert_eq!(addresses, super::addresses(&["[::1]:80", "127.0.0.1:80"]), "{name}");
                assert_eq!(origin, Origin::Rfc6761);
            }
            assert!(!was_asked(&server));
            // The OS itself would ask; so the name server is there to be asked.
            let error = ask_os("app.localhost", 80, Some(SHORT)).unwrap_err();
            assert_eq!(error.outcome(), Outcome::TimedOut);
            assert!(was_asked(&server));
        });
    }

    #[test]
    fn their_order_is_the_os_s() {
        with_network("their_order_is_the_os_s", || {
            set("ipv6/conf/all/disable_ipv6", "1");
            // RFC 6724 rule 1: what cannot be used comes last.
            assert_eq!(answer("app.localhost:80").addresses, addresses(&["127.0.0.1:80", "[::1]:80"]));
        });
    }

    #[test]
    fn a_limit_ends_the_lookup_and_says_so() {
        with_network_and_mounts("a_limit_ends_the_lookup_and_says_so", || {
            let server = silent_resolver("127.0.0.1 localhost\n");
            let start = Instant::now();
            let error = resolve(&target("db.example:80"), Some(SHORT)).unwrap_err();
            let elapsed = start.elapsed();
            assert!(elapsed >= SHORT && elapsed < Duration::from_millis(900), "{elapsed:?}");
            assert_eq!((error.outcome(), error.os_error()), (Outcome::TimedOut, None));
            let expected =
                "cannot resolve db.example: no answer within 30ms; check the name servers or allow more time";
            assert_eq!(error.to_string(), expected);
            assert!(was_asked(&server));
        });
    }

    #[test]
    fn an_unknown_name_keeps_the_resolvers_code() {
        with_network_and_mounts("an_unknown_name_keeps_the_resolvers_code", || {
            replace_file("/etc/nsswitch.conf", "hosts: files\n");
            replace_file("/etc/hosts", "127.0.0.1 localhost\n");
            for limit in [None, Some(PATIENCE)] {
                let error = resolve(&target("nosuch.example:80"), limit).unwrap_err();
                assert_eq!((error.outcome(), error.operation()), (Outcome::NoName, Operation::Resolve));
                assert_eq!(error.os_error().unwrap().name(), Some("EAI_NONAME"), "{error}");
                let expected = "cannot resolve nosuch.example: the name is not known, EAI_NONAME (-2); \
                                correct the name, or add it to the name servers or the hosts file";
                assert_eq!(error.to_string(), expected);
            }
        });
    }
}
