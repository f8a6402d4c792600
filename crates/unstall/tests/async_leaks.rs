//! Nothing is left behind by futures: one test alone in its process, so that descriptors and threads can be counted.
#![cfg(not(windows))]

mod common;

use common::held;
use socket2::SockRef;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use unstall::testing::{self, Server};
use unstall::{Connector, Target};

const LONG: Duration = Duration::from_secs(10);
const CONNECTS: usize = 100_000;
const DROPPED: usize = 10_000;

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

async fn connect_under_faults(faults: &[Fault], connects: usize) {
    let mut made = 0;
    for round in 0.. {
        for fault in faults.iter().filter(|fault| round % fault.every == 0) {
            let by_name = round % 50 == 0;
            let address = || Target::try_from(fault.server.addr()).unwrap();
            let target = if by_name { fault.server.target() } else { address() };
            let result = fault.connector.connect_tokio(target).await;
            let connects = result.is_ok();
            assert!(fault.connects.is_none_or(|expected| expected == connects), "{:?}", result.err());
            if let Ok(stream) = result {
                // So that no TIME_WAIT uses up the ports.
                SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
            }
            made += 1;
        }
        if made >= connects {
            return;
        }
    }
}

/// Drops connects after a few polls, or a few microseconds, or when they are over.
async fn drop_at_random(faults: &[Fault], count: usize) {
    let mut state = 0x9E37_79B9_u32;
    for n in 0..count {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let fault = &faults[n % faults.len()];
        let address = || Target::try_from(fault.server.addr()).unwrap();
        let target = if n % 20 == 0 { fault.server.target() } else { address() };
        let connector = Connector::new();
        let connect = pin!(connector.connect_tokio(target));
        let patience = Duration::from_micros(u64::from(state >> 22));
        let over = tokio::time::timeout(patience, connect).await;
        if let Ok(Ok(stream)) = over {
            SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
    }
}

#[test]
fn nothing_is_left_after_100_000_connects_and_10_000_dropped_futures() {
    let Some(before) = held() else {
        return common::left_out(
            "nothing_is_left_after_100_000_connects_and_10_000_dropped_futures",
            "no /proc to count descriptors in",
        );
    };
    let faults = faults();
    let with_servers = held().unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(connect_under_faults(&faults, CONNECTS / 2));
    runtime.block_on(drop_at_random(&faults, DROPPED / 2));
    drop(runtime);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(connect_under_faults(&faults, CONNECTS / 2));
    runtime.block_on(drop_at_random(&faults, DROPPED / 2));
    drop(runtime);
    assert_eq!(settled(with_servers), with_servers, "descriptors and threads, the servers' among them");
    drop(faults);
    assert_eq!(settled(before), before, "descriptors and threads");
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
