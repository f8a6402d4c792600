//! On Windows futures that are dropped at any moment leave no handle behind. One test alone in its process, so that handles can be
//! counted.
#![cfg(windows)]

use socket2::{Domain, SockRef, Socket, Type};
use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use unstall::testing::{self, Server};
use unstall::{ConnectError, Connector};
use unstall_sys::handles;

/// Long enough for anything local, on any machine.
const LONG: Duration = Duration::from_secs(10);
const DROPPED: usize = 10_000;
/// What the runtime and the thread pool may hold beside sockets: a thread that has not ended yet, its event.
const BESIDE: u32 = 16;

/// A port where hardly anybody listens; whoever does is left alone at once.
const DISCARD: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9);

/// A listener whose queue is full: it answers with a reset on Windows, and with nothing under Wine.
struct FullQueue {
    address: SocketAddr,
    _held: (Socket, Vec<TcpStream>),
}

fn full_queue() -> FullQueue {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(1).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let limit = Duration::from_millis(200);
    let waiting = std::iter::from_fn(|| TcpStream::connect_timeout(&address, limit).ok()).take(64).collect();
    FullQueue { address, _held: (socket, waiting) }
}

/// A random number below `bound`, of a xorshift generator.
fn random(state: &mut u32, bound: u32) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    *state % bound
}

fn close(result: Result<tokio::net::TcpStream, ConnectError>) {
    if let Ok(stream) = result {
        // So that no TIME_WAIT uses up the ports.
        SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    }
}

/// Begins a connect and drops it after so many polls, unless it is over before. True: it was dropped.
async fn drop_after(polls: u32, address: SocketAddr) -> bool {
    let connector = Connector::new();
    let mut connect = pin!(connector.connect_tokio(address));
    let mut left = polls;
    let ended = poll_fn(|context| match connect.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    });
    match ended.await {
        Some(result) => {
            close(result);
            false
        }
        None => true,
    }
}

/// Drops connects at random moments, the task's own or another thread's; how many were dropped before their end.
fn drop_at_random(runtime: &Runtime, addresses: &[SocketAddr], count: usize) -> usize {
    let mut state = 0x9E37_79B9;
    let mut dropped = 0;
    for n in 0..count {
        // Each refusal looks for a listener, which takes Wine a hundred times as long as the connect.
        let address = if n % 200 == 0 { DISCARD } else { addresses[n % addresses.len()] };
        let polls = random(&mut state, 40);
        if n % 4 > 0 {
            dropped += usize::from(runtime.block_on(drop_after(polls, address)));
            continue;
        }
        let task = runtime.spawn(async move { close(Connector::new().connect_tokio(address).await) });
        (0..polls).for_each(|_| std::thread::yield_now());
        task.abort();
        dropped += usize::from(runtime.block_on(task).is_err_and(|error| error.is_cancelled()));
    }
    dropped
}

#[test]
fn nothing_is_left_of_10_000_dropped_futures() {
    let servers: Vec<Server> =
        [testing::closes(), testing::v4_only()].into_iter().map(Result::unwrap).collect();
    let full = full_queue();
    let addresses: Vec<SocketAddr> =
        servers.iter().map(Server::addr).chain([full.address, full.address]).collect();
    let runtimes = [
        Builder::new_current_thread().enable_all().build().unwrap(),
        Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap(),
    ];
    for runtime in &runtimes {
        drop_at_random(runtime, &addresses, 200);
    }
    let before = handles::open().unwrap();
    let dropped: usize =
        runtimes.iter().map(|runtime| drop_at_random(runtime, &addresses, DROPPED / 2)).sum();
    // Those to the full queue, which are about half, cannot be over under Wine.
    assert!(dropped >= DROPPED / 10, "only {dropped} were dropped before their end");
    // The last callbacks, and the servers' ends of the last connections, may still be on their way.
    let start = Instant::now();
    while handles::open().unwrap() > before + BESIDE && start.elapsed() < LONG {
        std::thread::yield_now();
    }
    let after = handles::open().unwrap();
    assert!(after <= before + BESIDE, "{before} handles, then {after}; {dropped} dropped");
}
