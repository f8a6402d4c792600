//! `cgroup_skb` egress: a TTL or hop limit that stands for a number of retries becomes the mark for it.
//!
//! See [`crate::opt_out`] for the encoding. (A program on setsockopt would do as well, but 32-bit processes bypass those.)
//! A mark that the socket has already is left alone.

use super::asm::{Asm, Helper, If, Reg, Size};
use super::context::{IPPROTO_TCP, skb};
use crate::opt_out;

pub(crate) fn program() -> Asm {
    /// Enough of either header: IPv6 has its next header and hop limit at 6 and 7, IPv4 its TTL and protocol at 8 and 9.
    const HEADER: i16 = -16;
    const LENGTH: i32 = 10;
    let mut asm = Asm::new("unstall_opt_out");
    let (pass, v4, tcp, mark) =
        (asm.label("pass"), asm.label("ipv4"), asm.label("ttl_known"), asm.label("mark"));
    asm.mov(Reg::R6, Reg::R1)
        .load(Size::Word, Reg::R2, Reg::R6, skb::MARK)
        .branch(If::NotEqual, Reg::R2, 0, pass)
        .mov(Reg::R2, 0)
        .mov(Reg::R3, Reg::R10)
        .add(Reg::R3, i32::from(HEADER))
        .mov(Reg::R4, LENGTH)
        .call(Helper::SkbLoadBytes)
        .branch(If::NotEqual, Reg::R0, 0, pass);
    asm.comment("r8: TTL or hop limit, r9: protocol")
        .load(Size::Byte, Reg::R2, Reg::R10, HEADER)
        .shift_right(Reg::R2, 4)
        .branch(If::Equal, Reg::R2, 4, v4)
        .load(Size::Byte, Reg::R8, Reg::R10, HEADER + 7)
        .load(Size::Byte, Reg::R9, Reg::R10, HEADER + 6)
        .goto(tcp);
    asm.place(v4).load(Size::Byte, Reg::R8, Reg::R10, HEADER + 8).load(
        Size::Byte,
        Reg::R9,
        Reg::R10,
        HEADER + 9,
    );
    asm.place(tcp)
        .branch(If::NotEqual, Reg::R9, IPPROTO_TCP, pass)
        .branch(If::Equal, Reg::R8, i32::from(opt_out::TTL_NONE), mark)
        .branch(If::Less, Reg::R8, i32::from(opt_out::TTL_BASE) + 1, pass)
        .branch(If::Greater, Reg::R8, i32::from(opt_out::TTL_BASE + opt_out::MOST_RETRIES), pass)
        .add(Reg::R8, -i32::from(opt_out::TTL_BASE));
    asm.place(mark).store(Size::Word, Reg::R6, skb::MARK, Reg::R8);
    asm.place(pass).exit(1);
    asm
}
