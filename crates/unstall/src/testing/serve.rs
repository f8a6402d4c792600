//! Servers that accept: one thread per listener, one per connection that lasts, all joined on drop.

use socket2::{SockRef, Socket};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const BACKLOG: i32 = 1024;
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\nConnection: close\r\n\r\nunstall\n";

/// What is done with an accepted connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Behaviour {
    Reset,
    Close,
    Deaf,
    Hello,
}

/// A listener and the threads behind it.
#[derive(Debug)]
pub(super) struct Serving {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    socket: Socket,
    state: Mutex<State>,
    stopped: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    /// Connections that a thread is reading from.
    open: Vec<Arc<TcpStream>>,
}

impl Serving {
    /// Listens on a bound socket, at once or after `delay`, in which case the port refuses until then.
    pub(super) fn start(
        socket: Socket,
        address: SocketAddr,
        behaviour: Behaviour,
        delay: Option<Duration>,
    ) -> io::Result<Self> {
        if delay.is_none() {
            socket.listen(BACKLOG)?;
        }
        let shared = Arc::new(Shared { socket, state: Mutex::default(), stopped: Condvar::new() });
        let thread = thread::Builder::new().name(format!("unstall testing {address}")).spawn({
            let shared = Arc::clone(&shared);
            move || {
                let go = delay
                    .is_none_or(|delay| !shared.stops_within(delay) && shared.socket.listen(BACKLOG).is_ok());
                if go {
                    shared.accept_until_stopped(behaviour);
                }
            }
        })?;
        Ok(Self { shared, address, thread: Some(thread) })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.stopped = true;
        for stream in &state.open {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(state);
        self.shared.stopped.notify_all();
        // Linux ends an accept(2) when its socket is shut down; elsewhere one more connection does.
        let _ = self.shared.socket.shutdown(Shutdown::Both);
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_millis(100));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `delay`, shorter when the guard is dropped meanwhile.
    fn stops_within(&self, delay: Duration) -> bool {
        let waited = self.stopped.wait_timeout_while(self.state(), delay, |state| !state.stopped);
        waited.unwrap_or_else(PoisonError::into_inner).0.stopped
    }

    fn accept_until_stopped(&self, behaviour: Behaviour) {
        thread::scope(|scope| {
            loop {
                let accepted = self.socket.accept();
                if self.state().stopped {
                    return;
                }
                let Ok((socket, _)) = accepted else {
                    thread::yield_now();
                    continue;
                };
                let stream = TcpStream::from(socket);
                match behaviour {
                    Behaviour::Close => {}
                    Behaviour::Reset => {
                        let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
                    }
                    Behaviour::Deaf | Behaviour::Hello => {
                        if let Some(stream) = self.keep(stream) {
                            scope.spawn(move || self.talk(&stream, behaviour));
                        }
                    }
                }
            }
        });
    }

    /// `None`: too late, the guard is being dropped.
    fn keep(&self, stream: TcpStream) -> Option<Arc<TcpStream>> {
        let stream = Arc::new(stream);
        let mut state = self.state();
        state.open.push(Arc::clone(&stream));
        (!state.stopped).then_some(stream)
    }

    fn talk(&self, stream: &Arc<TcpStream>, behaviour: Behaviour) {
        let mut reader = &**stream;
        if matches!(behaviour, Behaviour::Hello) && reader.read(&mut [0; 1024]).is_ok_and(|bytes| bytes > 0) {
            let _ = reader.write_all(ANSWER);
            let _ = stream.shutdown(Shutdown::Write);
        }
        let _ = io::copy(&mut reader, &mut io::sink());
        self.state().open.retain(|open| !Arc::ptr_eq(open, stream));
    }
}
