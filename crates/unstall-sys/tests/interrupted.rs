//! Signals during a connect: the kernel goes on connecting, and so does the wait. This test has the process for itself.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "handlers and signals to a thread are the C library's")]

mod common;

use common::namespace::with_network;
use common::{Full, LOCAL, V4};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use unstall_core::outcome::Outcome;
use unstall_sys::Error;
use unstall_sys::connect::{AttemptSet, Started, connect_blocking};

static HANDLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn handler(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// A handler without SA_RESTART, so that calls are interrupted.
fn install() {
    // SAFETY: all zero is a valid sigaction: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    // SAFETY: `action` is valid and the handler only adds to an atomic number.
    assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) }, 0);
}

/// Runs `work` on a thread that gets a signal every millisecond until it is done.
fn under_signals<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let (to_us, thread_id) = channel();
        let (done, finished): (_, Receiver<()>) = channel();
        let worker = scope.spawn(move || {
            // SAFETY: it has no precondition.
            to_us.send(unsafe { libc::pthread_self() }).unwrap();
            let result = work();
            drop(done);
            result
        });
        let id = thread_id.recv().unwrap();
        while finished.recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Timeout) {
            // SAFETY: the thread has not been joined, so its id is valid.
            unsafe { libc::pthread_kill(id, libc::SIGUSR1) };
        }
        worker.join().unwrap()
    })
}

/// Connects to a listener whose queue is full and is drained once the connect hangs; the next SYN comes after a second.
fn across_a_full_queue(
    connect: impl FnOnce(std::net::SocketAddr) -> Result<std::net::TcpStream, Error> + Send,
) {
    let full = Full::new(V4);
    let before = HANDLED.load(Ordering::Relaxed);
    let address = full.address;
    let over = AtomicBool::new(false);
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            while HANDLED.load(Ordering::Relaxed) < before + 20 && !over.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            full.listener.accept().unwrap();
        });
        let result = under_signals(|| connect(address));
        over.store(true, Ordering::Relaxed);
        result
    });
    assert_eq!(result.unwrap().peer_addr().unwrap(), address);
    assert!(HANDLED.load(Ordering::Relaxed) >= before + 20);
}

#[test]
fn signals_end_no_connect_and_no_wait() {
    with_network("signals_end_no_connect_and_no_wait", || {
        install();
        across_a_full_queue(|address| connect_blocking(address, &LOCAL, None).1);
        across_a_full_queue(|address| connect_blocking(address, &LOCAL, Some(Duration::from_secs(20))).1);
        across_a_full_queue(|address| {
            let mut attempts = AttemptSet::new();
            match attempts.start(0, address, &LOCAL).1? {
                Started::Connected(stream) => Ok(stream),
                Started::Pending => attempts.wait(Some(Duration::from_secs(20)))?.unwrap().1,
            }
        });
        // Nor do they lengthen a limit.
        let full = Full::new(V4);
        let start = Instant::now();
        let limit = Duration::from_millis(30);
        let error = under_signals(|| connect_blocking(full.address, &LOCAL, Some(limit))).1.unwrap_err();
        assert_eq!(error.outcome(), Outcome::TimedOut);
        assert!(
            start.elapsed() >= limit && start.elapsed() < Duration::from_secs(1),
            "{:?}",
            start.elapsed()
        );
    });
}
