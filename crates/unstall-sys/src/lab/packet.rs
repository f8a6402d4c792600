//! A packet socket: what crosses a device, with the kernel's time stamps. Needs CAP_NET_RAW in the network namespace.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::io;
use std::mem::zeroed;
use std::time::Duration;

/// `ETH_P_ALL`.
const ALL_PROTOCOLS: u16 = 3;

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Sent by this host. On `lo` every packet is seen once this way and once the other.
    Outgoing,
    /// Received.
    Incoming,
}

/// A packet, from its IP header on, cut to the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// How much of the buffer it fills.
    pub length: usize,
    /// Which way it went.
    pub direction: Direction,
    /// When the kernel saw it, since the epoch.
    pub at: Duration,
}

/// An open capture.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
}

impl PacketSocket {
    /// Captures on the device with this index, from now on.
    ///
    /// # Errors
    ///
    /// EPERM without CAP_NET_RAW, ENODEV where there is no such device.
    pub fn open(index: u32) -> io::Result<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // Protocol 0: nothing is queued before bind has named the device.
        // SAFETY: no pointers.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made it for us.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        set_option(&fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        // A burst of a few hundred connects must fit while nobody reads.
        set_option(&fd, libc::SOL_SOCKET, libc::SO_RCVBUF, 4 << 20)?;
        // SAFETY: plain data, all zero is a valid value.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ALL_PROTOCOLS.to_be();
        address.sll_ifindex = i32::try_from(index).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address is valid for its length.
        let bound = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
        if bound < 0 { Err(io::Error::last_os_error()) } else { Ok(Self { fd }) }
    }

    /// The next packet that has been captured, if any; its start goes into `buffer`.
    ///
    /// # Errors
    ///
    /// ENETDOWN when the device goes down.
    pub fn next(&self, buffer: &mut [u8]) -> io::Result<Option<Packet>> {
        // SAFETY: plain data, all zero is a valid value.
        let mut from: libc::sockaddr_ll = unsafe { zeroed() };
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut control = [0_u64; 16];
        // SAFETY: plain data, all zero is a valid value.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_name = (&raw mut from).cast();
        message.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: every pointer of the message is to something of this frame or to the caller's buffer, with its length.
        let length = unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, 0) };
        if length < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
        }
        let direction =
            if from.sll_pkttype == libc::PACKET_OUTGOING { Direction::Outgoing } else { Direction::Incoming };
        Ok(Some(Packet { length: length as usize, direction, at: time_stamp(&message)? }))
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn set_option(fd: &OwnedFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the value is valid for its length.
    let set = unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const value).cast(), length) };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn time_stamp(message: &libc::msghdr) -> io::Result<Duration> {
    // SAFETY: recvmsg has filled the message; its control buffer is alive in the caller.
    let header = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: either null or a header within that buffer.
    let Some(first) = (unsafe { header.as_ref() }) else { return Err(io::ErrorKind::InvalidData.into()) };
    if (first.cmsg_level, first.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // SAFETY: the header is valid.
    let data: *const libc::timespec = unsafe { libc::CMSG_DATA(header) }.cast();
    // SAFETY: the kernel put a timespec there, perhaps unaligned.
    let time = unsafe { data.read_unaligned() };
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}
