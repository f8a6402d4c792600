//! What goes wrong around a connect in a future: two winners at once, no timers, a runtime that ends, a name server that is mute.
//! An error each time, never a hang. Needs Linux; namespaces where it says so.
#![cfg(target_os = "linux")]

mod common;

use common::held;
use common::namespace::{NAME_SERVER_PATIENCE, inside};
use socket2::{Domain, Socket, Type};
use std::future::{Future, pending, poll_fn};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use unstall::resolver::{Lookup, Question, Resolver};
use unstall::{ConnectError, Connector, Outcome, testing};

/// Long enough for anything local, on any machine.
const LONG: Duration = Duration::from_secs(20);

/// A listener whose queue is full, so that a connect stays under way until the queue is drained and the kernel repeats its SYN,
/// after a second.
struct Full {
    listener: TcpListener,
    fillers: Vec<TcpStream>,
}

impl Full {
    fn new(ip: [u8; 4]) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from((ip, 0)).into()).unwrap();
        socket.listen(0).unwrap();
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().unwrap();
        let fill = |_| TcpStream::connect_timeout(&address, Duration::from_millis(100)).ok();
        let fillers = (0..8).map_while(fill).collect();
        Self { listener, fillers }
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// The server's end of the one connection that is none of the fillers.
    fn accept(&self) -> TcpStream {
        let fillers: Vec<_> = self.fillers.iter().map(|filler| filler.local_addr().unwrap()).collect();
        loop {
            let (stream, peer) = self.listener.accept().unwrap();
            if !fillers.contains(&peer) {
                return stream;
            }
        }
    }
}

async fn once<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

/// Polls a connect until both attempts are under way, and then not before both are connected.
async fn both_win<S: std::fmt::Debug>(
    mut connect: Pin<Box<impl Future<Output = Result<S, ConnectError>>>>,
    servers: &[Full; 2],
) -> (S, [TcpStream; 2]) {
    assert!(once(&mut connect).await.is_pending());
    // The second attempt starts after the attempt delay of 10 ms.
    std::thread::sleep(Duration::from_millis(20));
    // The reactor is given its turns while the timer strikes.
    for _ in 0..1000 {
        assert!(once(&mut connect).await.is_pending());
        yield_now().await;
    }
    let accepted = [servers[0].accept(), servers[1].accept()];
    let stream = loop {
        if let Poll::Ready(result) = once(&mut connect).await {
            break result.unwrap();
        }
        yield_now().await;
    };
    (stream, accepted)
}

/// Lets the executor look for events.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The winner's server hears from it, the other one sees the end of the connection.
fn one_lives(own: SocketAddr, mut winner: impl Write, accepted: [TcpStream; 2]) {
    winner.write_all(b"x").unwrap();
    let mut lived = 0;
    for mut server in accepted {
        server.set_read_timeout(Some(LONG)).unwrap();
        let mut byte = [0];
        let read = server.read(&mut byte);
        if server.peer_addr().is_ok_and(|peer| peer == own) {
            assert_eq!(read.unwrap(), 1);
            lived += 1;
        } else {
            assert_eq!(read.unwrap(), 0, "the loser's server sees EOF");
        }
    }
    assert_eq!(lived, 1);
}

fn racing(servers: &[Full; 2]) -> Connector {
    // Without the library's own looks the sockets stay where they are.
    Connector::new()
        .backlog_retry(Duration::ZERO)
        .connect_timeout(LONG)
        .addresses([servers[0].address(), servers[1].address()])
}

#[test]
fn of_two_winners_on_tokio_one_is_closed() {
    let servers = [Full::new([127, 0, 0, 1]), Full::new([127, 0, 0, 2])];
    let connector = racing(&servers);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let connect = Box::pin(connector.connect_tokio("both.example:1"));
    let (stream, accepted) = runtime.block_on(both_win(connect, &servers));
    let stream = stream.into_std().unwrap();
    one_lives(stream.local_addr().unwrap(), &stream, accepted);
}

#[test]
fn of_two_winners_on_async_io_one_is_closed() {
    let servers = [Full::new([127, 0, 0, 1]), Full::new([127, 0, 0, 2])];
    let connector = racing(&servers);
    let connect = Box::pin(connector.connect_async_io("both.example:1"));
    let (stream, accepted) = async_io::block_on(both_win(connect, &servers));
    let stream = stream.into_inner().unwrap();
    one_lives(stream.local_addr().unwrap(), &stream, accepted);
}

#[test]
fn without_timers_several_addresses_are_an_error_where_one_has_to_be_waited_for() {
    let silent = testing::silent().unwrap();
    let server = testing::v4_only().unwrap();
    let refused = testing::refused().unwrap();
    let no_time = Builder::new_current_thread().enable_io().build().unwrap();
    let connect = |addresses: [SocketAddr; 2]| {
        no_time.block_on(Connector::new().addresses(addresses).connect_tokio("several.example:1"))
    };
    // A failure needs no timer.
    connect([refused.addr(), server.addr()]).unwrap();
    let error = connect([silent.addr(), server.addr()]).unwrap_err();
    assert_eq!(error.outcome(), Some(Outcome::Unknown), "{error}");
    assert!(error.to_string().contains("timers are disabled"), "{error}");
}

/// A resolver that never answers.
struct Mute;

impl Resolver for Mute {
    fn lookup(&self, _: Question) -> Lookup<'_> {
        Box::pin(pending())
    }
}

/// A resolver that answers when nobody is there any more to use it.
struct Slow(SocketAddr);

impl Resolver for Slow {
    fn lookup(&self, _: Question) -> Lookup<'_> {
        Box::pin(async {
            async_io::Timer::after(Duration::from_millis(200)).await;
            Ok(vec![self.0])
        })
    }

    fn separately(&self) -> bool {
        false
    }
}

#[test]
fn a_runtime_that_is_shut_down_during_the_resolution_is_an_error() {
    let server = testing::v4_only().unwrap();
    for connector in [
        Connector::new().connect_timeout(LONG).resolver(Mute),
        Connector::new().resolver(Slow(server.addr())),
    ] {
        for multi in [false, true] {
            let runtime = if multi {
                Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
            } else {
                Builder::new_current_thread().enable_all().build().unwrap()
            };
            let handle = runtime.handle().clone();
            let mut connect = Box::pin(connector.connect_tokio("slow.example:1"));
            runtime.block_on(async { assert!(once(&mut connect).await.is_pending()) });
            drop(runtime);
            let _guard = handle.enter();
            let start = Instant::now();
            let error = async_io::block_on(connect).unwrap_err();
            assert_eq!(error.outcome(), Some(Outcome::Unknown), "{error}");
            assert!(start.elapsed() < LONG / 2);
        }
    }
}

/// async-io's reactor is the process's and cannot be shut down; its executor can: the connect is then polled by another.
#[test]
fn a_connect_on_async_io_may_change_its_executor() {
    let servers = [Full::new([127, 0, 0, 1]), Full::new([127, 0, 0, 2])];
    let connector = racing(&servers).connect_timeout(Duration::from_millis(300));
    let mut connect = Box::pin(connector.connect_async_io("both.example:1"));
    std::thread::scope(|scope| {
        scope.spawn(|| async_io::block_on(async { assert!(once(&mut connect).await.is_pending()) }));
    });
    let error = async_io::block_on(connect).unwrap_err();
    assert!(error.is_timed_out(), "{error}");
}

#[test]
fn a_mute_name_server_keeps_a_bounded_number_of_threads() {
    inside("a_mute_name_server_keeps_a_bounded_number_of_threads", |namespace| {
        // It takes the questions and says nothing, longer than this test lasts.
        let _server = UdpSocket::bind("127.0.0.1:53").unwrap();
        namespace.hosts(&[]);
        namespace.name_server("127.0.0.1");
        let limit = Duration::from_millis(100);
        let connectors = [
            Connector::new().connect_timeout(limit),
            Connector::new().connect_timeout(limit).resolver(unstall::resolver::OsResolver),
        ];
        let (_, before) = held().unwrap();
        let start = Instant::now();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        for connector in &connectors {
            let connects = (1..=100).map(|n| {
                let connector = connector.clone();
                runtime.spawn(async move { connector.connect_tokio(("mute.example", n)).await })
            });
            for connect in connects.collect::<Vec<_>>() {
                let error = runtime.block_on(connect).unwrap().unwrap_err();
                assert!(error.is_timed_out(), "{error}");
            }
            async_io::block_on(async {
                for n in 1..=5 {
                    let error = connector.connect_async_io(("mute.example", n)).await.unwrap_err();
                    assert!(error.is_timed_out(), "{error}");
                }
            });
        }
        let (_, after) = held().unwrap();
        // async-io has a thread of its own.
        assert!(after <= before + 32 + 1, "{before} threads before, {after} after");
        assert!(after >= before + 32, "the name server was not mute: {before} threads before, {after} after");
        assert!(start.elapsed() < NAME_SERVER_PATIENCE);
    });
}
