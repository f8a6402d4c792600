//! One connect: what it hands out, and what its errors say.

mod common;

use common::{LOCAL, V4, V6, listener};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use unstall_core::outcome::Outcome;
use unstall_core::syn::{Prepared, SynRetransmissions};
use unstall_sys::Error;
use unstall_sys::connect::{Options, connect_blocking, prepare};

fn connect(address: SocketAddr, limit: Option<Duration>) -> Result<TcpStream, Error> {
    connect_blocking(address, &LOCAL, limit).1
}

const LIMITS: [Option<Duration>; 2] = [None, Some(Duration::from_secs(5))];

#[test]
fn a_stream_is_blocking_closed_on_exec_and_sends_at_once() {
    for (ip, limit) in [V4, V6].into_iter().flat_map(|ip| LIMITS.map(|limit| (ip, limit))) {
        let (server, address) = listener(ip);
        let stream = connect(address, limit).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), address);
        assert_eq!(server.accept().unwrap().1, stream.local_addr().unwrap());
        assert!(stream.nodelay().unwrap());
        #[cfg(unix)]
        {
            assert!(!rustix::fs::fcntl_getfl(&stream).unwrap().contains(rustix::fs::OFlags::NONBLOCK));
            assert!(rustix::io::fcntl_getfd(&stream).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        }
    }
}

#[test]
fn nagle_stays_when_asked() {
    let (_server, address) = listener(V4);
    for limit in LIMITS {
        let (_, stream) = connect_blocking(address, &Options { nodelay: false, ..LOCAL }, limit);
        assert!(!stream.unwrap().nodelay().unwrap());
    }
}

#[cfg(unix)]
#[test]
fn a_closed_port_is_refused_whatever_the_limit() {
    for (ip, limit) in [V4, V6].into_iter().flat_map(|ip| LIMITS.map(|limit| (ip, limit))) {
        let (_held, address) = common::refused(ip);
        let error = connect(address, limit).unwrap_err();
        assert_eq!(error.outcome(), Outcome::Refused, "{error}");
        assert_eq!(error.address(), Some(address));
        assert_eq!(error.os_error().unwrap().name(), Some("ECONNREFUSED"));
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}

#[cfg(unix)]
#[test]
fn an_error_says_operation_address_cause_and_what_to_do() {
    let (_held, address) = common::refused(V4);
    let error = connect(address, None).unwrap_err();
    let code = error.os_error().unwrap().code;
    let expected = format!(
        "cannot connect to {address}: the SYN was refused: nobody listens on the port, or a filter answers for it, ECONNREFUSED ({code}); \
         start the server or correct the port"
    );
    assert_eq!(error.to_string(), expected);
    let error = io::Error::from(error);
    assert_eq!(error.to_string(), expected);
    assert!(error.get_ref().unwrap().is::<Error>());
}

#[cfg(unix)]
#[test]
fn a_socket_is_not_touched_by_prepare() {
    use rustix::fd::AsFd;
    // A descriptor that is no socket would not survive any option.
    let file = std::fs::File::open("/dev/null").unwrap();
    for wanted in
        [SynRetransmissions::NoneIfLocal, SynRetransmissions::NoneAnywhere, SynRetransmissions::Exactly(1)]
    {
        assert_eq!(prepare(file.as_fd(), (V4, 9).into(), wanted), Prepared::NotNeeded);
    }
    let (_server, address) = listener(V4);
    assert_eq!(connect_blocking(address, &LOCAL, None).0, Prepared::NotNeeded);
}

#[cfg(target_os = "linux")]
mod in_a_namespace {
    use super::common::namespace::{set, with_network};
    use super::common::{Full, PATIENCE, close_at_once, refused};
    use super::*;
    use std::time::Instant;

    #[test]
    fn silence_ends_with_the_limit_and_says_so() {
        with_network("silence_ends_with_the_limit_and_says_so", || {
            for ip in [V4, V6] {
                let full = Full::new(ip);
                let limit = Duration::from_millis(5);
                let start = Instant::now();
                let error = connect(full.address, Some(limit)).unwrap_err();
                assert!(start.elapsed() >= limit && start.elapsed() < PATIENCE);
                assert_eq!((error.outcome(), error.os_error()), (Outcome::TimedOut, None));
                let expected = format!(
                    "cannot connect to {}: no answer within 5ms; check the firewalls on the way and whether the server \
                     accepts connections",
                    full.address
                );
                assert_eq!(error.to_string(), expected);
            }
        });
    }

    #[test]
    fn a_limit_of_nothing_still_takes_what_is_there() {
        with_network("a_limit_of_nothing_still_takes_what_is_there", || {
            let (_server, open) = listener(V4);
            connect(open, Some(Duration::ZERO)).unwrap();
            let (_held, closed) = refused(V4);
            assert_eq!(connect(closed, Some(Duration::ZERO)).unwrap_err().outcome(), Outcome::Refused);
            let full = Full::new(V4);
            assert_eq!(connect(full.address, Some(Duration::ZERO)).unwrap_err().outcome(), Outcome::TimedOut);
            // Nor does one beyond the clock's end harm; not local, so that it is a wait and not a look.
            connect_blocking(open, &Options { local: false, ..LOCAL }, Some(Duration::MAX)).1.unwrap();
        });
    }

    #[test]
    fn every_way_to_fail_has_its_outcome() {
        with_network("every_way_to_fail_has_its_outcome", || {
            let outcome = |address: &str| connect(address.parse().unwrap(), None).unwrap_err().outcome();
            assert_eq!(outcome("127.0.0.1:9"), Outcome::Refused);
            assert_eq!(outcome("127.0.0.2:9"), Outcome::Refused);
            assert_eq!(outcome("0.0.0.0:9"), Outcome::Refused);
            assert_eq!(outcome("[::1]:9"), Outcome::Refused);
            assert_eq!(outcome("[::]:9"), Outcome::Refused);
            assert_eq!(outcome("[::ffff:127.0.0.1]:9"), Outcome::Refused);
            assert_eq!(outcome("192.0.2.1:9"), Outcome::Unreachable);
            assert_eq!(outcome("[2001:db8::1]:9"), Outcome::Unreachable);
            assert_eq!(outcome("[fe80::1]:9"), Outcome::NotAvailable);
            assert_eq!(outcome("255.255.255.255:9"), Outcome::Unreachable);
        });
    }

    #[test]
    fn ipv6_switched_off_is_not_available() {
        with_network("ipv6_switched_off_is_not_available", || {
            set("ipv6/conf/all/disable_ipv6", "1");
            for address in ["[::1]:9", "[::]:9", "[2001:db8::1]:9"] {
                let error = connect(address.parse().unwrap(), None).unwrap_err();
                assert_eq!(error.outcome(), Outcome::NotAvailable, "{error}");
            }
        });
    }

    #[test]
    fn used_up_ports_are_exhausted_on_both_families() {
        with_network("used_up_ports_are_exhausted_on_both_families", || {
            set("ipv4/ip_local_port_range", "50000 50001");
            for ip in [V4, V6] {
                let server = std::net::TcpListener::bind((ip, 80)).unwrap();
                let address = server.local_addr().unwrap();
                let streams = [connect(address, None).unwrap(), connect(address, None).unwrap()];
                for limit in LIMITS {
                    let error = connect(address, limit).unwrap_err();
                    assert_eq!(error.outcome(), Outcome::Exhausted, "{error}");
                    assert!(error.to_string().contains("no local port is free"), "{error}");
                }
                // Unix takes the unspecified address for loopback.
                let unspecified = if ip.is_ipv4() { "0.0.0.0:80" } else { "[::]:80" };
                let error = connect(unspecified.parse().unwrap(), None).unwrap_err();
                assert_eq!(error.outcome(), Outcome::Exhausted, "{error}");
                streams.iter().for_each(close_at_once);
            }
        });
    }

    #[test]
    fn routes_that_prohibit_and_swallow() {
        with_network("routes_that_prohibit_and_swallow", || {
            let route = |arguments: &str| {
                let status = std::process::Command::new("ip").args(arguments.split(' ')).status();
                status.is_ok_and(|status| status.success())
            };
            if !route("route add prohibit 192.0.2.0/24") || !route("route add blackhole 198.51.100.0/24") {
                common::left_out("routes_that_prohibit_and_swallow", "the command `ip` is missing");
                return;
            }
            let outcome = |address: &str| connect(address.parse().unwrap(), None).unwrap_err().outcome();
            assert_eq!(outcome("192.0.2.1:9"), Outcome::NotPermitted);
            assert_eq!(outcome("198.51.100.1:9"), Outcome::Unreachable);
        });
    }

    #[test]
    fn no_descriptors_are_exhausted() {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        // In a process of its own, for the limit is the process's.
        if std::env::var_os("UNSTALL_TEST_CHILD").is_none() {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "in_a_namespace::no_descriptors_are_exhausted", "--test-threads=1"]);
            let output = child.env("UNSTALL_TEST_CHILD", "1").output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
            return;
        }
        let (_server, address) = listener(V4);
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..before }).unwrap();
        let error = connect(address, None).unwrap_err();
        setrlimit(Resource::Nofile, before).unwrap();
        assert_eq!(error.outcome(), Outcome::Exhausted);
        assert!(error.to_string().starts_with(&format!("cannot create a socket for {address}: ")), "{error}");
    }
}
