//! A connect that waits, with the GIL released.
//!
//! It is the asynchronous one, polled by the thread that asked for it, so that the wait can be left: every
//! [`SLICE`] the main thread lets Python handle its signals (`KeyboardInterrupt` comes from there), and any thread ends when the
//! interpreter does. Dropping the future closes its sockets. In the child of a fork there is no reactor; there the blocking connect
//! runs on a thread of its own, and one that is left finishes alone.

use crate::end::{self, End, Ended};
use crate::lifecycle::{self, SLICE, Waiting};
use crate::options::Request;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;
use unstall::{Connector, Target};

/// Connects and waits. `signals`: this is the main thread. `timeline`: wanted after a success too.
#[pyfunction]
pub(crate) fn connect(py: Python<'_>, request: Request, signals: bool, timeline: bool) -> PyResult<End> {
    let (connector, target) = request.read()?;
    if lifecycle::is_closing() {
        return Err(closing());
    }
    // Dropped only when the GIL is back.
    let _waiting = Waiting::new();
    let ended = py.detach(|| {
        if lifecycle::is_forked() {
            on_a_thread(connector, target, signals)
        } else {
            lifecycle::started();
            polled(&connector, &target, signals)
        }
    })?;
    Ok(End::of(ended, timeline))
}

fn closing() -> PyErr {
    PyRuntimeError::new_err("cannot connect: the interpreter is about to end")
}

/// Between two slices: whether to go on.
fn go_on(signals: bool) -> PyResult<()> {
    if lifecycle::is_closing() {
        return Err(closing());
    }
    if !signals {
        return Ok(());
    }
    // The method itself is not general enough for every lifetime.
    #[expect(clippy::redundant_closure_for_method_calls)]
    let handled = Python::attach(|py| py.check_signals());
    handled
}

fn polled(connector: &Connector, target: &Target, signals: bool) -> PyResult<Ended> {
    let mut future = pin!(connector.connect_timeline_async_io(target));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut next_look = Instant::now() + SLICE;
    loop {
        if let Poll::Ready(ended) = future.as_mut().poll(&mut context) {
            return Ok(end::plain(ended)?);
        }
        thread::park_timeout(next_look.saturating_duration_since(Instant::now()));
        if Instant::now() >= next_look {
            go_on(signals)?;
            next_look = Instant::now() + SLICE;
        }
    }
}

/// Wakes the thread that polls.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn on_a_thread(connector: Connector, target: Target, signals: bool) -> PyResult<Ended> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new()
        .name("unstall-connect".into())
        .spawn(move || {
            // Nobody may be left to take it; then the socket is closed here.
            let _ = sender.send(connector.connect_timeline(&target));
        })
        .map_err(|error| {
            PyRuntimeError::new_err(format!("cannot connect: no thread could be started: {error}"))
        })?;
    loop {
        match receiver.recv_timeout(SLICE) {
            Ok(ended) => return Ok(ended),
            Err(RecvTimeoutError::Timeout) => go_on(signals)?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("cannot connect: its thread has panicked"));
            }
        }
    }
}
