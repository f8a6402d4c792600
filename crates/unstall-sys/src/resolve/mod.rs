//! Names to addresses, by the OS's resolver (getaddrinfo, without AI_ADDRCONFIG), with the names of this host kept on this
//! host.
//!
//! | name | addresses | asked |
//! |---|---|---|
//! | an address | itself, its zone resolved | nobody |
//! | `localhost` | the OS's answer, completed with ::1 or 127.0.0.1 where it has none of that family | the resolver, for at most 50 ms; on Linux the hosts file alone, where it has the name and comes first |
//! | `localhost.`, `x.localhost` | ::1 and 127.0.0.1, in the order that the OS gives them | nobody (RFC 6761 section 6.3) |
//! | any other | the OS's answer | the resolver |
//!
//! A resolver that does not answer for `localhost` within the Resolution Delay of RFC 8305, 50 ms, is not waited for: it gets ::1
//! and 127.0.0.1.
//!
//! getaddrinfo cannot be stopped. With a limit it runs on a thread of its own, which is left to finish alone when the limit
//! strikes. While [`MAX_ABANDONED`] such threads hang, a further lookup with a limit fails at once (outcome `exhausted`) and
//! starts none. Without a limit it runs on the caller's thread.
//!
//! # Contract
//!
//! - `lookup(Option<&str>, port) -> Result<Vec<SocketAddr>, LookupError>`: getaddrinfo; `None` is its null name, whose answer is the
//!   loopback addresses in the OS's order, without any query;
//! - `interface_index(&str) -> Option<u32>`.

mod helper;
#[cfg(all(target_os = "linux", not(unstall_portable)))]
mod hosts;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as imp;
#[cfg(windows)]
use windows as imp;

use crate::error::Error;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;
use unstall_core::locality::is_localhost_name;
use unstall_core::outcome::{OsError, Outcome};
use unstall_core::target::{Host, Target, Zone};

pub use helper::MAX_ABANDONED;

/// How long the resolver may take for `localhost`: RFC 8305's Resolution Delay.
const LOCALHOST_PATIENCE: Duration = Duration::from_millis(50);

/// Where addresses came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The target was an address.
    Literal,
    /// The OS's answer as it is.
    Os,
    /// The OS's answer for `localhost`, which had addresses of one family only; the last address was added.
    OsCompleted,
    /// The resolver failed for `localhost`, or took too long; both loopback addresses stand in for its answer.
    Unanswered,
    /// A name of this host by RFC 6761, for which no resolver is asked.
    Rfc6761,
}

/// The addresses of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// In the OS's order (RFC 6724), the order in which they are to be tried.
    pub addresses: Vec<SocketAddr>,
    /// Where they came from.
    pub origin: Origin,
    /// For [`Origin::Unanswered`]: the resolver's error. `None`: there was none, or the resolver took too long.
    pub os_error: Option<OsError>,
}

/// The addresses of a target, in the OS's order, zones resolved. `limit`: how long the resolver may take (default: as long as it
/// likes; for `localhost` never more than 50 ms).
///
/// # Errors
///
/// Outcome `no_name` when there are none, `timed_out` when the limit struck, `not_available` for a zone that this host has
/// not, `exhausted` when too many lookups hang already (see [the module](self)).
pub fn resolve(target: &Target, limit: Option<Duration>) -> Result<Vec<SocketAddr>, Error> {
    resolve_detailed(target, limit).map(|answer| answer.addresses)
}

/// [`resolve`], and where the addresses came from.
///
/// # Errors
///
/// As [`resolve`].
pub fn resolve_detailed(target: &Target, limit: Option<Duration>) -> Result<Answer, Error> {
    let port = target.port();
    match target.host() {
        Host::Ip(ip) => Ok(Answer::new(vec![SocketAddr::new(*ip, port)], Origin::Literal)),
        Host::Zoned(ip, zone) => {
            let address = SocketAddrV6::new(*ip, port, 0, index_of(*ip, zone)?);
            Ok(Answer::new(vec![address.into()], Origin::Literal))
        }
        Host::Name(name) if **name == *"localhost" => Ok(localhost(port, limit)),
        Host::Name(name) if is_localhost_name(name) => Ok(Answer::new(loopback(port), Origin::Rfc6761)),
        Host::Name(name) => Ok(Answer::new(ask_os(name, port, limit)?, Origin::Os)),
        _ => Err(Error::unresolved("the target", Outcome::Unknown, "its kind of host is not known".into())),
    }
}

/// [`resolve`], if nobody has to be asked who could take long: for an address, a name below `localhost`, and on Linux `localhost`
/// itself where the hosts file has it and is read before anything else. `None`: somebody has to be asked.
pub fn at_once(target: &Target) -> Option<Result<Vec<SocketAddr>, Error>> {
    match target.host() {
        Host::Name(name) if **name == *"localhost" => {
            localhost_is_immediate().then(|| Ok(localhost_within(None, target.port()).addresses))
        }
        Host::Name(name) if !is_localhost_name(name) => None,
        _ => Some(resolve(target, None)),
    }
}

#[cfg(all(target_os = "linux", not(unstall_portable)))]
fn localhost_is_immediate() -> bool {
    hosts::answer_localhost()
}

#[cfg(not(all(target_os = "linux", not(unstall_portable))))]
fn localhost_is_immediate() -> bool {
    false
}

/// What the OS's resolver itself answers for a name, whatever the name: what programs get that have no rule for `localhost`.
///
/// # Errors
///
/// As [`resolve`].
pub fn ask_os(name: &str, port: u16, limit: Option<Duration>) -> Result<Vec<SocketAddr>, Error> {
    let answer = match limit {
        None => imp::lookup(Some(name), port),
        Some(limit) => {
            let asked = name.to_owned();
            helper::within(limit, move || imp::lookup(Some(&asked), port))
                .map_err(|failure| failure.into_error(name, limit))?
        }
    };
    match answer {
        Ok(addresses) if addresses.is_empty() => {
            Err(Error::unresolved(name, Outcome::NoName, "the name has no address".into()))
        }
        Ok(addresses) => Ok(addresses),
        Err(LookupError::Code(code)) => Err(Error::resolver(name, code)),
        Err(LookupError::NotAName) => {
            Err(Error::unresolved(name, Outcome::NoName, "no name contains a null character".into()))
        }
    }
}

/// Why a lookup gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookupError {
    /// The resolver's code: EAI, the errno behind EAI_SYSTEM, or WSA.
    Code(i32),
    /// The resolver cannot even be asked.
    NotAName,
}

impl Answer {
    const fn new(addresses: Vec<SocketAddr>, origin: Origin) -> Self {
        Self { addresses, origin, os_error: None }
    }
}

fn localhost(port: u16, limit: Option<Duration>) -> Answer {
    let patience = limit.map_or(LOCALHOST_PATIENCE, |limit| limit.min(LOCALHOST_PATIENCE));
    // A thread for the wait costs more than the connect.
    localhost_within((!localhost_is_immediate()).then_some(patience), port)
}

fn localhost_within(patience: Option<Duration>, port: u16) -> Answer {
    match ask_os("localhost", port, patience) {
        Ok(addresses) => completed(addresses, port),
        Err(error) => {
            Answer { addresses: both(port).into(), origin: Origin::Unanswered, os_error: error.os_error() }
        }
    }
}

/// An answer for `localhost` with the loopback address of the family that it lacks.
fn completed(mut addresses: Vec<SocketAddr>, port: u16) -> Answer {
    let [v6, v4] = both(port);
    let missing = match (addresses.iter().any(SocketAddr::is_ipv6), addresses.iter().any(SocketAddr::is_ipv4))
    {
        (true, true) => return Answer::new(addresses, Origin::Os),
        (true, false) => v4,
        (false, _) => v6,
    };
    addresses.push(missing);
    Answer::new(addresses, Origin::OsCompleted)
}

/// Both loopback addresses, in the OS's order.
fn loopback(port: u16) -> Vec<SocketAddr> {
    imp::lookup(None, port)
        .map_or_else(|_| both(port).into(), |addresses| completed(addresses, port).addresses)
}

/// Both loopback addresses, in the order of RFC 6724's default table.
fn both(port: u16) -> [SocketAddr; 2] {
    [(Ipv6Addr::LOCALHOST, port).into(), (Ipv4Addr::LOCALHOST, port).into()]
}

fn index_of(ip: Ipv6Addr, zone: &Zone) -> Result<u32, Error> {
    match zone {
        Zone::Index(index) => Ok(*index),
        Zone::Name(name) => imp::interface_index(name).ok_or_else(|| {
            let reason = format!("this host has no network interface {name}");
            Error::unresolved(&format!("{ip}%{name}"), Outcome::NotAvailable, reason)
        }),
    }
}
