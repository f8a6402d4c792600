//! Linux: sockets in one call, and a source port range without the destination port (IP_LOCAL_PORT_RANGE, kernel 6.3).

use super::unix::Mode;
use crate::addresses::is_own;
use crate::ports;
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socket_with};
use std::mem::size_of;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// `include/uapi/linux/in.h`; the libc crate does not name it yet.
const IP_LOCAL_PORT_RANGE: libc::c_int = 51;

/// A failed connect is POLLERR and POLLHUP (tcp_poll in net/ipv4/tcp.c), so POLLOUT alone is success.
pub(super) const POLL_TELLS_FAILURES: bool = true;

/// Whether a connect that does not block is over; its failure is the error. Sending nothing tells all of that in one call, which
/// costs less than a poll, or than a second connect after a refusal: it would wait while the connect goes on, and fails as the
/// connect did (tcp_sendmsg_locked in net/ipv4/tcp.c, sk_stream_wait_connect in net/core/stream.c).
#[expect(clippy::unnecessary_wraps, reason = "the contract is that of portable.rs")]
pub(super) fn look(socket: &OwnedFd) -> Option<Result<bool, Errno>> {
    Some(match send(socket, &[], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        Ok(_) => Ok(true),
        Err(Errno::AGAIN | Errno::INTR) => Ok(false),
        Err(errno) => Err(errno),
    })
}

/// Whether the SYN of a connect that is under way has been sent again.
pub(super) fn syn_repeated(socket: BorrowedFd<'_>) -> Option<bool> {
    // The fields come in the order of their age, so the first ones are all that is asked for.
    let mut info = [0_u8; 4];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the descriptor is open for the whole call, and the pointers are those of `info` and of its length, which outlive it.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    // struct tcp_info in include/uapi/linux/tcp.h: state, ca_state, retransmits.
    let [state, _, retransmits, _] = info;
    (result == 0 && length as usize == info.len() && state == SYN_SENT).then_some(retransmits > 0)
}

/// TCP_SYN_SENT of `include/net/tcp_states.h`.
const SYN_SENT: u8 = 2;

/// The kernel has answered that it does not know the option.
static UNKNOWN_OPTION: AtomicBool = AtomicBool::new(cfg!(unstall_no_port_range));

pub(super) fn open(family: AddressFamily, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = match mode {
        Mode::Blocking => SocketFlags::CLOEXEC,
        Mode::NonBlocking => SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
    };
    socket_with(family, SocketType::STREAM, flags, None)
}

/// What is done so that a socket does not connect to itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SourcePort {
    /// The kernel will not choose the destination port.
    Safe,
    /// It will not, and there are more ports on the other side of it, for when this side is used up.
    OneSide { other: (u16, u16) },
    /// It might.
    Unguarded,
}

impl SourcePort {
    /// Takes the destination port out of the ports that the kernel may choose from, when it is one of them and the destination is
    /// local. The larger side of the range is used first.
    pub(super) fn guard(socket: &OwnedFd, address: &SocketAddr, local: bool) -> Self {
        let port = address.port();
        // Most ports lie outside and are done here. A caller may not have looked at the host's own addresses.
        let range = ports::cached_ephemeral_range();
        if range.is_some_and(|(low, high)| port < low || high < port) || !(local || is_own(address.ip())) {
            return Self::Safe;
        }
        let Some((low, high)) = range.filter(|_| !UNKNOWN_OPTION.load(Ordering::Relaxed)) else {
            return Self::Unguarded;
        };
        let (first, other) = sides(low, port, high);
        match first.map(|range| set_port_range(socket, range)) {
            Some(Ok(())) => other.map_or(Self::Safe, |other| Self::OneSide { other }),
            Some(Err(Errno::NOPROTOOPT)) => {
                UNKNOWN_OPTION.store(true, Ordering::Relaxed);
                Self::Unguarded
            }
            Some(Err(_)) | None => Self::Unguarded,
        }
    }

    /// Changes to the other side of the range; false: there is none, or it is in use already.
    pub(super) fn use_other_side(&mut self, socket: &OwnedFd) -> bool {
        let Self::OneSide { other } = *self else { return false };
        *self = Self::Safe;
        set_port_range(socket, other).is_ok()
    }

    /// Whether the connected socket has to be looked at.
    pub(super) fn must_detect(&self) -> bool {
        *self == Self::Unguarded
    }
}

/// A range of ports, both ends within.
type Side = Option<(u16, u16)>;

/// The ports below and above `port`, the larger side first. `low <= port <= high`.
fn sides(low: u16, port: u16, high: u16) -> (Side, Side) {
    let below = (low < port).then(|| (low, port - 1));
    let above = (port < high).then(|| (port + 1, high));
    if port - low > high - port || above.is_none() { (below, above) } else { (above, below) }
}

fn set_port_range(socket: &OwnedFd, (low, high): (u16, u16)) -> Result<(), Errno> {
    let value = u32::from(high) << 16 | u32::from(low);
    // SAFETY: the descriptor is open for the whole call, and the pointer and length are those of `value`, which outlives it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            IP_LOCAL_PORT_RANGE,
            (&raw const value).cast(),
            size_of::<u32>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::sides;

    #[test]
    fn the_larger_side_comes_first_and_none_has_the_port() {
        assert_eq!(sides(10, 13, 20), (Some((14, 20)), Some((10, 12))));
        assert_eq!(sides(10, 17, 20), (Some((10, 16)), Some((18, 20))));
        assert_eq!(sides(10, 10, 20), (Some((11, 20)), None));
        assert_eq!(sides(10, 20, 20), (Some((10, 19)), None));
        assert_eq!(sides(10, 10, 10), (None, None));
        assert_eq!(sides(0, 65535, 65535), (Some((0, 65534)), None));
        assert_eq!(sides(65535, 65535, 65535), (None, None));
    }
}
