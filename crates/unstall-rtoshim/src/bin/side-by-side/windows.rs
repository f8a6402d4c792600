//! The clients, and the turns that they take.

use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use unstall::Connector;

/// What one client does: connects, closes, and says what it came to.
type Client = (&'static str, Box<dyn Fn(SocketAddr, Option<Duration>) -> io::Result<()>>);

struct Case {
    name: String,
    rounds: usize,
    limit: Option<Duration>,
    address: SocketAddr,
}

pub(crate) fn run() -> ExitCode {
    let cases: Option<Vec<Case>> = std::env::args().skip(1).map(|argument| parse(&argument)).collect();
    let (Some(cases), Ok(clients)) = (cases, clients()) else {
        eprintln!("usage: side-by-side CASE:ROUNDS:LIMIT_MS=ADDRESS...");
        return ExitCode::from(2);
    };
    for case in &cases {
        measure(case, &clients);
    }
    ExitCode::SUCCESS
}

fn parse(argument: &str) -> Option<Case> {
    let (head, address) = argument.split_once('=')?;
    let mut parts = head.split(':');
    let name = parts.next()?.to_owned();
    let rounds = parts.next()?.parse().ok().filter(|rounds| *rounds > 0)?;
    let limit = parts.next()?.parse().ok().filter(|limit| *limit > 0).map(Duration::from_millis);
    Some(Case { name, rounds, limit, address: address.parse().ok()? })
}

fn clients() -> io::Result<Vec<Client>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(vec![
        ("std", Box::new(std_connect)),
        ("std+nodelay", Box::new(|address, limit| std_stream(address, limit)?.set_nodelay(true))),
        ("socket2", Box::new(socket2_connect)),
        ("tokio", Box::new(move |address, limit| tokio_connect(&runtime, address, limit))),
        ("unstall", Box::new(|address, limit| unstall_connect(Connector::new(), address, limit))),
        // As plain std does it: with Nagle's algorithm.
        (
            "unstall-nodelay",
            Box::new(|address, limit| unstall_connect(Connector::new().nodelay(false), address, limit)),
        ),
    ])
}

fn std_stream(address: SocketAddr, limit: Option<Duration>) -> io::Result<TcpStream> {
    match limit {
        None => TcpStream::connect(address),
        Some(limit) => TcpStream::connect_timeout(&address, limit),
    }
}

fn std_connect(address: SocketAddr, limit: Option<Duration>) -> io::Result<()> {
    std_stream(address, limit).map(drop)
}

fn socket2_connect(address: SocketAddr, limit: Option<Duration>) -> io::Result<()> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    match limit {
        None => socket.connect(&address.into()),
        Some(limit) => socket.connect_timeout(&address.into(), limit),
    }
}

fn tokio_connect(runtime: &Runtime, address: SocketAddr, limit: Option<Duration>) -> io::Result<()> {
    runtime.block_on(async {
        let connect = tokio::net::TcpStream::connect(address);
        match limit {
            None => connect.await.map(drop),
            Some(limit) => tokio::time::timeout(limit, connect).await?.map(drop),
        }
    })
}

fn unstall_connect(connector: Connector, address: SocketAddr, limit: Option<Duration>) -> io::Result<()> {
    let connector = limit.map_or(connector.clone(), |limit| connector.connect_timeout(limit));
    connector.connect(address).map(drop).map_err(io::Error::from)
}

/// Every client once in each round, so that what else the machine does meets all of them alike; each round begins with another
/// one, so that none always follows the same.
fn measure(case: &Case, clients: &[Client]) {
    let mut times = vec![Vec::with_capacity(case.rounds); clients.len()];
    let mut outcomes = vec![String::new(); clients.len()];
    for round in 0..case.rounds {
        for turn in 0..clients.len() {
            let index = (round + turn) % clients.len();
            let start = Instant::now();
            let result = clients[index].1(case.address, case.limit);
            times[index].push(start.elapsed());
            outcomes[index] = word(result.err().map(|error| error.kind()));
        }
    }
    for ((mut times, outcome), (name, _)) in times.into_iter().zip(outcomes).zip(clients) {
        times.sort_unstable();
        let (median, most) = (times[times.len() / 2], times[times.len() - 1]);
        let (case, rounds) = (&case.name, case.rounds);
        println!("{case}\t{name}\t{rounds}\t{outcome}\t{}\t{}", median.as_micros(), most.as_micros());
    }
}

fn word(error: Option<ErrorKind>) -> String {
    match error {
        None => "connected".to_owned(),
        Some(ErrorKind::ConnectionRefused) => "refused".to_owned(),
        Some(ErrorKind::TimedOut) => "timed out".to_owned(),
        Some(other) => format!("{other:?}"),
    }
}
