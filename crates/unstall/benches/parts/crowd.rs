//! 10,000 connects at once, a task for each: how long until all are connected, and how much memory they take at most.

use super::ratio::{quantile, row_of, verdict};
use super::{SUBJECT, SUBJECTS};
use socket2::SockRef;
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// How many connect at once.
const CROWD: usize = 10_000;
/// Pairs of crowds.
const PAIRS: usize = 15;
/// A queue holds 4096 at most by default, and nobody accepts meanwhile.
const LISTENERS: usize = 8;
/// tokio's connect, with the option that ours sets by default.
const NODELAY: &str = "tokio with TCP_NODELAY";
/// What the program that measures its memory connects to, separated by blanks.
const ADDRESSES: &str = "UNSTALL_BENCH_CROWD";

/// The rows of the table.
pub(crate) fn compare(runtime: &Runtime) {
    let listeners: Vec<TcpListener> =
        (0..LISTENERS).map(|_| super::common::listener_below_the_ephemeral_ports()).collect();
    for listener in &listeners {
        SockRef::from(listener).listen(4096).expect("a longer queue");
        listener.set_nonblocking(true).expect("a listener that does not block");
    }
    let addresses: Vec<SocketAddr> =
        listeners.iter().map(|listener| listener.local_addr().expect("an address")).collect();
    let run = |subject| {
        let took = Crowd { subject, addresses: addresses.clone() }.connect(runtime);
        drain(&listeners);
        took
    };
    let what = format!("{CROWD} connects at once");
    row_of(PAIRS, &what, Some(1.0), || run(SUBJECTS[0]), || run(SUBJECTS[1]));
    row_of(PAIRS, "  both with TCP_NODELAY", None, || run(NODELAY), || run(SUBJECTS[1]));
    let [theirs, ours] = SUBJECTS.map(|subject| {
        let each = (0..PAIRS).map(|_| {
            let memory = memory(subject, &addresses);
            drain(&listeners);
            memory
        });
        quantile(each, 0.5)
    });
    let verdict = verdict(ours / theirs, Some(1.0));
    println!(
        "{:<40}{theirs:>10.0}{ours:>10.0}{:>8.3}{:>16}{verdict}",
        "  peak memory of each, bytes",
        ours / theirs,
        ""
    );
}

fn drain(listeners: &[TcpListener]) {
    for listener in listeners {
        while listener.accept().is_ok() {}
    }
}

/// What a program of its own says about its memory.
fn memory(subject: &str, addresses: &[SocketAddr]) -> f64 {
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let mut program = Command::new(std::env::current_exe().expect("the path of this program"));
    program.env(SUBJECT, subject).env(ADDRESSES, addresses.join(" "));
    let output = program.output().expect("this program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    said.trim().parse().unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// The crowd whose memory this program is to measure, if it was started for that.
pub(crate) fn wanted() -> Option<Crowd> {
    let addresses = std::env::var(ADDRESSES).ok()?;
    let addresses = addresses.split(' ').map(|address| address.parse().expect("an address")).collect();
    let subject = std::env::var(SUBJECT).ok()?;
    let subject = SUBJECTS.into_iter().find(|known| *known == subject)?;
    Some(Crowd { subject, addresses })
}

pub(crate) struct Crowd {
    subject: &'static str,
    addresses: Vec<SocketAddr>,
}

impl Crowd {
    /// How long until all are connected.
    fn connect(&self, runtime: &Runtime) -> Duration {
        let start = Instant::now();
        let streams = runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for n in 0..CROWD {
                let address = self.addresses[n % self.addresses.len()];
                if self.subject == SUBJECTS[1] {
                    tasks.spawn(async move { unstall::tokio::connect(address).await.expect("a connection") });
                } else {
                    let nodelay = self.subject == NODELAY;
                    tasks.spawn(async move {
                        let stream = TcpStream::connect(address).await.expect("a connection");
                        if nodelay {
                            stream.set_nodelay(true).expect("an option");
                        }
                        stream
                    });
                }
            }
            tasks.join_all().await
        });
        let took = start.elapsed();
        for stream in streams {
            SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("no lingering");
        }
        took
    }

    /// Prints by how many bytes for each of the crowd the memory of this process was larger than before, at its largest.
    pub(crate) fn measure_memory(&self, runtime: &Runtime) {
        let before = status("VmRSS:");
        self.connect(runtime);
        println!("{}", (status("VmHWM:") - before) / CROWD as f64);
    }
}

/// A size of /proc/self/status, in bytes.
fn status(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes * 1024.0
}
