//! What the tests share: a network namespace for one test, servers of every temper, and the list of what was left out.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(unsafe_code, reason = "a namespace, an interface flag and a bind mount need it")]

#[cfg(target_os = "linux")]
pub(crate) mod namespace;

use std::fs::OpenOptions;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use unstall_sys::connect::Options;

pub(crate) const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(crate) const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// How long a test waits for what should come at once, before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const LOCAL: Options = {
    let syn_retransmissions = unstall_core::syn::SynRetransmissions::NoneIfLocal;
    Options { nodelay: true, syn_retransmissions, local: true, patience: None }
};

/// Says that a test could not run, on stderr past the capture of test output and in the file that collects such lines.
pub(crate) fn left_out(test: &str, why: &str) {
    let line = format!("LEFT OUT: {test}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    if let Some(path) = std::env::var_os("UNSTALL_LEFT_OUT") {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}

/// A listener with room for as many as the system allows, and its address.
pub(crate) fn listener(ip: IpAddr) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((ip, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// An address where nobody listens, as long as the socket lives.
#[cfg(unix)]
pub(crate) fn refused(ip: IpAddr) -> (rustix::fd::OwnedFd, SocketAddr) {
    let family =
        if ip.is_ipv4() { rustix::net::AddressFamily::INET } else { rustix::net::AddressFamily::INET6 };
    let socket = rustix::net::socket(family, rustix::net::SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::new(ip, 0)).unwrap();
    let address = rustix::net::getsockname(&socket).unwrap().try_into().unwrap();
    (socket, address)
}

/// A listener whose accept queue is full, so that Linux answers no SYN. Accepting makes room.
#[cfg(target_os = "linux")]
pub(crate) struct Full {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
    waiting: Vec<TcpStream>,
}

#[cfg(target_os = "linux")]
impl Full {
    pub(crate) fn new(ip: IpAddr) -> Self {
        let (listener, address) = listener(ip);
        // Linux lets one more wait than the backlog says.
        rustix::net::listen(&listener, 0).unwrap();
        let waiting = vec![TcpStream::connect(address).unwrap()];
        Self { listener, address, waiting }
    }
}

/// Closes without a TIME_WAIT, so that a test that connects often does not use up the ports.
pub(crate) fn close_at_once(stream: &TcpStream) {
    #[cfg(unix)]
    rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)).unwrap();
    #[cfg(not(unix))]
    let _ = stream;
}
