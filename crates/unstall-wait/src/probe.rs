//! One try: every address of the target raced, and what answers put to the proof.

use crate::plan::{Shown, State};
use crate::{Proof, Wait, pace, watch};
use async_io::{Async, Timer};
use futures_lite::future;
use futures_lite::io::{AsyncReadExt, AsyncWriteExt};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use unstall::{Connector, Outcome, Target, Timeline};
use unstall_core::locality;
use unstall_sys::addresses;

/// How long one try may take: a SYN that was lost is sent again by then, and a server that has come up meanwhile gets a new one.
const TRY: Duration = Duration::from_secs(2);

/// What an address did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is a server, by the proof asked for.
    Up,
    /// It did not connect.
    Failed(Outcome),
    /// It accepted and closed at once: a proxy without its backend, as a rule.
    Closed,
    /// It accepted and reset at once.
    Reset,
    /// It accepted and sent no byte in the time of a try.
    Mute,
    /// It answered HTTP with this status.
    Status(u16),
    /// It answered something that is not HTTP.
    NotHttp,
}

/// What one try saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Each address that was tried, with what it did; those that the race did not need are not here.
    pub addresses: Vec<(SocketAddr, Answer)>,
    /// Why there are no addresses; `None`: there are.
    pub no_addresses: Option<Outcome>,
}

impl Seen {
    /// The address that proved to be a server.
    pub fn answered(&self) -> Option<SocketAddr> {
        self.addresses.iter().find(|(_, answer)| *answer == Answer::Up).map(|&(address, _)| address)
    }

    fn state(&self) -> State {
        let mut answers = self.addresses.iter().map(|&(_, answer)| answer);
        if self.answered().is_some() {
            State::Up
        } else if self.no_addresses.is_some_and(could_not) || answers.clone().any(not_tried) {
            State::Unknown
        } else if !self.addresses.is_empty() && answers.all(is_nobody) {
            State::Free
        } else {
            State::Neither
        }
    }

    pub(crate) fn shown(&self, cost: Duration) -> Shown {
        let is_local =
            |&(address, _): &(SocketAddr, Answer)| locality::is_local_by(address.ip(), addresses::is_own);
        let local = !self.addresses.is_empty() && self.addresses.iter().all(is_local);
        Shown { state: self.state(), local, cost }
    }
}

fn not_tried(answer: Answer) -> bool {
    matches!(answer, Answer::Failed(outcome) if could_not(outcome))
}

fn could_not(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Exhausted | Outcome::NotPermitted)
}

/// Whether nobody listens there. An address whose family is off has nobody either.
fn is_nobody(answer: Answer) -> bool {
    matches!(answer, Answer::Failed(Outcome::Refused | Outcome::SelfConnected | Outcome::NotAvailable))
}

/// Tries a target once.
pub(crate) async fn attempt(wait: &Wait, target: &Target, left: Duration) -> Seen {
    let end = Instant::now() + left.min(TRY);
    let connector = Connector::new().family(wait.family);
    let (stream, timeline) =
        connector.clone().connect_timeout(left.min(TRY)).connect_timeline_async_io(target).await;
    let mut seen = from_timeline(&timeline);
    let Ok(stream) = stream else { return seen };
    let winner = timeline.winner().map(|attempt| attempt.address);
    let answer = prove(stream, wait, target, winner, end).await;
    seen.addresses.extend(winner.map(|address| (address, answer)));
    if answer != Answer::Up {
        others(&connector, wait, target, &timeline, end, &mut seen).await;
    }
    seen
}

/// What the race says of the addresses that did not win it. Of several attempts to one address the last counts.
fn from_timeline(timeline: &Timeline) -> Seen {
    let mut addresses: Vec<(SocketAddr, Answer)> = Vec::new();
    for attempt in &timeline.attempts {
        addresses.retain(|&(address, _)| address != attempt.address);
        if !matches!(attempt.outcome, Outcome::Connected | Outcome::Cancelled) {
            addresses.push((attempt.address, Answer::Failed(attempt.outcome)));
        }
    }
    let no_addresses = timeline.resolution.as_ref().and_then(|resolution| resolution.failure);
    Seen { addresses, no_addresses }
}

/// The winner of the race proved to be no server: the other addresses have their turn.
async fn others(
    connector: &Connector,
    wait: &Wait,
    target: &Target,
    timeline: &Timeline,
    end: Instant,
    seen: &mut Seen,
) {
    let all = timeline.resolution.iter().flat_map(|resolution| resolution.addresses.iter().copied());
    let left: Vec<SocketAddr> =
        all.filter(|address| !seen.addresses.iter().any(|(tried, _)| tried == address)).collect();
    for address in left {
        let rest = end.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return;
        }
        let answer = match connector.clone().connect_timeout(rest).connect_async_io(address).await {
            Ok(stream) => prove(stream, wait, target, Some(address), end).await,
            Err(error) => Answer::Failed(error.outcome().unwrap_or(Outcome::Unknown)),
        };
        seen.addresses.push((address, answer));
        if answer == Answer::Up {
            return;
        }
    }
}

/// Whether a connection is one to a server.
async fn prove(
    mut stream: Async<TcpStream>,
    wait: &Wait,
    target: &Target,
    peer: Option<SocketAddr>,
    end: Instant,
) -> Answer {
    match &wait.proof {
        Proof::Held => held(&mut stream, wait.hold, peer).await,
        Proof::FirstByte => match within(end, first_bytes(&mut stream)).await {
            None => Answer::Mute,
            Some(read) => ended(&read).unwrap_or(Answer::Up),
        },
        Proof::Http(path) => match within(end, http(&mut stream, target, path)).await {
            None => Answer::Mute,
            Some(answer) => answer,
        },
    }
}

/// Holds the connection as long as it must be held.
async fn held(stream: &mut Async<TcpStream>, hold: Option<Duration>, peer: Option<SocketAddr>) -> Answer {
    let start = Instant::now();
    let whole = start + hold.unwrap_or(pace::LONG_HOLD);
    // Set to nothing where the OS does not tell whether a program has accepted.
    let mut local = peer.filter(|peer| hold.is_none() && locality::is_local_by(peer.ip(), addresses::is_own));
    let mut look_again = pace::FIRST_LOOK;
    loop {
        // Looked at before the wait: the server must have kept the connection for so long after it accepted.
        let all_accepted = local.and_then(watch::all_accepted);
        local = local.filter(|_| all_accepted.is_some());
        let accepted = all_accepted == Some(true);
        let pause = if accepted { pace::SHORT_HOLD } else { look_again };
        look_again = (look_again * 2).min(pace::SHORT_HOLD);
        let until = if local.is_some() { whole.min(Instant::now() + pause) } else { whole };
        match within(until, first_bytes(stream)).await {
            // It speaks, or it has ended.
            Some(read) => return ended(&read).unwrap_or(Answer::Up),
            None if accepted || Instant::now() >= whole => return Answer::Up,
            None => {}
        }
    }
}

async fn first_bytes(stream: &mut Async<TcpStream>) -> io::Result<usize> {
    let mut buffer = [0; 64];
    stream.read(&mut buffer).await
}

/// What a read says that did not bring a byte.
fn ended(read: &io::Result<usize>) -> Option<Answer> {
    match read {
        Ok(0) => Some(Answer::Closed),
        Ok(_) => None,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Some(Answer::Reset),
        Err(_) => Some(Answer::Closed),
    }
}

/// Asks for `path` and reads the status line.
async fn http(stream: &mut Async<TcpStream>, target: &Target, path: &str) -> Answer {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: unstall/{}\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        env!("CARGO_PKG_VERSION"),
    );
    if let Err(error) = stream.write_all(request.as_bytes()).await {
        return ended(&Err(error)).unwrap_or(Answer::Closed);
    }
    let mut answer = Vec::new();
    let mut buffer = [0; 64];
    loop {
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => answer.extend_from_slice(&buffer[..read]),
            end if answer.is_empty() => return ended(&end).unwrap_or(Answer::Closed),
            _ => return Answer::NotHttp,
        }
        match status(&answer) {
            Some(Ok(200..=399)) => return Answer::Up,
            Some(Ok(status)) => return Answer::Status(status),
            Some(Err(())) => return Answer::NotHttp,
            None => {}
        }
    }
}

/// The status of an HTTP answer; `None`: not enough of it is here, `Err`: it is something else.
fn status(answer: &[u8]) -> Option<Result<u16, ()>> {
    const BEGIN: &[u8] = b"HTTP/1.";
    let common = answer.len().min(BEGIN.len());
    if answer[..common] != BEGIN[..common] {
        return Some(Err(()));
    }
    // `HTTP/1.1 200`
    let code = answer.get(BEGIN.len() + 2..BEGIN.len() + 5)?;
    let code = std::str::from_utf8(code).ok().and_then(|code| code.parse().ok());
    Some(code.ok_or(()))
}

/// What `what` comes to, or `None` at `end`.
async fn within<T>(end: Instant, what: impl Future<Output = T>) -> Option<T> {
    let what = async { Some(what.await) };
    let timer = async {
        Timer::at(end).await;
        None
    };
    future::or(what, timer).await
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 80);

    fn seen(answers: &[Answer]) -> State {
        let addresses = answers.iter().map(|&answer| (V4, answer)).collect();
        Seen { addresses, no_addresses: None }.state()
    }

    #[test]
    fn one_server_is_enough_and_free_means_that_nobody_listens_anywhere() {
        let refused = Answer::Failed(Outcome::Refused);
        assert_eq!(seen(&[refused, Answer::Up]), State::Up);
        assert_eq!(seen(&[refused, Answer::Failed(Outcome::NotAvailable)]), State::Free);
        assert_eq!(seen(&[Answer::Failed(Outcome::SelfConnected)]), State::Free);
        assert_eq!(seen(&[refused, Answer::Failed(Outcome::TimedOut)]), State::Neither);
        assert_eq!(seen(&[refused, Answer::Closed]), State::Neither);
        assert_eq!(seen(&[refused, Answer::Failed(Outcome::Exhausted)]), State::Unknown);
        assert_eq!(seen(&[]), State::Neither);
    }

    #[test]
    fn a_name_that_does_not_resolve_is_neither() {
        let seen = Seen { addresses: Vec::new(), no_addresses: Some(Outcome::NoName) };
        assert_eq!(seen.state(), State::Neither);
    }

    #[test]
    fn a_status_line_is_read_as_soon_as_it_is_there() {
        assert_eq!(status(b""), None);
        assert_eq!(status(b"HTTP/1.1 20"), None);
        assert_eq!(status(b"HTTP/1.1 204 No Content"), Some(Ok(204)));
        assert_eq!(status(b"HTTP/1.0 503"), Some(Ok(503)));
        assert_eq!(status(b"SSH-2.0-x"), Some(Err(())));
        assert_eq!(status(b"HTTP/1.1 abc"), Some(Err(())));
    }
}
