//! What only Windows has: completions and their memory, the ioctl, the version gate. Runs under Wine too, which differs where
//! a comment says so.
#![cfg(windows)]

mod common;

use common::{LOCAL, PATIENCE, V4, left_out, listener};
use socket2::{Domain, Socket, Type};
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};
use unstall_core::outcome::Outcome;
use unstall_core::syn::{Prepared, SynRetransmissions};
use unstall_sys::connect::{AttemptSet, Options, Started, begin, connect_blocking, prepare};
use unstall_sys::{clock, host, ports};

fn is_wine() -> bool {
    host::facts().wine.is_some()
}

/// A socket that is bound and does not listen: its port refuses.
fn refused() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(V4, 0).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

/// A listener whose queue is full. Linux, below Wine, then drops SYNs; Windows answers with a reset. `None`: this is Windows.
fn silent(test: &str) -> Option<(Socket, Vec<TcpStream>, SocketAddr)> {
    if !is_wine() {
        left_out(test, "no port of Windows can be made silent: a full accept queue answers with a reset");
        return None;
    }
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(V4, 0).into()).unwrap();
    socket.listen(1).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let limit = Duration::from_millis(200);
    let waiting = std::iter::from_fn(|| TcpStream::connect_timeout(&address, limit).ok()).take(64).collect();
    Some((socket, waiting, address))
}

fn handles() -> u32 {
    unstall_sys::handles::open().unwrap()
}

/// What the ioctl comes to here.
fn expected(build: u32) -> Prepared {
    if is_wine() {
        // WSAEOPNOTSUPP
        Prepared::NotSupported(10045)
    } else if build >= 16299 {
        Prepared::NoRetransmission
    } else {
        Prepared::OneRetransmission
    }
}

fn build() -> u32 {
    let version = host::facts().kernel.unwrap();
    version.rsplit('.').next().unwrap().parse().unwrap()
}

#[test]
fn a_refusal_says_what_was_done_about_retransmissions() {
    let (_socket, address) = refused();
    for limit in [None, Some(PATIENCE)] {
        let (prepared, result) = connect_blocking(address, &LOCAL, limit);
        assert_eq!(prepared, expected(build()));
        let error = result.unwrap_err();
        assert_eq!((error.outcome(), error.os_error().map(|os| os.code)), (Outcome::Refused, Some(10061)));
        let remote = Options { local: false, ..LOCAL };
        assert_eq!(connect_blocking(address, &remote, limit).0, Prepared::NotLocal);
        let os_default = Options { syn_retransmissions: SynRetransmissions::OsDefault, ..LOCAL };
        assert_eq!(connect_blocking(address, &os_default, limit).0, Prepared::OsDefault);
    }
}

#[test]
fn a_refusal_is_quick_where_the_ioctl_works() {
    let (_socket, address) = refused();
    let start = Instant::now();
    let (prepared, _) = connect_blocking(address, &LOCAL, None);
    match prepared {
        // Half of the first retransmission's time; the OS default is four of them.
        Prepared::NoRetransmission => assert!(start.elapsed() < Duration::from_millis(250)),
        // One, and before the second.
        Prepared::OneRetransmission => assert!(start.elapsed() < Duration::from_millis(1000)),
        _ => left_out("a_refusal_is_quick_where_the_ioctl_works", "Wine does not know the ioctl"),
    }
}

#[test]
fn a_foreign_socket_is_prepared() {
    let remote = "192.0.2.1:80".parse().unwrap();
    for (domain, local) in
        [(Domain::IPV4, "127.0.0.1:9"), (Domain::IPV4, "0.0.0.0:9"), (Domain::IPV6, "[::ffff:127.1.2.3]:9")]
    {
        let Ok(socket) = Socket::new(domain, Type::STREAM, None) else { continue };
        let borrowed = || std::os::windows::io::AsSocket::as_socket(&socket);
        assert_eq!(prepare(borrowed(), remote, SynRetransmissions::NoneIfLocal), Prepared::NotLocal);
        let prepared = prepare(borrowed(), local.parse().unwrap(), SynRetransmissions::NoneIfLocal);
        assert_eq!(prepared, expected(build()), "{local}");
    }
}

/// Windows refuses 0.0.0.0 as a destination, and an IPv4-mapped address on a socket as it makes them.
#[test]
fn every_form_of_loopback_connects() {
    let (_server, address) = listener(V4);
    let port = address.port();
    for destination in
        [format!("0.0.0.0:{port}"), format!("[::ffff:127.0.0.1]:{port}"), format!("[::ffff:0.0.0.0]:{port}")]
    {
        let destination = destination.parse().unwrap();
        for limit in [None, Some(PATIENCE)] {
            let stream = connect_blocking(destination, &LOCAL, limit).1.unwrap();
            assert_eq!(stream.peer_addr().unwrap(), address, "{destination}");
        }
    }
}

/// What ConnectEx leaves half done without SO_UPDATE_CONNECT_CONTEXT.
#[test]
fn a_stream_of_connect_ex_is_an_ordinary_one() {
    use std::io::{Read, Write};
    let (server, address) = listener(V4);
    let mut stream = connect_blocking(address, &LOCAL, Some(PATIENCE)).1.unwrap();
    let (mut other, peer) = server.accept().unwrap();
    assert_eq!(stream.local_addr().unwrap(), peer);
    assert_eq!(stream.peer_addr().unwrap(), address);
    assert!(stream.nodelay().unwrap());
    stream.write_all(b"here").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut read = String::new();
    other.read_to_string(&mut read).unwrap();
    assert_eq!(read, "here");
    // Blocking, with a limit of its own.
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let start = Instant::now();
    assert!(stream.read(&mut [0]).is_err());
    assert!(start.elapsed() >= Duration::from_millis(10), "it waited");
}

#[test]
fn a_limit_ends_a_connect_that_nobody_answers() {
    let Some((_socket, _waiting, address)) = silent("a_limit_ends_a_connect_that_nobody_answers") else {
        return;
    };
    let limit = Duration::from_millis(50);
    let start = Instant::now();
    let error = connect_blocking(address, &LOCAL, Some(limit)).1.unwrap_err();
    assert_eq!((error.outcome(), error.os_error()), (Outcome::TimedOut, None));
    let took = start.elapsed();
    assert!((limit..limit + Duration::from_millis(500)).contains(&took), "{took:?}");
}

/// 10,000 connects that the kernel is still at when they are given up: by cancel, by dropping the set, by a limit.
#[test]
fn nothing_is_left_of_connects_that_were_given_up() {
    let Some((_socket, _waiting, silent)) = silent("nothing_is_left_of_connects_that_were_given_up") else {
        return;
    };
    let (_refused, refused) = refused();
    let round = |number: u32| {
        let mut set = AttemptSet::new();
        for key in 0..4 {
            assert!(matches!(set.start(key, silent, &LOCAL).1, Ok(Started::Pending)));
        }
        // One that ends by itself among them.
        let ended = set.start(4, refused, &LOCAL).1;
        match number % 4 {
            0 => drop(set),
            1 => (0..4).for_each(|key| set.cancel(key)),
            2 => {
                set.cancel(number % 3);
                assert!(set.wait(Some(Duration::ZERO)).is_ok());
            }
            _ => {
                if ended.is_ok() {
                    let (key, result) = set.wait(Some(PATIENCE)).unwrap().expect("the refusal");
                    assert_eq!((key, result.unwrap_err().outcome()), (4, Outcome::Refused));
                }
            }
        }
    };
    (0..8).for_each(round);
    let before = handles();
    (0..2_000).for_each(round);
    let after = handles();
    assert!(after <= before + 2, "{before} handles, then {after}");
}

/// Polls a future once.
fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// A waker that ends the sleep of this thread.
fn unpark() -> Waker {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    Arc::new(Unpark(std::thread::current())).into()
}

/// The end of a future, which must come within the patience of a test.
fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    let waker = unpark();
    let start = Instant::now();
    loop {
        if let Poll::Ready(output) = poll(&mut future, &waker) {
            return output;
        }
        assert!(start.elapsed() < PATIENCE, "no end came");
        std::thread::park_timeout(PATIENCE);
    }
}

#[test]
#[cfg(not(unstall_no_connect_ex))]
fn a_future_tells_the_end_of_a_connect() {
    let (_server, address) = listener(V4);
    let connecting = begin(address, &LOCAL).1.unwrap().expect("a ConnectEx");
    let stream = block_on(connecting).unwrap();
    assert_eq!(stream.peer_addr().unwrap(), address);
    assert!(stream.nodelay().unwrap());
    let (_socket, refused) = refused();
    let (prepared, connecting) = begin(refused, &LOCAL);
    assert_eq!(prepared, expected(build()));
    let error = block_on(connecting.unwrap().expect("a ConnectEx")).unwrap_err();
    assert_eq!((error.outcome(), error.os_error().map(|os| os.code)), (Outcome::Refused, Some(10061)));
}

#[test]
#[cfg(unstall_no_connect_ex)]
fn without_connect_ex_there_is_no_future() {
    let (_server, address) = listener(V4);
    assert!(begin(address, &LOCAL).1.unwrap().is_none());
}

/// 10,000, dropped before their end, at it, and after it; some of them from another thread.
#[test]
#[cfg(not(unstall_no_connect_ex))]
fn nothing_is_left_of_futures_that_were_dropped() {
    let Some((_socket, _waiting, silent)) = silent("nothing_is_left_of_futures_that_were_dropped") else {
        return;
    };
    let (_refused, refused) = refused();
    let waker = unpark();
    let round = |number: u32| {
        let address = if number % 2 == 0 { silent } else { refused };
        let mut connecting = begin(address, &LOCAL).1.unwrap().expect("a ConnectEx");
        // An end may come at any of these moments.
        for _ in 0..number % 4 {
            if let Poll::Ready(result) = poll(&mut connecting, &waker) {
                assert_eq!(result.unwrap_err().outcome(), Outcome::Refused);
                return;
            }
            std::thread::yield_now();
        }
        if number % 100 == 0 {
            std::thread::spawn(move || drop(connecting)).join().unwrap();
        }
    };
    (0..200).for_each(round);
    let before = handles();
    (0..10_000).for_each(round);
    // The last callbacks may still be on their way.
    let start = Instant::now();
    while handles() > before + 8 && start.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    assert!(handles() <= before + 8, "{before} handles, then {}", handles());
}

#[test]
fn a_connect_whose_thread_has_ended_ends_too() {
    let Some((_socket, _waiting, address)) = silent("a_connect_whose_thread_has_ended_ends_too") else {
        return;
    };
    let mut set = std::thread::spawn(move || {
        let mut set = AttemptSet::new();
        assert!(matches!(set.start((), address, &LOCAL).1, Ok(Started::Pending)));
        set
    })
    .join()
    .unwrap();
    // Windows cancels it with its thread; Wine does not. Either way the set can be waited for and dropped.
    match set.wait(Some(Duration::from_millis(20))).unwrap() {
        None => {}
        Some(((), result)) => assert_eq!(result.unwrap_err().outcome(), Outcome::Cancelled),
    }
}

#[test]
fn the_ranges_of_ports_are_those_of_netsh() {
    match ports::ephemeral_range() {
        Ok(range) => assert!(!is_wine() && range.len() >= 255 && *range.start() >= 1025, "{range:?}"),
        Err(error) => assert!(is_wine() && error.outcome() == Outcome::NotAvailable, "{error}"),
    }
    match ports::excluded() {
        Ok(ranges) => assert!(!is_wine() && ranges.iter().all(|range| !range.ports.is_empty())),
        Err(error) => assert!(is_wine() && error.outcome() == Outcome::NotAvailable, "{error}"),
    }
}

#[test]
fn the_version_and_the_clock_are_told() {
    let facts = host::facts();
    assert_eq!(facts.os, "windows");
    assert!(build() >= 7600, "{facts:?}");
    assert!(clock::resolution().unwrap() <= Duration::from_micros(1));
    let tick = clock::tick().unwrap();
    assert!((Duration::from_micros(400)..Duration::from_millis(20)).contains(&tick), "{tick:?}");
}
