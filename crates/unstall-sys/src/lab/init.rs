//! The first process of a lab's PID namespace: whatever happens to the lab, it ends what is left and removes the cgroup.
//!
//! It waits for the end of a pipe that the lab alone holds open. The kernel closes that pipe however the lab ends,
//! SIGKILL included; then init kills every process of its namespace, removes the cgroup directory and exits. It sits in a
//! process group of its own, so that neither the terminal nor a `kill -9` of the lab's group reaches it.
//!
//! It is forked from a program that may have threads, so it makes system calls only: no allocation, no lock, no panic.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, openat, unlinkat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;

/// How often the removal of a cgroup is tried, 1 ms apart, while its last processes end.
const REMOVAL_TRIES: u32 = 10_000;

/// How deep cgroups that programs of the lab made within its own are removed.
const REMOVAL_DEPTH: u32 = 8;

/// A directory that init removes at the end: a cgroup, by its parent and its name. It need not exist yet.
#[derive(Debug)]
pub struct Leftover {
    /// The directory that holds it.
    pub parent: OwnedFd,
    /// Its name there.
    pub name: CString,
}

/// Why there is no init.
#[derive(Debug)]
pub enum StartError {
    /// It could not be forked.
    Fork(io::Error),
    /// It could not mount its `/proc`: EPERM where a container hides parts of its own.
    MountProc(Errno),
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::Fork(error)
    }
}

impl From<Errno> for StartError {
    fn from(errno: Errno) -> Self {
        Self::Fork(errno.into())
    }
}

/// The running init of a PID namespace. Dropping it ends the namespace and waits for that.
#[derive(Debug)]
pub struct Init {
    pid: Pid,
    life: Option<OwnedFd>,
}

impl Init {
    /// Forks the init of the PID namespace that the calling thread's children get, and mounts its `/proc` over the one
    /// of the calling thread's mount namespace.
    ///
    /// The calling thread must live as long as the namespace is to be used for new processes.
    ///
    /// # Errors
    ///
    /// [`StartError`]; then nothing is left of it.
    pub fn start(leftover: Option<&Leftover>) -> Result<Self, StartError> {
        let (life_read, life) = pipe_with(PipeFlags::CLOEXEC)?;
        let (ready, ready_write) = pipe_with(PipeFlags::CLOEXEC)?;
        // SAFETY: the child makes nothing but system calls and never returns from `run`.
        let forked = unsafe { libc::fork() };
        if forked == 0 {
            run(life_read.as_raw_fd(), ready_write.as_raw_fd(), leftover);
        }
        let pid = Pid::from_raw(forked).ok_or_else(io::Error::last_os_error)?;
        let init = Self { pid, life: Some(life) };
        drop(ready_write);
        let mut answer = [0; 4];
        match rustix::io::retry_on_intr(|| rustix::io::read(&ready, &mut answer))? {
            4 => match i32::from_ne_bytes(answer) {
                0 => Ok(init),
                errno => Err(StartError::MountProc(Errno::from_raw_os_error(errno))),
            },
            _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }
}

impl Drop for Init {
    fn drop(&mut self) {
        drop(self.life.take());
        // The only failure is that somebody else has waited for it: then it is gone as well.
        let _ = rustix::io::retry_on_intr(|| waitpid(Some(self.pid), WaitOptions::empty()));
    }
}

/// The life of init. System calls only.
fn run(life: RawFd, ready: RawFd, leftover: Option<&Leftover>) -> ! {
    // Whatever fails here only makes init more visible or less patient; the namespace is ended all the same.
    let _ = rustix::process::setpgid(None, None);
    let _ = rustix::thread::set_name(c"unstall-lab");
    let _ = rustix::process::chdir(c"/");
    ignore_signals();
    let mounted = rustix::mount::mount(
        c"proc",
        c"/proc",
        c"proc",
        rustix::mount::MountFlags::NOSUID
            | rustix::mount::MountFlags::NODEV
            | rustix::mount::MountFlags::NOEXEC,
        None,
    );
    let errno = mounted.err().map_or(0, Errno::raw_os_error);
    // SAFETY: the descriptor was open in the parent when it forked, and nothing here has closed it.
    let ready = unsafe { OwnedFd::from_raw_fd(ready) };
    let _ = rustix::io::write(&ready, &errno.to_ne_bytes());
    drop(ready);
    let parent = leftover.map(|l| l.parent.as_raw_fd());
    close_all_but(life, parent);
    if errno == 0 {
        wait_for_the_end(life);
        kill_all();
    }
    if let Some(leftover) = leftover {
        remove(leftover.parent.as_fd(), &leftover.name);
    }
    // SAFETY: ends the process without running anything of the parent's.
    unsafe { libc::_exit(0) }
}

/// Orphans need no wait when SIGCHLD is ignored; nothing else but SIGKILL is to end init.
fn ignore_signals() {
    for signal in 1..=64 {
        // SAFETY: no handler is installed, SIG_IGN runs no code. SIGKILL and SIGSTOP are refused by the kernel.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// The lab's streams must not stay open here, nor the pipes of other labs of the same program.
fn close_all_but(first: RawFd, second: Option<RawFd>) {
    let second = second.unwrap_or(first);
    let (low, high) = (first.min(second), first.max(second));
    close_range(0, low - 1);
    close_range(low + 1, high - 1);
    close_range(high + 1, RawFd::MAX);
}

/// From `first` to `last`, both included; nothing when that is no range.
fn close_range(first: RawFd, last: RawFd) {
    if first <= last {
        // SAFETY: closes descriptors that this process does not use any more.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

fn wait_for_the_end(life: RawFd) {
    // SAFETY: `close_all_but` left this descriptor open, and nothing closes it before the process ends.
    let life = unsafe { BorrowedFd::borrow_raw(life) };
    let mut byte = [0; 1];
    // Nobody writes: the read ends with the last writer.
    while rustix::io::read(life, &mut byte) == Err(Errno::INTR) {}
}

fn kill_all() {
    // SAFETY: -1 is every process that this one may signal, but itself: those of its PID namespace.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

fn remove(parent: BorrowedFd<'_>, name: &CStr) {
    for _ in 0..REMOVAL_TRIES {
        match remove_tree(parent, name, REMOVAL_DEPTH) {
            Ok(()) | Err(Errno::NOENT) => return,
            Err(_) => pause(),
        }
    }
}

/// A millisecond.
fn pause() {
    let wait = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    // SAFETY: the request is a valid timespec, and no remainder is asked for.
    unsafe { libc::nanosleep(&raw const wait, std::ptr::null_mut()) };
}

/// Removes a cgroup directory with those below it; their files go with them.
///
/// # Errors
///
/// EBUSY while a process is left within; ENOENT when there is none.
pub fn remove_tree(parent: BorrowedFd<'_>, name: &CStr, depth: u32) -> Result<(), Errno> {
    match unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Err(Errno::BUSY | Errno::NOTEMPTY) if depth > 0 => {}
        other => return other,
    }
    let directory = openat(parent, name, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut buffer = [const { MaybeUninit::uninit() }; 2048];
    let mut entries = RawDir::new(&directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if entry.file_type() == rustix::fs::FileType::Directory
            && !matches!(entry.file_name().to_bytes(), b"." | b"..")
        {
            remove_tree(directory.as_fd(), entry.file_name(), depth - 1)?;
        }
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)
}
