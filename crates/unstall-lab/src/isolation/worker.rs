//! A thread that lives in the lab's namespaces and does there what it is told.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

type Job = Box<dyn FnOnce() + Send>;

/// The thread. Sockets that it opens belong to the lab's network, processes that it starts to all of the lab's
/// namespaces. It can start no threads: the kernel forbids that to a thread whose children get a PID namespace.
#[derive(Debug)]
pub(crate) struct Worker {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread, still in the caller's namespaces.
    pub(crate) fn start() -> std::io::Result<Self> {
        let (jobs, queue): (Sender<Job>, Receiver<Job>) = channel();
        let thread = Builder::new()
            .name("unstall-lab".to_owned())
            .spawn(move || queue.into_iter().for_each(|job| job()))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Runs `job` on the thread and returns what it returns; a panic of the job is the caller's.
    pub(crate) fn run<R: Send + 'static>(&self, job: impl FnOnce() -> R + Send + 'static) -> R {
        let (answer, answered) = channel::<Result<R, Box<dyn Any + Send>>>();
        let job = Box::new(move || {
            // The caller waits for the answer, so somebody is there to receive it.
            let _ = answer.send(catch_unwind(AssertUnwindSafe(job)));
        });
        let jobs = self.jobs.as_ref().expect("there until drop");
        jobs.send(job).expect("the thread ends with the sender only");
        match answered.recv().expect("every job answers, also when it panics") {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // It catches the panics of its jobs and has none of its own.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_runs_elsewhere_and_its_panic_comes_back() {
        let worker = Worker::start().expect("a thread");
        let elsewhere = worker.run(|| std::thread::current().id());
        assert_ne!(elsewhere, std::thread::current().id());
        let panic =
            catch_unwind(AssertUnwindSafe(|| worker.run(|| panic!("on purpose")))).expect_err("a panic");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
        assert_eq!(worker.run(|| std::thread::current().id()), elsewhere);
    }
}
