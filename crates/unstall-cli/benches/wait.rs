//! How late `unstall wait` notices a listener that starts after one to two seconds, and what waiting costs, beside other tools that are found
//! on the search path: `cargo bench -p unstall-cli --bench wait [-- ROUNDS]`.
//!
//! In each round every tool waits for a port of its own at the same time. The lag is from the listener's start to the end of the
//! tool; the share of a core is what the scheduler gave the tool (`/proc/PID/schedstat`) in the second before.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

/// How long nobody listens, at least. Tools that look once a second would all be lucky if it were a whole number of seconds, so each
/// round adds another part of a second, spread evenly by the golden ratio.
const BEFORE: Duration = Duration::from_secs(1);
const GOLDEN: f64 = 0.618_033_988_75;
const ROUNDS: usize = 100;
/// What tells a round's server that the round is over; some tools say a word of their own.
const END: &[u8] = b"the end of the round";

/// A tool: its name in the table, the program, and its arguments, with PORT for the port.
const TOOLS: &[(&str, &str, &[&str])] = &[
    ("unstall wait 127.0.0.1", env!("CARGO_BIN_EXE_unstall"), &["wait", "127.0.0.1:PORT"]),
    ("unstall wait localhost", env!("CARGO_BIN_EXE_unstall"), &["wait", "localhost:PORT"]),
    ("wait-for-it", "wait-for-it", &["-q", "127.0.0.1:PORT"]),
    ("wait-on", "wait-on", &["tcp:127.0.0.1:PORT"]),
    ("wait4x", "wait4x", &["tcp", "127.0.0.1:PORT"]),
    (
        "sh: until nc -z; do sleep 0.1",
        "sh",
        &["-c", "until nc -z 127.0.0.1 PORT 2>/dev/null; do sleep 0.1; done"],
    ),
];

/// What a tool came to over the rounds.
#[derive(Default)]
struct Series {
    /// Milliseconds.
    lags: Vec<f64>,
    /// Per cent of a core. Empty: not told on this system.
    shares: Vec<f64>,
}

fn main() {
    let rounds = env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(ROUNDS);
    let tools: Vec<_> = TOOLS.iter().filter(|(name, program, _)| is_here(name, program)).collect();
    let mut series: Vec<Series> = tools.iter().map(|_| Series::default()).collect();
    for round in 0..=rounds {
        let before = BEFORE + Duration::from_secs(1).mul_f64((round as f64 * GOLDEN).fract());
        let results: Vec<_> = thread::scope(|scope| {
            let running: Vec<_> = tools
                .iter()
                .map(|(_, program, arguments)| scope.spawn(move || once(program, arguments, before)))
                .collect();
            running.into_iter().map(|tool| tool.join().expect("a round ends")).collect()
        });
        for (series, (lag, share)) in series.iter_mut().zip(results) {
            // In the first round the tools are not in the page cache yet.
            if round > 0 {
                series.lags.push(lag.as_secs_f64() * 1e3);
                series.shares.extend(share);
            }
        }
    }
    println!("{rounds} rounds; lag in ms, share of one core in per cent; measured");
    println!("{:<32}{:>9}{:>9}{:>9}{:>9}{:>9}", "tool", "median", "p99", "max", "share", "max");
    for ((name, _, _), mut series) in tools.into_iter().zip(series) {
        let lag = [0.5, 0.99, 1.0].map(|part| quantile(&mut series.lags, part));
        let share = [0.5, 1.0].map(|part| quantile(&mut series.shares, part));
        println!("{name:<32}{:>9.2}{:>9.2}{:>9.2}{:>9.2}{:>9.2}", lag[0], lag[1], lag[2], share[0], share[1]);
    }
}

fn is_here(name: &str, program: &str) -> bool {
    let paths = env::var_os("PATH").unwrap_or_default();
    let here = program.contains('/') || env::split_paths(&paths).any(|folder| folder.join(program).exists());
    if !here {
        println!("LEFT OUT: {name}: not installed");
    }
    here
}

/// One wait: its lag, and its share of a core while nobody listened.
fn once(program: &str, arguments: &[&str], before: Duration) -> (Duration, Option<f64>) {
    // The port is bound from the start, so that nobody else gets it, and refuses until it listens.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
    let port = socket.local_addr().ok().and_then(|address| address.as_socket()).expect("an address").port();
    let arguments = arguments.iter().map(|argument| argument.replace("PORT", &port.to_string()));
    let started = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect(program);
    thread::sleep(before);
    let share = cpu_time(&child).map(|time| time.as_secs_f64() / started.elapsed().as_secs_f64() * 100.0);
    socket.listen(16).expect("it listens");
    let listening = Instant::now();
    // The tools whose connections are accepted at once have nothing to wait for.
    let listener = TcpListener::from(socket);
    let accepting = thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut said = Vec::new();
            let _ = std::io::Read::read_to_end(&mut stream, &mut said);
            if said == END {
                return;
            }
        }
    });
    let status = child.wait().expect("it ends");
    let lag = listening.elapsed();
    assert!(status.success(), "{program}: {status}");
    let mut end = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens still");
    std::io::Write::write_all(&mut end, END).expect("it reads");
    drop(end);
    accepting.join().expect("it ends");
    (lag, share)
}

/// What the scheduler gave the process, its children apart. `None`: not Linux.
fn cpu_time(child: &Child) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{}/schedstat", child.id())).ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * part).ceil() as usize).copied().unwrap_or(f64::NAN)
}
