//! A connect that an event loop drives: it is polled, and writes a byte to a socket when it is to be polled again. No thread but
//! Python's own ever calls into Python.

use crate::end::{self, End, Ended};
use crate::lifecycle;
use crate::options::Request;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

type Running = Pin<Box<dyn Future<Output = io::Result<Ended>> + Send>>;

/// One connect. Dropping it, or `cancel`, closes its sockets.
#[pyclass(frozen)]
pub(crate) struct Connecting {
    state: Mutex<State>,
    timeline: bool,
}

#[derive(Default)]
struct State {
    /// `None`: it is over.
    running: Option<Running>,
    /// `None`: nobody waits for it yet.
    waker: Option<Waker>,
}

#[pymethods]
impl Connecting {
    #[new]
    fn new(request: Request, timeline: bool) -> PyResult<Self> {
        let (connector, target) = request.read()?;
        if lifecycle::is_forked() {
            return Err(PyRuntimeError::new_err(
                "cannot connect: no event loop can be used with this after a fork",
            ));
        }
        lifecycle::started();
        let running: Running =
            Box::pin(async move { end::plain(connector.connect_timeline_async_io(&target).await) });
        Ok(Self { state: Mutex::new(State { running: Some(running), waker: None }), timeline })
    }

    /// The end, if it has come.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<End>> {
        let polled = py.detach(|| {
            let mut state = self.state();
            let State { running, waker } = &mut *state;
            let future = running.as_mut()?;
            let mut context = Context::from_waker(waker.as_ref().unwrap_or(Waker::noop()));
            let polled = future.as_mut().poll(&mut context);
            if polled.is_ready() {
                *running = None;
            }
            Some(polled)
        });
        match polled {
            Some(Poll::Ready(ended)) => Ok(Some(End::of(ended?, self.timeline))),
            Some(Poll::Pending) => Ok(None),
            None => Err(PyRuntimeError::new_err("the connect is over")),
        }
    }

    /// Makes and hands out a socket that becomes readable when it is time to poll again. To be polled once after that.
    fn wakes(&self) -> PyResult<wake::Descriptor> {
        let (reader, writer) = wake::pair()?;
        self.state().waker = Some(Waker::from(Arc::new(Byte(writer))));
        Ok(wake::give_away(reader))
    }

    /// Gives the connect up.
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| {
            let state = std::mem::take(&mut *self.state());
            drop(state);
        });
    }
}

impl Connecting {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes by writing a byte.
struct Byte(wake::Writer);

impl Wake for Byte {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // If it is full, or nobody reads any more, there is nothing to tell.
        let _ = (&self.0).write(&[1]);
    }
}

/// A pair of sockets.
#[cfg(unix)]
mod wake {
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::UnixStream;

    pub(super) use std::os::fd::RawFd as Descriptor;
    pub(super) type Writer = UnixStream;

    pub(super) fn pair() -> std::io::Result<(UnixStream, UnixStream)> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok((reader, writer))
    }

    pub(super) fn give_away(reader: UnixStream) -> Descriptor {
        reader.into_raw_fd()
    }
}

/// A pair of sockets. Windows' event loop waits for TCP sockets alone.
#[cfg(windows)]
mod wake {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::windows::io::IntoRawSocket;

    pub(super) use std::os::windows::io::RawSocket as Descriptor;
    pub(super) type Writer = TcpStream;

    pub(super) fn pair() -> std::io::Result<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let writer = TcpStream::connect(listener.local_addr()?)?;
        let own = writer.local_addr()?;
        loop {
            // Somebody else of this host may have been quicker.
            let (reader, from) = listener.accept()?;
            if from == own {
                reader.set_nonblocking(true)?;
                writer.set_nonblocking(true)?;
                return Ok((reader, writer));
            }
        }
    }

    pub(super) fn give_away(reader: TcpStream) -> Descriptor {
        reader.into_raw_socket()
    }
}
