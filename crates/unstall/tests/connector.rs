//! The connector on loopback: targets, options, errors. Needs no privileges.

mod common;

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6, TcpStream};
use std::time::Duration;
use unstall::{Attempt, ConnectError, Connector, Family, Outcome, Prepared, Target, connect, testing};

/// Long enough for anything local, on any machine.
const LONG: Duration = Duration::from_secs(10);

/// Whether an attempt ended so; on a host without IPv6, ::1 is not available.
fn came_to(attempt: &Attempt, outcome: Outcome) -> bool {
    attempt.outcome == outcome || (attempt.address.is_ipv6() && attempt.outcome == Outcome::NotAvailable)
}

#[test]
fn whatever_says_host_and_port_is_a_target() {
    let server = testing::closes().unwrap();
    let (address, port) = (server.addr(), server.port());
    let text = address.to_string();
    let target = server.target();
    let by_reference = (&address, &target);
    let streams = [
        connect(&*text),
        connect(&text),
        connect(text.clone()),
        connect(address),
        connect((address.ip(), port)),
        connect(("127.0.0.1", port)),
        connect(("localhost", port)),
        connect(("localhost".to_owned(), port)),
        connect((&"localhost".to_owned(), port)),
        connect((Ipv4Addr::LOCALHOST, port)),
        connect((Ipv4Addr::LOCALHOST.to_ipv6_mapped(), port)),
        connect(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)),
        connect(SocketAddrV6::new(Ipv4Addr::LOCALHOST.to_ipv6_mapped(), port, 0, 0)),
        connect(by_reference.0),
        connect(by_reference.1),
        connect(server.target()),
        connect(server.url()),
        connect(format!(":{port}")),
    ];
    for stream in streams {
        assert_eq!(stream.unwrap().peer_addr().unwrap().port(), port);
    }
}

#[test]
fn what_is_no_target_is_invalid_input() {
    for text in ["", "localhost", "localhost:0", "localhost:65536", "[::1:80", "no such host:80"] {
        let error = connect(text).unwrap_err();
        assert!(error.is_invalid_target());
        assert_eq!((error.outcome(), error.timeline()), (None, None));
        let text = error.to_string();
        assert!(text.starts_with("cannot connect: ") && !text.contains('\n'), "{text}");
        assert_eq!(io::Error::from(error).kind(), ErrorKind::InvalidInput);
    }
    assert!(connect(("127.0.0.1", 0)).unwrap_err().is_invalid_target());
}

#[test]
fn a_stream_is_blocking_and_without_nagle() {
    let server = testing::v4_only().unwrap();
    for connector in [Connector::new(), Connector::new().connect_timeout(LONG)] {
        for target in [Target::try_from(server.addr()).unwrap(), server.target()] {
            let mut stream = connector.connect(target).unwrap();
            assert!(stream.nodelay().unwrap());
            // A stream that is not blocking has no answer yet.
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            assert!(stream.read(&mut [0; 16]).unwrap() > 0);
        }
    }
    let stream = Connector::new().nodelay(false).connect(server.addr()).unwrap();
    assert!(!stream.nodelay().unwrap());
}

#[test]
fn a_refusal_is_a_refusal_whatever_the_limit() {
    let server = testing::refused().unwrap();
    // On Unix the reset is there when connect returns. Windows tells of it a little later, for which a busy machine may need
    // longer than the tick that is waited for at least: see `a_refusal_is_a_refusal_with_hardly_any_limit`.
    let shortest: &[Duration] = if cfg!(windows) { &[] } else { &[Duration::ZERO, Duration::from_nanos(1)] };
    let limits = shortest.iter().chain(&[LONG, Duration::MAX]).copied().map(Some);
    for limit in limits.chain([None]) {
        let connector = limit.map_or(Connector::new(), |limit| Connector::new().connect_timeout(limit));
        for &address in server.addrs() {
            let error = connector.connect(address).unwrap_err();
            assert!(error.is_refused(), "{limit:?}: {error}");
            assert_eq!(io::Error::from(error).kind(), ErrorKind::ConnectionRefused);
        }
    }
    for limit in [LONG, Duration::MAX] {
        let error = Connector::new().connect_timeout(limit).connect(server.target()).unwrap_err();
        assert!(error.is_refused(), "{limit:?}: {error}");
    }
}

/// Most of them at least; a machine that is busy for a moment may let a limit strike.
#[test]
fn a_refusal_is_a_refusal_with_hardly_any_limit() {
    let server = testing::refused().unwrap();
    let connector = Connector::new().connect_timeout(Duration::from_nanos(1));
    let blocking = || connector.connect(server.addr()).unwrap_err().is_refused();
    assert!((0..20).filter(|_| blocking()).count() >= 10);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let on_tokio = || runtime.block_on(connector.connect_tokio(server.addr())).unwrap_err().is_refused();
    assert!((0..20).filter(|_| on_tokio()).count() >= 10);
}

#[test]
fn the_timeline_of_one_address_has_one_attempt() {
    let server = testing::closes().unwrap();
    let target = Target::try_from(server.addr()).unwrap();
    let (result, timeline) = Connector::new().connect_timeline(&target);
    assert_eq!(result.unwrap().peer_addr().unwrap(), server.addr());
    assert_eq!((&timeline.target, timeline.outcome), (&target, Outcome::Connected));
    assert_eq!(timeline.resolution, None);
    let [attempt] = &timeline.attempts[..] else { panic!("{timeline:?}") };
    assert_eq!((attempt.address, attempt.outcome), (server.addr(), Outcome::Connected));
    assert_eq!((attempt.start, attempt.end), (Duration::ZERO, timeline.elapsed));
    assert!(timeline.elapsed > Duration::ZERO);
    assert_eq!(attempt.os_error, None);
    #[cfg(unix)]
    assert_eq!(attempt.prepared, Some(Prepared::NotNeeded));
}

#[test]
fn the_timeline_is_that_of_the_error() {
    let server = testing::refused().unwrap();
    for target in [Target::try_from(server.addr()).unwrap(), server.target()] {
        let (result, timeline) = Connector::new().connect_timeline(&target);
        let error = result.unwrap_err();
        assert_eq!(error.timeline(), Some(&timeline));
        assert_eq!(error.outcome(), Some(Outcome::Refused));
        assert_eq!(timeline.resolution.is_some(), target.is_name());
        for (n, attempt) in timeline.attempts.iter().enumerate() {
            assert!(came_to(attempt, Outcome::Refused), "{timeline:?}");
            assert!(
                attempt.os_error.is_some() && attempt.start < attempt.end && attempt.end <= timeline.elapsed
            );
            assert!(n == 0 || attempt.start >= timeline.attempts[n - 1].start);
        }
    }
}

#[test]
fn an_address_of_the_wrong_family_is_not_tried() {
    let server = testing::closes().unwrap();
    let target = Target::try_from(server.addr()).unwrap();
    let (result, timeline) = Connector::new().family(Family::V6).connect_timeline(&target);
    let error = result.unwrap_err();
    assert!(error.is_not_available(), "{error:?}");
    assert!(timeline.attempts.is_empty() && timeline.resolution.is_none());
    assert!(error.to_string().contains("family"), "{error}");
    assert_eq!(io::Error::from(error).kind(), ErrorKind::AddrNotAvailable);
    Connector::new().family(Family::V4).connect(server.addr()).unwrap();
}

#[test]
fn a_link_local_address_needs_a_zone_that_exists() {
    let error = connect("[fe80::1%nope]:80").unwrap_err();
    assert!(error.is_not_available() && error.to_string().contains("no network interface nope"), "{error}");
    #[cfg(target_os = "linux")]
    {
        let error = connect("[fe80::1]:80").unwrap_err();
        assert!(error.is_not_available() && error.to_string().contains("%eth0"), "{error}");
    }
}

#[test]
fn a_name_that_does_not_exist_is_no_name() {
    // The name is invalid by RFC 6761; where somebody resolves it, or no resolver answers, nothing is learnt.
    let error = match Connector::new().connect_timeout(LONG).connect("unstall.invalid:80") {
        Err(error) if error.is_no_name() => error,
        other => {
            return common::left_out(
                "a_name_that_does_not_exist_is_no_name",
                &format!("the resolver says {other:?}"),
            );
        }
    };
    assert!(error.to_string().contains("unstall.invalid:80"), "{error}");
    assert!(error.timeline().unwrap().attempts.is_empty());
    assert_eq!(io::Error::from(error).kind(), ErrorKind::NotFound);
}

#[test]
fn an_error_becomes_an_io_error_and_stays_itself() {
    let server = testing::refused().unwrap();
    let error = connect(server.addr()).unwrap_err();
    let source = error.source().unwrap().downcast_ref::<io::Error>().unwrap();
    let expected = TcpStream::connect(server.addr()).unwrap_err();
    assert_eq!((source.raw_os_error(), source.kind()), (expected.raw_os_error(), expected.kind()));

    let text = error.to_string();
    let io_error = io::Error::from(error);
    assert_eq!(io_error.to_string(), text);
    assert_eq!(io_error.kind(), expected.kind());
    let inner = io_error.get_ref().unwrap().downcast_ref::<ConnectError>().unwrap();
    assert!(inner.is_refused());
    assert!(io_error.downcast::<ConnectError>().unwrap().is_refused());
}

#[test]
fn an_error_is_small_shared_and_sent() {
    fn is_usable_anywhere<T: Send + Sync + Clone + Error + 'static>() {}
    is_usable_anywhere::<ConnectError>();
    assert_eq!(size_of::<Result<TcpStream, ConnectError>>(), 2 * size_of::<usize>());
}

/// On Windows the client reads a reset or an end, whichever Winsock saw first.
#[test]
#[cfg(not(windows))]
fn a_reset_on_arrival_is_told_from_a_refusal() {
    // Accepted and reset before anybody looks: the client's SYN is answered, then a RST follows.
    let server = testing::resets().unwrap();
    let connector = Connector::new().connect_timeout(LONG);
    let mut seen = false;
    for _ in 0..2000 {
        match connector.connect(server.target()) {
            Ok(mut stream) => {
                assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
            }
            Err(error) => {
                seen = true;
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                assert!(
                    error.to_string().contains("reset after")
                        && error.to_string().contains("somebody listens"),
                    "{error}"
                );
            }
        }
    }
    if !seen {
        common::left_out(
            "a_reset_on_arrival_is_told_from_a_refusal",
            "in 2000 connects no reset came that early",
        );
    }
}

/// Windows answers with a reset when the queue is full.
#[test]
#[cfg(not(windows))]
fn a_full_queue_times_out_and_says_so() {
    let server = testing::silent().unwrap();
    let limit = Duration::from_millis(50);
    let connector = Connector::new().connect_timeout(limit);
    for target in [Target::try_from(server.addr()).unwrap(), server.target()] {
        let (result, timeline) = connector.connect_timeline(&target);
        let error = result.unwrap_err();
        assert!(error.is_timed_out(), "{error}");
        assert!(timeline.elapsed >= limit && timeline.elapsed < Duration::from_secs(1), "{timeline:?}");
        assert!(timeline.attempts.iter().all(|attempt| came_to(attempt, Outcome::TimedOut)), "{timeline:?}");
        assert_eq!(io::Error::from(error).kind(), ErrorKind::TimedOut);
    }
}

#[test]
fn prepare_takes_any_socket() {
    let server = testing::closes().unwrap();
    let address = server.addr();
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let remote = SocketAddr::new(IpAddr::from([192, 0, 2, 1]), 80);
    for address in [address, remote] {
        let prepared = unstall::prepare(&socket, address);
        assert_eq!(prepared == Prepared::NotNeeded, cfg!(unix));
    }
    socket.connect(&address.into()).unwrap();
    assert_eq!(TcpStream::from(socket).peer_addr().unwrap(), address);
}
