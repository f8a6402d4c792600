//! Offsets into what the kernel hands to programs, and numbers of its interface: `include/uapi/linux/bpf.h`, `in.h`,
//! `tcp.h`, `socket.h`.

use super::asm::{Asm, If, Label, Reg, Size};
use crate::profile::Prefix;
use std::net::IpAddr;

pub(crate) const AF_INET: i32 = 2;
pub(crate) const AF_INET6: i32 = 10;
pub(crate) const IPPROTO_TCP: i32 = 6;

/// States of a TCP socket, `enum tcp_state`.
pub(crate) mod state {
    pub(crate) const SYN_SENT: i32 = 2;
    pub(crate) const TIME_WAIT: i32 = 6;
    pub(crate) const LISTEN: i32 = 10;
}

/// Bits of the TCP header's flags.
pub(crate) mod flag {
    pub(crate) const FIN: i32 = 0x01;
    pub(crate) const SYN: i32 = 0x02;
    pub(crate) const RST: i32 = 0x04;
    pub(crate) const ACK: i32 = 0x10;
}

/// `struct bpf_sock_ops`.
pub(crate) mod sock_ops {
    pub(crate) const OP: i16 = 0;
    pub(crate) const REPLY: i16 = 4;
    pub(crate) const IS_FULLSOCK: i16 = 72;
    pub(crate) const REMOTE: super::Endpoint = super::Endpoint { family: 20, ip4: 24, ip6: 32 };
    /// `BPF_SOCK_OPS_TIMEOUT_INIT`: how long does the first SYN or SYN-ACK wait, in jiffies?
    pub(crate) const TIMEOUT_INIT: i32 = 1;
}

/// `struct __sk_buff`.
pub(crate) mod skb {
    pub(crate) const MARK: i16 = 8;
    pub(crate) const PROTOCOL: i16 = 16;
    pub(crate) const SK: i16 = 168;
}

/// `struct bpf_sock`.
pub(crate) mod sock {
    pub(crate) const REMOTE: super::Endpoint = super::Endpoint { family: 4, ip4: 52, ip6: 56 };
    pub(crate) const STATE: i16 = 72;
}

/// `struct bpf_tcp_sock`.
pub(crate) mod tcp_sock {
    pub(crate) const ICSK_RETRANSMITS: i16 = 108;
}

/// Where a context keeps a socket's remote address.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint {
    pub(crate) family: i16,
    pub(crate) ip4: i16,
    pub(crate) ip6: i16,
}

/// Counters, by their index.
pub(crate) mod counter {
    pub(crate) const RESETS_HELD: i32 = 0;
    pub(crate) const RESETS_PASSED: i32 = 1;
    pub(crate) const FULL_QUEUE_RESETS: i32 = 2;
    pub(crate) const LENGTH: u32 = 3;
}

/// Jumps to `elsewhere` unless the remote address has one of these prefixes. R2 and R3 are lost.
///
/// An IPv4-mapped address is judged as the IPv4 address that it is: dual-stack sockets connect to those.
pub(crate) fn only_for(asm: &mut Asm, base: Reg, remote: Endpoint, prefixes: &[Prefix], elsewhere: Label) {
    let (matched, v6, v4) = (asm.label("matched"), asm.label("remote_v6"), asm.label("remote_v4"));
    let not_mapped = asm.label("not_mapped");
    asm.load(Size::Word, Reg::R2, base, remote.family)
        .branch(If::Equal, Reg::R2, AF_INET6, v6)
        .branch(If::NotEqual, Reg::R2, AF_INET, elsewhere)
        .load(Size::Word, Reg::R3, base, remote.ip4)
        .goto(v4);
    asm.place(v6)
        .load(Size::Word, Reg::R2, base, remote.ip6)
        .branch(If::NotEqual, Reg::R2, 0, not_mapped)
        .load(Size::Word, Reg::R2, base, remote.ip6 + 4)
        .branch(If::NotEqual, Reg::R2, 0, not_mapped)
        .load(Size::Word, Reg::R2, base, remote.ip6 + 8)
        .branch(If::NotEqual, Reg::R2, network_order(0xffff), not_mapped)
        .load(Size::Word, Reg::R3, base, remote.ip6 + 12);
    asm.place(v4);
    for prefix in prefixes {
        if let IpAddr::V4(address) = prefix.address() {
            compare_word(asm, u32::from(address), prefix.length(), If::Equal, matched);
        }
    }
    asm.goto(elsewhere).place(not_mapped);
    for (index, prefix) in prefixes.iter().enumerate() {
        if let IpAddr::V6(address) = prefix.address() {
            let next = asm.label(format!("not_{index}"));
            let words = u128::from(address);
            for word in 0..4_u8 {
                let length = prefix.length().saturating_sub(32 * word).min(32);
                let wanted = (words >> (96 - 32 * u32::from(word))) as u32;
                // An empty prefix is compared as well: code that nothing jumps to is refused.
                if length > 0 || word == 0 {
                    asm.load(Size::Word, Reg::R3, base, remote.ip6 + 4 * i16::from(word));
                    compare_word(asm, wanted, length, If::NotEqual, next);
                }
            }
            asm.goto(matched).place(next);
        }
    }
    asm.goto(elsewhere).place(matched);
}

/// Jumps to `to` if the first `length` bits of the address word in R3 equal, or do not equal, those wanted. R2 is lost.
fn compare_word(asm: &mut Asm, wanted: u32, length: u8, condition: If, to: Label) {
    let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
    asm.mov(Reg::R2, Reg::R3);
    if length < 32 {
        asm.and(Reg::R2, network_order(mask));
    }
    asm.branch(condition, Reg::R2, network_order(wanted & mask), to);
}

/// The number that a word load gives for these four bytes of a packet.
pub(crate) const fn network_order(bytes: u32) -> i32 {
    i32::from_ne_bytes(bytes.to_be_bytes())
}
