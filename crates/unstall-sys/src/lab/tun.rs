//! A TUN device: IP packets that the kernel sends to it are read from a descriptor, and what is written there comes in
//! by it. Needs CAP_NET_ADMIN in the network namespace.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::mem::zeroed;

/// A TUN device that lives as long as its descriptor.
#[derive(Debug)]
pub struct Tun {
    /// Reads and writes whole IP packets, without a header in front.
    pub packets: OwnedFd,
    /// The device's index.
    pub index: u32,
}

impl Tun {
    /// Makes a device of this name, at most 15 bytes, in the calling thread's network namespace. It is down and has no
    /// address.
    ///
    /// # Errors
    ///
    /// ENOENT where the kernel has no TUN, EPERM without the right to use it, EINVAL for a name that is too long.
    pub fn new(name: &str) -> io::Result<Self> {
        let packets = open("/dev/net/tun", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        // SAFETY: plain data, all zero is a valid value.
        let mut request: libc::ifreq = unsafe { zeroed() };
        if name.len() >= request.ifr_name.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = libc::c_char::from_ne_bytes([from]);
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
        // SAFETY: the request is a valid ifreq, which the kernel reads and fills in.
        let made = unsafe { libc::ioctl(packets.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        let index = rustix::net::netdevice::name_to_index(&packets_socket()?, name)?;
        Ok(Self { packets, index })
    }
}

/// A socket to ask for the device's index with.
fn packets_socket() -> io::Result<OwnedFd> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    Ok(socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?)
}
