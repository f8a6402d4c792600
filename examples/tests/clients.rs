//! Runs every example against a server on loopback, by the name `localhost`, and against a port where nobody listens.

#[path = "../axum_proxy.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod axum_proxy;
#[path = "../https_client.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod https_client;
#[path = "../postgres_client.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod postgres_client;
#[path = "../redis_client.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod redis_client;
#[path = "../reqwest_client.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod reqwest_client;
mod servers;
#[path = "../sql_server_client.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod sql_server_client;
#[path = "../tonic_client.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod tonic_client;
#[path = "../ureq_client.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod ureq_client;
#[path = "../websocket_client.rs"]
#[allow(dead_code, reason = "an example is a program of its own")]
mod websocket_client;

use std::error::Error;
use std::fmt::Debug;
use std::sync::LazyLock;
use unstall::{ConnectError, connect_error, testing};

/// The error says that the connect was refused, with an attempt for each address that was tried.
fn refused<T: Debug>(result: Result<T, Box<dyn Error>>) {
    let error = result.unwrap_err();
    let found =
        connect_error(&*error).unwrap_or_else(|| panic!("no connect error among the sources of {error:?}"));
    assert!(found.is_refused(), "{found}");
    assert!(!found.timeline().unwrap().attempts.is_empty());
}

/// `http://localhost:4200`, where nobody listens as long as the tests run.
fn nobody(scheme: &str) -> String {
    static REFUSED: LazyLock<testing::Server> = LazyLock::new(|| testing::refused().unwrap());
    format!("{scheme}://localhost:{}", REFUSED.port())
}

#[tokio::test]
async fn https_client() {
    let (port, roots) = servers::https();
    let url = format!("https://localhost:{port}/");
    assert_eq!(https_client::get(&url, roots.clone()).await.unwrap(), http::StatusCode::OK);
    let error = https_client::get(&url, rustls::RootCertStore::empty()).await.unwrap_err();
    assert!(connect_error(&*error).is_none(), "the certificate is to blame, not the connect: {error:?}");
    refused(https_client::get(&nobody("https"), roots).await);
}

#[tokio::test]
async fn tonic_client() {
    use tonic_health::pb::health_check_response::ServingStatus;
    let port = servers::grpc();
    let health = tonic_client::health(format!("http://localhost:{port}")).await.unwrap();
    assert_eq!(health, ServingStatus::Serving);
    refused(tonic_client::health(nobody("http")).await);
}

#[tokio::test]
async fn axum_proxy() {
    let web = testing::v4_only().unwrap();
    for (upstream, answer) in
        [(web.url(), (200, "unstall\n")), (nobody("http"), (502, "nobody listens there: start the server"))]
    {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let router = axum_proxy::router(upstream.trim_end_matches('/').to_owned());
        tokio::spawn(async { axum::serve(listener, router).await });
        let (status, page) = servers::get(port).await;
        assert_eq!(status, answer.0, "{page}");
        assert!(page.contains(answer.1), "{page}");
    }
}

#[tokio::test]
async fn reqwest_client() {
    let server = testing::v4_only().unwrap();
    assert_eq!(reqwest_client::get(&server.url()).await.unwrap(), 200);
    refused(reqwest_client::get(&nobody("http")).await);
}

#[test]
fn ureq_client() {
    let server = testing::v4_only().unwrap();
    assert_eq!(ureq_client::get(&server.url()).unwrap(), "unstall\n");
    refused(ureq_client::get(&nobody("http")).map_err(Into::into));
}

#[tokio::test]
async fn redis_client() {
    let port = servers::redis();
    let value = redis_client::get(&format!("localhost:{port}"), "key").await.unwrap();
    assert_eq!(value.as_deref(), Some("value"));
    refused(redis_client::get(&nobody("redis"), "key").await);
}

#[tokio::test]
async fn postgres_client() {
    let login = "user=somebody".parse().unwrap();
    let port = servers::postgres();
    let version = postgres_client::version(&format!("localhost:{port}"), &login).await.unwrap();
    assert_eq!(version.as_deref(), Some("PostgreSQL 17"));
    refused(postgres_client::version(&nobody("postgres"), &login).await);
}

#[tokio::test]
async fn sql_server_client() {
    let port = servers::sql_server();
    let version = sql_server_client::version(&format!("localhost:{port}"), "sa", "word").await.unwrap();
    assert_eq!(version.as_deref(), Some("SQL Server 2022"));
    refused(sql_server_client::version(&nobody("mssql"), "sa", "word").await);
}

#[tokio::test]
async fn websocket_client() {
    let port = servers::websocket().await;
    let mut socket = websocket_client::open(&format!("ws://localhost:{port}/")).await.unwrap();
    socket.close(None).await.unwrap();
    refused(websocket_client::open(&nobody("ws")).await);
}

/// Whoever has the stream only has the error as it is.
#[tokio::test]
async fn a_connect_error_is_its_own_source() {
    let error: Box<dyn Error> = unstall::tokio::connect(nobody("http")).await.unwrap_err().into();
    assert!(error.downcast_ref::<ConnectError>().is_some_and(ConnectError::is_refused));
    refused::<()>(Err(error));
}

/// What a user copies stays short.
#[test]
fn no_example_is_longer_than_40_lines() {
    let folder = std::fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap();
    let sources = folder.map(|entry| entry.unwrap().path());
    let sources: Vec<_> = sources.filter(|path| path.extension().is_some_and(|kind| kind == "rs")).collect();
    assert_eq!(sources.len(), 9, "each has its test here");
    for path in sources {
        assert!(std::fs::read_to_string(&path).unwrap().lines().count() < 40, "{}", path.display());
    }
}
