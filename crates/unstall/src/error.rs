//! Why a connect failed, with everything that was tried.

use crate::{Attempt, Outcome, ParseTargetError, Resolution, Timeline};
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use unstall_core::outcome::io_error_kind;
use unstall_core::text::duration;

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

#[derive(Clone, Debug)]
enum Cause {
    Target(Arc<ParseTargetError>),
    Connect(Arc<Failure>),
}

#[derive(Debug)]
struct Failure {
    timeline: Timeline,
    source: Option<unstall_sys::Error>,
}

impl ConnectError {
    pub(crate) fn new(timeline: Timeline, source: Option<unstall_sys::Error>) -> Self {
        Self(Cause::Connect(Arc::new(Failure { timeline, source })))
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
            Cause::Connect(failure) => failure.source.as_ref()?.source(),
        }
    }
}

impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timeline = match &self.0 {
            Cause::Target(error) => return write!(f, "cannot connect: {error}"),
            Cause::Connect(failure) => &failure.timeline,
        };
        write!(f, "cannot connect to {}: ", timeline.target)?;
        match (&timeline.attempts[..], &timeline.resolution) {
            ([], Some(resolution)) => unresolved(f, resolution)?,
            ([], None) => f.write_str("the address is of a family that may not be tried")?,
            // The target already says the address.
            ([attempt], None) => ended(f, attempt)?,
            (attempts, _) => {
                for (n, attempt) in attempts.iter().enumerate() {
                    write!(f, "{}{} ", if n > 0 { ", " } else { "" }, attempt.address)?;
                    ended(f, attempt)?;
                }
            }
        }
        if let (Outcome::Unknown | Outcome::NoName, Some(source)) = (timeline.outcome, self.source()) {
            write!(f, " ({source})")?;
        }
        f.write_str(advice(timeline))
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
    }
}

/// `refused after 0.05 ms`.
fn ended(f: &mut fmt::Formatter<'_>, attempt: &Attempt) -> fmt::Result {
    let took = duration(attempt.took());
    if was_reset(attempt) {
        write!(f, "reset after {took}")
    } else {
        write!(f, "{} after {took}", attempt.outcome)
    }
}

/// Whether somebody listened: the connection stood, for a moment.
fn was_reset(attempt: &Attempt) -> bool {
    let kind = attempt.os_error.map(|error| io::Error::from_raw_os_error(error.code).kind());
    attempt.outcome == Outcome::Refused
        && matches!(kind, Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted))
}

/// What to do about it.
fn advice(timeline: &Timeline) -> &'static str {
    match timeline.outcome {
        Outcome::Refused if timeline.attempts.iter().any(was_reset) => {
            "; somebody listens and resets each connection: look at that server"
        }
        Outcome::Refused | Outcome::SelfConnected => {
            "; nobody listens there: start the server, or correct the port"
        }
        Outcome::TimedOut if timeline.attempts.is_empty() => "; check the name servers, or allow more time",
        Outcome::TimedOut => {
            "; nothing answered: check firewalls and the server's accept queue, or allow more time"
        }
        Outcome::Unreachable => "; check the address and this host's routes",
        Outcome::NotAvailable => "; use an address of a family that this host has and the caller allows",
        Outcome::NotPermitted => "; a firewall, sandbox or policy of this host forbids it",
        Outcome::NoName => "; correct the name, or add it to the hosts file",
        Outcome::Exhausted => "; close some sockets, or wait until local ports are free again",
        _ => "",
    }
}
