//! Why a connect failed, with everything that was tried.

use crate::heat::Why;
use crate::{Attempt, Outcome, ParseTargetError, Resolution, Timeline};
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use unstall_core::backlog::Listening;
use unstall_core::outcome::io_error_kind;
use unstall_core::text::duration;
use unstall_sys::listeners::Queue;

/// A connect that failed: its class, every address that was tried, what each came to and how long that took.
///
/// Displays as one sentence with the target, every address and what to do. [`source`](Error::source) is the
/// [`io::Error`] of the attempt that tells most, if the OS gave one. As an [`io::Error`] it has the kind that the
/// same failure has in std, and `io::Error::get_ref` or `downcast` give it back. Cheap to clone.
///
/// ```
/// use std::io;
///
/// # fn main() -> io::Result<()> {
/// # let server = unstall::testing::refused()?;
/// # let target = server.target();
/// let error = unstall::connect(target).unwrap_err();
/// assert!(error.is_refused());
/// println!("{error}");
///
/// let error = io::Error::from(error);
/// assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ConnectError(Cause);

#[derive(Clone)]
enum Cause {
    Target(Arc<ParseTargetError>),
    Connect(Arc<Failure>),
}

struct Failure {
    timeline: Timeline,
    why: Why,
}

impl ConnectError {
    pub(crate) fn new(timeline: Timeline, why: Why) -> Self {
        Self(Cause::Connect(Arc::new(Failure { timeline, why })))
    }

    /// What the connect came to; never [`Outcome::Connected`]. `None`: nothing was tried, because the target was none.
    ///
    /// Of several failed attempts the one that tells most decides.
    pub fn outcome(&self) -> Option<Outcome> {
        self.timeline().map(|timeline| timeline.outcome)
    }

    /// Everything that was tried. `None`: nothing was, because the target was none.
    pub fn timeline(&self) -> Option<&Timeline> {
        match &self.0 {
            Cause::Target(_) => None,
            Cause::Connect(failure) => Some(&failure.timeline),
        }
    }

    /// What the listener table said of an address of this host that did not answer.
    fn queue(&self) -> Option<Queue> {
        match &self.0 {
            Cause::Target(_) => None,
            Cause::Connect(failure) => failure.why.queue,
        }
    }

    /// The host is there and nobody serves on the port: a reset answered the SYN. Whatever the time limit, a refusal is a
    /// refusal.
    ///
    /// So is a self-connect, since nobody listens; a reset that came as soon as the connection stood
    /// ([`kind`](Self::kind) is [`ConnectionReset`](io::ErrorKind::ConnectionReset) then); and, on Windows, a full accept
    /// queue.
    pub fn is_refused(&self) -> bool {
        self.is(Outcome::Refused) || self.is(Outcome::SelfConnected)
    }

    /// The time limit ended it, or the OS gave up, before anything answered.
    pub fn is_timed_out(&self) -> bool {
        self.is(Outcome::TimedOut)
    }

    /// There is no way to the host or its network.
    pub fn is_unreachable(&self) -> bool {
        self.is(Outcome::Unreachable)
    }

    /// A firewall, sandbox or policy of this host forbids it.
    pub fn is_not_permitted(&self) -> bool {
        self.is(Outcome::NotPermitted)
    }

    /// The name does not resolve to any address that may be tried.
    pub fn is_no_name(&self) -> bool {
        self.is(Outcome::NoName)
    }

    /// Local ports, buffers or descriptors are used up.
    pub fn is_exhausted(&self) -> bool {
        self.is(Outcome::Exhausted)
    }

    /// The address or its family cannot be used on this host, or is not among those that
    /// [`Connector::family`](crate::Connector::family) allows.
    pub fn is_not_available(&self) -> bool {
        self.is(Outcome::NotAvailable)
    }

    /// What should have been a target is none, so nothing was tried.
    pub fn is_invalid_target(&self) -> bool {
        matches!(&self.0, Cause::Target(_))
    }

    /// The kind of the [`io::Error`] that this becomes: what std gives for the same failure, where that has a name;
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for an invalid target, [`NotFound`](io::ErrorKind::NotFound) for a
    /// name that does not resolve, [`ResourceBusy`](io::ErrorKind::ResourceBusy) for what is exhausted.
    pub fn kind(&self) -> io::ErrorKind {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, NetworkDown, NetworkUnreachable};
        let Some(outcome) = self.outcome() else { return io::ErrorKind::InvalidInput };
        let source = self.source().and_then(|source| source.downcast_ref::<io::Error>());
        match source.map(io::Error::kind) {
            // More exact than the outcome.
            Some(kind @ (ConnectionAborted | ConnectionReset | NetworkDown | NetworkUnreachable)) => kind,
            _ => io_error_kind(outcome),
        }
    }

    fn is(&self, outcome: Outcome) -> bool {
        self.outcome() == Some(outcome)
    }
}

/// Why the connect failed, if `error`, a client's for instance, came from one: looks through its sources, and into what an
/// [`io::Error`] carries.
pub fn connect_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a ConnectError> {
    let mut next = Some(error);
    while let Some(error) = next {
        let found = error.downcast_ref().or_else(|| as_io(error)?.get_ref()?.downcast_ref());
        if found.is_some() {
            return found;
        }
        next = error.source();
    }
    None
}

fn as_io<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    #[cfg(feature = "ureq")]
    if let Some(ureq::Error::Io(error)) = error.downcast_ref() {
        // ureq's errors have no sources.
        return Some(error);
    }
    error.downcast_ref()
}

impl From<ParseTargetError> for ConnectError {
    fn from(error: ParseTargetError) -> Self {
        Self(Cause::Target(Arc::new(error)))
    }
}

/// A [`Target`](crate::Target) is always one.
impl From<Infallible> for ConnectError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// The kind is [`ConnectError::kind`]; the error itself is kept inside.
impl From<ConnectError> for io::Error {
    fn from(error: ConnectError) -> Self {
        Self::new(error.kind(), error)
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Cause::Target(error) => Some(&**error),
            Cause::Connect(failure) => failure.why.source.as_ref()?.source(),
        }
    }
}

/// The sentence of the `Display`, for that is what `unwrap` and `main` show; [`ConnectError::timeline`] has the rest.
impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConnectError").field(&format_args!("{self}")).finish()
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timeline = match &self.0 {
            Cause::Target(error) => return write!(f, "cannot connect: {error}"),
            Cause::Connect(failure) => &failure.timeline,
        };
        write!(f, "cannot connect to {}: ", timeline.target)?;
        let by_address = tries(&timeline.attempts);
        match (&by_address[..], &timeline.resolution) {
            ([], Some(resolution)) => unresolved(f, resolution)?,
            ([], None) => match self.source() {
                Some(source) => write!(f, "{source}")?,
                None => f.write_str("the address is of a family that may not be tried")?,
            },
            // The target already says the address.
            ([only], None) => ended(f, only)?,
            (addresses, _) => {
                for (n, tries) in addresses.iter().enumerate() {
                    write!(f, "{}{} ", if n > 0 { ", " } else { "" }, tries.last.address)?;
                    ended(f, tries)?;
                }
            }
        }
        if let (Outcome::Unknown, Some(source)) = (timeline.outcome, self.source()) {
            write!(f, " ({source})")?;
        }
        match self.queue() {
            _ if timeline.outcome != Outcome::TimedOut => f.write_str(advice(timeline)),
            Some(queue) => silence(f, queue),
            None => f.write_str(advice(timeline)),
        }
    }
}

/// Which silence of this host it was.
fn silence(f: &mut fmt::Formatter<'_>, queue: Queue) -> fmt::Result {
    match (queue.listening, queue.waiting, queue.backlog) {
        (Listening::Full, Some(waiting), Some(backlog)) => write!(
            f,
            "; its accept queue is full ({waiting} wait, backlog {backlog}): the server does not accept, or needs a larger backlog"
        ),
        (Listening::Full, _, _) => {
            f.write_str("; its accept queue is full: the server does not accept, or needs a larger backlog")
        }
        (Listening::Room, Some(waiting), Some(backlog)) => write!(
            f,
            "; a server listens and its accept queue has room now ({waiting} wait, backlog {backlog}): look for a packet filter that drops the connect, or allow more time"
        ),
        (Listening::No, _, _) => {
            f.write_str("; nobody listens there, and a packet filter drops the connect: start the server and check the filter")
        }
        _ => f.write_str("; nothing answered: check firewalls and the server's accept queue, or allow more time"),
    }
}

/// Why there was nothing to try.
fn unresolved(f: &mut fmt::Formatter<'_>, resolution: &Resolution) -> fmt::Result {
    let took = duration(resolution.took());
    match resolution.failure {
        None if resolution.addresses.is_empty() => write!(f, "the name has no address that may be tried"),
        None | Some(Outcome::TimedOut) => {
            write!(f, "the time limit struck after {took}, before any address was tried")
        }
        Some(Outcome::NoName) => write!(f, "the name does not resolve, after {took}"),
        Some(outcome) => write!(f, "resolving the name failed after {took}: {outcome}"),
    }?;
    resolution.os_error.map_or(Ok(()), |error| write!(f, " ({error})"))
}

/// All attempts of one address.
struct Tries<'a> {
    count: usize,
    start: Duration,
    last: &'a Attempt,
}

/// The attempts by address, in the order in which the addresses were first tried.
fn tries(attempts: &[Attempt]) -> Vec<Tries<'_>> {
    let mut tries: Vec<Tries<'_>> = Vec::new();
    for attempt in attempts {
        match tries.iter_mut().find(|tries| tries.last.address == attempt.address) {
            Some(tries) => *tries = Tries { count: tries.count + 1, start: tries.start, last: attempt },
            None => tries.push(Tries { count: 1, start: attempt.start, last: attempt }),
        }
    }
    tries
}

/// `refused after 0.05 ms`, `timed out after 2000 ms and 3 tries`.
fn ended(f: &mut fmt::Formatter<'_>, tries: &Tries<'_>) -> fmt::Result {
    let took = duration(tries.last.end.saturating_sub(tries.start));
    if was_reset(tries.last) {
        write!(f, "reset after {took}")?;
    } else {
        write!(f, "{} after {took}", tries.last.outcome)?;
    }
    if tries.count > 1 { write!(f, " and {} tries", tries.count) } else { Ok(()) }
}

/// Whether somebody listened: the connection stood, for a moment.
fn was_reset(attempt: &Attempt) -> bool {
    let kind = attempt.os_error.map(|error| io::Error::from_raw_os_error(error.code).kind());
    attempt.outcome == Outcome::Refused
        && matches!(kind, Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted))
}

/// Whether the address says nothing without the interface (RFC 4007).
fn lacks_zone(attempt: &Attempt) -> bool {
    matches!(attempt.address, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() && v6.scope_id() == 0)
}

/// What to do about it.
fn advice(timeline: &Timeline) -> &'static str {
    match timeline.outcome {
        Outcome::Refused if timeline.attempts.iter().any(was_reset) => {
            "; somebody listens and resets each connection: look at that server"
        }
        Outcome::Refused | Outcome::SelfConnected => {
            "; as a rule nobody listens there: start the server, correct the port, or look for a firewall that refuses"
        }
        Outcome::TimedOut if timeline.attempts.is_empty() => "; check the name servers, or allow more time",
        Outcome::TimedOut => {
            "; nothing answered: check firewalls and the server's accept queue, or allow more time"
        }
        Outcome::Unreachable => "; check the address, this host's routes, and firewalls",
        Outcome::NotAvailable if timeline.attempts.iter().any(lacks_zone) => {
            "; a link-local address needs its zone, as in fe80::1%eth0"
        }
        Outcome::NotAvailable => "; use an address of a family that this host has and the caller allows",
        Outcome::NotPermitted => "; a firewall, sandbox or policy of this host forbids it",
        Outcome::NoName => "; correct the name, or add it to the hosts file",
        Outcome::Exhausted => "; close some sockets, or wait until local ports are free again",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, OsError, Prepared, Reason};

    const ALL_FAILURES: [Outcome; 9] = [
        Outcome::Refused,
        Outcome::TimedOut,
        Outcome::Unreachable,
        Outcome::NotAvailable,
        Outcome::NotPermitted,
        Outcome::NoName,
        Outcome::Exhausted,
        Outcome::SelfConnected,
        Outcome::Unknown,
    ];

    fn attempt(address: &str, outcome: Outcome) -> Attempt {
        Attempt {
            address: address.parse().unwrap(),
            reason: Reason::DnsCompleted,
            start: Duration::from_millis(1),
            end: Duration::from_micros(1250),
            outcome,
            os_error: None,
            prepared: Some(Prepared::NotNeeded),
        }
    }

    fn resolved(addresses: &[&str], failure: Option<Outcome>) -> Resolution {
        let addresses: Vec<SocketAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        Resolution {
            start: Duration::ZERO,
            end: Duration::from_millis(1),
            addresses,
            failure,
            os_error: None,
            answers: Vec::new(),
        }
    }

    fn error(
        target: &str,
        resolution: Option<Resolution>,
        attempts: &[Attempt],
        outcome: Outcome,
    ) -> ConnectError {
        let timeline = Timeline {
            target: target.parse().unwrap(),
            resolution,
            attempts: attempts.iter().cloned().collect(),
            outcome,
            elapsed: Duration::from_millis(2),
        };
        ConnectError::new(timeline, Why::default())
    }

    #[test]
    fn one_address_is_named_once() {
        let error = error("127.0.0.1:9", None, &[attempt("127.0.0.1:9", Outcome::Refused)], Outcome::Refused);
        assert_eq!(
            error.to_string(),
            "cannot connect to 127.0.0.1:9: refused after 0.25 ms; as a rule nobody listens there: start the server, correct the port, or look for a firewall that refuses"
        );
        assert_eq!(format!("{error:?}"), format!("ConnectError({error})"));
    }

    #[test]
    fn every_address_of_a_name_is_named() {
        let attempts = [attempt("[::1]:80", Outcome::TimedOut), attempt("127.0.0.1:80", Outcome::Refused)];
        let error = error(
            "localhost:80",
            Some(resolved(&["[::1]:80", "127.0.0.1:80"], None)),
            &attempts,
            Outcome::TimedOut,
        );
        assert_eq!(
            error.to_string(),
            "cannot connect to localhost:80: [::1]:80 timed out after 0.25 ms, 127.0.0.1:80 refused after 0.25 ms; \
             nothing answered: check firewalls and the server's accept queue, or allow more time"
        );
    }

    #[test]
    fn several_tries_of_an_address_are_one() {
        let mut tries =
            [attempt("127.0.0.1:9", Outcome::TimedOut), attempt("127.0.0.1:9", Outcome::TimedOut)];
        (tries[1].start, tries[1].end) = (Duration::from_millis(2), Duration::from_millis(31));
        let error = error("127.0.0.1:9", None, &tries, Outcome::TimedOut);
        let text = error.to_string();
        assert!(
            text.starts_with("cannot connect to 127.0.0.1:9: timed out after 30.0 ms and 2 tries; "),
            "{text}"
        );
    }

    #[test]
    fn a_silence_on_this_host_says_which_it_was() {
        let timeline = Timeline {
            target: "127.0.0.1:9".parse().unwrap(),
            resolution: None,
            attempts: [attempt("127.0.0.1:9", Outcome::TimedOut)].into_iter().collect(),
            outcome: Outcome::TimedOut,
            elapsed: Duration::from_millis(2),
        };
        let figures = (Some(2), Some(1));
        for (listening, (waiting, backlog), expected) in [
            (Listening::Full, figures, "; its accept queue is full (2 wait, backlog 1): the server"),
            (Listening::Full, (None, None), "; its accept queue is full: the server"),
            (
                Listening::Room,
                figures,
                "; a server listens and its accept queue has room now (2 wait, backlog 1): look",
            ),
            (Listening::No, (None, None), "; nobody listens there, and a packet filter drops"),
            (
                Listening::Yes,
                (None, None),
                "; nothing answered: check firewalls and the server's accept queue",
            ),
            (
                Listening::Unknown,
                (None, None),
                "; nothing answered: check firewalls and the server's accept queue",
            ),
        ] {
            let queue = Some(Queue { listening, waiting, backlog });
            let text = ConnectError::new(timeline.clone(), Why { source: None, queue }).to_string();
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn a_name_without_attempts_says_why() {
        let rows = [
            (
                resolved(&[], Some(Outcome::NoName)),
                Outcome::NoName,
                "the name does not resolve, after 1.0 ms; correct",
            ),
            (
                resolved(&[], Some(Outcome::TimedOut)),
                Outcome::TimedOut,
                "the time limit struck after 1.0 ms, before any",
            ),
            (
                resolved(&["[::1]:80"], None),
                Outcome::TimedOut,
                "the time limit struck after 1.0 ms, before any",
            ),
            (resolved(&[], None), Outcome::NoName, "the name has no address that may be tried; correct"),
            (
                resolved(&[], Some(Outcome::Exhausted)),
                Outcome::Exhausted,
                "resolving the name failed after 1.0 ms: exh",
            ),
        ];
        for (resolution, outcome, expected) in rows {
            let text = error("a.example:80", Some(resolution), &[], outcome).to_string();
            assert!(text.starts_with(&format!("cannot connect to a.example:80: {expected}")), "{text}");
        }
    }

    #[test]
    fn an_address_that_may_not_be_tried_says_so() {
        let text = error("[::1]:80", None, &[], Outcome::NotAvailable).to_string();
        assert!(
            text.starts_with("cannot connect to [::1]:80: the address is of a family that may not be tried"),
            "{text}"
        );
    }

    #[test]
    fn a_reset_is_no_refusal_in_words() {
        let is_reset =
            |&code: &i32| io::Error::from_raw_os_error(code).kind() == io::ErrorKind::ConnectionReset;
        let code = (1..20_000).find(is_reset).unwrap();
        let mut reset = attempt("127.0.0.1:9", Outcome::Refused);
        reset.os_error = Some(OsError { operation: Operation::Connect, code });
        let text = error("127.0.0.1:9", None, &[reset], Outcome::Refused).to_string();
        assert!(text.contains(": reset after 0.25 ms; somebody listens"), "{text}");
    }

    #[test]
    fn each_outcome_has_its_predicate_and_its_kind() {
        type Predicate = fn(&ConnectError) -> bool;
        let predicates: [(Outcome, Predicate); 7] = [
            (Outcome::Refused, ConnectError::is_refused),
            (Outcome::TimedOut, ConnectError::is_timed_out),
            (Outcome::Unreachable, ConnectError::is_unreachable),
            (Outcome::NotPermitted, ConnectError::is_not_permitted),
            (Outcome::NoName, ConnectError::is_no_name),
            (Outcome::Exhausted, ConnectError::is_exhausted),
            (Outcome::NotAvailable, ConnectError::is_not_available),
        ];
        for outcome in ALL_FAILURES {
            let error = error("a.example:80", None, &[attempt("192.0.2.1:80", outcome)], outcome);
            let means = if outcome == Outcome::SelfConnected { Outcome::Refused } else { outcome };
            for (of, predicate) in predicates {
                assert_eq!(predicate(&error), of == means, "{outcome}");
            }
            assert!(!error.is_invalid_target());
            assert_eq!(error.outcome(), Some(outcome));
            assert_eq!(error.kind(), io_error_kind(outcome));
            assert_eq!(error.to_string().contains("; "), outcome != Outcome::Unknown, "{error}");
        }
    }
}
