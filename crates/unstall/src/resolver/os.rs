//! The OS's resolver, on threads of its own.

use super::{Lookup, Question, ResolveError, Resolver};
use crate::Outcome;
use crate::offload::offload;
use unstall_sys::resolve;

/// getaddrinfo on at most 32 threads, which all connects of the process share and which end when they have nothing to do.
///
/// It is what futures use anyway. A blocking connect without a limit calls getaddrinfo itself by default, and with this waits for a
/// thread that does. A resolver that answers nobody keeps the 32 threads; whoever asks then waits for one, until its own limit.
/// It also is what a resolver of yours falls back to.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsResolver;

impl Resolver for OsResolver {
    fn lookup(&self, question: Question) -> Lookup<'_> {
        Box::pin(async move {
            let Question { name, port, .. } = question;
            let answer = offload(move || resolve::ask_os(&name, port, None)).await;
            let lost = "the resolver panicked, or no thread could be started for it";
            answer.ok_or_else(|| ResolveError::new(Outcome::Exhausted, lost))?.map_err(ResolveError::os)
        })
    }

    fn separately(&self) -> bool {
        false
    }
}
