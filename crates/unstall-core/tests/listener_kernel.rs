//! The kernel as oracle: for every choice of listeners on one port, in every order, each address reaches the listener
//! that `reaches` names.
#![cfg(target_os = "linux")]

use socket2::{Domain, Socket, Type};
use std::net::{SocketAddr, TcpListener, TcpStream};
use unstall_core::listener::{Listener, reaches};

/// Bound address and IPV6_V6ONLY of each kind of listener; the port is that of the test.
const KINDS: [(&str, Option<bool>); 7] = [
    ("127.0.0.1:0", None),
    ("0.0.0.0:0", None),
    ("[::ffff:127.0.0.1]:0", Some(false)),
    ("[::ffff:0.0.0.0]:0", Some(false)),
    ("[::]:0", Some(false)),
    ("[::]:0", Some(true)),
    ("[::1]:0", Some(true)),
];

const DESTINATIONS: [&str; 7] = [
    "127.0.0.1:0",
    "127.0.0.2:0",
    "[::1]:0",
    "0.0.0.0:0",
    "[::]:0",
    "[::ffff:127.0.0.1]:0",
    "[::ffff:127.0.0.2]:0",
];

fn with_port(text: &str, port: u16) -> SocketAddr {
    let mut address: SocketAddr = text.parse().unwrap();
    address.set_port(port);
    address
}

/// A listener that shares its port; `None` where this host has no IPv6.
fn listen((address, v6_only): (&str, Option<bool>), port: u16) -> Option<TcpListener> {
    let address = with_port(address, port);
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).ok()?;
    socket.set_reuse_port(true).unwrap();
    if let Some(v6_only) = v6_only {
        socket.set_only_v6(v6_only).unwrap();
    }
    socket.bind(&address.into()).ok()?;
    socket.listen(8).unwrap();
    socket.set_nonblocking(true).unwrap();
    Some(socket.into())
}

/// Which of the listeners a connect reaches. On loopback it is in the accept queue when connect returns.
fn reached(listeners: &[TcpListener], destination: SocketAddr) -> Option<usize> {
    let _connection = TcpStream::connect(destination).ok()?;
    listeners.iter().position(|listener| listener.accept().is_ok())
}

/// A port that no other socket has, held for the test by a socket that does not listen.
fn port() -> (Socket, u16) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&with_port("127.0.0.3:0", 0).into()).unwrap();
    let port = socket.local_addr().unwrap().as_socket().unwrap().port();
    (socket, port)
}

fn compare(kinds: &[usize]) {
    // For IPv4 these two are of the same rank: the kernel takes either.
    if [3, 4].iter().all(|equal| kinds.contains(equal)) {
        return;
    }
    let (_held, port) = port();
    let chosen = kinds.iter().filter_map(|&kind| Some((KINDS[kind], listen(KINDS[kind], port)?)));
    let (rows, listeners): (Vec<_>, Vec<_>) = chosen.unzip();
    let table: Vec<_> = rows
        .into_iter()
        .map(|(address, v6_only)| Listener {
            address: with_port(address, port),
            v6_only,
            waiting: None,
            backlog: None,
            owner: None,
        })
        .collect();
    for destination in DESTINATIONS.map(|destination| with_port(destination, port)) {
        let expected = reached(&listeners, destination).map(|index| &table[index]);
        assert_eq!(reaches(&table, destination), expected, "{destination} of {table:#?}");
    }
}

#[test]
fn every_choice_of_three_listeners_is_as_the_kernel_says() {
    let all = 0..KINDS.len();
    for first in all.clone() {
        compare(&[first]);
        for second in all.clone().filter(|&second| second != first) {
            compare(&[first, second]);
            for third in all.clone().filter(|&third| third != first && third != second) {
                compare(&[first, second, third]);
            }
        }
    }
}
