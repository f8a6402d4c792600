//! What a connect on tokio and on async-io needs in memory: the future, and what is allocated meanwhile.
// On Windows what the kernel writes into is allocated, for it must not move.
#![cfg(not(windows))]

use allocation_counter::measure;
use std::future::Future;
use std::net::{SocketAddr, TcpStream};
use std::pin::pin;
use std::task::{Context, Waker};
use tokio::runtime::Builder;
use unstall::{Connector, testing};

/// Programs wait in thousands of these at once.
#[test]
fn futures_are_no_larger_than_those_of_tokio() {
    let address = SocketAddr::from(([127, 0, 0, 1], 9));
    let connector = Connector::new();
    let theirs = size_of_val(&tokio::net::TcpStream::connect(address));
    let ours = [
        ("tokio::connect", size_of_val(&unstall::tokio::connect(address))),
        ("connect_tokio", size_of_val(&connector.connect_tokio(address))),
        ("connect_tokio by name", size_of_val(&connector.connect_tokio("localhost:9"))),
        ("async_io::connect", size_of_val(&unstall::async_io::connect(address))),
        ("connect_async_io", size_of_val(&connector.connect_async_io(address))),
    ];
    for (what, size) in ours {
        assert!(size <= theirs, "{what}: {size} bytes, tokio's own {theirs}");
    }
}

/// How many allocations one poll of a future makes.
fn of_one_poll(future: impl Future, over: bool) -> u64 {
    let mut future = pin!(future);
    measure(|| {
        let poll = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(poll.is_ready(), over);
    })
    .count_total
}

/// A connect that is over at once allocates what the reactor needs for the socket; one that has to be waited for, once more.
#[test]
fn at_most_one_allocation_is_not_that_of_the_socket() {
    let (server, silent) = (testing::closes().unwrap(), testing::silent().unwrap());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let _guard = runtime.enter();
    // What is made once for a process.
    let _ = unstall::connect(server.addr());
    for connector in [Connector::new(), Connector::new().backlog_retry(std::time::Duration::ZERO)] {
        let _ = of_one_poll(connector.connect_tokio(server.addr()), true);
        let register = || drop(tokio::net::TcpStream::from_std(nonblocking(server.addr())).unwrap());
        let socket = measure(register).count_total;
        assert_eq!(of_one_poll(connector.connect_tokio(server.addr()), true), socket, "tokio, at once");
        assert!(of_one_poll(connector.connect_tokio(silent.addr()), false) <= socket + 1, "tokio, waits");

        let _ = of_one_poll(connector.connect_async_io(server.addr()), true);
        let register = || drop(async_io::Async::new_nonblocking(nonblocking(server.addr())).unwrap());
        let socket = measure(register).count_total;
        assert_eq!(of_one_poll(connector.connect_async_io(server.addr()), true), socket, "async-io, at once");
        // async-io makes a list of those who wait for a socket.
        assert!(
            of_one_poll(connector.connect_async_io(silent.addr()), false) <= socket + 1,
            "async-io, waits"
        );
    }
}

fn nonblocking(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}
