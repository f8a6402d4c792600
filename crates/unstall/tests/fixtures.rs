//! Each of `unstall::testing`'s servers behaves as it says, judged by std alone.

mod common;

use socket2::{Domain, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use unstall::testing::{self, Server};

/// Silence for so long is silence: what answers on this host answers in microseconds.
const SILENCE: Duration = Duration::from_millis(100);
/// Long enough for anything local, on any machine.
const LONG: Duration = Duration::from_secs(10);

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

fn refuses(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[cfg(not(windows))]
fn is_silent(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, SILENCE).is_err_and(|error| error.kind() == ErrorKind::TimedOut)
}

/// Both families, unless the host has no ::1.
fn addresses(server: &Server) -> Vec<SocketAddr> {
    let has_v6 = TcpListener::bind("[::1]:0").is_ok();
    assert_eq!(server.addrs().len(), if has_v6 { 2 } else { 1 });
    assert!(
        server.addrs().iter().all(|address| address.port() == server.port() && address.ip().is_loopback())
    );
    server.addrs().to_vec()
}

/// Sends a request and reads all that comes.
fn answer(address: SocketAddr) -> String {
    let mut stream = connect(address);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Windows does not permit what another socket uses exclusively.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::PermissionDenied)
}

#[test]
fn refused() {
    let server = testing::refused().unwrap();
    for address in addresses(&server) {
        for _ in 0..100 {
            assert!(refuses(address));
        }
        // Neither a plain bind nor one that may share gets the port.
        assert!(is_taken(&TcpListener::bind(address).unwrap_err()));
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.set_reuse_address(true).unwrap();
        assert!(is_taken(&socket.bind(&address.into()).unwrap_err()));
    }
    let freed = server.addr();
    drop(server);
    TcpListener::bind(freed).unwrap();
}

#[test]
fn names_of_a_server() {
    let server = testing::refused().unwrap();
    let port = server.port();
    assert_eq!(server.addr(), SocketAddr::from(([127, 0, 0, 1], port)));
    assert_eq!(server.url(), format!("http://localhost:{port}/"));
    assert_eq!(server.target().to_string(), format!("localhost:{port}"));
}

#[test]
#[cfg(not(windows))]
fn silent() {
    let server = testing::silent().unwrap();
    for address in addresses(&server) {
        assert!(is_silent(address));
        assert!(is_silent(address), "a lost SYN changes nothing");
    }
}

#[test]
#[cfg(not(windows))]
fn full_backlog() {
    let server = testing::full_backlog().unwrap();
    for address in addresses(&server) {
        assert!(is_silent(address));
    }
    assert!(server.drain().unwrap() >= 2 * server.addrs().len());
    for address in addresses(&server) {
        let mut stream = connect(address);
        stream.set_read_timeout(Some(SILENCE)).unwrap();
        assert!(stream.read(&mut [0]).is_err(), "nobody has accepted it");
    }
    assert_eq!(server.drain().unwrap(), server.addrs().len());
}

fn is_wine() -> bool {
    unstall_sys::host::facts().wine.is_some()
}

#[test]
fn resets() {
    let server = testing::resets().unwrap();
    for address in addresses(&server) {
        for _ in 0..50 {
            let result = TcpStream::connect(address).and_then(|mut stream| stream.read(&mut [0]));
            // Wine's server may see the reset first; then the client reads an end.
            if !(is_wine() && matches!(result, Ok(0))) {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::ConnectionReset);
            }
        }
    }
}

#[test]
fn closes() {
    let server = testing::closes().unwrap();
    for address in addresses(&server) {
        for _ in 0..50 {
            assert_eq!(connect(address).read(&mut [0]).unwrap(), 0);
        }
    }
}

#[test]
fn deaf() {
    let server = testing::deaf().unwrap();
    for address in addresses(&server) {
        let mut stream = connect(address);
        stream.write_all(&vec![0; 100_000]).unwrap();
        stream.set_read_timeout(Some(SILENCE)).unwrap();
        // std's word for it on Unix and on Windows.
        let kind = stream.read(&mut [0]).unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{kind}");
    }
}

#[test]
fn late() {
    let delay = Duration::from_millis(200);
    let start = Instant::now();
    let server = testing::late(delay).unwrap();
    for address in addresses(&server) {
        while TcpStream::connect(address).is_err() {
            assert!(start.elapsed() < LONG);
            std::thread::yield_now();
        }
        assert!(start.elapsed() >= delay);
        assert!(answer(address).starts_with("HTTP/1.1 200 OK\r\n"));
    }
}

#[test]
fn late_is_refused_before() {
    let server = testing::late(Duration::from_secs(3600)).unwrap();
    for address in addresses(&server) {
        assert!(refuses(address));
    }
    // And the guard does not wait for the hour.
    let start = Instant::now();
    drop(server);
    assert!(start.elapsed() < LONG);
}

#[test]
fn v4_only() {
    let server = testing::v4_only().unwrap();
    assert!(server.addr().is_ipv4());
    assert!(answer(server.addr()).ends_with("\r\n\r\nunstall\n"));
    for &address in &addresses(&server)[1..] {
        assert!(address.is_ipv6() && refuses(address));
        assert!(TcpListener::bind(address).is_err(), "somebody else could listen there");
    }
}

#[test]
fn v6_only() {
    let server = match testing::v6_only() {
        Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
            return common::left_out("v6_only", "this host has no ::1");
        }
        server => server.unwrap(),
    };
    assert!(server.addr().is_ipv6());
    assert!(answer(server.addr()).ends_with("\r\n\r\nunstall\n"));
    let v4 = server.addrs()[1];
    assert!(v4.is_ipv4() && refuses(v4));
    assert!(TcpListener::bind(v4).is_err(), "somebody else could listen there");
}
