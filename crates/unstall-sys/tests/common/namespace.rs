//! A network namespace of the test's own thread. Threads that it starts are in it as well, the other tests are not. The
//! kernel removes it with the last of them.

use super::left_out;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

const NOT_PERMITTED: &str =
    "as root or under `unshare -r` it would have a network namespace, which is not permitted here";

/// Runs `test` in a network namespace with the loopback interface up. Where that is not permitted the test is left out, which is
/// said.
pub(crate) fn with_network(name: &str, test: impl FnOnce() + Send) {
    run(name, UnshareFlags::NEWNET, test);
}

/// The same with mounts of its own, for [`replace_file`]; one test at a time, for the C library keeps what it read from such a
/// file for all threads.
pub(crate) fn with_network_and_mounts(name: &str, test: impl FnOnce() + Send) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    run(name, UnshareFlags::NEWNET | UnshareFlags::NEWNS, || {
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
        test();
    });
}

/// Puts `content` in place of the file at `path`, for this namespace alone.
pub(crate) fn replace_file(path: &str, content: &str) {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), content).unwrap();
    // Readable for everybody, as the original is.
    fs::set_permissions(file.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    mount_bind(file.path(), path).unwrap();
    // The mount keeps the content; the name may go.
}

/// Sets a value below /proc/sys/net for this namespace.
pub(crate) fn set(name: &str, value: &str) {
    let path = Path::new("/proc/sys/net").join(name);
    fs::write(&path, value).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn run(name: &str, flags: UnshareFlags, test: impl FnOnce() + Send) {
    let result = thread::scope(|scope| {
        let body = || {
            // SAFETY: no descriptor table is unshared, so no descriptor changes its meaning.
            match unsafe { unshare_unsafe(flags) } {
                Ok(()) => {
                    loopback_up().unwrap();
                    test();
                }
                Err(errno) => left_out(name, &format!("{NOT_PERMITTED} ({errno})")),
            }
        };
        scope.spawn(body).join()
    });
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

fn loopback_up() -> io::Result<()> {
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: all zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo\0") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the descriptor is open and the request is a whole ifreq, which outlives the call.
    let result = unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
