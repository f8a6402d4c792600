//! A call that cannot be stopped, given a limit: it runs on a thread of its own, which is left to finish alone when the
//! limit strikes.

use crate::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use unstall_core::outcome::Outcome;

/// How many threads may be left in the resolver before no further one is started. Each keeps a stack and whatever the resolver
/// holds; a resolver that has hung so often hangs again.
pub const MAX_ABANDONED: usize = 32;

static ABANDONED: AtomicUsize = AtomicUsize::new(0);

const RUNNING: u8 = 0;
const LEFT: u8 = 1;
const DONE: u8 = 2;

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The limit struck.
    Limit,
    /// [`MAX_ABANDONED`] earlier calls hang.
    TooMany,
    /// No thread could be started.
    NoThread,
}

impl Failure {
    pub(super) fn into_error(self, name: &str, limit: Duration) -> Error {
        let reason = match self {
            Self::Limit => return Error::resolver_limit(name, limit),
            Self::TooMany => format!("the resolver has not answered {MAX_ABANDONED} earlier lookups"),
            Self::NoThread => "no thread could be started for it".to_owned(),
        };
        Error::unresolved(name, Outcome::Exhausted, reason)
    }
}

/// What `call` returns, if it does so within `limit`.
pub(super) fn within<T: Send + 'static>(
    limit: Duration,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    if ABANDONED.load(Ordering::Acquire) >= MAX_ABANDONED {
        return Err(Failure::TooMany);
    }
    let state = Arc::new(AtomicU8::new(RUNNING));
    let (sender, receiver) = mpsc::sync_channel(1);
    let theirs = Arc::clone(&state);
    let run = move || {
        let _ = sender.send(call());
        if theirs.swap(DONE, Ordering::AcqRel) == LEFT {
            ABANDONED.fetch_sub(1, Ordering::AcqRel);
        }
    };
    thread::Builder::new().name("unstall-resolve".into()).spawn(run).map_err(|_| Failure::NoThread)?;
    if let Ok(result) = receiver.recv_timeout(limit) {
        return Ok(result);
    }
    // Counted before the thread can see that it was left, so that it never takes away what is not there yet.
    ABANDONED.fetch_add(1, Ordering::AcqRel);
    if state.compare_exchange(RUNNING, LEFT, Ordering::AcqRel, Ordering::Acquire).is_ok() {
        return Err(Failure::Limit);
    }
    // It has finished by now, and its result is there.
    ABANDONED.fetch_sub(1, Ordering::AcqRel);
    receiver.try_recv().map_err(|_| Failure::Limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const LONG: Duration = Duration::from_secs(20);

    /// One test, for the count of threads left is the process's.
    #[test]
    fn threads_that_hang_are_left_up_to_a_bound_and_forgotten_when_they_end() {
        assert_eq!(within(LONG, || 7), Ok(7));
        let mut hanging = Vec::new();
        for _ in 0..MAX_ABANDONED {
            let (release, held) = channel::<()>();
            assert_eq!(within(Duration::ZERO, move || held.recv().is_ok()), Err(Failure::Limit));
            hanging.push(release);
        }
        let error = within(LONG, || 7).unwrap_err();
        assert_eq!(error, Failure::TooMany);
        let error = error.into_error("db.example", LONG);
        assert_eq!(error.outcome(), Outcome::Exhausted);
        let expected = "cannot resolve db.example: the resolver has not answered 32 earlier lookups; \
                        check the name servers and try again later";
        assert_eq!(error.to_string(), expected);
        hanging.clear();
        while ABANDONED.load(Ordering::Acquire) != 0 {
            thread::yield_now();
        }
        assert_eq!(within(LONG, || 8), Ok(8));
    }
}
