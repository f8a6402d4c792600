//! Signals as a file: blocked, then read with who sent them.

use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::io;
use std::mem::{MaybeUninit, zeroed};

/// Signals of the calling thread, and of threads it starts from now on, that arrive here instead of acting.
///
/// std's `Command` clears the mask for the programs that it starts.
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
        // SAFETY: a sigset_t is plain data, and sigemptyset below is what makes it a set.
        let mut set: libc::sigset_t = unsafe { zeroed() };
        // SAFETY: the set is ours.
        unsafe { libc::sigemptyset(&raw mut set) };
        for &signal in signals {
            // SAFETY: the set is ours; a number that is none is refused by an error value.
            unsafe { libc::sigaddset(&raw mut set, signal) };
        }
        // SAFETY: the set is initialised; the old mask is not asked for.
        let blocked = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if blocked != 0 {
            return Err(io::Error::from_raw_os_error(blocked));
        }
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

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
