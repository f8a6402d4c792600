//! A closed port out of which the kernel makes source ports: polling it must never end in a socket that is connected to
//! itself. All tests here use one narrow range, so that plain connects would meet themselves within a few dozen tries.

#![cfg(target_os = "linux")]

mod common;

use common::namespace::{set, with_network};
use common::{LOCAL, V4, V6, close_at_once};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use unstall_core::outcome::Outcome;
use unstall_sys::connect::{AttemptSet, Options, Started, connect_blocking};

/// Four ports: 40000 to 40003.
const RANGE: &str = "40000 40003";

const POLLS: usize = 60_000;

/// Whether this build and kernel can exclude a source port (IP_LOCAL_PORT_RANGE, kernel 6.3). If not, self-connects happen and
/// have to be found.
fn prevents() -> bool {
    let kernel = unstall_sys::host::facts().kernel.unwrap();
    let mut numbers = kernel.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap(), numbers.next().unwrap());
    version >= (6, 3) && !cfg!(unstall_no_port_range) && !cfg!(unstall_portable)
}

/// How often a poll of the closed port was refused, and how often it met itself. Anything else fails the test.
fn poll(address: SocketAddr, polls: usize) -> (usize, usize) {
    let (mut refused, mut met) = (0, 0);
    for _ in 0..polls {
        let error = connect_blocking(address, &LOCAL, None).1.expect_err("nobody listens there");
        match error.outcome() {
            Outcome::Refused => refused += 1,
            Outcome::SelfConnected => met += 1,
            _ => panic!("{error}"),
        }
    }
    (refused, met)
}

fn never_connects(name: &str, ip: IpAddr) {
    with_network(name, || {
        set("ipv4/ip_local_port_range", RANGE);
        // An even port and an odd one, for connect prefers even ones; the ends of the range and its inner ports.
        for port in [40000, 40001, 40002, 40003] {
            let address = SocketAddr::new(ip, port);
            let (refused, met) = poll(address, POLLS / 2);
            assert_eq!(refused + met, POLLS / 2);
            if prevents() {
                assert_eq!(met, 0, "{address}");
            } else if port % 2 == 0 {
                assert!(met > 0, "{address}: a plain connect meets itself in this range");
            }
            // Nothing is left on the port, no TIME_WAIT either: the server can start.
            drop(TcpListener::bind(address).unwrap());
        }
    });
}

#[test]
fn polling_a_closed_port_never_connects_ipv4() {
    never_connects("polling_a_closed_port_never_connects_ipv4", V4);
}

#[test]
fn polling_a_closed_port_never_connects_ipv6() {
    never_connects("polling_a_closed_port_never_connects_ipv6", V6);
}

#[test]
fn plain_connects_do_meet_themselves() {
    // Else the tests above would prove nothing.
    with_network("plain_connects_do_meet_themselves", || {
        set("ipv4/ip_local_port_range", RANGE);
        for ip in [V4, V6] {
            let met =
                (0..1000).filter_map(|_| TcpStream::connect((ip, 40000)).ok()).inspect(close_at_once).count();
            assert!(met > 0, "{ip}");
        }
    });
}

#[test]
fn attempts_are_guarded_too() {
    with_network("attempts_are_guarded_too", || {
        set("ipv4/ip_local_port_range", RANGE);
        for (ip, round) in [V4, V6].into_iter().flat_map(|ip| (0..1000).map(move |round| (ip, round))) {
            let mut attempts = AttemptSet::new();
            let result = match attempts.start(0, (ip, 40000).into(), &LOCAL).1 {
                Ok(Started::Connected(stream)) => Ok(stream),
                Ok(Started::Pending) => attempts.wait(None).unwrap().unwrap().1,
                Err(error) => Err(error),
            };
            let outcome = result.expect_err("nobody listens there").outcome();
            assert!(
                outcome == Outcome::Refused || !prevents() && outcome == Outcome::SelfConnected,
                "{round}: {outcome}"
            );
        }
    });
}

#[test]
fn an_own_address_that_the_caller_did_not_recognise_is_guarded_too() {
    with_network("an_own_address_that_the_caller_did_not_recognise_is_guarded_too", || {
        set("ipv4/ip_local_port_range", RANGE);
        let added =
            std::process::Command::new("ip").args(["address", "add", "192.0.2.9/32", "dev", "lo"]).status();
        if !added.is_ok_and(|status| status.success()) {
            let name = "an_own_address_that_the_caller_did_not_recognise_is_guarded_too";
            common::left_out(name, "the command `ip` is missing");
            return;
        }
        for _ in 0..1000 {
            let remote = Options { local: false, ..LOCAL };
            let result = connect_blocking("192.0.2.9:40000".parse().unwrap(), &remote, None).1;
            let outcome = result.expect_err("nobody listens there").outcome();
            assert!(
                outcome == Outcome::Refused || !prevents() && outcome == Outcome::SelfConnected,
                "{outcome}"
            );
        }
    });
}

#[test]
fn every_port_that_the_os_default_would_use_is_used() {
    with_network("every_port_that_the_os_default_would_use_is_used", || {
        set("ipv4/ip_local_port_range", RANGE);
        for ip in [V4, V6] {
            for port in 40000..=40003 {
                let server = TcpListener::bind((ip, port)).unwrap();
                let address = server.local_addr().unwrap();
                // Three ports are left, on one side or on both.
                let streams: Vec<TcpStream> =
                    (0..3).map(|_| connect_blocking(address, &LOCAL, None).1.unwrap()).collect();
                let mut used: Vec<u16> =
                    streams.iter().map(|stream| stream.local_addr().unwrap().port()).collect();
                used.sort_unstable();
                let others: Vec<u16> = (40000..=40003).filter(|other| *other != port).collect();
                assert_eq!(used, others);
                let error = connect_blocking(address, &LOCAL, Some(Duration::from_secs(5))).1.unwrap_err();
                assert_eq!(error.outcome(), Outcome::Exhausted, "{error}");
                streams.iter().for_each(close_at_once);
            }
        }
    });
}
