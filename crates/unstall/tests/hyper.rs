//! The connector in hyper-util's client, and the example that uses it.

#[path = "../examples/hyper_client.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod hyper_client;

use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::collections::BTreeSet;
use std::error::Error;
use tokio::runtime::{Builder, Runtime};
use tower_service::Service;
use unstall::hyper::{HttpConnector, connect_error};
use unstall::testing;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn the_client_gets_answers_from_either_family() {
    let servers = [testing::v4_only(), testing::v6_only()];
    for server in servers.into_iter().filter_map(Result::ok) {
        assert_eq!(runtime().block_on(hyper_client::get(&server.url())).unwrap(), 200);
        let url = format!("http://{}/x?y=z", server.addr());
        assert_eq!(runtime().block_on(hyper_client::get(&url)).unwrap(), 200);
    }
}

/// The client's error carries ours, and that the timeline.
#[test]
fn errors_keep_the_timeline() {
    let refused = testing::refused().unwrap();
    let client: Client<_, String> = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
    let error = runtime().block_on(client.get(refused.url().parse().unwrap())).unwrap_err();
    assert!(error.is_connect());
    let found = connect_error(&error).unwrap();
    assert!(found.is_refused());
    let tried = found.timeline().unwrap().attempts.iter().map(|attempt| attempt.address);
    assert_eq!(tried.collect::<BTreeSet<_>>().len(), refused.addrs().len());
    let carried = std::io::Error::from(found.clone());
    assert!(connect_error(&carried).is_some_and(unstall::ConnectError::is_refused));
    assert!(connect_error(&std::io::Error::other("something else")).is_none());
    assert!(runtime().block_on(hyper_client::get(&refused.url())).is_err());
}

#[test]
fn a_uri_without_a_port_that_is_known_is_no_target() {
    for uri in ["/path", "nothing.example", "unknown://127.0.0.1/"] {
        let connect = HttpConnector::new().call(uri.parse().unwrap());
        let error = runtime().block_on(connect).unwrap_err();
        assert!(error.is_invalid_target() && error.source().is_some(), "{uri}: {error}");
    }
}
