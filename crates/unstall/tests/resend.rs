//! SYNs that are lost on the way to another host, where the OS is told not to send them again: `SynRetransmissions::NoneAnywhere`.
//!
//! The other host is a second network namespace at the end of a veth pair; it loses SYNs by a rule of its own. What is compared
//! with is std on the same link, in the same run.
#![cfg(all(target_os = "linux", not(unstall_portable)))]

mod common;

use common::left_out;
use common::namespace::{at, inside, run};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use unstall::{Connector, Outcome, Reason, SynRetransmissions, Target, Timeline};

const OURS: &str = "198.18.77.1";
const PEER: &str = "198.18.77.2";
/// Where the peer listens.
const PORT: u16 = 4200;
/// Set in the program that is the peer.
const IS_PEER: &str = "UNSTALL_TEST_PEER";
/// How often a machine that is busy with something else may be late.
const RUNS: usize = 3;

/// The other host. It ends with this.
struct Peer(Child);

impl Peer {
    /// `None`: said to be left out.
    fn new(test: &str) -> Option<Self> {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new("unshare")
            .arg("-n")
            .arg(program)
            .args(["--exact", "the_peer", "--nocapture", "--test-threads=1"])
            .env(IS_PEER, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let started = said.any(|line| line.contains("the peer is here"));
        let peer = Self(child);
        let link = format!("ip link add here type veth peer name there netns {}", peer.0.id());
        let words: Vec<&str> = link.split(' ').collect();
        let linked = Command::new(words[0]).args(&words[1..]).output().unwrap();
        if !started || !linked.status.success() {
            left_out(test, &format!("no veth pair: {}", String::from_utf8_lossy(&linked.stderr).trim()));
            return None;
        }
        run(&format!("ip addr add {OURS}/30 dev here"));
        run("ip link set here up");
        peer.run(&format!("ip addr add {PEER}/30 dev there"));
        peer.run("ip link set there up");
        peer.run("ip link set lo up");
        // Neighbours are found, and the listener is up.
        let start = Instant::now();
        while TcpStream::connect_timeout(&at(PEER, PORT), Duration::from_millis(50)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(20), "the peer does not answer");
        }
        Some(peer)
    }

    fn run(&self, command: &str) {
        run(&format!("nsenter -t {} -n {command}", self.0.id()));
    }

    /// Loads rules, after whatever there was is gone. False: said to be left out, for there is no nft here.
    fn rules(&self, test: &str, rules: &str) -> bool {
        let mut nft = Command::new("nsenter");
        nft.args(["-t", &self.0.id().to_string(), "-n", "nft", "-f", "-"]);
        let mut child = nft.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(format!("flush ruleset\n{rules}").as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        if !output.status.success() {
            left_out(test, &format!("nft: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        output.status.success()
    }

    /// How many SYNs have come in for a port, by the counter of that name.
    fn count(&self, counter: &str) -> u32 {
        let id = self.0.id().to_string();
        let list = ["-t", &id, "-n", "nft", "list", "counter", "inet", "t", counter];
        let output = Command::new("nsenter").args(list).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text.split_ascii_whitespace().skip_while(|word| *word != "packets");
        words.nth(1).and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{text}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// The peer's program: it listens until its input ends. As a test of its own it does nothing.
#[test]
fn the_peer() {
    if std::env::var_os(IS_PEER).is_none() {
        return;
    }
    let server = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
    println!("\nthe peer is here");
    thread::spawn(move || server.incoming().for_each(drop));
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn connector() -> Connector {
    Connector::new().syn_retransmissions(SynRetransmissions::NoneAnywhere)
}

fn target(port: u16) -> Target {
    Target::try_from(at(PEER, port)).unwrap()
}

fn reasons(timeline: &Timeline) -> Vec<Reason> {
    timeline.attempts.iter().map(|attempt| attempt.reason).collect()
}

/// Drops the first SYN to each port and lets the later ones in.
const LOSE_THE_FIRST: &str = "table inet t {\n\
     set seen { type inet_service; flags dynamic; }\n\
     chain in { type filter hook input priority 0;\n\
     tcp flags & (syn | ack) == syn tcp dport @seen accept\n\
     tcp flags & (syn | ack) == syn add @seen { tcp dport } drop\n\
     }\n}\n";

#[test]
fn a_lost_syn_is_sent_again_when_the_os_would_have() {
    const NAME: &str = "a_lost_syn_is_sent_again_when_the_os_would_have";
    inside(NAME, |_| {
        let Some(peer) = Peer::new(NAME) else { return };
        let ways: [fn() -> Timeline; 2] = [
            || {
                let (result, timeline) = connector().connect_timeline(&target(PORT));
                result.unwrap();
                timeline
            },
            || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let connector = connector();
                let target = target(PORT);
                let (result, timeline) = runtime.block_on(connector.connect_timeline_tokio(&target));
                result.unwrap();
                timeline
            },
        ];
        for way in ways {
            let mut ratios = Vec::new();
            for _ in 0..RUNS {
                if !peer.rules(NAME, LOSE_THE_FIRST) {
                    return;
                }
                let start = Instant::now();
                TcpStream::connect(at(PEER, PORT)).unwrap();
                let os_default = start.elapsed();
                assert!(peer.rules(NAME, LOSE_THE_FIRST));
                let timeline = way();
                assert_eq!(reasons(&timeline), [Reason::DnsCompleted, Reason::SynRetry], "{timeline:?}");
                assert_eq!(timeline.attempts[0].outcome, Outcome::TimedOut);
                assert!(timeline.attempts[0].end <= timeline.attempts[1].start, "one at a time");
                ratios.push(timeline.elapsed.as_secs_f64() / os_default.as_secs_f64());
                if ratios.last().is_some_and(|ratio| *ratio <= 1.1) {
                    break;
                }
            }
            assert!(ratios.iter().any(|ratio| *ratio <= 1.1), "{ratios:?}");
        }
    });
}

#[test]
fn a_refusal_by_another_host_is_final_at_once() {
    const NAME: &str = "a_refusal_by_another_host_is_final_at_once";
    inside(NAME, |_| {
        let Some(_peer) = Peer::new(NAME) else { return };
        let run = || {
            let (result, timeline) = connector().connect_timeline(&target(PORT + 1));
            assert!(result.unwrap_err().is_refused());
            assert_eq!(timeline.attempts.len(), 1, "{timeline:?}");
            timeline.elapsed
        };
        let best = (0..10).map(|_| run()).min().unwrap();
        assert!(best < Duration::from_millis(5), "{best:?}");
    });
}

/// Both at the same time, each to a port of its own.
#[test]
fn a_silent_host_gets_as_many_syns_as_from_the_os_and_is_given_up_at_the_deadline() {
    const NAME: &str = "a_silent_host_gets_as_many_syns_as_from_the_os_and_is_given_up_at_the_deadline";
    inside(NAME, |_| {
        const RULES: &str = "table inet t {\n\
             counter os { }\n counter ours { }\n\
             chain in { type filter hook input priority 0;\n\
             tcp flags & (syn | ack) == syn tcp dport 4201 counter name os drop\n\
             tcp flags & (syn | ack) == syn tcp dport 4202 counter name ours drop\n\
             }\n}\n";
        let Some(peer) = Peer::new(NAME) else { return };
        if !peer.rules(NAME, RULES) {
            return;
        }
        let limit = Duration::from_millis(3_500);
        let silent: SocketAddr = at(PEER, 4201);
        let os_default = thread::spawn(move || TcpStream::connect_timeout(&silent, limit).unwrap_err());
        let (result, timeline) = connector().connect_timeout(limit).connect_timeline(&target(4202));
        let error = result.unwrap_err();
        os_default.join().unwrap();
        assert!(error.is_timed_out(), "{error}");
        assert!(timeline.elapsed >= limit && timeline.elapsed < limit + Duration::from_secs(1));
        let (os, ours) = (peer.count("os"), peer.count("ours"));
        assert!(os >= 2, "{os} SYNs in {limit:?}");
        assert!(os.abs_diff(ours) <= 1, "{os} SYNs by the OS, {ours} by us: {timeline:?}");
        assert_eq!(ours as usize, timeline.attempts.len(), "each attempt is one SYN");
        assert!(timeline.attempts.windows(2).all(|pair| pair[0].end <= pair[1].start), "one at a time");
    });
}
