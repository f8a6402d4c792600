//! Signals as a file: blocked, then read with who sent them; and unblocked for programs that are started meanwhile.

use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Signals of the calling thread, and of threads it starts from now on, that arrive here instead of acting.
///
/// Programs that are started inherit that they are blocked, but for [`unblock`].
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
}

/// One that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its number.
    pub signal: i32,
    /// Whether the kernel sent it: a key press, a closed terminal. Then the whole foreground process group got it.
    pub from_kernel: bool,
}

impl Signals {
    /// Blocks these signals and opens the file.
    ///
    /// # Errors
    ///
    /// EMFILE and the like.
    pub fn block(signals: &[i32]) -> io::Result<Self> {
        let set = set_of(signals);
        change(libc::SIG_BLOCK, &set)?;
        // SAFETY: the set is initialised; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made it for us.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The next signal that has arrived, if any.
    ///
    /// # Errors
    ///
    /// None that is known.
    pub fn next(&self) -> io::Result<Option<Received>> {
        let mut info = [MaybeUninit::<u8>::uninit(); size_of::<libc::signalfd_siginfo>()];
        match rustix::io::read(&self.fd, &mut info[..]) {
            Err(rustix::io::Errno::AGAIN) => Ok(None),
            Err(errno) => Err(errno.into()),
            Ok((read, _)) if read.len() == size_of::<libc::signalfd_siginfo>() => {
                // `struct signalfd_siginfo` starts with u32 ssi_signo, i32 ssi_errno, i32 ssi_code.
                let word =
                    |at: usize| i32::from_ne_bytes([read[at], read[at + 1], read[at + 2], read[at + 3]]);
                Ok(Some(Received { signal: word(0), from_kernel: word(8) == libc::SI_KERNEL }))
            }
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Has the ends of children be told again: a process inherits that SIGCHLD is ignored, and then waiting for one fails.
pub fn stop_ignoring_children() {
    // SAFETY: no handler is installed; the default action of SIGCHLD does nothing.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Has the program start with these signals unblocked.
pub fn unblock<const N: usize>(command: &mut Command, signals: [i32; N]) {
    // SAFETY: the closure makes one sigprocmask(2) call; no allocation, no lock.
    unsafe { command.pre_exec(move || change(libc::SIG_UNBLOCK, &set_of(&signals))) };
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: a sigset_t is plain data, and sigemptyset below is what makes it a set.
    let mut set: libc::sigset_t = unsafe { zeroed() };
    // SAFETY: the set is ours.
    unsafe { libc::sigemptyset(&raw mut set) };
    for &signal in signals {
        // SAFETY: the set is ours; a number that is none is refused by an error value.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}

fn change(how: i32, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the set is initialised; the old mask is not asked for.
    match unsafe { libc::pthread_sigmask(how, set, std::ptr::null_mut()) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
