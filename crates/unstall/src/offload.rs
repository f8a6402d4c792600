//! Calls that block, for callers that may not: on a bounded number of threads, which end when there is nothing left to do.
//!
//! The resolver cannot be interrupted. A call whose caller has lost interest is skipped if it has not begun, and else finishes
//! alone; so a mute resolver keeps [`MAX_THREADS`] threads at most, and further calls wait for their turn, until their
//! callers' limits.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

/// How many calls may be under way.
pub(crate) const MAX_THREADS: usize = 32;
/// How many calls may wait before those that nobody waits for are sorted out the first time.
const FIRST_SORTING: usize = 64;

static POOL: Mutex<Pool> = Mutex::new(Pool { running: 0, sort_at: FIRST_SORTING, waiting: VecDeque::new() });

struct Pool {
    running: usize,
    sort_at: usize,
    waiting: VecDeque<Box<dyn Job>>,
}

trait Job: Send {
    fn is_wanted(&self) -> bool;
    fn run(self: Box<Self>);
}

/// Starts `call` as soon as a thread is free for it.
pub(crate) fn offload<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> Answer<T> {
    let slot = Arc::new(Mutex::new(State::Waiting(None)));
    let job = Box::new(Call { call: Some(call), promise: Promise(Arc::clone(&slot)) });
    enqueue(job);
    Answer(slot)
}

fn enqueue(job: Box<dyn Job>) {
    let mut pool = lock(&POOL);
    if pool.waiting.len() >= pool.sort_at {
        pool.waiting.retain(|job| job.is_wanted());
        pool.sort_at = FIRST_SORTING.max(2 * pool.waiting.len());
    }
    pool.waiting.push_back(job);
    if pool.running == MAX_THREADS {
        return;
    }
    pool.running += 1;
    drop(pool);
    if thread::Builder::new().name("unstall-resolve".into()).spawn(work).is_err() {
        let mut pool = lock(&POOL);
        pool.running -= 1;
        // Without any thread nobody would ever come for them; dropping them tells their callers.
        let lost = if pool.running == 0 { std::mem::take(&mut pool.waiting) } else { VecDeque::new() };
        drop(pool);
        drop(lost);
    }
}

fn work() {
    loop {
        let mut pool = lock(&POOL);
        let Some(job) = pool.waiting.pop_front() else {
            pool.running -= 1;
            return;
        };
        drop(pool);
        // A call that panics has said so on stderr; its caller learns it from the promise that is dropped.
        let _ = catch_unwind(AssertUnwindSafe(|| job.run()));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

enum State<T> {
    Waiting(Option<Waker>),
    Done(T),
    /// The call panicked, or no thread could be started for it.
    Lost,
    Taken,
}

type Slot<T> = Arc<Mutex<State<T>>>;

struct Call<T, F> {
    call: Option<F>,
    promise: Promise<T>,
}

impl<T: Send, F: FnOnce() -> T + Send> Job for Call<T, F> {
    fn is_wanted(&self) -> bool {
        Arc::strong_count(&self.promise.0) > 1
    }

    fn run(mut self: Box<Self>) {
        if let Some(call) = self.call.take().filter(|_| self.is_wanted()) {
            let value = call();
            self.promise.keep(State::Done(value));
        }
    }
}

/// Tells the caller the end, whatever it is.
struct Promise<T>(Slot<T>);

impl<T> Promise<T> {
    fn keep(&self, end: State<T>) {
        let mut state = lock(&self.0);
        if let State::Waiting(waker) = &mut *state {
            let waker = waker.take();
            *state = end;
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.keep(State::Lost);
    }
}

/// What an offloaded call returns; `None`: it panicked, or no thread could be started.
pub(crate) struct Answer<T>(Slot<T>);

impl<T> Future for Answer<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = lock(&self.0);
        match &mut *state {
            State::Waiting(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            State::Done(_) => match std::mem::replace(&mut *state, State::Taken) {
                State::Done(value) => Poll::Ready(Some(value)),
                _ => Poll::Ready(None),
            },
            State::Lost | State::Taken => Poll::Ready(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::task::Wake;
    use std::thread::Thread;

    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    fn block_on<T>(mut answer: Answer<T>) -> Option<T> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            match Pin::new(&mut answer).poll(&mut context) {
                Poll::Ready(value) => return value,
                Poll::Pending => thread::park(),
            }
        }
    }

    /// One test, for the threads are the process's.
    #[test]
    fn calls_are_bounded_skipped_when_nobody_waits_and_never_lost() {
        assert_eq!(block_on(offload(|| 7)), Some(7));
        assert_eq!(block_on(offload(|| -> u8 { panic!("on purpose") })), None);

        let mut releases = Vec::new();
        let mut hanging = Vec::new();
        for _ in 0..MAX_THREADS {
            let (release, held) = channel::<()>();
            let (begun, has_begun) = channel();
            hanging.push(offload(move || {
                begun.send(()).unwrap();
                held.recv().is_ok()
            }));
            has_begun.recv().unwrap();
            releases.push(release);
        }
        assert_eq!(lock(&POOL).running, MAX_THREADS);
        // Whoever gives up leaves nothing that piles up.
        for _ in 0..10 * FIRST_SORTING {
            drop(offload(|| panic!("nobody waits for this")));
        }
        assert!(lock(&POOL).waiting.len() <= FIRST_SORTING);
        let next = offload(|| 8);
        assert_eq!(lock(&POOL).running, MAX_THREADS);
        releases.clear();
        assert_eq!(block_on(next), Some(8));
        for answer in hanging {
            assert_eq!(block_on(answer), Some(false));
        }
        while lock(&POOL).running != 0 {
            thread::yield_now();
        }
    }
}
