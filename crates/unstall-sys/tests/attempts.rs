//! Several connects at once: who is handed out when, who is closed.

mod common;

use common::{LOCAL, PATIENCE, V4, V6, close_at_once, listener};
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use unstall_core::outcome::Outcome;
use unstall_sys::connect::{AttemptSet, Options, Started};

/// Options that keep `start` from looking whether the connect is over already.
const PATIENT: Options = Options { local: false, ..LOCAL };

fn start(set: &mut AttemptSet<u32>, key: u32, address: SocketAddr, options: Options) -> Option<TcpStream> {
    match set.start(key, address, &options).1.unwrap() {
        Started::Connected(stream) => Some(stream),
        Started::Pending => None,
    }
}

#[test]
fn a_local_connect_is_often_over_at_once() {
    for ip in [V4, V6] {
        let (_server, address) = listener(ip);
        let mut set = AttemptSet::new();
        let stream = match start(&mut set, 1, address, LOCAL) {
            Some(stream) => stream,
            None => set.wait(Some(PATIENCE)).unwrap().unwrap().1.unwrap(),
        };
        assert_eq!(stream.peer_addr().unwrap(), address);
        assert!(stream.nodelay().unwrap());
        assert!(set.is_empty());
    }
}

#[test]
fn a_pending_connect_is_handed_out_blocking_by_wait() {
    let (server, address) = listener(V4);
    let mut set = AttemptSet::new();
    assert!(start(&mut set, 7, address, PATIENT).is_none());
    assert_eq!(set.len(), 1);
    let (key, result) = set.wait(Some(PATIENCE)).unwrap().unwrap();
    assert_eq!(key, 7);
    let mut stream = result.unwrap();
    assert!(set.is_empty() && stream.nodelay().unwrap());
    // A read waits for the byte that is sent after it was begun, which a non-blocking stream would not do.
    let (mut peer, _) = server.accept().unwrap();
    let reader = std::thread::spawn(move || {
        let mut byte = [0];
        stream.read_exact(&mut byte).map(|()| byte[0])
    });
    std::io::Write::write_all(&mut peer, b"x").unwrap();
    assert_eq!(reader.join().unwrap().unwrap(), b'x');
}

#[test]
fn the_connected_one_is_handed_out_before_the_failed_ones() {
    // As the wait begins all four have ended: the handshake and the resets were over when `start` returned.
    let (_server, open) = listener(V4);
    let mut set = AttemptSet::new();
    for key in [0, 1, 3] {
        assert!(start(&mut set, key, (V4, 9).into(), PATIENT).is_none());
    }
    assert!(start(&mut set, 2, open, PATIENT).is_none());
    let mut ended: Vec<_> = (0..4)
        .map(|_| set.wait(Some(PATIENCE)).unwrap().unwrap())
        .map(|(key, result)| (key, result.map_or_else(|error| error.outcome(), |_| Outcome::Connected)))
        .collect();
    // Windows tells of each a moment later, so there the first wait may see fewer of them.
    if cfg!(windows) {
        ended.sort_by_key(|(key, _)| (*key != 2, *key));
    }
    assert_eq!(ended[0], (2, Outcome::Connected));
    assert_eq!(ended[1..], [0, 1, 3].map(|key| (key, Outcome::Refused)));
    assert!(set.wait(None).unwrap().is_none());
}

#[test]
fn an_empty_set_waits_for_the_time_out_alone() {
    let mut set = AttemptSet::<u32>::default();
    assert!(set.wait(None).unwrap().is_none());
    let start = Instant::now();
    assert!(set.wait(Some(Duration::from_millis(3))).unwrap().is_none());
    assert!(start.elapsed() >= Duration::from_millis(3));
}

/// Windows reports it a little later, by the completion.
#[test]
#[cfg(not(windows))]
fn a_local_refusal_comes_from_start() {
    let error = AttemptSet::new().start(1, (V4, 9).into(), &LOCAL).1;
    assert_eq!(error.unwrap_err().outcome(), Outcome::Refused);
}

#[cfg(target_os = "linux")]
mod in_a_namespace {
    use super::common::namespace::with_network;
    use super::common::{Full, refused};
    use super::*;
    use std::net::TcpListener;

    fn descriptors() -> usize {
        std::fs::read_dir("/proc/thread-self/fd").unwrap().count()
    }

    /// Whether nothing connected, or is half way to it, to a listener: the kernel's counters say so.
    fn established(port: u16) -> Option<u32> {
        unstall_sys::listeners::peers(port).ok().map(|peers| peers.established)
    }

    #[test]
    fn silence_is_waited_for_and_closed_by_cancel() {
        with_network("silence_is_waited_for_and_closed_by_cancel", || {
            let full = Full::new(V4);
            let mut set = AttemptSet::new();
            for key in 0..3 {
                assert!(start(&mut set, key, full.address, LOCAL).is_none());
            }
            assert!(set.wait(Some(Duration::from_millis(2))).unwrap().is_none());
            set.cancel(1);
            set.cancel(99);
            assert_eq!(set.len(), 2);
            // A silent attempt does not hide the end of another.
            let (_held, closed) = refused(V6);
            assert!(start(&mut set, 4, closed, PATIENT).is_none());
            let (key, result) = set.wait(Some(PATIENCE)).unwrap().unwrap();
            assert_eq!((key, result.unwrap_err().outcome()), (4, Outcome::Refused));
            drop(set);
            if let Some(established) = established(full.address.port()) {
                assert_eq!(established, 1, "only the connection that fills the queue");
            }
        });
    }

    #[test]
    fn a_drained_queue_is_connected_by_the_next_syn() {
        with_network("a_drained_queue_is_connected_by_the_next_syn", || {
            let full = Full::new(V4);
            let mut set = AttemptSet::new();
            assert!(start(&mut set, 0, full.address, LOCAL).is_none());
            full.listener.accept().unwrap();
            let begin = Instant::now();
            // The kernel sends the SYN again after its initial time-out of one second.
            let (_, result) = set.wait(Some(PATIENCE)).unwrap().unwrap();
            result.unwrap();
            assert!(begin.elapsed() > Duration::from_millis(500), "{:?}", begin.elapsed());
        });
    }

    /// The kernel's own time-out is one second, and its clock may strike 72 ms later where it ticks 100 times a second.
    #[test]
    fn whether_the_syn_was_sent_again_is_told() {
        with_network("whether_the_syn_was_sent_again_is_told", || {
            let full = Full::new(V4);
            let mut set = AttemptSet::new();
            assert!(start(&mut set, 0, full.address, LOCAL).is_none());
            let told = |repeated| cfg!(not(unstall_portable)).then_some(repeated);
            assert_eq!(set.syn_repeated(0), told(false));
            assert!(set.wait(Some(Duration::from_millis(1500))).unwrap().is_none());
            assert_eq!(set.syn_repeated(0), told(true));
            assert_eq!(set.syn_repeated(1), None, "there is none of that name");
        });
    }

    #[test]
    fn a_peer_that_is_gone_by_now_does_not_make_the_connect_fail() {
        with_network("a_peer_that_is_gone_by_now_does_not_make_the_connect_fail", || {
            let server = TcpListener::bind((V4, 80)).unwrap();
            let mut set = AttemptSet::new();
            assert!(start(&mut set, 0, server.local_addr().unwrap(), PATIENT).is_none());
            // An orderly end, before anybody looked at the connect.
            drop(server.accept().unwrap());
            let (_, result) = set.wait(Some(PATIENCE)).unwrap().unwrap();
            assert_eq!(result.unwrap().read(&mut [0]).unwrap(), 0);
        });
    }

    #[test]
    fn a_reset_before_anybody_looked_is_told() {
        with_network("a_reset_before_anybody_looked_is_told", || {
            let server = TcpListener::bind((V4, 80)).unwrap();
            let mut set = AttemptSet::new();
            assert!(start(&mut set, 0, server.local_addr().unwrap(), PATIENT).is_none());
            let (peer, _) = server.accept().unwrap();
            close_at_once(&peer);
            drop(peer);
            let error = set.wait(Some(PATIENCE)).unwrap().unwrap().1.unwrap_err();
            assert_eq!(
                (error.outcome(), error.os_error().unwrap().name()),
                (Outcome::Refused, Some("ECONNRESET"))
            );
        });
    }

    #[test]
    fn dropping_the_set_closes_every_socket() {
        // In a process of its own, for the other tests' descriptors are the process's too.
        if std::env::var_os("UNSTALL_TEST_CHILD").is_none() {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.args([
                "--exact",
                "in_a_namespace::dropping_the_set_closes_every_socket",
                "--test-threads=1",
            ]);
            let output = child.env("UNSTALL_TEST_CHILD", "1").output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
            return;
        }
        let before = descriptors();
        let mut set = AttemptSet::new();
        for key in 0..20 {
            assert!(start(&mut set, key, (V4, 9).into(), PATIENT).is_none());
        }
        assert_eq!(descriptors(), before + 20);
        set.cancel(3);
        assert_eq!(descriptors(), before + 19);
        drop(set);
        assert_eq!(descriptors(), before);
    }
}
