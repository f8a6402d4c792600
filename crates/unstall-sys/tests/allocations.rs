//! A connect to one address allocates nothing, nor does a race of up to six.

// On Windows each attempt of a set is one allocation: what the kernel writes into must not move.
#![cfg(not(windows))]
#![allow(unsafe_code, reason = "an allocator that counts is one")]

mod common;

use common::{LOCAL, PATIENCE, V4, V6, listener};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::TcpListener;
use std::time::Duration;
use unstall_sys::connect::{AttemptSet, Options, Started, connect_blocking};

/// The system's allocator, counting what the calling thread asks for.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `work` allocates.
fn allocations<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = COUNT.get();
    let result = work();
    (COUNT.get() - before, result)
}

#[test]
fn the_count_counts() {
    assert_eq!(allocations(|| std::hint::black_box(Box::new(1))).0, 1);
}

#[test]
fn a_connect_allocates_nothing() {
    for (ip, limit) in [(V4, None), (V4, Some(PATIENCE)), (V6, None), (V6, Some(PATIENCE))] {
        // A port that the kernel chose lies in the ephemeral range, so the guard against self-connects works too.
        let (_server, address) = listener(ip);
        let (count, (_, result)) = allocations(|| connect_blocking(address, &LOCAL, limit));
        result.unwrap();
        assert_eq!(count, 0, "{address} {limit:?}");
    }
}

#[test]
fn a_refusal_allocates_nothing() {
    for limit in [None, Some(PATIENCE)] {
        let (count, (_, result)) = allocations(|| connect_blocking((V4, 9).into(), &LOCAL, limit));
        let error = result.unwrap_err();
        assert_eq!(count, 0, "{error}");
    }
}

#[test]
fn six_attempts_allocate_nothing() {
    let servers: [(TcpListener, _); 6] = std::array::from_fn(|_| listener(V4));
    // Not looked at by `start`, so that all six are pending at once.
    let options = Options { local: false, ..LOCAL };
    let (count, connected) = allocations(|| {
        let mut attempts = AttemptSet::new();
        let mut connected = 0;
        for (key, (_, address)) in servers.iter().enumerate() {
            match attempts.start(key, *address, &options).1.unwrap() {
                Started::Connected(_) => connected += 1,
                Started::Pending => {}
            }
        }
        while let Some((_, result)) = attempts.wait(Some(Duration::from_secs(20))).unwrap() {
            result.unwrap();
            connected += 1;
            if attempts.is_empty() {
                break;
            }
        }
        connected
    });
    assert_eq!((connected, count), (6, 0));
}
