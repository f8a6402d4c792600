//! Servers that listen and whose accept queue is full, for a moment or for good, and all ways to connect to them. On Windows a full
//! queue refuses; here it is silent.
//!
//! What is compared with is the OS default: Linux sends a SYN that it has dropped again after 1 s.
#![cfg(target_os = "linux")]

mod common;

use common::namespace::{self, inside};
use socket2::{Domain, SockRef, Socket, Type};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use unstall::{ConnectError, Connector, Outcome, Reason, Target, Timeline};

/// Long enough for anything local, on any machine.
const LONG: Duration = Duration::from_secs(20);
/// When Linux sends a SYN again.
const OS_DEFAULT: Duration = Duration::from_secs(1);
/// How often a machine that is busy with something else may be late.
const RUNS: usize = 10;
/// Whether the listener table tells how long the queue is.
const TOLD: bool = !cfg!(any(unstall_portable, unstall_no_listener_table, unstall_no_sock_diag));

type Connect = fn(&Connector, &Target) -> (Result<(), ConnectError>, Timeline);

/// Every way to connect.
const WAYS: [(&str, Connect); 3] = [
    ("blocking", |connector, target| {
        let (result, timeline) = connector.connect_timeline(target);
        (result.map(drop), timeline)
    }),
    ("tokio", |connector, target| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (result, timeline) = runtime.block_on(connector.connect_timeline_tokio(target));
        (result.map(drop), timeline)
    }),
    ("async-io", |connector, target| {
        let (result, timeline) = async_io::block_on(connector.connect_timeline_async_io(target));
        (result.map(drop), timeline)
    }),
];

/// A listener on 127.0.0.1 with this backlog, of which Linux queues one connection more.
fn listen(backlog: i32) -> (Socket, Target) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(backlog).unwrap();
    let target = Target::try_from(address(&socket)).unwrap();
    (socket, target)
}

fn address(socket: &Socket) -> SocketAddr {
    socket.local_addr().unwrap().as_socket().unwrap()
}

/// A listener whose queue is full as long as what fills it lives, or until somebody accepts.
fn full() -> (Socket, Target, Vec<TcpStream>) {
    let (socket, target) = listen(1);
    let fill = (0..2).map(|_| TcpStream::connect_timeout(&address(&socket), LONG).unwrap()).collect();
    (socket, target, fill)
}

/// Accepts from then on, for as long as the test program runs.
fn accept_after(socket: Socket, pause: Duration) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        thread::sleep(pause);
        let mut taken = Vec::new();
        while let Ok((stream, _)) = socket.accept() {
            taken.push(stream);
        }
    })
}

#[test]
fn a_queue_that_is_drained_is_reached_long_before_the_os_s_own_repetition() {
    for (way, connect) in WAYS {
        let run = || {
            let (socket, target, _fill) = full();
            accept_after(socket, Duration::from_millis(50));
            let (result, timeline) = connect(&Connector::new(), &target);
            result.unwrap();
            let last = timeline.attempts.last().unwrap();
            assert_eq!(last.outcome, Outcome::Connected, "{way}");
            timeline
        };
        let early = |timeline: &Timeline| timeline.elapsed < OS_DEFAULT;
        let timeline = (0..RUNS).map(|_| run()).find(early).unwrap_or_else(|| panic!("{way}: always late"));
        let (first, again) = (&timeline.attempts[0], &timeline.attempts[1..]);
        assert_eq!((first.reason, first.outcome), (Reason::DnsCompleted, Outcome::TimedOut), "{way}");
        assert!(!again.is_empty() && again.iter().all(|attempt| attempt.reason == Reason::BacklogRetry));
        // One after the other: each begins when the one before is closed.
        assert!(timeline.attempts.windows(2).all(|pair| pair[0].end <= pair[1].start), "{timeline:?}");
    }
}

#[test]
fn a_queue_that_stays_full_is_named_and_sees_no_more_than_the_os_default_sends() {
    let limit = Duration::from_millis(300);
    for (way, connect) in WAYS {
        let (_socket, target, _fill) = full();
        let (result, timeline) = connect(&Connector::new().connect_timeout(limit), &target);
        let error = result.unwrap_err();
        assert!(error.is_timed_out(), "{way}: {error}");
        assert!(timeline.elapsed >= limit, "{way}");
        if TOLD {
            assert_eq!(timeline.attempts.len(), 1, "{way}: {timeline:?}");
            assert!(error.to_string().contains("its accept queue is full (2 wait, backlog 1)"), "{error}");
        } else {
            assert!(timeline.attempts.len() <= 5, "{way}: {timeline:?}");
        }
    }
}

#[test]
fn a_filter_is_not_taken_for_a_full_queue() {
    inside("a_filter_is_not_taken_for_a_full_queue", |namespace| {
        let (socket, target) = listen(16);
        if !namespace.silence(address(&socket).ip()) {
            return;
        }
        let connector = Connector::new().connect_timeout(Duration::from_millis(600));
        for (way, connect) in WAYS {
            let (result, timeline) = connect(&connector, &target);
            let error = result.unwrap_err();
            assert!(error.is_timed_out(), "{way}: {error}");
            assert!((2..=9).contains(&timeline.attempts.len()), "{way}: {timeline:?}");
            assert!(timeline.attempts.windows(2).all(|pair| pair[0].end <= pair[1].start), "{way}");
            if TOLD {
                let text = error.to_string();
                assert!(text.contains("its accept queue has room now (0 wait, backlog 16)"), "{way}: {text}");
                assert!(text.contains("packet filter"), "{way}: {text}");
            }
        }
        namespace::end_silence();
        connector.connect(target).unwrap();
    });
}

#[test]
fn nothing_is_repeated_when_it_is_turned_off() {
    for (way, connect) in WAYS {
        let (socket, target, _fill) = full();
        accept_after(socket, Duration::from_millis(50));
        let (result, timeline) = connect(&Connector::new().backlog_retry(Duration::ZERO), &target);
        result.unwrap();
        assert!(timeline.elapsed >= OS_DEFAULT, "{way}: {timeline:?}");
        assert_eq!(timeline.attempts.len(), 1, "{way}");
    }
}

/// Without timers nobody can look later; the OS repeats its SYN all the same.
#[test]
fn a_runtime_without_timers_is_as_good_as_the_os() {
    let (socket, target, _fill) = full();
    accept_after(socket, Duration::from_millis(50));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let (result, timeline) = runtime.block_on(Connector::new().connect_timeline_tokio(&target));
    result.unwrap();
    assert!(timeline.elapsed >= OS_DEFAULT, "{timeline:?}");
    assert_eq!(timeline.attempts.len(), 1, "{timeline:?}");
}

#[test]
fn after_its_time_a_connect_is_left_to_the_os() {
    let patience = Duration::from_millis(40);
    for (way, connect) in WAYS {
        let (socket, target, _fill) = full();
        // Later than the last look, and sooner than the OS's repetition.
        accept_after(socket, Duration::from_millis(500));
        let (result, timeline) = connect(&Connector::new().backlog_retry(patience), &target);
        result.unwrap();
        assert!(timeline.elapsed >= OS_DEFAULT, "{way}: {timeline:?}");
    }
}

#[test]
fn a_closed_port_is_refused_in_one_try() {
    // Bound by nobody: where the listener table does not tell, a port that somebody has is taken for a listener's.
    let closed = listen(1).1.address().unwrap();
    for (way, connect) in WAYS {
        let target = Target::try_from(closed).unwrap();
        let run = || {
            let (result, timeline) = connect(&Connector::new(), &target);
            assert!(result.unwrap_err().is_refused(), "{way}");
            assert_eq!(timeline.attempts.len(), 1, "{way}: {timeline:?}");
            timeline.elapsed
        };
        let best = (0..RUNS).map(|_| run()).min().unwrap();
        assert!(best < Duration::from_millis(1), "{way}: {best:?}");
    }
}

/// A listener whose queue refuses, as on Windows: it is tried until it takes the connect.
#[test]
fn a_refusal_by_a_listener_is_tried_again() {
    inside("a_refusal_by_a_listener_is_tried_again", |namespace| {
        unstall::testing::a_full_queue_refuses(true);
        let (socket, target) = listen(16);
        for (way, connect) in WAYS {
            if !namespace.refuse(address(&socket).ip()) {
                return;
            }
            let drained = thread::spawn(|| {
                thread::sleep(Duration::from_millis(50));
                namespace::end_silence();
            });
            let (result, timeline) = connect(&Connector::new(), &target);
            drained.join().unwrap();
            result.unwrap_or_else(|error| panic!("{way}: {error}"));
            let (last, refused) = timeline.attempts.split_last().unwrap();
            assert_eq!((last.outcome, last.reason), (Outcome::Connected, Reason::BacklogRetry), "{way}");
            assert!(refused.iter().all(|attempt| attempt.outcome == Outcome::Refused), "{way}: {timeline:?}");
            assert!((2..12).contains(&refused.len()), "{way}: {timeline:?}");
        }
    });
}

/// A queue that refuses for good: a refusal it stays, after as long as the OS default would have tried, or at the limit.
#[test]
fn a_listener_that_refuses_for_good_has_refused() {
    inside("a_listener_that_refuses_for_good_has_refused", |namespace| {
        unstall::testing::a_full_queue_refuses(true);
        let (socket, target) = listen(16);
        if !namespace.refuse(address(&socket).ip()) {
            return;
        }
        for (way, connect) in WAYS {
            let (result, timeline) = connect(&Connector::new(), &target);
            assert!(result.unwrap_err().is_refused(), "{way}");
            assert_eq!(timeline.attempts.len(), 12, "{way}: {timeline:?}");
            assert!(timeline.elapsed >= Duration::from_millis(1_600), "{way}: {:?}", timeline.elapsed);
            let limit = Duration::from_millis(100);
            let (result, timeline) = connect(&Connector::new().connect_timeout(limit), &target);
            assert!(result.unwrap_err().is_refused(), "{way}: a refusal is a refusal, whatever the limit");
            assert!(timeline.attempts.len() < 12, "{way}: {timeline:?}");
        }
        // Nobody listens there: the truth, as soon as a look-up of the last 2 ms is not believed any more.
        drop(socket);
        let (result, timeline) = Connector::new().connect_timeline(&target);
        assert!(result.unwrap_err().is_refused());
        assert!(timeline.attempts.len() <= 3, "{timeline:?}");
    });
}

/// The limit strikes while a later try is unanswered: what the first one was told is the truth.
#[test]
fn a_refusal_stays_one_when_the_last_try_has_no_time_to_end() {
    inside("a_refusal_stays_one_when_the_last_try_has_no_time_to_end", |namespace| {
        unstall::testing::a_full_queue_refuses(true);
        let (socket, target) = listen(16);
        for (way, connect) in WAYS {
            if !namespace.refuse_once(address(&socket).ip()) {
                return;
            }
            let limit = Duration::from_millis(200);
            let (result, timeline) = connect(&Connector::new().connect_timeout(limit), &target);
            namespace::end_silence();
            let outcomes: Vec<_> = timeline.attempts.iter().map(|attempt| attempt.outcome).collect();
            assert_eq!(outcomes[0], Outcome::Refused, "{way}: {timeline:?}");
            assert_eq!(outcomes.last(), Some(&Outcome::TimedOut), "{way}: {timeline:?}");
            assert!(result.unwrap_err().is_refused(), "{way}: {timeline:?}");
            assert_eq!(timeline.outcome, Outcome::Refused, "{way}");
        }
    });
}

/// A connection of which the server knows nothing, since it has dropped the client's last ACK, is made again. Here the packet filter
/// drops first the SYNs and then those ACKs.
#[test]
fn a_ghost_is_reset_and_made_again() {
    if !TOLD {
        return;
    }
    inside("a_ghost_is_reset_and_made_again", |namespace| {
        // In one step, so that no connect slips in between.
        const ACKS: &str = "flush chain inet unstall in\n\
             add rule inet unstall in tcp dport 4200 tcp flags & (fin | syn | rst | ack) == ack drop\n";
        let server = TcpListener::bind("127.0.0.1:4200").unwrap();
        let target = Target::try_from(server.local_addr().unwrap()).unwrap();
        for (way, connect) in WAYS {
            // However late this machine's threads are, in one of several runs a try falls into the time of the ghosts.
            let met = (0..RUNS).any(|_| {
                if !namespace.silence(server.local_addr().unwrap().ip()) {
                    return true;
                }
                let rules = thread::spawn(|| {
                    thread::sleep(Duration::from_millis(10));
                    namespace::nft(ACKS).unwrap();
                    thread::sleep(Duration::from_millis(60));
                    namespace::end_silence();
                });
                let (result, timeline) = connect(&Connector::new(), &target);
                rules.join().unwrap();
                result.unwrap_or_else(|error| panic!("{way}: {error}"));
                // Who was reset is not there to be accepted.
                server.accept().unwrap();
                server.set_nonblocking(true).unwrap();
                assert!(server.accept().is_err(), "{way}: a second connection: {timeline:?}");
                server.set_nonblocking(false).unwrap();
                // A ghost is a try that ends long before the look at an unanswered one.
                let tries = &timeline.attempts[1..timeline.attempts.len() - 1];
                tries.iter().any(|attempt| attempt.took() < Duration::from_millis(2))
            });
            assert!(met, "{way}: no try met a ghost");
        }
    });
}

/// While one connect waits, one socket of this host waits for an answer.
#[test]
fn there_are_never_two_half_open_attempts() {
    inside("there_are_never_two_half_open_attempts", |namespace| {
        let (socket, target) = listen(16);
        if !namespace.silence(address(&socket).ip()) {
            return;
        }
        let limit = Duration::from_millis(400);
        let connector = Connector::new().connect_timeout(limit);
        let connect = thread::spawn(move || connector.connect_timeline(&target).1.attempts.len());
        namespace::wait_for_syn_sent(1);
        let start = Instant::now();
        while start.elapsed() < limit / 2 {
            assert!(namespace::syn_sent() <= 1);
        }
        assert!(connect.join().unwrap() > 1, "it was to be made again meanwhile");
    });
}

/// Every connection that a client has is one that the server takes, and none comes as late as with the OS alone.
#[test]
fn a_burst_is_served_and_leaves_no_ghosts() {
    const CLIENTS: usize = 300;
    let (socket, target) = listen(16);
    let accepting = socket.try_clone().unwrap();
    let barrier = Arc::new(Barrier::new(CLIENTS + 1));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (barrier, target) = (Arc::clone(&barrier), target.clone());
            thread::spawn(move || {
                barrier.wait();
                Connector::new().connect_timeout(LONG).connect_timeline(&target)
            })
        })
        .collect();
    barrier.wait();
    thread::sleep(Duration::from_millis(50));
    let (count, taken) = mpsc::channel();
    thread::spawn(move || {
        while let Ok((stream, _)) = accepting.accept() {
            // Who does not want to know any more has seen enough.
            let _ = count.send(stream);
        }
    });
    let ended: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    for (result, timeline) in &ended {
        assert!(result.is_ok(), "{timeline:?}");
        assert!(timeline.attempts.len() <= 12, "{timeline:?}");
    }
    // A ghost would come a second later, when the server repeats its part.
    let taken: Vec<_> = (0..CLIENTS).map_while(|_| taken.recv_timeout(LONG).ok()).collect();
    assert_eq!(taken.len(), CLIENTS, "ghosts");
    drop(socket);
    let mut times: Vec<_> = ended.iter().map(|(_, timeline)| timeline.elapsed).collect();
    times.sort_unstable();
    assert!(times[CLIENTS / 2] < OS_DEFAULT, "{times:?}");
}

/// std fails here now and then: the queue overflows while the server's thread waits for its turn.
#[test]
fn a_busy_loop_with_a_limit_of_a_second_never_fails() {
    const CONNECTS: usize = 20_000;
    let (socket, target) = listen(128);
    thread::spawn(move || {
        while let Ok((stream, _)) = socket.accept() {
            // No TIME_WAIT on either side, or the ports would be used up.
            let _ = stream.set_linger(Some(Duration::ZERO));
        }
    });
    let connector = Connector::new().connect_timeout(Duration::from_secs(1));
    let mut failures = Vec::new();
    for _ in 0..CONNECTS {
        match connector.connect(&target) {
            Ok(stream) => {
                let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            }
            // The server was faster than this side: it took the connection and closed it with a reset.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
            Err(error) => failures.push(error.to_string()),
        }
    }
    assert!(failures.is_empty(), "{} failures, the first: {}", failures.len(), failures[0]);
}
