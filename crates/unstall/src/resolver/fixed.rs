//! Answers that are known beforehand.

use super::{Lookup, Question, ResolveError, Resolver};
use crate::{Name, ParseTargetError};
use std::collections::HashMap;
use std::future::ready;
use std::net::{IpAddr, SocketAddr};

/// A table of names and their addresses, as a hosts file. A name that it does not have has no address.
///
/// ```
/// use std::net::{Ipv4Addr, Ipv6Addr};
/// use unstall::Connector;
/// use unstall::resolver::FixedResolver;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = unstall::testing::v4_only()?;
/// # let port = server.port();
/// let addresses = [Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()];
/// let connector = Connector::new().resolver(FixedResolver::new().with("db.example", addresses)?);
/// let stream = connector.connect(("db.example", port))?;
/// assert!(connector.connect("other.example:80").unwrap_err().is_no_name());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct FixedResolver(HashMap<Name, Vec<IpAddr>>);

impl FixedResolver {
    /// Without any name.
    pub fn new() -> Self {
        Self::default()
    }

    /// `name` has these addresses, tried in this order with the families interleaved after the first. In place of those that it had.
    ///
    /// # Errors
    /// `name` is no host name.
    pub fn with(
        mut self,
        name: &str,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Result<Self, ParseTargetError> {
        self.0.insert(name.parse()?, addresses.into_iter().collect());
        Ok(self)
    }

    fn answer(&self, question: &Question) -> Result<Vec<SocketAddr>, ResolveError> {
        match self.0.get(&question.name) {
            Some(addresses) => Ok(addresses.iter().map(|&ip| (ip, question.port).into()).collect()),
            None => Err(ResolveError::no_name("the table of names does not have it")),
        }
    }
}

impl Resolver for FixedResolver {
    fn lookup(&self, question: Question) -> Lookup<'_> {
        Box::pin(ready(self.answer(&question)))
    }

    fn separately(&self) -> bool {
        false
    }
}
