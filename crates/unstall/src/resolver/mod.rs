//! Who is asked for the addresses of a name, in place of the OS: [`Connector::resolver`](crate::Connector::resolver).
//!
//! | resolver | asks | answers |
//! |---|---|---|
//! | none (the default) | the OS, on the thread that connects or, from a future, on one of 32 | both families at once, in the OS's order |
//! | [`OsResolver`] | the OS, on one of 32 threads, which all connects share | the same |
//! | [`FixedResolver`] | nobody | what it was told, in that order |
//! | `unstall::hickory::HickoryResolver` (feature `hickory`) | name servers | AAAA and A apart |
//! | yours | whomever you like | as [`Resolver::separately`] says |
//!
//! Where the families are asked for apart, the race starts with the first answer that it can use (RFC 8305 section 3): IPv6 at once,
//! IPv4 as soon as the IPv6 answer has come too, or 50 ms later. Addresses that come late take the place that they would have had.
//!
//! Whoever is asked, the names of this host stay on this host: `localhost`, `localhost.` and `*.localhost` never reach a resolver
//! (RFC 6761 section 6.3), and addresses have nothing to resolve.
//!
//! A resolver that panics, answers nothing or never ends makes an error or waits for
//! [`connect_timeout`](crate::Connector::connect_timeout); without a limit a resolver that never answers is waited for, as with std.

mod fixed;
mod lookups;
mod os;

pub use fixed::FixedResolver;
pub(crate) use lookups::{Answer, Lookups};
pub use os::OsResolver;

use crate::{Family, Name, Outcome};
use std::error::Error as StdError;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use unstall_sys::Error;

/// Finds the addresses of names.
///
/// ```
/// use std::net::Ipv4Addr;
/// use unstall::Connector;
/// use unstall::resolver::{Lookup, Question, ResolveError, Resolver};
///
/// /// Every name below `.test` is this host.
/// struct Tests;
///
/// impl Resolver for Tests {
///     fn lookup(&self, question: Question) -> Lookup<'_> {
///         Box::pin(async move {
///             match question.name().strip_suffix(".test") {
///                 Some(_) => Ok(vec![(Ipv4Addr::LOCALHOST, question.port()).into()]),
///                 None => Err(ResolveError::no_name("only names below .test are known here")),
///             }
///         })
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = unstall::testing::v4_only()?;
/// # let port = server.port();
/// let stream = Connector::new().resolver(Tests).connect(("db.test", port))?;
/// # Ok(())
/// # }
/// ```
pub trait Resolver: Send + Sync {
    /// Starts to look up a name. It may not block: what blocks belongs on a thread, as [`OsResolver`] does it.
    ///
    /// The future is polled by whatever waits for the connect: a thread, tokio, or another executor. It is dropped when the connect
    /// is over or given up, which should end the lookup. An answer without addresses says that the name has none of that family.
    fn lookup(&self, question: Question) -> Lookup<'_>;

    /// Whether the families are asked for apart, by two lookups that run at the same time, IPv6 first. Else there is one, for
    /// [`Family::Any`] as a rule, whose answer is tried in its own order, families interleaved after the first address.
    ///
    /// Default true.
    fn separately(&self) -> bool {
        true
    }
}

impl<R: Resolver + ?Sized> Resolver for Arc<R> {
    fn lookup(&self, question: Question) -> Lookup<'_> {
        (**self).lookup(question)
    }

    fn separately(&self) -> bool {
        (**self).separately()
    }
}

/// A lookup that is under way.
pub type Lookup<'a> = Pin<Box<dyn Future<Output = Result<Vec<SocketAddr>, ResolveError>> + Send + 'a>>;

/// What a resolver is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    name: Name,
    port: u16,
    family: Family,
}

impl Question {
    pub(crate) fn new(name: Name, port: u16, family: Family) -> Self {
        Self { name, port, family }
    }

    /// The name, in lower case and ASCII (IDNA).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port that belongs into each address of the answer.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Which addresses are wanted: [`Family::V6`] is the question AAAA, [`Family::V4`] is A. Others are left out of the answer.
    pub fn family(&self) -> Family {
        self.family
    }
}

/// Why a lookup failed.
pub struct ResolveError(Cause);

enum Cause {
    Os(Error),
    Own { outcome: Outcome, reason: String },
}

impl ResolveError {
    /// A failure of the class `outcome` ([`Outcome::Connected`] is taken for unknown). `reason` is a part of a sentence, without a
    /// full stop.
    pub fn new(outcome: Outcome, reason: impl Into<String>) -> Self {
        let outcome = if outcome == Outcome::Connected { Outcome::Unknown } else { outcome };
        Self(Cause::Own { outcome, reason: reason.into() })
    }

    /// There is no such name, or it has no address.
    pub fn no_name(reason: impl Into<String>) -> Self {
        Self::new(Outcome::NoName, reason)
    }

    /// The resolver was not answered in time.
    pub fn timed_out(reason: impl Into<String>) -> Self {
        Self::new(Outcome::TimedOut, reason)
    }

    /// What the failure is called in timelines.
    pub fn outcome(&self) -> Outcome {
        match &self.0 {
            Cause::Os(error) => error.outcome(),
            Cause::Own { outcome, .. } => *outcome,
        }
    }

    pub(crate) fn os(error: Error) -> Self {
        Self(Cause::Os(error))
    }

    pub(crate) fn into_error(self, name: &str) -> Error {
        match self.0 {
            Cause::Os(error) => error,
            Cause::Own { outcome, reason } => Error::unresolved(name, outcome, reason),
        }
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Os(error) => write!(f, "{error}"),
            Cause::Own { outcome, reason } => write!(f, "{outcome}: {reason}"),
        }
    }
}

impl fmt::Debug for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResolveError").field(&format_args!("{self}")).finish()
    }
}

impl StdError for ResolveError {}

/// The resolver of a connector.
#[derive(Clone)]
pub(crate) struct Chosen(pub(crate) Arc<dyn Resolver>);

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}
