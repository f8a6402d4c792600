//! What really crosses the lab's `lo`: SYNs and RSTs, with the kernel's time stamps, whatever any client says about it.
//!
//! On `lo` a packet passes twice, on its way out and in; the way out is taken. A RST that a full accept queue answers with
//! (see the profiles) is made on the way in, where captures do not see it: [`crate::Lab::counts`] does.

use crate::error::{Error, Step};
use crate::isolation::links::LOOPBACK;
use crate::lab::Lab;
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use unstall_sys::lab::packet::{Direction, PacketSocket};

/// Enough for IPv6, TCP and its options.
const HEADERS: usize = 128;

const IPPROTO_TCP: u8 = 6;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// A TCP segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// When it was sent, since the epoch.
    pub at: Duration,
    /// From where.
    pub from: SocketAddr,
    /// Where to.
    pub to: SocketAddr,
    /// The header's flags.
    pub flags: u8,
}

impl Segment {
    /// From the IP header on. `None`: it is no TCP, or cut short.
    fn parse(at: Duration, packet: &[u8]) -> Option<Self> {
        let (from, to, tcp): (IpAddr, IpAddr, &[u8]) = match packet.first()? >> 4 {
            4 if *packet.get(9)? == IPPROTO_TCP => {
                let address =
                    |at: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(at..at + 4)?).ok()?));
                (address(12)?.into(), address(16)?.into(), packet.get(4 * usize::from(packet[0] & 15)..)?)
            }
            6 if *packet.get(6)? == IPPROTO_TCP => {
                let address =
                    |at: usize| Some(Ipv6Addr::from(<[u8; 16]>::try_from(packet.get(at..at + 16)?).ok()?));
                (address(8)?.into(), address(24)?.into(), packet.get(40..)?)
            }
            _ => return None,
        };
        let port = |at: usize| Some(u16::from_be_bytes([*tcp.get(at)?, *tcp.get(at + 1)?]));
        let (from, to) = (SocketAddr::new(from, port(0)?), SocketAddr::new(to, port(2)?));
        Some(Self { at, from, to, flags: *tcp.get(13)? })
    }

    /// The first segment of a connect.
    pub const fn is_syn(&self) -> bool {
        self.flags & (SYN | ACK | RST) == SYN
    }

    /// A reset.
    pub const fn is_reset(&self) -> bool {
        self.flags & RST == RST
    }
}

/// A capture of the lab's `lo`, running.
#[derive(Debug)]
pub struct Capture {
    socket: PacketSocket,
}

impl Capture {
    /// From now on.
    ///
    /// # Errors
    ///
    /// [`Error::System`] when the kernel has no packet sockets.
    pub fn start(lab: &Lab) -> Result<Self, Error> {
        let socket = lab.within(|| PacketSocket::open(LOOPBACK)).step("capture on the lab's lo")?;
        Ok(Self { socket })
    }

    /// What has been captured since the last time.
    ///
    /// # Errors
    ///
    /// None that is known.
    pub fn segments(&self) -> Result<Vec<Segment>, Error> {
        let (mut segments, mut buffer) = (Vec::new(), [0; HEADERS]);
        while let Some(packet) = self.socket.next(&mut buffer).step("read the capture of the lab's lo")? {
            if packet.direction == Direction::Outgoing {
                segments.extend(Segment::parse(packet.at, &buffer[..packet.length.min(HEADERS)]));
            }
        }
        Ok(segments)
    }
}

/// A connect as it was on the wire. Times count from its first SYN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Connect {
    /// Its source.
    pub from: SocketAddr,
    /// Its destination.
    pub to: SocketAddr,
    /// When each SYN was sent; the first is 0.
    pub syns: Vec<Duration>,
    /// When each RST came back.
    pub resets: Vec<Duration>,
    /// When the connection was accepted. `None`: it was not.
    pub accepted: Option<Duration>,
}

impl Connect {
    /// The times between SYNs.
    pub fn spacing(&self) -> Vec<Duration> {
        self.syns.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
    }
}

/// The connects among these segments, in the order of their first SYNs. A flow whose SYN is not there is left out.
pub fn connects(segments: &[Segment]) -> Vec<Connect> {
    let mut connects: Vec<(Duration, Connect)> = Vec::new();
    for segment in segments {
        let flow = |source: SocketAddr, destination: SocketAddr| {
            move |(_, connect): &&mut (Duration, Connect)| connect.from == source && connect.to == destination
        };
        if segment.is_syn() {
            match connects.iter_mut().find(flow(segment.from, segment.to)) {
                Some((start, connect)) => connect.syns.push(segment.at.saturating_sub(*start)),
                None => connects.push((
                    segment.at,
                    Connect {
                        from: segment.from,
                        to: segment.to,
                        syns: vec![Duration::ZERO],
                        resets: Vec::new(),
                        accepted: None,
                    },
                )),
            }
        } else if let Some((start, connect)) = connects.iter_mut().find(flow(segment.to, segment.from)) {
            let at = segment.at.saturating_sub(*start);
            if segment.is_reset() {
                connect.resets.push(at);
            } else if segment.flags & (SYN | ACK) == SYN | ACK {
                connect.accepted.get_or_insert(at);
            }
        }
    }
    connects.into_iter().map(|(_, connect)| connect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(from: u16, to: u16, flags: u8) -> Vec<u8> {
        let mut tcp = [from.to_be_bytes(), to.to_be_bytes()].concat();
        tcp.extend([0; 9]);
        tcp.extend([flags, 0, 0, 0, 0, 0, 0]);
        tcp
    }

    fn v4(from: u16, to: u16, flags: u8) -> Vec<u8> {
        // Header length 6: one word of options.
        let mut packet =
            vec![0x46, 0, 0, 44, 0, 0, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 2, 1, 1, 1, 1];
        packet.extend(tcp(from, to, flags));
        packet
    }

    fn v6(from: u16, to: u16, flags: u8) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 20, 6, 64];
        packet.extend([Ipv6Addr::LOCALHOST.octets(), Ipv6Addr::LOCALHOST.octets()].concat());
        packet.extend(tcp(from, to, flags));
        packet
    }

    #[test]
    fn reads_headers() {
        let at = Duration::from_secs(1);
        let segment = Segment::parse(at, &v4(40000, 9, SYN)).expect("TCP");
        assert_eq!(
            (segment.from.to_string(), segment.to.to_string()),
            ("127.0.0.1:40000".into(), "127.0.0.2:9".into())
        );
        assert!(segment.is_syn() && !segment.is_reset());
        let reset = Segment::parse(at, &v6(9, 40000, RST | ACK)).expect("TCP");
        assert_eq!(reset.from.to_string(), "[::1]:9");
        assert!(!reset.is_syn() && reset.is_reset());
        let udp: Vec<u8> =
            v4(1, 2, SYN).into_iter().enumerate().map(|(i, b)| if i == 9 { 17 } else { b }).collect();
        assert_eq!(Segment::parse(at, &udp), None);
        for length in 0..38 {
            assert_eq!(Segment::parse(at, &v4(1, 2, SYN)[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn joins_what_belongs_to_a_connect() {
        let ms = Duration::from_millis;
        let segment = |at: u64, packet: &[u8]| Segment::parse(ms(at), packet).expect("TCP");
        let segments = [
            segment(1000, &v6(40001, 9, SYN)),
            segment(1001, &v6(9, 40001, RST | ACK)),
            segment(1002, &v6(40002, 80, SYN)),
            segment(1003, &v6(80, 40002, SYN | ACK)),
            segment(1004, &v6(40002, 80, ACK)),
            segment(1512, &v6(40001, 9, SYN)),
            segment(1513, &v6(9, 40001, RST | ACK)),
            segment(1600, &v6(7, 8, RST)),
        ];
        let connects = connects(&segments);
        assert_eq!(connects.len(), 2);
        assert_eq!(
            (&connects[0].syns[..], &connects[0].resets[..]),
            (&[ms(0), ms(512)][..], &[ms(1), ms(513)][..])
        );
        assert_eq!(connects[0].spacing(), [ms(512)]);
        assert_eq!((connects[1].accepted, connects[1].syns.len()), (Some(ms(1)), 1));
    }
}
