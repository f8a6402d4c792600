//! Waits on real sockets of this host. Times come from the timers involved; upper bounds are those of the wait's own limits.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use unstall::{Outcome, Target, testing};
use unstall_wait::{Answer, End, Goal, Need, Proof, Report, Wait, run};

fn wait_for(targets: &[Target], wait: &Wait) -> Report {
    run(targets, wait, |_, _| {})
}

/// A limit that no test reaches unless it is about the limit.
fn patient() -> Wait {
    Wait { timeout: Duration::from_secs(60), ..Wait::default() }
}

/// A limit for what never comes.
fn brief() -> Wait {
    Wait { timeout: Duration::from_millis(300), ..Wait::default() }
}

fn target(address: SocketAddr) -> Target {
    Target::try_from(address).expect("a port")
}

/// What the addresses of the only target did.
fn answers(report: &Report) -> Vec<Answer> {
    let seen = report.targets[0].last.as_ref().expect("a try ended");
    seen.addresses.iter().map(|&(_, answer)| answer).collect()
}

#[test]
fn a_server_that_listens_is_there_with_the_first_try() {
    let server = testing::v4_only().expect("a server");
    let report = wait_for(&[server.target()], &patient());
    assert_eq!(report.end, End::Reached);
    let row = &report.targets[0];
    assert_eq!((row.answered(), row.tries), (Some(server.addr()), 1));
}

#[test]
fn a_server_that_comes_later_is_noticed() {
    let server = testing::late(Duration::from_millis(200)).expect("a server");
    let started = Instant::now();
    let report = wait_for(&[server.target()], &patient());
    assert_eq!(report.end, End::Reached);
    assert!(started.elapsed() >= Duration::from_millis(150), "it cannot have been there yet");
}

#[test]
fn localhost_is_whichever_family_listens() {
    let server = testing::v4_only().expect("a server");
    let name = Target::try_from(("localhost", server.port())).expect("a target");
    let report = wait_for(&[name], &patient());
    assert_eq!(report.targets[0].answered(), Some(server.addr()));
}

#[test]
fn the_limit_ends_the_wait_for_a_closed_port() {
    let refused = testing::refused().expect("a port");
    let report = wait_for(&[refused.target()], &brief());
    assert_eq!(report.end, End::TimedOut);
    assert!(report.elapsed >= brief().timeout);
    assert!(answers(&report).iter().all(|answer| *answer == Answer::Failed(Outcome::Refused)));
}

#[test]
fn a_name_that_does_not_resolve_is_waited_for() {
    let name = Target::try_from(("no-such-name.invalid", 80)).expect("a target");
    let report = wait_for(&[name], &brief());
    assert_ne!(report.end, End::Reached);
    let seen = report.targets[0].last.clone();
    assert!(seen.is_none_or(|seen| seen.addresses.is_empty() && seen.no_addresses.is_some()));
}

#[test]
fn what_closes_or_resets_at_once_is_no_server() {
    for (server, answer) in [
        (testing::closes().expect("a server"), Answer::Closed),
        (testing::resets().expect("a server"), Answer::Reset),
    ] {
        let report = wait_for(&[server.target()], &brief());
        assert_eq!(report.end, End::TimedOut, "{answer:?}");
        let answers = answers(&report);
        // A reset can arrive before the connect is over, or look like an end.
        let others = [Answer::Closed, Answer::Reset, Answer::Failed(Outcome::Refused)];
        assert!(answers.iter().all(|seen| *seen == answer || others.contains(seen)), "{answers:?}");
    }
}

#[test]
fn an_address_that_resets_does_not_hide_the_one_that_serves() {
    let Ok(resetting) = TcpListener::bind("[::1]:0") else { return };
    let port = resetting.local_addr().expect("an address").port();
    let Ok(serving) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) else { return };
    let accept =
        thread::spawn(move || while resetting.accept().is_ok_and(|(stream, _)| drop_if_alive(&stream)) {});
    let name = Target::try_from(("localhost", port)).expect("a target");
    let report = wait_for(&[name], &patient());
    assert_eq!(report.targets[0].answered(), serving.local_addr().ok());
    drop(serving);
    // One more connection ends the accepting thread.
    let _ = std::net::TcpStream::connect(("::1", port)).map(|mut stream| stream.write_all(b"end"));
    accept.join().expect("the accepting thread ends");
}

/// Closes the connection; whether it brought nothing.
fn drop_if_alive(stream: &std::net::TcpStream) -> bool {
    let mut byte = [0];
    stream.set_read_timeout(Some(Duration::from_millis(20))).is_ok()
        && !stream.peek(&mut byte).is_ok_and(|read| read > 0)
}

#[test]
fn a_deaf_server_is_one_until_a_byte_or_http_is_asked_for() {
    let server = testing::deaf().expect("a server");
    assert_eq!(wait_for(&[server.target()], &patient()).end, End::Reached);
    for proof in [Proof::FirstByte, Proof::Http("/".to_owned())] {
        let report = wait_for(&[server.target()], &Wait { proof, ..brief() });
        assert_eq!(report.end, End::TimedOut);
    }
}

/// A server that answers each connection with the next of `answers`, then with the last.
fn speaks(answers: &'static [&'static str], listens: bool) -> (Target, mpsc::Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let (send, requests) = mpsc::channel();
    thread::spawn(move || {
        let mut next = answers.iter();
        let mut answer = "";
        while let Ok((mut stream, _)) = listener.accept() {
            answer = next.next().copied().unwrap_or(answer);
            if listens {
                let mut buffer = [0; 512];
                let read = std::io::Read::read(&mut stream, &mut buffer).unwrap_or(0);
                if send.send(String::from_utf8_lossy(&buffer[..read]).into_owned()).is_err() {
                    return;
                }
            }
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (target(address), requests)
}

#[test]
fn http_waits_for_a_good_status_and_asks_as_a_client_does() {
    let (target, requests) =
        speaks(&["HTTP/1.1 503 no\r\n\r\n", "nonsense", "HTTP/1.1 204 No Content\r\n\r\n"], true);
    let wait = Wait { proof: Proof::Http("/healthz".to_owned()), ..patient() };
    let report = wait_for(std::slice::from_ref(&target), &wait);
    assert_eq!((report.end, report.targets[0].tries), (End::Reached, 3));
    let request = requests.recv().expect("a request");
    assert!(request.starts_with(&format!("GET /healthz HTTP/1.1\r\nHost: {target}\r\n")), "{request}");
    assert!(request.ends_with("\r\n\r\n"), "{request}");
}

#[test]
fn a_server_that_speaks_first_is_one_at_its_first_byte() {
    let (target, _requests) = speaks(&["", "220 hello\r\n"], false);
    let report = wait_for(&[target], &Wait { proof: Proof::FirstByte, ..patient() });
    assert_eq!((report.end, report.targets[0].tries), (End::Reached, 2));
}

#[test]
fn free_waits_until_the_listener_is_gone() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let target = target(listener.local_addr().expect("an address"));
    let free = Wait { goal: Goal::Free, ..brief() };
    assert_eq!(wait_for(std::slice::from_ref(&target), &free).end, End::TimedOut);
    let closing = thread::spawn(move || {
        thread::park_timeout(Duration::from_millis(100));
        drop(listener);
    });
    let report = wait_for(&[target], &Wait { goal: Goal::Free, ..patient() });
    assert_eq!(report.end, End::Reached);
    closing.join().expect("it closes");
}

#[test]
fn any_is_content_with_one_and_all_is_not() {
    let server = testing::v4_only().expect("a server");
    let refused = testing::refused().expect("a port");
    let targets = [refused.target(), server.target()];
    let any = wait_for(&targets, &Wait { need: Need::Any, ..patient() });
    assert_eq!(any.end, End::Reached);
    let all = wait_for(&targets, &brief());
    assert_eq!(all.end, End::TimedOut);
    assert_eq!(all.targets.iter().filter(|row| row.reached.is_some()).count(), 1);
}

#[test]
fn stable_takes_as_long_as_its_intervals() {
    let server = testing::v4_only().expect("a server");
    let wait = Wait {
        stable: NonZeroU32::new(3).expect("not zero"),
        interval: Duration::from_millis(20),
        ..patient()
    };
    let report = wait_for(&[server.target()], &wait);
    assert_eq!((report.end, report.targets[0].tries), (End::Reached, 3));
    assert!(report.elapsed >= Duration::from_millis(40));
}

#[test]
fn a_closed_port_of_the_ephemeral_range_is_never_reached_by_itself() {
    // Tried some hundred times, since the table shows nothing and is doubted: no self-connect counts.
    let wait = Wait { interval: Duration::from_millis(2), ..brief() };
    let refused = testing::refused().expect("a port");
    assert_eq!(wait_for(&[refused.target()], &wait).end, End::TimedOut);
}

#[test]
fn a_thousand_targets_at_once() {
    let server = testing::v4_only().expect("a server");
    let report = wait_for(&vec![server.target(); 1000], &patient());
    assert_eq!(report.end, End::Reached);
    assert!(report.targets.iter().all(|row| row.reached.is_some()));
}
