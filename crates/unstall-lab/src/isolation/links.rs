//! The lab's network: `lo` up, addresses on it, a program at its entrance. A few rtnetlink messages, so that no `ip` need be
//! installed.

use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::net::{IpAddr, Ipv4Addr};

/// The index of `lo` in every network namespace.
pub(crate) const LOOPBACK: u32 = 1;

// include/uapi/linux/{netlink,rtnetlink,if_addr,if,pkt_sched,pkt_cls}.h
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RTA_DST: u16 = 1;
const RTM_NEWQDISC: u16 = 36;
const RTM_NEWTFILTER: u16 = 44;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const NLM_F_CREATE: u16 = 0x400;
const NLMSG_ERROR: u16 = 2;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_F_NODAD: u8 = 0x02;
const IFF_UP: u32 = 0x1;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
/// The queueing discipline that only holds classifiers, and its hook for what comes in.
const TC_H_CLSACT: u32 = 0xffff_fff1;
const TC_H_CLSACT_INGRESS: u32 = 0xffff_fff2;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// What a route without a way says: `rtm_type` of include/uapi/linux/rtnetlink.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteError {
    /// `RTN_UNREACHABLE`: EHOSTUNREACH.
    Unreachable = 7,
    /// `RTN_PROHIBIT`: EACCES.
    Prohibited = 8,
}

/// A connection to rtnetlink in the calling thread's network namespace.
#[derive(Debug)]
pub(crate) struct Links {
    socket: OwnedFd,
}

impl Links {
    pub(crate) fn open() -> Result<Self, Errno> {
        // Protocol 0 of this family is NETLINK_ROUTE.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        Ok(Self { socket })
    }

    pub(crate) fn loopback_up(&self) -> Result<(), Errno> {
        self.ask(&link_up(LOOPBACK))
    }

    /// Gives `lo` one more address. That it has it already is no error.
    pub(crate) fn add_to_loopback(&self, address: IpAddr) -> Result<(), Errno> {
        match self.ask(&new_address(LOOPBACK, address, address)) {
            Err(Errno::EXIST) => Ok(()),
            other => other,
        }
    }

    /// Brings a point-to-point device up, with this host's address and that of the other end.
    pub(crate) fn link_to(&self, index: u32, near: Ipv4Addr, far: Ipv4Addr) -> Result<(), Errno> {
        self.ask(&link_up(index))?;
        self.ask(&new_address(index, near.into(), far.into()))
    }

    /// Answers every packet to an address, which must not be one of this host, with an error of the routing table.
    pub(crate) fn refuse_route(&self, to: IpAddr, with: RouteError) -> Result<(), Errno> {
        self.ask(&new_route(to, with))
    }

    /// Has every packet that `lo` takes in pass through a `sched_cls` program, as long as the network namespace lives.
    pub(crate) fn classify_on_loopback(&self, program: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
        self.ask(&new_clsact(LOOPBACK))?;
        self.ask(&new_filter(LOOPBACK, program.as_raw_fd(), name))
    }

    fn ask(&self, message: &[u8]) -> Result<(), Errno> {
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&self.socket, message, SendFlags::empty(), &kernel)?;
        let mut answer = [0; 1024];
        let (_, length) =
            rustix::io::retry_on_intr(|| recv(&self.socket, &mut answer[..], RecvFlags::empty()))?;
        acknowledged(&answer[..length])
    }
}

/// `struct nlmsghdr`, then the body.
fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16 + body.len());
    bytes.extend((16 + body.len() as u32).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((NLM_F_REQUEST | NLM_F_ACK | flags).to_ne_bytes());
    bytes.extend([0; 8]); // Sequence number and port: one question at a time, the kernel fills in the port.
    bytes.extend(body);
    bytes
}

/// `struct ifinfomsg`: family, type, index, flags, which flags to change.
fn link_up(index: u32) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend(index.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    message(RTM_NEWLINK, 0, &body)
}

/// `struct ifaddrmsg`: family, prefix length, flags, scope, index; then the address, and that of the other end.
fn new_address(index: u32, address: IpAddr, other_end: IpAddr) -> Vec<u8> {
    let octets = |address| match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    let length = octets(address).len();
    let family = if address.is_ipv4() { AF_INET } else { AF_INET6 };
    let mut body = vec![family, 8 * length as u8, IFA_F_NODAD, 0];
    body.extend(index.to_ne_bytes());
    for (attribute, value) in [(IFA_LOCAL, address), (IFA_ADDRESS, other_end)] {
        body.extend((4 + length as u16).to_ne_bytes());
        body.extend(attribute.to_ne_bytes());
        body.extend(octets(value));
    }
    message(RTM_NEWADDR, NLM_F_CREATE, &body)
}

/// `struct rtmsg`: family, lengths of destination and source, TOS, table, protocol, scope, type, flags; then the
/// destination.
fn new_route(to: IpAddr, with: RouteError) -> Vec<u8> {
    let (family, octets) = match to {
        IpAddr::V4(v4) => (AF_INET, v4.octets().to_vec()),
        IpAddr::V6(v6) => (AF_INET6, v6.octets().to_vec()),
    };
    let mut body =
        vec![family, 8 * octets.len() as u8, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, 0, with as u8, 0, 0, 0, 0];
    body.extend((4 + octets.len() as u16).to_ne_bytes());
    body.extend(RTA_DST.to_ne_bytes());
    body.extend(&octets);
    message(RTM_NEWROUTE, NLM_F_CREATE, &body)
}

/// `struct nlattr`: length, kind, value, filled up to a multiple of four.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = (4 + value.len() as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// `struct tcmsg`: family, index, handle, parent, information.
fn traffic_control(index: u32, handle: u32, parent: u32, information: u32) -> Vec<u8> {
    [0, index, handle, parent, information].iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn new_clsact(index: u32) -> Vec<u8> {
    let mut body = traffic_control(index, TC_H_CLSACT & 0xffff_0000, TC_H_CLSACT, 0);
    body.extend(attribute(TCA_KIND, b"clsact\0"));
    message(RTM_NEWQDISC, NLM_F_CREATE, &body)
}

fn new_filter(index: u32, program: i32, name: &str) -> Vec<u8> {
    // The first priority, for every protocol (ETH_P_ALL, in network order).
    let information = 1 << 16 | u32::from(3_u16.to_be());
    let mut body = traffic_control(index, 0, TC_H_CLSACT_INGRESS, information);
    body.extend(attribute(TCA_KIND, b"bpf\0"));
    let options = [
        attribute(TCA_BPF_FD, &program.to_ne_bytes()),
        attribute(TCA_BPF_NAME, &[name.as_bytes(), b"\0"].concat()),
        attribute(TCA_BPF_FLAGS, &TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes()),
    ];
    body.extend(attribute(TCA_OPTIONS, &options.concat()));
    message(RTM_NEWTFILTER, NLM_F_CREATE, &body)
}

/// `struct nlmsgerr`: after the header, the negative errno; 0 is the acknowledgement.
fn acknowledged(answer: &[u8]) -> Result<(), Errno> {
    match (answer.get(4..6), answer.get(16..20)) {
        (Some(kind), Some(error)) if *kind == NLMSG_ERROR.to_ne_bytes() => {
            match i32::from_ne_bytes([error[0], error[1], error[2], error[3]]) {
                0 => Ok(()),
                errno => Err(Errno::from_raw_os_error(-errno)),
            }
        }
        _ => Err(Errno::BADMSG),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_kernel_s_layout() {
        assert_eq!(
            link_up(1),
            [
                &32_u32.to_ne_bytes()[..],
                &16_u16.to_ne_bytes(),
                &5_u16.to_ne_bytes(),
                &[0; 12],
                &1_u32.to_ne_bytes(),
                &1_u32.to_ne_bytes(),
                &1_u32.to_ne_bytes()
            ]
            .concat()
        );
        let v4 = new_address(1, [198, 51, 100, 7].into(), [198, 51, 100, 8].into());
        assert_eq!((v4.len(), &v4[16..20]), (40, &[2, 32, 2, 0][..]));
        assert_eq!(&v4[28..32], &[198, 51, 100, 7]);
        assert_eq!(&v4[36..40], &[198, 51, 100, 8]);
        let address = IpAddr::V6("2001:db8::1".parse().expect("an address"));
        let v6 = new_address(1, address, address);
        assert_eq!((v6.len(), &v6[16..20]), (64, &[10, 128, 2, 0][..]));
    }

    #[test]
    fn attributes_are_filled_up() {
        assert_eq!(
            attribute(1, b"bpf\0"),
            [&8_u16.to_ne_bytes()[..], &1_u16.to_ne_bytes(), b"bpf\0"].concat()
        );
        let odd = attribute(7, b"abcde");
        assert_eq!((odd.len(), &odd[..2], &odd[9..]), (12, &9_u16.to_ne_bytes()[..], &[0, 0, 0][..]));
        let filter = new_filter(1, 5, "x");
        assert_eq!(filter.len(), 16 + 20 + 8 + 4 + 8 + 8 + 8);
    }

    #[test]
    fn answers_are_read() {
        let answer = |kind: u16, errno: i32| {
            [&36_u32.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], &errno.to_ne_bytes(), &[0; 16]]
                .concat()
        };
        assert_eq!(acknowledged(&answer(2, 0)), Ok(()));
        assert_eq!(acknowledged(&answer(2, -17)), Err(Errno::EXIST));
        assert_eq!(acknowledged(&answer(3, 0)), Err(Errno::BADMSG));
        assert_eq!(acknowledged(&[]), Err(Errno::BADMSG));
    }
}
