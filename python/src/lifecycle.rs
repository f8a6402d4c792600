//! What the interpreter tells: it was forked, or it is about to end.

use crate::options::Request;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a connect that waits looks for signals and for the interpreter's end: what a person does not notice.
pub(crate) const SLICE: Duration = Duration::from_millis(20);

/// A connect has begun, here or in a process that this one was forked from, and may have started the reactor.
static STARTED: AtomicBool = AtomicBool::new(false);
/// This process is the child of one in which a connect had begun: threads, and so the reactor, are gone.
static FORKED: AtomicBool = AtomicBool::new(false);
/// The interpreter is about to end; nothing may wait any more.
static CLOSING: AtomicBool = AtomicBool::new(false);
/// How many connects are between the release of the GIL and its return.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// To be called in the child of a fork.
#[pyfunction]
pub(crate) fn forked() {
    FORKED.fetch_or(STARTED.load(Ordering::Relaxed), Ordering::Relaxed);
    WAITING.store(0, Ordering::Relaxed);
}

/// Ends all connects that wait, and waits until their threads are back in Python, so that none asks a finished interpreter for
/// the GIL. To be called at exit.
#[pyfunction]
pub(crate) fn close(py: Python<'_>) {
    CLOSING.store(true, Ordering::SeqCst);
    py.detach(|| {
        let end = Instant::now() + SLICE * 50;
        while WAITING.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// To be called before the reactor may be started.
pub(crate) fn started() {
    STARTED.store(true, Ordering::Relaxed);
}

/// Whether a connect would be tried: the interpreter goes on, the request makes sense, and there is a reactor if an event loop is to
/// drive it.
#[pyfunction]
pub(crate) fn would_try(request: Request, driven: bool) -> bool {
    let cannot = is_closing() || (driven && is_forked());
    !cannot && request.read().is_ok()
}

pub(crate) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

pub(crate) fn is_closing() -> bool {
    CLOSING.load(Ordering::SeqCst)
}

/// One connect that waits, for [`close`].
pub(crate) struct Waiting(());

impl Waiting {
    pub(crate) fn new() -> Self {
        WAITING.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::SeqCst);
    }
}
