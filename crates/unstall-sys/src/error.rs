//! The one error of this crate: which call failed, for which address or name, why, and what to do about it.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use unstall_core::outcome::{self, Operation, OsError, Outcome};

/// A call to the OS that failed, or a time limit that struck.
///
/// Displays as one sentence: operation, address, cause and what to do. Making one for a connect allocates nothing.
#[derive(Debug)]
pub struct Error {
    operation: Operation,
    subject: Subject,
    outcome: Outcome,
    cause: Cause,
    source: io::Error,
}

/// What the failed call was about.
#[derive(Debug)]
enum Subject {
    /// An address.
    Address(SocketAddr),
    /// A host name, an interface or a table of the OS.
    Name(Box<str>),
    /// Several connects at once.
    Several,
}

#[derive(Debug)]
enum Cause {
    /// The code that the OS gave.
    Code(i32),
    /// The caller's limit struck.
    Limit(Duration),
    /// Both ends of the connection were the same socket.
    SelfConnect,
    /// What the source says.
    Source,
}

impl Error {
    /// A call about `address` that failed with `code`, an errno or WSA code.
    pub fn from_code(operation: Operation, address: SocketAddr, code: i32) -> Self {
        let outcome = Outcome::from_os_for(OsError { operation, code }, address, None);
        Self::with_outcome(operation, address, code, outcome)
    }

    /// [`Error::from_code`], when more than the code tells about the outcome.
    pub fn with_outcome(operation: Operation, address: SocketAddr, code: i32, outcome: Outcome) -> Self {
        let source = io::Error::from_raw_os_error(code);
        Self { operation, subject: Subject::Address(address), outcome, cause: Cause::Code(code), source }
    }

    /// The connect to `address` did not end within `limit`.
    pub fn limit(address: SocketAddr, limit: Duration) -> Self {
        Self {
            operation: Operation::Connect,
            subject: Subject::Address(address),
            outcome: Outcome::TimedOut,
            cause: Cause::Limit(limit),
            source: io::ErrorKind::TimedOut.into(),
        }
    }

    /// The socket that should have reached `address` was connected to itself. It has been closed.
    pub fn self_connected(address: SocketAddr) -> Self {
        Self {
            operation: Operation::Connect,
            subject: Subject::Address(address),
            outcome: Outcome::SelfConnected,
            cause: Cause::SelfConnect,
            source: io::ErrorKind::ConnectionRefused.into(),
        }
    }

    /// A wait for several connects failed with `code`.
    pub fn wait(code: i32) -> Self {
        let operation = Operation::Wait;
        let outcome = Outcome::from_os(OsError { operation, code });
        let source = io::Error::from_raw_os_error(code);
        Self { operation, subject: Subject::Several, outcome, cause: Cause::Code(code), source }
    }

    /// Somebody else's reactor cannot wait for a connect, to `address` if it is about one, as `source` says.
    pub fn reactor(address: Option<SocketAddr>, source: io::Error) -> Self {
        let operation = Operation::Wait;
        let (outcome, cause) = match source.raw_os_error() {
            Some(code) => (Outcome::from_os(OsError { operation, code }), Cause::Code(code)),
            None => (Outcome::Unknown, Cause::Source),
        };
        Self {
            operation,
            subject: address.map_or(Subject::Several, Subject::Address),
            outcome,
            cause,
            source,
        }
    }

    /// Reading a table of the OS failed. An error without a code is `not_available` if its kind is `Unsupported`.
    pub(crate) fn table(name: &str, source: io::Error) -> Self {
        let operation = Operation::ReadTable;
        let (outcome, cause) = match (source.raw_os_error(), source.kind()) {
            (Some(code), _) => (Outcome::from_os(OsError { operation, code }), Cause::Code(code)),
            (None, io::ErrorKind::Unsupported) => (Outcome::NotAvailable, Cause::Source),
            (None, _) => (Outcome::Unknown, Cause::Source),
        };
        Self { operation, subject: Subject::Name(name.into()), outcome, cause, source }
    }

    /// The resolver answered `code` for `name`.
    pub(crate) fn resolver(name: &str, code: i32) -> Self {
        let operation = Operation::Resolve;
        let outcome = Outcome::from_os(OsError { operation, code });
        let source = io::Error::from(outcome::io_error_kind(outcome));
        Self { operation, subject: Subject::Name(name.into()), outcome, cause: Cause::Code(code), source }
    }

    /// The resolver did not answer for `name` within `limit`.
    pub fn resolver_limit(name: &str, limit: Duration) -> Self {
        let source = io::ErrorKind::TimedOut.into();
        let subject = Subject::Name(name.into());
        let (operation, outcome) = (Operation::Resolve, Outcome::TimedOut);
        Self { operation, subject, outcome, cause: Cause::Limit(limit), source }
    }

    /// `name` could not be looked up, for a reason of our own.
    pub fn unresolved(name: &str, outcome: Outcome, reason: String) -> Self {
        let source = io::Error::new(outcome::io_error_kind(outcome), reason);
        let subject = Subject::Name(name.into());
        Self { operation: Operation::Resolve, subject, outcome, cause: Cause::Source, source }
    }

    /// The call that failed.
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// The address that the call was about; `None`: it was about a name, a table or several connects.
    pub const fn address(&self) -> Option<SocketAddr> {
        match self.subject {
            Subject::Address(address) => Some(address),
            Subject::Name(_) | Subject::Several => None,
        }
    }

    /// What it means.
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The OS's code; `None`: the OS gave none (the caller's limit struck, a socket was connected to itself).
    pub const fn os_error(&self) -> Option<OsError> {
        match self.cause {
            Cause::Code(code) => Some(OsError { operation: self.operation, code }),
            Cause::Limit(_) | Cause::SelfConnect | Cause::Source => None,
        }
    }

    /// The kind of the [`io::Error`] that this becomes: that of the outcome, or std's own where the outcome is unknown.
    pub fn kind(&self) -> io::ErrorKind {
        match self.outcome {
            Outcome::Unknown => self.source.kind(),
            outcome => outcome::io_error_kind(outcome),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.operation)?;
        let preposition = match self.operation {
            Operation::Connect => " to",
            Operation::Socket | Operation::SetOption | Operation::Wait => " for",
            Operation::ReadTable => ",",
            _ => "",
        };
        match &self.subject {
            Subject::Address(address) => write!(f, "{preposition} {address}: ")?,
            Subject::Name(name) => write!(f, "{preposition} {name}: ")?,
            Subject::Several => write!(f, "{preposition} several connects: ")?,
        }
        self.write_cause(f)?;
        match advice(self.operation, self.outcome) {
            "" => Ok(()),
            advice => write!(f, "; {advice}"),
        }
    }
}

impl Error {
    fn write_cause(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.cause {
            Cause::Limit(limit) => return write!(f, "no answer within {limit:?}"),
            Cause::SelfConnect => {
                return f.write_str("the socket was connected to itself, for nobody listens on that port");
            }
            Cause::Source => return write!(f, "{}", self.source),
            Cause::Code(code) => OsError { operation: self.operation, code },
        };
        match name.meaning() {
            // What the tables say about the code alone, the destination may have told better.
            Some(_) if self.outcome == Outcome::Exhausted && Outcome::from_os(name) != self.outcome => {
                write!(f, "no local port is free for it, {name}")
            }
            Some(meaning) => write!(f, "{meaning}, {name}"),
            None => write!(f, "{}", self.source),
        }
    }
}

/// What to do, for each outcome.
const fn advice(operation: Operation, outcome: Outcome) -> &'static str {
    match (outcome, operation) {
        (Outcome::Refused | Outcome::SelfConnected, _) => "start the server or correct the port",
        (Outcome::TimedOut, Operation::Resolve) => "check the name servers or allow more time",
        (Outcome::TimedOut, _) => "check the firewalls on the way and whether the server accepts connections",
        (Outcome::Unreachable, _) => "check the address, this host's routes, and firewalls",
        (Outcome::NotAvailable, Operation::ReadTable) => "what it would tell stays unknown",
        (Outcome::NotAvailable, _) => "use another address or the other address family",
        (Outcome::NotPermitted, Operation::ReadTable) => "run it as a user who may",
        (Outcome::NotPermitted, _) => "check this host's firewall rules, sandbox and policies",
        (Outcome::NoName, _) => "correct the name, or add it to the name servers or the hosts file",
        (Outcome::Exhausted, Operation::Resolve) => "check the name servers and try again later",
        (Outcome::Exhausted, _) => "close connections that are not needed, or wait until some are gone",
        _ => "",
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Keeps the class ([`Error::kind`]) and carries the error itself, so that its text and [`Error::os_error`] stay in reach.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(error.kind(), error)
    }
}
