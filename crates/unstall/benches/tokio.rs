//! Connects on tokio side by side with tokio's own, and GETs over fresh connections side by side with hyper-util's connector, in
//! one run: `cargo bench -p unstall --features hyper --bench tokio`.
//!
//! Each row alternates blocks of both on the same listener; the time of a block is the median of its connects, the ratio of a
//! row is the median over all pairs of neighbouring blocks, with its quartiles.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{median, strace};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use socket2::{Domain, SockRef, Socket, Type};
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

/// Pairs of blocks in a row.
const PAIRS: usize = 200;
/// Connects in a block; far fewer than wait in a queue.
const BLOCK: usize = 50;
/// What the traced program connects with, and to.
const SUBJECT: &str = "UNSTALL_BENCH_SUBJECT";
const ADDRESS: &str = "UNSTALL_BENCH_ADDRESS";
const SUBJECTS: [&str; 2] = ["tokio", "unstall"];

fn main() {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    if let Some(connects) = strace::connects_wanted() {
        return traced(&runtime, connects);
    }
    let server = common::listener_below_the_ephemeral_ports();
    SockRef::from(&server).listen(4096).expect("a longer queue");
    server.set_nonblocking(true).expect("a listener that does not block");
    let open = server.local_addr().expect("an address");
    let closed = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let refusing = common::listener_below_the_ephemeral_ports().local_addr().expect("an address");
    closed.bind(&refusing.into()).expect("the port is free again");

    println!("{PAIRS} pairs of blocks of {BLOCK}; times are medians in microseconds");
    println!("{:<40}{:>10}{:>10}{:>8}   quartiles    bound", "", "theirs", "unstall", "ratio");
    for (what, address, listener) in
        [("tokio, local success", open, Some(&server)), ("tokio, refused", refusing, None)]
    {
        let theirs = || block(&runtime, listener, || async { TcpStream::connect(address).await.ok() });
        let ours = || block(&runtime, listener, || async { unstall::tokio::connect(address).await.ok() });
        row(what, 0.85, theirs, ours);
    }
    let web = serve();
    let (theirs, ours) = (HttpConnector::new(), unstall::hyper::HttpConnector::new());
    let fresh = || Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).to_owned();
    let (theirs, ours): (Client<_, String>, Client<_, String>) = (fresh().build(theirs), fresh().build(ours));
    let uri: http::Uri = format!("http://{web}/").parse().expect("a URI");
    let get_theirs = || {
        block(&runtime, None, || async {
            theirs.get(uri.clone()).await.map(drop).expect("an answer");
            None
        })
    };
    let get_ours = || {
        block(&runtime, None, || async {
            ours.get(uri.clone()).await.map(drop).expect("an answer");
            None
        })
    };
    row("hyper, GET over a fresh connection", 1.0, get_theirs, get_ours);
    system_calls(open, &server);
}

/// The median time of a block; `listener`: all must connect, else none does.
fn block<F: Future<Output = Option<TcpStream>>>(
    runtime: &Runtime,
    listener: Option<&TcpListener>,
    connect: impl Fn() -> F,
) -> Duration {
    let times = runtime.block_on(async {
        let mut times = Vec::with_capacity(BLOCK);
        for _ in 0..BLOCK {
            let start = Instant::now();
            let stream = black_box(connect().await);
            times.push(start.elapsed());
            assert_eq!(stream.is_some(), listener.is_some());
            if let Some(stream) = stream {
                SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("no lingering");
            }
        }
        times
    });
    if let Some(listener) = listener {
        while listener.accept().is_ok() {}
    }
    median(times)
}

fn row(what: &str, bound: f64, theirs: impl Fn() -> Duration, ours: impl Fn() -> Duration) {
    let pairs: Vec<(f64, f64)> = (0..PAIRS)
        .map(|pair| {
            let before = (pair % 2 == 1).then(&ours);
            let theirs = theirs();
            let ours = before.unwrap_or_else(&ours);
            (theirs.as_secs_f64() * 1e6, ours.as_secs_f64() * 1e6)
        })
        .collect();
    let theirs = quantile(pairs.iter().map(|pair| pair.0), 0.5);
    let ours = quantile(pairs.iter().map(|pair| pair.1), 0.5);
    let ratio = |at| quantile(pairs.iter().map(|pair| pair.1 / pair.0), at);
    let (low, middle, high) = (ratio(0.25), ratio(0.5), ratio(0.75));
    let verdict = if middle <= bound { "met" } else { "MISSED" };
    println!(
        "{what:<40}{theirs:>10.2}{ours:>10.2}{middle:>8.3}   {low:.3}-{high:.3}  <= {bound:.2} {verdict}"
    );
}

fn quantile(values: impl Iterator<Item = f64>, at: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * at).round() as usize]
}

/// A server that answers one request per connection.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    address
}

fn system_calls(address: SocketAddr, listener: &TcpListener) {
    println!("\nsystem calls per connect and close");
    for name in SUBJECTS {
        match strace::per_connect(&[], &[(SUBJECT, name), (ADDRESS, &address.to_string())]) {
            Ok(calls) => {
                println!("{name:<40}{:>10}   {}", calls.values().sum::<u32>(), strace::listed(&calls));
            }
            Err(why) => println!("{name:<40}unknown: {why}"),
        }
        while listener.accept().is_ok() {}
    }
}

/// What the program does under strace.
fn traced(runtime: &Runtime, connects: u32) {
    let variable = |name| std::env::var(name).expect("set by the tracing program");
    let address: SocketAddr = variable(ADDRESS).parse().expect("an address");
    let theirs = variable(SUBJECT) == SUBJECTS[0];
    runtime.block_on(async {
        for _ in 0..connects {
            if theirs {
                drop(TcpStream::connect(address).await);
            } else {
                drop(unstall::tokio::connect(address).await);
            }
        }
    });
}
