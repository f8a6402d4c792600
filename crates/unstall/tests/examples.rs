//! Runs the examples.

#[path = "../examples/connect.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod connect;
#[path = "../examples/hickory_names.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod hickory_names;
#[path = "../examples/http_get.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod http_get;
#[path = "../examples/own_resolver.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod own_resolver;
#[path = "../examples/qlog_file.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod qlog_file;
#[path = "../examples/test_your_client.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod test_your_client;
#[path = "../examples/tracing_spans.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod tracing_spans;

#[allow(dead_code, reason = "each test program uses its part")]
#[path = "common/dns.rs"]
mod dns;

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

#[test]
fn an_own_resolver_knows_its_names() {
    let server = testing::v4_only().unwrap();
    let target = format!("shop.test:{}", server.port());
    assert!(own_resolver::run(&target).unwrap().ends_with(&server.addr().to_string()));
}

#[test]
fn hickory_asks_its_name_server() {
    let server = testing::v4_only().unwrap();
    let names = dns::serve(dns::Says::Addresses(Vec::new()), dns::Says::Addresses(vec![server.addr().ip()]));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let target = format!("db.example:{}", server.port());
    let said = runtime.block_on(hickory_names::run(&target, Some(&names.to_string()))).unwrap();
    assert!(said.contains("V4 after"), "{said}");
}

/// What is printed is tested in `tracing.rs`.
#[test]
fn tracing_connects() {
    let server = testing::v4_only().unwrap();
    tracing_spans::run(&server.url()).unwrap();
}

#[test]
fn qlog_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("connect.qlog");
    let server = testing::v4_only().unwrap();
    qlog_file::run(&server.url(), &file).unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().contains("hev3:connection_selected"));
    let closed = testing::refused().unwrap();
    assert!(qlog_file::run(&closed.url(), &file).is_err());
    assert!(std::fs::read_to_string(&file).unwrap().contains("hev3:connection_aborted"));
}
