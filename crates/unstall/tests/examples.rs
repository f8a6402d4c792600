//! Runs the examples.

#[path = "../examples/connect.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod connect;
#[path = "../examples/http_get.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod http_get;
#[path = "../examples/test_your_client.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod test_your_client;

use std::io::ErrorKind;
use unstall::testing;

#[test]
fn connect_says_what_happened() {
    let server = testing::v4_only().unwrap();
    connect::run(&server.url()).unwrap();
    drop(server);
    let closed = testing::refused().unwrap();
    assert!(connect::run(&closed.url()).unwrap_err().to_string().contains("refused"));
    assert!(connect::run("nonsense").is_err());
}

#[test]
fn http_get_gets_an_answer_from_either_family() {
    let servers = [testing::v4_only(), testing::v6_only()];
    for server in servers.into_iter().filter_map(Result::ok) {
        assert!(http_get::get(&server.url()).unwrap().ends_with("unstall\n"));
    }
    let closed = testing::refused().unwrap();
    assert_eq!(http_get::get(&closed.url()).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

/// No port can be made silent on Windows: it answers with a reset when the queue is full.
#[test]
#[cfg(not(windows))]
fn a_client_does_not_wait_for_servers_that_misbehave() {
    test_your_client::main().unwrap();
}
