//! A full accept queue answers with RST, whoever listens and however he is reached.
//!
//! Sockets that the tests open in the lab themselves are not in its cgroup, so nothing is retried for them: they see the RST.

mod common;

use common::{client, is_root};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::Duration;
use unstall_lab::client::{self as own, Answer, End, Request};
use unstall_lab::{Counts, Lab, Profile, Retries};

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn windows() -> Profile {
    Profile::find("windows-11").expect("built in")
}

/// A lab with more addresses than loopback.
fn lab() -> Lab {
    let more = ["198.51.100.1", "2001:db8::1"].map(|text| text.parse::<IpAddr>().expect("an address"));
    Lab::builder(windows()).address(more[0]).address(more[1]).start().expect("a lab")
}

fn listener(at: SocketAddr, backlog: i32, dual_stack: bool) -> (Socket, u16) {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP)).expect("a socket");
    if at.is_ipv6() {
        socket.set_only_v6(!dual_stack).expect("an option");
    }
    socket.bind(&at.into()).expect("a free port");
    socket.listen(backlog).expect("listens");
    let port = socket.local_addr().expect("bound").as_socket().expect("an IP address").port();
    (socket, port)
}

/// Connects until it is refused. Those that were not.
fn fill(to: SocketAddr) -> Vec<Socket> {
    let mut connected = Vec::new();
    loop {
        assert!(connected.len() < 1000, "{to} is never full");
        match connect(to) {
            Ok(socket) => connected.push(socket),
            Err(kind) => {
                assert_eq!(kind, ErrorKind::ConnectionRefused, "{to}");
                return connected;
            }
        }
    }
}

/// A dropped SYN would be sent again after a second; nothing here takes so long.
fn connect(to: SocketAddr) -> Result<Socket, ErrorKind> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP)).expect("a socket");
    socket.connect_timeout(&to.into(), Duration::from_millis(900)).map(|()| socket).map_err(|e| e.kind())
}

#[test]
fn exactly_the_backlog_waits() {
    if !is_root("exactly_the_backlog_waits") {
        return;
    }
    let lab = lab();
    let held = lab.within(|| {
        let holds = |at: &str| {
            [0, 1, 2, 5, 500].map(|backlog| {
                let (socket, port) = listener(address(at), backlog, false);
                let waiting = fill(SocketAddr::new(address(at).ip(), port));
                // One that is accepted makes room for one.
                socket.accept().expect("somebody waits");
                assert_eq!(fill(SocketAddr::new(address(at).ip(), port)).len(), 1);
                waiting.len()
            })
        };
        (holds("127.0.0.1:0"), holds("[::1]:0"))
    });
    // listen(0) holds one, as on Windows; nothing holds more than the profile's limit.
    assert_eq!(held, ([1, 1, 2, 5, 200], [1, 1, 2, 5, 200]));
}

#[test]
fn a_listener_for_everything_answers_on_every_address() {
    if !is_root("a_listener_for_everything_answers_on_every_address") {
        return;
    }
    let lab = lab();
    let refused = lab.within(|| {
        let (_socket, port) = listener(address("[::]:0"), 1, true);
        let _waiting = fill(SocketAddr::new(address("[::1]:0").ip(), port));
        let to = ["127.0.0.1", "127.9.9.9", "198.51.100.1", "::1", "2001:db8::1", "::ffff:127.0.0.1"];
        to.map(|ip| connect(SocketAddr::new(ip.parse().expect("an address"), port)).err())
    });
    assert_eq!(refused, [Some(ErrorKind::ConnectionRefused); 6]);
    assert_eq!(lab.counts(), Some(Counts { full_queue_resets: 7, ..Counts::default() }));
}

/// A SYN for a port pair in TIME_WAIT may be for the listener behind it.
#[test]
fn time_wait_does_not_hide_a_full_queue() {
    if !is_root("time_wait_does_not_hide_a_full_queue") {
        return;
    }
    let lab = lab();
    let (full, drained) = lab.within(|| {
        let (server, port) = listener(address("127.0.0.1:0"), 1, false);
        let to = address("127.0.0.1:0").ip();
        let from = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        from.connect(&SocketAddr::new(to, port).into()).expect("room for one");
        let source = from.local_addr().expect("connected");
        let (accepted, _) = server.accept().expect("connected");
        // The server closes first, so that TIME_WAIT is on its side.
        drop(accepted);
        drop(from);
        let again = || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            socket.set_reuse_address(true).expect("an option");
            socket.bind(&source).expect("the same port");
            socket.connect_timeout(&SocketAddr::new(to, port).into(), Duration::from_millis(900))
        };
        // TIME_WAIT takes a new connection once the clock of its time stamps has moved on.
        thread::sleep(Duration::from_millis(1100));
        let _waiting = fill(SocketAddr::new(to, port));
        let full = again().map_err(|e| e.kind());
        server.accept().expect("one waits");
        (full, again().map_err(|e| e.kind()))
    });
    assert_eq!((full, drained), (Err(ErrorKind::ConnectionRefused), Ok(())));
}

/// One of several listeners on a port is full: the kernel chooses by flow, and so does the program.
#[test]
fn listeners_that_share_a_port_are_judged_one_by_one() {
    if !is_root("listeners_that_share_a_port_are_judged_one_by_one") {
        return;
    }
    let lab = lab();
    let (connected, refused) = lab.within(|| {
        let shared = |at: SocketAddr| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            socket.set_reuse_port(true).expect("an option");
            socket.bind(&at.into()).expect("the port");
            socket.listen(1).expect("listens");
            socket
        };
        let first = shared(address("127.0.0.1:0"));
        let at = first.local_addr().expect("bound").as_socket().expect("an IP address");
        let _second = shared(at);
        let tries: Vec<_> = (0..40).map(|_| connect(at)).collect();
        let refused = tries
            .iter()
            .filter(|result| result.as_ref().is_err_and(|kind| *kind == ErrorKind::ConnectionRefused));
        (tries.iter().filter(|result| result.is_ok()).count(), refused.count())
    });
    assert_eq!((connected, refused), (2, 38));
}

fn burst(profile: Profile) -> Answer {
    let lab = Lab::builder(profile).start().expect("a lab");
    let request = Request { count: 300, listen: Some(511), ..Request::new(address("127.0.0.1:0")) };
    own::run(&lab, &client(), &request).expect("the client runs")
}

/// nodejs/node#38736: 68 of 300 parallel requests refused, calls 232 to 299, without the retry; none with it.
#[test]
fn a_burst_is_refused_in_part_without_the_retry_and_not_with_it() {
    if !is_root("a_burst_is_refused_in_part_without_the_retry_and_not_with_it") {
        return;
    }
    let queue = 232;
    for _ in 0..3 {
        let without = burst(windows().with_longest_queue(queue).with_retries(Retries::Count(0)));
        assert_eq!(without.indices(End::Refused), (232..300).collect::<Vec<_>>());
        assert_eq!(without.accepted, 232);
    }
    let with = burst(windows().with_longest_queue(queue));
    assert_eq!((with.indices(End::Connected).len(), with.accepted), (300, 300));
    let longest = with.longest();
    assert!((Duration::from_millis(480)..Duration::from_millis(1100)).contains(&longest), "{longest:?}");
    // Plain Linux drops the SYN; the next comes after a second.
    let linux = burst(Profile::find("linux").expect("built in").with_longest_queue(queue));
    assert_eq!(linux.indices(End::Connected).len(), 300);
    assert!(
        (Duration::from_millis(990)..Duration::from_millis(1200)).contains(&linux.longest()),
        "{:?}",
        linux.longest()
    );
}
