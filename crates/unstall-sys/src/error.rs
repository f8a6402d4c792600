//! The one error of this crate: which call failed, for which address or name, why, and what to do about it.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use unstall_core::outcome::{Operation, OsError, Outcome};

/// A call to the OS that failed, or a time limit that struck.
///
/// Displays as one sentence: operation, address, cause and what to do. Building one for a connect allocates nothing.
#[derive(Debug)]
pub struct Error {
    operation: Operation,
    subject: Subject,
    outcome: Outcome,
    code: Option<i32>,
    source: io::Error,
}

/// What the failed call was about.
#[derive(Debug)]
enum Subject {
    /// An address.
    Address(SocketAddr),
    /// A host name, an interface or a table of the OS.
    Name(Box<str>),
    /// Nothing in particular: a wait for several connects.
    Nothing,
}

impl Error {
    /// A call about `address` that failed with `code`, an errno or WSA code.
    pub fn from_code(operation: Operation, address: SocketAddr, code: i32) -> Self {
        Self::with_outcome(operation, address, code, crate::provisional::outcome(operation, code))
    }

    /// The same where more than the code is known about the outcome.
    pub fn with_outcome(operation: Operation, address: SocketAddr, code: i32, outcome: Outcome) -> Self {
        let source = io::Error::from_raw_os_error(code);
        Self { operation, subject: Subject::Address(address), outcome, code: Some(code), source }
    }

    /// The connect to `address` did not end within the caller's limit.
    pub fn limit(operation: Operation, address: SocketAddr) -> Self {
        Self::without_code(operation, Subject::Address(address), Outcome::TimedOut, io::ErrorKind::TimedOut.into())
    }

    /// The socket for `address` was connected to itself and has been closed.
    pub fn self_connected(address: SocketAddr) -> Self {
        let source = io::ErrorKind::ConnectionRefused.into();
        Self::without_code(Operation::Connect, Subject::Address(address), Outcome::SelfConnected, source)
    }

    /// A call about a host name, an interface or a table; `code` is what the OS gave, if it gave one.
    pub(crate) fn named(
        operation: Operation,
        name: &str,
        outcome: Outcome,
        code: Option<i32>,
        source: io::Error,
    ) -> Self {
        Self { operation, subject: Subject::Name(name.into()), outcome, code, source }
    }

    /// Reading the table or file `name` failed.
    pub(crate) fn table(name: &str, source: io::Error) -> Self {
        let code = source.raw_os_error();
        let outcome = match (code, source.kind()) {
            (Some(code), _) => crate::provisional::outcome(Operation::ReadTable, code),
            (None, io::ErrorKind::Unsupported) => Outcome::NotAvailable,
            (None, _) => Outcome::Unknown,
        };
        Self::named(Operation::ReadTable, name, outcome, code, source)
    }

    /// A wait for several connects failed.
    pub(crate) fn wait(code: i32) -> Self {
        let outcome = crate::provisional::outcome(Operation::Wait, code);
        let source = io::Error::from_raw_os_error(code);
        Self { operation: Operation::Wait, subject: Subject::Nothing, outcome, code: Some(code), source }
    }

    fn without_code(operation: Operation, subject: Subject, outcome: Outcome, source: io::Error) -> Self {
        Self { operation, subject, outcome, code: None, source }
    }

    /// The call that failed.
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// The address that the call was about; `None`: it was about a name, a table or several connects.
    pub const fn address(&self) -> Option<SocketAddr> {
        match self.subject {
            Subject::Address(address) => Some(address),
            Subject::Name(_) | Subject::Nothing => None,
        }
    }

    /// What it means.
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The OS's code; `None`: the OS gave none (the caller's limit struck, a socket was connected to itself).
    pub fn os_error(&self) -> Option<OsError> {
        self.code.map(|code| OsError { operation: self.operation, code })
    }

    /// The kind of `io::Error` that this becomes.
    pub fn kind(&self) -> io::ErrorKind {
        match self.outcome {
            Outcome::Refused | Outcome::SelfConnected => io::ErrorKind::ConnectionRefused,
            Outcome::TimedOut => io::ErrorKind::TimedOut,
            Outcome::NotAvailable | Outcome::Exhausted => io::ErrorKind::AddrNotAvailable,
            Outcome::NotPermitted => io::ErrorKind::PermissionDenied,
            Outcome::NoName => io::ErrorKind::NotFound,
            _ => self.source.kind(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.operation {
            Operation::Resolve => "look up",
            Operation::Socket => "create a socket for",
            Operation::SetOption => "set an option of the socket for",
            Operation::Bind => "bind",
            Operation::Listen => "listen on",
            Operation::Connect => "connect to",
            Operation::Wait => "wait for",
            Operation::ReadTable => "read",
            _ => "call the OS for",
        })?;
        match &self.subject {
            Subject::Address(address) => write!(f, " {address}: ")?,
            Subject::Name(name) => write!(f, " {name}: ")?,
            Subject::Nothing => f.write_str(" several connects: ")?,
        }
        if self.code.is_some() || self.source.get_ref().is_some() {
            write!(f, "{}", self.source)?;
        } else {
            write!(f, "{}", self.outcome)?;
        }
        match advice(self.operation, self.outcome) {
            "" => Ok(()),
            advice => write!(f, "; {advice}"),
        }
    }
}

/// What to do, for each outcome.
const fn advice(operation: Operation, outcome: Outcome) -> &'static str {
    match (outcome, operation) {
        (Outcome::Refused, _) => "start the server or correct the port",
        (Outcome::TimedOut, Operation::Resolve) => "check the name servers or allow more time",
        (Outcome::TimedOut, _) => "nothing answered: check firewalls and the server's accept queue",
        (Outcome::Unreachable, _) => "check the address and this host's routes",
        (Outcome::NotAvailable, _) => "this host cannot use that address",
        (Outcome::NotPermitted, _) => "a firewall, sandbox or policy of this host forbids it",
        (Outcome::NoName, _) => "correct the name or add it to the hosts file",
        (Outcome::Exhausted, _) => "close some sockets or wait until ports are free again",
        (Outcome::SelfConnected, _) => "nobody listens there: start the server or correct the port",
        _ => "",
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Keeps the class (`kind`) and carries the error itself, so its text and [`Error::os_error`] stay reachable.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(error.kind(), error)
    }
}
