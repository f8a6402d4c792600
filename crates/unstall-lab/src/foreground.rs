//! Standing in for a program at the terminal: signals go to it, its end becomes ours.
//!
//! The program is in the same process group, so what is typed (Ctrl-C, Ctrl-\, Ctrl-Z) reaches it from the terminal. This
//! process waits for what the program makes of it: it passes on only what was sent to itself alone.

use crate::error::{Error, Step};
use crate::lab::Lab;
use crate::program::{Ended, Program, Streams};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::process::Signal;
use std::process::Command;
use unstall_sys::lab::signals::{self, Signals};

/// What is passed on. Stopping (Ctrl-Z) is left to the kernel: it stops this process as well, which is what a shell expects.
const PASSED_ON: [Signal; 8] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::WINCH,
];

/// Signals of this process, held back for the program that it stands for.
#[derive(Debug)]
pub struct Foreground {
    signals: Signals,
}

impl Foreground {
    /// Holds back signals from now on. To be called before the first thread starts.
    ///
    /// # Errors
    ///
    /// [`Error::System`] when descriptors are used up.
    pub fn prepare() -> Result<Self, Error> {
        // Whoever started this process may have left it ignored, and then nobody's exit code could be read.
        signals::stop_ignoring_children();
        let signals = Signals::block(&PASSED_ON.map(Signal::as_raw)).step("hold back signals")?;
        Ok(Self { signals })
    }

    /// The signal that came before there was a program to pass it on to, if it is one that ends a process.
    ///
    /// # Errors
    ///
    /// None that is known.
    pub fn interrupted(&self) -> Result<Option<Ended>, Error> {
        while let Some(received) = self.signals.next().step("read a signal")? {
            if received.signal != Signal::WINCH.as_raw() {
                return Ok(Some(Ended::Signalled(received.signal)));
            }
        }
        Ok(None)
    }

    /// Runs a program in the lab to its end, its streams those of this process, and passes on signals meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::NotExecutable`], [`Error::System`].
    pub fn run(&self, lab: &Lab, program: &Program) -> Result<Ended, Error> {
        const OPERATION: &str = "wait for the program";
        let mut running = lab.start(program, Streams::Foreground)?;
        loop {
            let signals = self.signals.as_fd();
            let mut files = [
                PollFd::new(running.pidfd(), PollFlags::IN),
                PollFd::from_borrowed_fd(signals, PollFlags::IN),
            ];
            match poll(&mut files, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno).step(OPERATION),
            }
            if !files[0].revents().is_empty() {
                let ended = running.wait(None).step(OPERATION)?;
                return Ok(ended.unwrap_or(Ended::Signalled(0)));
            }
            while let Some(received) = self.signals.next().step("read a signal")? {
                if !received.from_kernel {
                    running.signal(received.signal).step("pass on a signal")?;
                }
            }
        }
    }
}

/// Has a program get the signals that are held back here.
pub(crate) fn let_through(command: &mut Command) {
    signals::unblock(command, PASSED_ON.map(Signal::as_raw));
}
