//! Connects side by side with std's, in one run: `cargo bench -p unstall`.
//!
//! Each row alternates blocks of ours and blocks of std's on the same listener, so that whatever the machine does meanwhile
//! happens to both. The time of a block is the median of its connects; the ratio of a row is the median over all pairs of
//! neighbouring blocks, with its quartiles. Nobody accepts while a block runs: the connections wait in the listener's
//! queue and are accepted, and reset by the client so that no TIME_WAIT remains, between the blocks.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{median, strace};
use socket2::{Domain, SockRef, Socket, Type};
use std::hint::black_box;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use unstall::Connector;

/// Pairs of blocks in a row.
const PAIRS: usize = 400;
/// Connects in a block; far fewer than wait in a queue.
const BLOCK: usize = 50;
const LIMIT: Duration = Duration::from_secs(5);
/// Connects in a busy loop, and how many loops each side makes.
const LOOP: usize = 20_000;
const LOOPS: usize = 3;
/// What the traced program connects with, and to.
const SUBJECT: &str = "UNSTALL_BENCH_SUBJECT";
const ADDRESS: &str = "UNSTALL_BENCH_ADDRESS";

type Connect = Box<dyn Fn() -> Option<TcpStream>>;

fn main() {
    if let Some(connects) = strace::connects_wanted() {
        return traced(connects);
    }
    let server = Server::new(common::listener_below_the_ephemeral_ports());
    let ephemeral = Server::new(TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let closed = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    // Bound and not listening, to a port that was free below the ephemeral ones.
    let refusing = common::listener_below_the_ephemeral_ports().local_addr().expect("an address");
    closed.bind(&refusing.into()).expect("the port is free again");
    let (address, guarded) = (server.address, ephemeral.address);
    let name = format!("localhost:{}", address.port());
    println!("{PAIRS} pairs of blocks of {BLOCK} connects; times are medians in microseconds");
    println!("{:<58}{:>8}{:>8}{:>8}   quartiles    bound", "connect to 127.0.0.1", "std", "unstall", "ratio");
    let (open, full) = (Some(&server), Some(&ephemeral));
    let (fast, slow) = (plain(true), plain(false));
    let without_retries = plain(true).backlog_retry(Duration::ZERO);
    let (fast_limited, slow_limited) = (limited(true), limited(false));
    let rows = [
        ("success", Some(1.05), open, std_plain(address), ours(&fast, address)),
        ("success, without retries", Some(1.05), open, std_plain(address), ours(&without_retries, address)),
        ("success, both with TCP_NODELAY", Some(1.05), open, std_nodelay(address), ours(&fast, address)),
        ("success, both without TCP_NODELAY", Some(1.05), open, std_plain(address), ours(&slow, address)),
        ("success with a limit", Some(1.0), open, std_limited(address), ours(&fast_limited, address)),
        (
            "success with a limit, both without TCP_NODELAY",
            Some(1.0),
            open,
            std_limited(address),
            ours(&slow_limited, address),
        ),
        ("success on an ephemeral port", None, full, std_plain(guarded), ours(&fast, guarded)),
        ("refused", Some(1.05), None, std_plain(refusing), ours(&fast, refusing)),
        ("refused with a limit", Some(1.05), None, std_limited(refusing), ours(&fast_limited, refusing)),
        ("success by the name localhost", None, open, std_named(&name), ours_named(&fast, &name)),
    ];
    for (what, bound, server, std, ours) in &rows {
        row(what, *bound, *server, std, ours);
    }
    busy_loop();
    allocations(&server);
    system_calls(&server);
}

fn plain(nodelay: bool) -> Connector {
    Connector::new().nodelay(nodelay)
}

fn limited(nodelay: bool) -> Connector {
    plain(nodelay).connect_timeout(LIMIT)
}

fn ours(connector: &Connector, address: SocketAddr) -> Connect {
    let connector = connector.clone();
    Box::new(move || connector.connect(address).ok())
}

fn ours_named(connector: &Connector, name: &str) -> Connect {
    let (connector, name) = (connector.clone(), name.to_owned());
    Box::new(move || connector.connect(&name).ok())
}

fn std_plain(address: SocketAddr) -> Connect {
    Box::new(move || TcpStream::connect(address).ok())
}

fn std_nodelay(address: SocketAddr) -> Connect {
    Box::new(move || TcpStream::connect(address).ok().filter(|stream| stream.set_nodelay(true).is_ok()))
}

fn std_limited(address: SocketAddr) -> Connect {
    Box::new(move || TcpStream::connect_timeout(&address, LIMIT).ok())
}

fn std_named(name: &str) -> Connect {
    let name = name.to_owned();
    Box::new(move || TcpStream::connect(&name).ok())
}

/// A listener that accepts between the blocks.
struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    fn new(listener: TcpListener) -> Self {
        SockRef::from(&listener).listen(4096).expect("a longer queue");
        listener.set_nonblocking(true).expect("a listener that does not block");
        let address = listener.local_addr().expect("an address");
        Self { listener, address }
    }

    fn accept_all(&self) {
        while self.listener.accept().is_ok() {}
    }
}

/// The median time of a block of connects; `server`: all must succeed, else all must fail.
fn block(connect: &Connect, server: Option<&Server>) -> Duration {
    let times = (0..BLOCK).map(|_| {
        let start = Instant::now();
        let stream = black_box(connect());
        let took = start.elapsed();
        assert_eq!(stream.is_some(), server.is_some());
        if let Some(stream) = stream {
            SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("no lingering");
        }
        took
    });
    let median = median(times.collect());
    if let Some(server) = server {
        server.accept_all();
    }
    median
}

/// Measures and prints a row. Without a bound none is promised.
fn row(what: &str, bound: Option<f64>, server: Option<&Server>, std: &Connect, ours: &Connect) {
    let pairs: Vec<(f64, f64)> = (0..PAIRS)
        .map(|pair| {
            let first_ours = pair % 2 == 1;
            let before = first_ours.then(|| block(ours, server));
            let std = block(std, server);
            let ours = before.unwrap_or_else(|| block(ours, server));
            (std.as_secs_f64() * 1e6, ours.as_secs_f64() * 1e6)
        })
        .collect();
    let std = quantile(pairs.iter().map(|pair| pair.0), 0.5);
    let ours = quantile(pairs.iter().map(|pair| pair.1), 0.5);
    let ratio = |at| quantile(pairs.iter().map(|pair| pair.1 / pair.0), at);
    let (low, middle, high) = (ratio(0.25), ratio(0.5), ratio(0.75));
    let verdict = match bound {
        None => "-".to_owned(),
        Some(bound) if middle <= bound => format!("<= {bound:.2} met"),
        Some(bound) => format!("<= {bound:.2} MISSED"),
    };
    println!("{what:<58}{std:>8.2}{ours:>8.2}{middle:>8.3}   {low:.3}-{high:.3}  {verdict}");
}

fn quantile(values: impl Iterator<Item = f64>, at: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * at).round() as usize]
}

/// Connects one after the other to a server that accepts and drops, each with a limit of 1 s. The server's thread is not always
/// there in time, and the queue overflows.
fn busy_loop() {
    println!(
        "\n{LOOPS} loops of {LOOP} connects with a limit of 1 s, by turns; a server that accepts and drops"
    );
    println!("{:<26}{:>10}{:>12}{:>12}{:>12}", "", "failed", "median us", "p99.9 us", "total ms");
    let limit = Duration::from_secs(1);
    let connector = Connector::new().connect_timeout(limit);
    let std: Try = Box::new(move |address| TcpStream::connect_timeout(&address, limit));
    let ours: Try = Box::new(move |address| connector.connect(address).map_err(io::Error::from));
    for _ in 0..LOOPS {
        for (name, connect) in [("std", &std), ("unstall", &ours)] {
            one_loop(name, connect);
        }
    }
}

type Try = Box<dyn Fn(SocketAddr) -> io::Result<TcpStream>>;

fn one_loop(name: &str, connect: &Try) {
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = server.local_addr().expect("an address");
    thread::spawn(move || server.incoming().map_while(Result::ok).for_each(drop));
    let start = Instant::now();
    let tries = (0..LOOP).map(|_| {
        let start = Instant::now();
        let result = connect(address);
        let took = start.elapsed().as_secs_f64() * 1e6;
        if let Ok(stream) = &result {
            SockRef::from(stream).set_linger(Some(Duration::ZERO)).expect("no lingering");
        }
        // A server that is faster than this side has closed it by now, and that is no failure to connect.
        let failed = result.is_err_and(|error| error.kind() == io::ErrorKind::TimedOut);
        (took, failed)
    });
    let tries: Vec<(f64, bool)> = tries.collect();
    let total = start.elapsed();
    let failed = tries.iter().filter(|(_, failed)| *failed).count();
    let time = |at| quantile(tries.iter().map(|(took, _)| *took), at);
    let (median, tail) = (time(0.5), time(0.999));
    println!("{name:<26}{failed:>10}{median:>12.2}{tail:>12.2}{:>12}", total.as_millis());
}

fn allocations(server: &Server) {
    println!("\nallocations per connect");
    let count = |connect: Connect| {
        let counted = allocation_counter::measure(|| drop(connect()));
        server.accept_all();
        counted.count_total
    };
    let address = server.address;
    println!("{:<58}{:>8}", "std", count(std_plain(address)));
    println!("{:<58}{:>8}", "unstall", count(ours(&plain(true), address)));
    println!("{:<58}{:>8}", "unstall with a limit", count(ours(&limited(true), address)));
}

fn subject(name: &str, address: SocketAddr) -> Connect {
    match name {
        "std" => std_plain(address),
        "std with a limit" => std_limited(address),
        "unstall" => ours(&plain(true), address),
        "unstall without retries" => ours(&plain(true).backlog_retry(Duration::ZERO), address),
        "unstall without TCP_NODELAY" => ours(&plain(false), address),
        "unstall with a limit" => ours(&limited(true), address),
        other => panic!("no subject {other}"),
    }
}

fn system_calls(server: &Server) {
    println!("\nsystem calls per connect and close");
    let address = server.address.to_string();
    for name in ["std", "unstall", "unstall without TCP_NODELAY", "std with a limit", "unstall with a limit"]
    {
        match strace::per_connect(&[], &[(SUBJECT, name), (ADDRESS, &address)]) {
            Ok(calls) => {
                println!("{name:<58}{:>8}   {}", calls.values().sum::<u32>(), strace::listed(&calls));
            }
            Err(why) => println!("{name:<58}unknown: {why}"),
        }
        server.accept_all();
    }
}

/// What the program does under strace.
fn traced(connects: u32) {
    let variable = |name| std::env::var(name).expect("set by the tracing program");
    let connect = subject(&variable(SUBJECT), variable(ADDRESS).parse().expect("an address"));
    for _ in 0..connects {
        drop(connect());
    }
}
