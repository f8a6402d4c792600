//! How other programs wait for a connect: what each way tells of one that succeeded, one that was refused, and one that is not over.

use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
#[cfg(unix)]
use std::os::fd::AsFd as AsSocketRef;
#[cfg(windows)]
use std::os::windows::io::AsSocket as AsSocketRef;
use std::time::{Duration, Instant};
use unstall_sys::connect::SocketRef;
use unstall_sys::readiness::{Interest, Reactor, Readiness, poll, select};

/// More than the 2.03 s that Windows takes to refuse.
const PATIENCE: Duration = Duration::from_secs(20);

fn borrowed(socket: &Socket) -> SocketRef<'_> {
    #[cfg(unix)]
    return socket.as_fd();
    #[cfg(windows)]
    socket.as_socket()
}

/// A socket that connects without blocking.
fn connecting(to: SocketAddr) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_nonblocking(true).unwrap();
    // On Unix the refusal may come at once, and waiting for such a socket tells of it too.
    let _ = socket.connect(&to.into());
    socket
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn closed() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

fn each_end(mut wait: impl FnMut(SocketRef<'_>, Duration) -> io::Result<Readiness>) {
    let (_listener, address) = listener();
    assert_eq!(wait(borrowed(&connecting(address)), PATIENCE).unwrap(), Readiness::Writable);
    let (_held, address) = closed();
    assert_eq!(wait(borrowed(&connecting(address)), PATIENCE).unwrap(), Readiness::Failed);
    // A socket that listens is never writable.
    let listening = Socket::from(listener().0);
    let (limit, start) = (Duration::from_millis(30), Instant::now());
    assert_eq!(wait(borrowed(&listening), limit).unwrap(), Readiness::Nothing);
    // A tick of Windows' clock may be taken off.
    assert!(start.elapsed() + Duration::from_millis(16) >= limit);
}

#[test]
fn select_tells_each_end() {
    each_end(select);
}

/// Wine's WSAPoll tells of failures, as Windows' does since build 19041.
#[test]
fn poll_tells_each_end() {
    each_end(poll);
}

#[test]
fn a_reactor_tells_each_end() {
    let mut reactor = match Reactor::new() {
        Ok(reactor) => reactor,
        // It is Windows' own way of waiting.
        Err(_) if cfg!(unix) => return,
        Err(error) => panic!("the AFD driver does not open: {error}"),
    };
    for interest in [Interest::Both, Interest::Writing] {
        each_end(|socket, limit| reactor.wait(socket, interest, limit));
    }
}
