//! The system calls of a connect to one address, as the documentation lists them.
#![cfg(all(target_os = "linux", not(unstall_portable)))]

mod common;

use common::strace;
use socket2::SockRef;
use std::io::Read;
use std::thread;
use std::time::Duration;
use unstall::Connector;

const ADDRESS: &str = "UNSTALL_TRACED_ADDRESS";

#[test]
fn a_connect_makes_no_call_it_does_not_need() {
    check(
        "a_connect_makes_no_call_it_does_not_need",
        &Connector::new(),
        "close connect ioctl sendto setsockopt socket",
    );
}

/// With nothing to repeat, a connect without a limit may block.
#[test]
fn without_retries_two_calls_less_are_made() {
    let connector = Connector::new().backlog_retry(Duration::ZERO);
    check("without_retries_two_calls_less_are_made", &connector, "close connect setsockopt socket");
}

#[test]
fn a_limit_adds_no_call() {
    let connector = Connector::new().connect_timeout(Duration::from_secs(10));
    check("a_limit_adds_no_call", &connector, "close connect ioctl sendto setsockopt socket");
}

fn check(test: &str, connector: &Connector, expected: &str) {
    if let Some(connects) = strace::connects_wanted() {
        let address = std::env::var(ADDRESS).unwrap();
        return (0..connects).for_each(|_| drop(connector.connect(&*address).unwrap()));
    }
    let server = common::listener_below_the_ephemeral_ports();
    let address = server.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in server.incoming().map_while(Result::ok) {
            // Closed by the client first, so that it counts one close and no more.
            let _ = (&stream).read(&mut [0]);
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        }
    });
    match strace::per_connect(&["--exact", test], &[(ADDRESS, &address)]) {
        Ok(mut calls) => {
            // In debug builds std looks at a descriptor before it closes it.
            calls.retain(|name, _| !(cfg!(debug_assertions) && name == "fcntl"));
            assert_eq!(strace::listed(&calls), expected);
        }
        Err(why) => common::left_out(test, &why),
    }
}
