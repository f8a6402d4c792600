//! The lookups of one connect, whoever polls them.

use super::{Lookup, Question, ResolveError};
use crate::{Connector, Family, Outcome, Target};
use smallvec::SmallVec;
use std::future::ready;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};
use unstall_core::locality::is_localhost_name;
use unstall_core::target::Host;
use unstall_sys::Error;

/// The answer of a resolver for one family, or for both.
pub(crate) struct Answer {
    pub(crate) family: Family,
    pub(crate) result: Result<Vec<SocketAddr>, Error>,
    /// No further one is to come.
    pub(crate) last: bool,
}

/// What a resolver was asked and has not answered. Dropping it ends the lookups.
#[derive(Default)]
pub(crate) struct Lookups<'a> {
    name: String,
    open: SmallVec<[(Family, Lookup<'a>); 2]>,
}

impl<'a> Lookups<'a> {
    /// Asks the connector's resolver. `None`: it has none, or the target is not to be asked for.
    pub(crate) fn ask(connector: &'a Connector, target: &Target) -> Option<Self> {
        let resolver = connector.own_resolver()?;
        let Host::Name(name) = target.host() else { return None };
        if is_localhost_name(name) {
            return None;
        }
        let families: &[Family] = match connector.race_config().family {
            Family::Any if resolver.separately() => &[Family::V6, Family::V4],
            Family::Any => &[Family::Any],
            Family::V4 => &[Family::V4],
            Family::V6 => &[Family::V6],
        };
        let ask = |&family: &Family| {
            let question = Question::new(name.clone(), target.port(), family);
            let lookup = catch_unwind(AssertUnwindSafe(|| resolver.lookup(question)));
            (family, lookup.unwrap_or_else(|_| Box::pin(ready(Err(panicked())))))
        };
        Some(Self { name: name.to_string(), open: families.iter().map(ask).collect() })
    }

    /// Whether an answer is still to come.
    pub(crate) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The next answer. Without an open question there never is one.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Answer> {
        for index in 0..self.open.len() {
            let lookup = &mut self.open[index].1;
            let polled = catch_unwind(AssertUnwindSafe(|| lookup.as_mut().poll(context)));
            let result = match polled {
                Ok(Poll::Pending) => continue,
                Ok(Poll::Ready(result)) => result,
                Err(_) => Err(panicked()),
            };
            let (family, lookup) = self.open.remove(index);
            // It may panic once more.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(lookup)));
            let result = result.map_err(|error| error.into_error(&self.name));
            return Poll::Ready(Answer { family, result, last: self.open.is_empty() });
        }
        Poll::Pending
    }
}

/// The panic itself has been told on stderr, by the program's hook.
fn panicked() -> ResolveError {
    ResolveError::new(Outcome::Unknown, "the resolver panicked")
}
