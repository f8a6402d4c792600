//! A connect to one address allocates nothing when it succeeds.
// On Windows an attempt with a limit is one allocation: what the kernel writes into must not move.
#![cfg(not(windows))]

use allocation_counter::measure;
use std::time::Duration;
use unstall::{Connector, testing};

#[test]
fn a_connect_to_one_address_allocates_nothing() {
    let server = testing::closes().unwrap();
    let text = server.addr().to_string();
    let limited = Connector::new().connect_timeout(Duration::from_secs(10));
    for connector in [Connector::new(), limited] {
        for &address in server.addrs() {
            let counted = measure(|| drop(connector.connect(address).unwrap()));
            assert_eq!(counted.count_total, 0, "{connector:?} to {address}: {counted:?}");
        }
        let counted = measure(|| drop(connector.connect(&*text).unwrap()));
        assert_eq!(counted.count_total, 0, "{connector:?} to {text:?}: {counted:?}");
    }
    assert_eq!(measure(|| drop(unstall::connect(server.addr()).unwrap())).count_total, 0);
}

/// One allocation holds all that an error says.
#[test]
fn a_refusal_allocates_once() {
    let server = testing::refused().unwrap();
    assert_eq!(measure(|| drop(unstall::connect(server.addr()).unwrap_err())).count_total, 1);
}
