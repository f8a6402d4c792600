//! The published table of connectors again, side by side in one run: how long each takes by name, where addresses are dead or
//! refuse. `cargo bench -p unstall --all-features --bench table`. Real sockets in a network namespace of its own; root, or a user
//! namespace.

#[path = "../tests/common/mod.rs"]
mod common;

use common::namespace::{at, said_inside};
use common::table::{Row, rows};
use hyper_util::client::legacy::connect::HttpConnector;
use std::future::Future;
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tower_service::Service;
use unstall::Connector;

const PORT: u16 = 4200;
/// What each is given. The table was published with 4 s.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often each is run; the least is printed, for a busy machine only adds.
const RUNS: usize = 5;
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// How long a connect by name took, whatever it came to; `None`: longer than [`PATIENCE`].
type Took = fn(&'static str) -> Option<Duration>;

const COLUMNS: [(&str, Took); 7] = [
    ("std", |name| blocking(move || drop(std::net::TcpStream::connect((name, PORT))))),
    ("tokio", |name| on_tokio(async move { drop(tokio::net::TcpStream::connect((name, PORT)).await) })),
    ("async-net", |name| on_async_io(async move { drop(async_net::TcpStream::connect((name, PORT)).await) })),
    ("hyper-util", |name| on_tokio(async move { drop(HttpConnector::new().call(uri(name)).await) })),
    ("blocking", |name| blocking(move || drop(unstall::connect((name, PORT))))),
    ("on tokio", |name| on_tokio(async move { drop(unstall::tokio::connect((name, PORT)).await) })),
    ("on async-io", |name| on_async_io(async move { drop(unstall::async_io::connect((name, PORT)).await) })),
];

fn main() {
    let said = said_inside("table", |namespace| {
        let rows = rows();
        namespace.name_rows(&rows);
        rows.iter().for_each(row);
        // As a test says it.
        println!("1 passed");
    });
    let Some(said) = said else { return };
    println!("ms of a connect by name, the least of {RUNS}; the last three are unstall's");
    println!("   {}   waits  attempts", COLUMNS.map(|(name, _)| format!("{name:>12}")).concat());
    said.lines().filter(|line| line.starts_with("row ")).for_each(|line| println!("{}", &line[4..]));
}

fn row(row: &Row) {
    let _server = row.listens.map(|address| TcpListener::bind(at(address, PORT)).expect("a free port"));
    let least = |(_, took): (&str, Took)| match took(row.name) {
        Some(first) => {
            (1..RUNS).filter_map(|_| took(row.name)).fold(first, Duration::min).as_secs_f64() * 1e3
        }
        None => f64::INFINITY,
    };
    let cells = COLUMNS.map(least).map(|ms| match ms {
        ms if ms.is_finite() => format!("{ms:>12.2}"),
        _ => format!("{:>12}", format!("> {}", PATIENCE.as_millis())),
    });
    let target = unstall::Target::try_from((row.name, PORT)).expect("a target");
    let attempts = Connector::new().connect_timeline(&target).1.attempts.len();
    println!(
        "row {}  {}{:>8}{attempts:>10}",
        row.name,
        cells.concat(),
        (ATTEMPT_DELAY * row.delays).as_millis()
    );
}

fn uri(name: &str) -> http::Uri {
    format!("http://{name}:{PORT}/").parse().expect("a URI")
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn on_tokio(connect: impl Future<Output = ()>) -> Option<Duration> {
    let runtime = runtime();
    let took = runtime.block_on(async {
        let start = Instant::now();
        tokio::time::timeout(PATIENCE, connect).await.ok().map(|()| start.elapsed())
    });
    runtime.shutdown_background();
    took
}

/// async-io has no limit of its own; tokio's timers work with any future.
fn on_async_io(connect: impl Future<Output = ()>) -> Option<Duration> {
    on_tokio(connect)
}

/// One that cannot be given up is left behind.
fn blocking(connect: impl FnOnce() + Send + 'static) -> Option<Duration> {
    let (done, over) = channel();
    let start = Instant::now();
    thread::spawn(move || {
        connect();
        let _ = done.send(start.elapsed());
    });
    over.recv_timeout(PATIENCE).ok()
}
