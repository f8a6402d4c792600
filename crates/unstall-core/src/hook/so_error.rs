//! Whether getsockopt(SO_ERROR) may be answered without asking: only if select or WSAPoll has just told this thread that the
//! connect of this very socket has succeeded. In doubt, no.
//!
//! The stall exists only right after a connect has completed, so an answer is given only within [`BELIEVED`] of the news, once,
//! and to the thread that got it. A handle that is closed or connected again is forgotten; a failure is never remembered.

use std::collections::BTreeMap;
use std::time::Duration;

/// For how long news of a success are believed. mswsock's thread has long been done after that (published: 22.5 ms at most).
pub const BELIEVED: Duration = Duration::from_millis(100);

/// How many sockets are remembered at most; what is beyond gets the real call.
pub const MOST: usize = 65_536;

#[derive(Clone, Copy, Debug)]
enum State {
    /// A non-blocking connect has been begun.
    Begun,
    /// It has succeeded, which this thread was told at that time.
    Told { thread: u32, at: Duration },
}

/// What is remembered about the sockets of a process. Times count from any fixed moment.
#[derive(Debug, Default)]
pub struct Memory {
    sockets: BTreeMap<u64, State>,
}

impl Memory {
    /// Of no socket.
    pub const fn new() -> Self {
        Self { sockets: BTreeMap::new() }
    }

    /// A connect has been begun that did not end at once.
    pub fn begun(&mut self, socket: u64) {
        if self.sockets.len() < MOST || self.sockets.contains_key(&socket) {
            self.sockets.insert(socket, State::Begun);
        }
    }

    /// Anything that makes what is known doubtful: closed, made anew, connected in another way, failed.
    pub fn forget(&mut self, socket: u64) {
        self.sockets.remove(&socket);
    }

    /// Whether anything is remembered, so that a caller may spare itself the work.
    pub fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    /// Whether a connect of this socket is known to be under way.
    pub fn is_begun(&self, socket: u64) -> bool {
        matches!(self.sockets.get(&socket), Some(State::Begun))
    }

    /// select or WSAPoll has reported a socket: writable, and nothing else that would speak of a failure; or a failure.
    pub fn told(&mut self, socket: u64, writable: bool, failed: bool, thread: u32, now: Duration) {
        match self.sockets.get_mut(&socket) {
            Some(_) if failed => self.forget(socket),
            Some(state @ State::Begun) if writable => *state = State::Told { thread, at: now },
            _ => {}
        }
    }

    /// Whether SO_ERROR of this socket is known to be 0. The next question is for the real call.
    pub fn is_success(&mut self, socket: u64, thread: u32, now: Duration) -> bool {
        let Some(State::Told { thread: told, at }) = self.sockets.get(&socket).copied() else { return false };
        self.forget(socket);
        told == thread && now.checked_sub(at).is_some_and(|since| since < BELIEVED)
    }
}

#[cfg(test)]
mod tests {
    use super::{BELIEVED, MOST, Memory};
    use std::time::Duration;

    const SOCKET: u64 = 84;
    const ME: u32 = 1;
    const START: Duration = Duration::from_secs(10);

    fn told() -> Memory {
        let mut memory = Memory::new();
        memory.begun(SOCKET);
        memory.told(SOCKET, true, false, ME, START);
        memory
    }

    #[test]
    fn a_success_that_was_told_is_answered_once() {
        let mut memory = told();
        assert!(memory.is_success(SOCKET, ME, START + BELIEVED / 2));
        assert!(!memory.is_success(SOCKET, ME, START + BELIEVED / 2));
        assert!(memory.is_empty());
    }

    #[test]
    fn without_a_connect_or_without_news_the_real_call_is_made() {
        let mut memory = Memory::new();
        memory.told(SOCKET, true, false, ME, START);
        assert!(!memory.is_success(SOCKET, ME, START));
        memory.begun(SOCKET);
        assert!(!memory.is_success(SOCKET, ME, START));
        assert!(memory.is_begun(SOCKET), "a question before the end does not end it");
    }

    #[test]
    fn a_failure_is_for_the_real_call() {
        for writable in [false, true] {
            let mut memory = Memory::new();
            memory.begun(SOCKET);
            memory.told(SOCKET, writable, true, ME, START);
            assert!(!memory.is_success(SOCKET, ME, START));
        }
        let mut memory = told();
        memory.told(SOCKET, true, true, ME, START);
        assert!(!memory.is_success(SOCKET, ME, START), "a failure after a success counts");
    }

    #[test]
    fn a_reused_handle_a_second_connect_another_thread_and_old_news_are_doubtful() {
        let mut closed = told();
        closed.forget(SOCKET);
        assert!(!closed.is_success(SOCKET, ME, START));
        let mut again = told();
        again.begun(SOCKET);
        assert!(!again.is_success(SOCKET, ME, START));
        assert!(!told().is_success(SOCKET, ME + 1, START));
        assert!(!told().is_success(SOCKET, ME, START + BELIEVED));
        assert!(!told().is_success(SOCKET + 1, ME, START));
        assert!(!told().is_success(SOCKET, ME, START.saturating_sub(Duration::from_nanos(1))));
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let mut memory = Memory::new();
        for socket in 0..=MOST as u64 {
            memory.begun(socket);
        }
        assert!(memory.is_begun(0));
        assert!(!memory.is_begun(MOST as u64));
    }
}
