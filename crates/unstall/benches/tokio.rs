//! Connects on tokio side by side with tokio's own, alone and 10,000 at once, and GETs over fresh connections side by side with
//! hyper-util's connector, in one run: `cargo bench -p unstall --features hyper --bench tokio`.
//!
//! Each row alternates blocks of both on the same listener; the time of a block is the median of its connects, the ratio of a
//! row is the median over all pairs of neighbouring blocks, with its quartiles. The rows "by hand" make the calls alone that no
//! connect on an epoll reactor can leave out, and one look: their ratio is the lowest that anybody could reach.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "parts/crowd.rs"]
mod crowd;
#[path = "parts/ratio.rs"]
mod ratio;

use common::{median, strace};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use ratio::row;
use socket2::{Domain, SockRef, Socket, Type};
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

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
    if let Some(crowd) = crowd::wanted() {
        return crowd.measure_memory(&runtime);
    }
    let server = common::listener_below_the_ephemeral_ports();
    SockRef::from(&server).listen(4096).expect("a longer queue");
    server.set_nonblocking(true).expect("a listener that does not block");
    let open = server.local_addr().expect("an address");
    let closed = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let refusing = common::listener_below_the_ephemeral_ports().local_addr().expect("an address");
    closed.bind(&refusing.into()).expect("the port is free again");

    ratio::head(&format!("blocks of {BLOCK} connects; times are medians in microseconds"));
    alone(&runtime, "local success", open, Some(&server));
    alone(&runtime, "refused", refusing, None);
    web(&runtime);
    crowd::compare(&runtime);
    system_calls(open, &server, "connected");
    system_calls(refusing, &server, "refused");
}

/// One connect after another.
fn alone(runtime: &Runtime, what: &str, address: SocketAddr, listener: Option<&TcpListener>) {
    let theirs = || block(runtime, listener, || async { TcpStream::connect(address).await.ok() });
    let ours = || block(runtime, listener, || async { unstall::tokio::connect(address).await.ok() });
    let poll = mio::Poll::new().expect("a poll");
    let kernel = || block(runtime, listener, || async { kernel(&poll, address) });
    let bare = || {
        block(runtime, listener, || async { look_once(address).and_then(|it| TcpStream::from_std(it).ok()) })
    };
    row(&format!("tokio, {what}"), Some(0.85), theirs, ours);
    let nodelay = || {
        block(runtime, listener, || async {
            TcpStream::connect(address).await.ok().filter(|stream| stream.set_nodelay(true).is_ok())
        })
    };
    row("  both with TCP_NODELAY", None, nodelay, ours);
    row("  the same by hand, tokio's stream", None, theirs, bare);
    row("  the same by hand, mio's stream", None, theirs, kernel);
}

/// A connect to this host by hand, and one look at its end.
fn look_once(address: SocketAddr) -> Option<std::net::TcpStream> {
    let socket =
        Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), None).expect("a socket");
    // "In progress", though the handshake or the reset is over.
    let _ = socket.connect(&address.into());
    socket.take_error().expect("its error").is_none().then(|| socket.into())
}

/// The calls that no connect on an epoll reactor can leave out, and the look.
fn kernel(poll: &mio::Poll, address: SocketAddr) -> Option<mio::net::TcpStream> {
    let mut stream = mio::net::TcpStream::from_std(look_once(address)?);
    let interest = mio::Interest::READABLE | mio::Interest::WRITABLE;
    poll.registry().register(&mut stream, mio::Token(0), interest).expect("it is registered");
    Some(stream)
}

/// The median time of a block; `listener`: all must connect, else none does.
fn block<S, F>(runtime: &Runtime, listener: Option<&TcpListener>, connect: impl Fn() -> F) -> Duration
where
    S: std::os::fd::AsFd,
    F: Future<Output = Option<S>>,
{
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

/// GETs, each over a connection of its own.
fn web(runtime: &Runtime) {
    let uri: http::Uri = format!("http://{}/", serve()).parse().expect("a URI");
    let mut with_nodelay = HttpConnector::new();
    with_nodelay.set_nodelay(true);
    let theirs = gets(runtime, &uri, HttpConnector::new());
    let with_nodelay = gets(runtime, &uri, with_nodelay);
    let ours = gets(runtime, &uri, unstall::hyper::HttpConnector::new());
    row("hyper, GET over a fresh connection", Some(1.0), theirs, &ours);
    row("  both with TCP_NODELAY", None, with_nodelay, &ours);
}

/// Measures a block of GETs.
fn gets<C>(runtime: &Runtime, uri: &http::Uri, connector: C) -> impl Fn() -> Duration
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let client =
        Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build::<C, String>(connector);
    move || {
        block(runtime, None, || async {
            client.get(uri.clone()).await.map(drop).expect("an answer");
            None::<TcpStream>
        })
    }
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

fn system_calls(address: SocketAddr, listener: &TcpListener, what: &str) {
    println!("\nsystem calls per connect, {what}, and close");
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
