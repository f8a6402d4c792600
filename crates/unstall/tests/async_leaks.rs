//! Nothing is left behind by futures: one test alone in its process, so that descriptors and threads can be counted.
#![cfg(not(windows))]

mod common;

use common::held;
use socket2::SockRef;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use unstall::testing::{self, Server};
use unstall::{ConnectError, Connector, Target};

const LONG: Duration = Duration::from_secs(10);
const CONNECTS: usize = 100_000;
const DROPPED: usize = 10_000;
/// Far less than 100 bytes for each connect of a half, and more than an allocator's whims.
const MORE: usize = 4 << 20;

struct Fault {
    server: Server,
    connector: Connector,
    /// `None`: neither is wrong, for the reset may come before or after the look.
    connects: Option<bool>,
    /// One in so many rounds: a name costs a thread, and silence costs its limit.
    every: usize,
}

fn faults() -> Vec<Fault> {
    let fault = |server: std::io::Result<Server>, connects| Fault {
        server: server.unwrap(),
        connector: Connector::new().connect_timeout(LONG),
        connects,
        every: 1,
    };
    let impatient = Connector::new().connect_timeout(Duration::from_millis(1));
    vec![
        fault(testing::refused(), Some(false)),
        fault(testing::closes(), Some(true)),
        fault(testing::resets(), None),
        fault(testing::v4_only(), Some(true)),
        Fault { connector: impatient, every: 100, ..fault(testing::silent(), Some(false)) },
    ]
}

/// Whose reactor waits.
#[derive(Clone, Copy)]
enum On {
    Tokio,
    AsyncIo,
}

impl On {
    /// Connects. A stream is closed so that no TIME_WAIT uses up the ports.
    async fn connect(self, connector: &Connector, target: Target) -> Result<(), ConnectError> {
        let close = |stream: SockRef<'_>| stream.set_linger(Some(Duration::ZERO)).unwrap();
        match self {
            Self::Tokio => connector.connect_tokio(target).await.map(|stream| close(SockRef::from(&stream))),
            Self::AsyncIo => {
                connector.connect_async_io(target).await.map(|stream| close(SockRef::from(stream.get_ref())))
            }
        }
    }
}

async fn connect_under_faults(on: On, faults: &[Fault], connects: usize) {
    let mut made = 0;
    for round in 0.. {
        for fault in faults.iter().filter(|fault| round % fault.every == 0) {
            let by_name = round % 50 == 0;
            let address = || Target::try_from(fault.server.addr()).unwrap();
            let target = if by_name { fault.server.target() } else { address() };
            let result = on.connect(&fault.connector, target).await;
            let connects = result.is_ok();
            assert!(fault.connects.is_none_or(|expected| expected == connects), "{:?}", result.err());
            made += 1;
        }
        if made >= connects {
            return;
        }
    }
}

/// Drops connects after a few polls, or a few microseconds, or when they are over.
async fn drop_at_random(on: On, faults: &[Fault], count: usize) {
    let mut state = 0x9E37_79B9_u32;
    for n in 0..count {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let fault = &faults[n % faults.len()];
        let address = || Target::try_from(fault.server.addr()).unwrap();
        let target = if n % 20 == 0 { fault.server.target() } else { address() };
        let connector = Connector::new();
        let connect = pin!(on.connect(&connector, target));
        let patience = Duration::from_micros(u64::from(state >> 22));
        let _ = tokio::time::timeout(patience, connect).await;
    }
}

/// Half of everything, on every runtime.
fn half(faults: &[Fault]) {
    let current = Builder::new_current_thread().enable_all().build().unwrap();
    let multi = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for runtime in [&current, &multi] {
        runtime.block_on(connect_under_faults(On::Tokio, faults, CONNECTS / 4));
        runtime.block_on(drop_at_random(On::Tokio, faults, DROPPED / 4));
    }
    async_io::block_on(connect_under_faults(On::AsyncIo, faults, CONNECTS / 2));
    // tokio's timers give each its time; the sockets are async-io's.
    current.block_on(drop_at_random(On::AsyncIo, faults, DROPPED / 2));
}

#[test]
fn nothing_is_left_after_100_000_connects_and_10_000_dropped_futures_of_each() {
    if held().is_none() {
        return common::left_out(
            "nothing_is_left_after_100_000_connects_and_10_000_dropped_futures_of_each",
            "no /proc to count descriptors in",
        );
    }
    let (_, threads) = held().unwrap();
    // async-io keeps its reactor and a thread for it.
    let server = testing::v4_only().unwrap();
    drop(async_io::block_on(unstall::async_io::connect(server.addr())).unwrap());
    drop(server);
    // The server's own thread may be counted a while longer.
    let deadline = Instant::now() + LONG;
    while held().unwrap().1 > threads + 1 && Instant::now() < deadline {
        std::thread::yield_now();
    }
    let before = held().unwrap();
    let faults = faults();
    let with_servers = held().unwrap();
    half(&faults);
    let memory = resident();
    half(&faults);
    let grown = resident().saturating_sub(memory);
    assert!(grown < MORE, "{grown} bytes more after the second half than after the first");
    assert_eq!(settled(with_servers), with_servers, "descriptors and threads, the servers' among them");
    drop(faults);
    assert_eq!(settled(before), before, "descriptors and threads");
}

/// The memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// What is held, once it is `expected`; else after a while. A server notices late that a client is gone, and a thread that has
/// ended is counted until the kernel has put it away.
fn settled(expected: (usize, usize)) -> (usize, usize) {
    let deadline = Instant::now() + LONG;
    while held().unwrap() != expected && Instant::now() < deadline {
        std::thread::yield_now();
    }
    held().unwrap()
}
