//! The server side: a listener in the lab's network that does not accept for a while after the first connection has come, or ever.
//!
//! It is served by this process, outside of the lab's cgroup, so that a server and its clients compete as two programs do.

use super::clock;
use crate::error::{Error, Step};
use crate::lab::Lab;
use rustix::event::{PollFd, PollFlags, poll};
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often a server without work looks whether it is to end.
const TICK: Duration = Duration::from_millis(10);

/// More connections than fill any queue of the benchmark that is never accepted from.
const MOST: usize = 4096;

/// How long a connect may take that fills a queue; one that takes longer, or fails, found it full.
const FILL: Duration = Duration::from_millis(300);

/// What a server has seen, on the monotonic clock in nanoseconds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Served {
    /// When its pause was over. 0: nobody came.
    pub(super) resumed_ns: u64,
    /// When each connection was accepted.
    pub(super) accepted_ns: Vec<u64>,
}

/// A server that runs. Dropping it ends it.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Served>>,
}

impl Server {
    /// Starts it. `pause`: how long it does not accept after the first connection has come; `None`: ever, and its queue is full
    /// from the start.
    pub(super) fn start(lab: &Lab, backlog: u32, pause: Option<Duration>) -> Result<Self, Error> {
        let listener = lab.within(move || listen(backlog)).step("listen in the lab")?;
        let address = listener.local_addr().ok().and_then(|address| address.as_socket());
        let address =
            address.ok_or_else(|| io::Error::other("no address")).step("ask a listener for its address")?;
        let fill = if pause.is_none() { lab.within(move || fill(address)) } else { Vec::new() };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let serve = move || {
            let served = pause.map_or_else(Served::default, |pause| serve(&listener, pause, &stopped));
            while !stopped.load(Ordering::Relaxed) {
                thread::park();
            }
            drop(fill);
            served
        };
        let thread = thread::Builder::new().name("server".to_owned()).spawn(serve).step("start a thread")?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Ends it.
    pub(super) fn end(mut self) -> Served {
        self.join()
    }

    fn join(&mut self) -> Served {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Served::default() };
        thread.thread().unpark();
        thread.join().unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.join();
    }
}

fn listen(backlog: u32) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket)
}

/// A port of the lab where nobody listens and nobody will: it is bound.
pub(super) fn closed(lab: &Lab) -> Result<(Socket, SocketAddr), Error> {
    let bound = lab.within(|| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        let address = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok::<_, io::Error>((socket, address))
    });
    bound.step("bind a port in the lab")
}

/// Connects until one does not get through.
fn fill(address: SocketAddr) -> Vec<TcpStream> {
    (0..MOST).map_while(|_| TcpStream::connect_timeout(&address, FILL).ok()).collect()
}

/// Accepts after the pause, until it is to stop. Connections stay open: closing them would make room and noise.
fn serve(listener: &Socket, pause: Duration, stop: &AtomicBool) -> Served {
    let (mut served, mut connections) = (Served::default(), Vec::new());
    while !stop.load(Ordering::Relaxed) {
        if !is_ready(listener) {
            continue;
        }
        if served.resumed_ns == 0 {
            thread::sleep(pause);
            served.resumed_ns = clock::now_ns();
        }
        while let Ok((connection, _)) = listener.accept() {
            served.accepted_ns.push(clock::now_ns());
            connections.push(connection);
        }
    }
    served
}

fn is_ready(listener: &Socket) -> bool {
    let tick = rustix::event::Timespec::try_from(TICK).ok();
    poll(&mut [PollFd::new(listener, PollFlags::IN)], tick.as_ref()).is_ok_and(|ready| ready > 0)
}
