//! Any Unix: a socket gets its flags by calls of their own, and a self-connect is detected, not prevented.

use super::unix::Mode;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketType, socket};
use std::net::SocketAddr;

/// POSIX does not say how poll shows a failed connect, and not every system shows it by POLLERR or POLLHUP; so whether there is
/// a peer is asked too.
pub(super) const POLL_TELLS_FAILURES: bool = false;

pub(super) fn open(family: AddressFamily, mode: Mode) -> Result<OwnedFd, Errno> {
    let socket = socket(family, SocketType::STREAM, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    // A write to a connection that the peer has reset is an error, never a signal that ends the program. Elsewhere std asks
    // for that at each write; here the socket has to be told.
    #[cfg(target_vendor = "apple")]
    rustix::net::sockopt::set_socket_nosigpipe(&socket, true)?;
    if mode == Mode::NonBlocking {
        ioctl_fionbio(&socket, true)?;
    }
    Ok(socket)
}

/// No one call tells it on every system: poll has to.
pub(super) fn look(_socket: &OwnedFd) -> Option<Result<bool, Errno>> {
    None
}

/// Nobody tells.
pub(super) fn syn_repeated(_socket: BorrowedFd<'_>) -> Option<bool> {
    None
}

/// No system here lets a socket exclude a source port, so both ends of a connection are compared once it is made.
#[derive(Debug)]
pub(super) struct SourcePort;

#[expect(clippy::unused_self, reason = "the contract is that of linux.rs")]
impl SourcePort {
    pub(super) fn guard(_socket: &OwnedFd, _address: &SocketAddr, _local: bool) -> Self {
        Self
    }

    pub(super) fn use_other_side(&mut self, _socket: &OwnedFd) -> bool {
        false
    }

    pub(super) fn must_detect(&self) -> bool {
        true
    }
}
