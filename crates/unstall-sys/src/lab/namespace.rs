//! Namespaces: a network, mount and PID namespace for the calling thread, a user namespace for the whole process.

use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs;
use std::io;

/// Gives the calling thread a network and a mount namespace of its own, and its future children a PID namespace.
///
/// The other threads stay where they are. The thread can start no threads afterwards (the kernel answers EINVAL), only
/// processes; the first of them is the PID namespace's init, see [`super::init`].
///
/// # Errors
///
/// EPERM without CAP_SYS_ADMIN in the user namespace; ENOSPC at a limit of `/proc/sys/user/max_*_namespaces`.
pub fn unshare_thread() -> io::Result<()> {
    let flags = UnshareFlags::NEWNET | UnshareFlags::NEWNS | UnshareFlags::NEWPID;
    // SAFETY: no file descriptor table is unshared, so no descriptor that another thread relies on changes its meaning.
    unsafe { unshare_unsafe(flags) }?;
    Ok(())
}

/// Moves the whole process into a user namespace in which it has every capability and keeps its user and group id.
///
/// # Errors
///
/// EINVAL when the process has more than one thread; EPERM or ENOSPC when the system does not let this user have one.
pub fn enter_user_namespace() -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    // SAFETY: no file descriptor table is unshared, so no descriptor changes its meaning.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }?;
    // A group id can be mapped by an ordinary user only where setgroups(2) is denied.
    match fs::write("/proc/self/setgroups", "deny") {
        Err(e) if e.raw_os_error() != Some(Errno::NOENT.raw_os_error()) => return Err(e),
        _ => {}
    }
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}
