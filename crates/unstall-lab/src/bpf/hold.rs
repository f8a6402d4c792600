//! `cgroup_skb` ingress: keeps a RST from a connecting socket until that has sent its SYN often enough.
//!
//! A socket in SYN_SENT that gets no answer sends its SYN again when its timer fires; so the RST is dropped just before the
//! socket as long as `icsk_retransmits` is below the limit. There is no table and nothing to expire: the kernel counts.
//!
//! The limit is the profile's, or what the socket asked for: the RST carries the SYN's mark (`fwmark_reflect`).
//!
//! | mark | retries |
//! |---|---|
//! | 0xFE | none (or what the profile makes of that) |
//! | 1 to 8 | so many |
//! | other | the profile's |

use super::asm::{Asm, Helper, If, Label, Reg, Size};
use super::context::{self, counter, flag, skb, sock, state, tcp_sock};
use crate::opt_out;
use crate::profile::Prefix;
use crate::schedule::Limits;

/// What a program is made of.
pub(crate) struct Parts<'a> {
    /// How many RSTs are kept. `None`: all of them.
    pub(crate) limits: Option<&'a Limits>,
    /// `None` for any.
    pub(crate) destinations: Option<&'a [Prefix]>,
    /// The counters' map.
    pub(crate) counters: i32,
}

pub(crate) fn program(parts: &Parts<'_>) -> Asm {
    let mut asm = Asm::new("unstall_hold");
    let pass = asm.label("pass");
    asm.mov(Reg::R6, Reg::R1).comment("r7: the socket, which is connecting");
    asm.load(Size::Double, Reg::R1, Reg::R6, skb::SK)
        .branch_null(Reg::R1, pass)
        .call(Helper::SkFullsock)
        .branch_null(Reg::R0, pass)
        .mov(Reg::R7, Reg::R0)
        .load(Size::Word, Reg::R2, Reg::R7, sock::STATE)
        .branch(If::NotEqual, Reg::R2, state::SYN_SENT, pass);
    if let Some(prefixes) = parts.destinations {
        context::only_for(&mut asm, Reg::R7, sock::REMOTE, prefixes, pass);
    }
    only_resets(&mut asm, pass);
    if let Some(limits) = parts.limits {
        let held = asm.label("held");
        asm.mov(Reg::R1, Reg::R7).call(Helper::TcpSock).branch_null(Reg::R0, pass).load(
            Size::Word,
            Reg::R8,
            Reg::R0,
            tcp_sock::ICSK_RETRANSMITS,
        );
        limit(&mut asm, limits);
        asm.branch(If::Less, Reg::R8, Reg::R3, held).count(parts.counters, counter::RESETS_PASSED).exit(1);
        asm.place(held);
    }
    asm.count(parts.counters, counter::RESETS_HELD).exit(0);
    asm.place(pass).exit(1);
    asm
}

/// Goes to `pass` unless the packet is a RST. An extension header before TCP is taken for none: no RST has one.
fn only_resets(asm: &mut Asm, pass: Label) {
    const BYTE: i16 = -8;
    let (v4, tcp) = (asm.label("ipv4"), asm.label("tcp"));
    asm.comment("r2: where the TCP header begins");
    load_byte(asm, 0, BYTE, pass);
    asm.load(Size::Byte, Reg::R2, Reg::R10, BYTE)
        .mov(Reg::R3, Reg::R2)
        .shift_right(Reg::R3, 4)
        .branch(If::Equal, Reg::R3, 4, v4)
        .mov(Reg::R2, 40)
        .goto(tcp);
    asm.place(v4).and(Reg::R2, 15).shift_left(Reg::R2, 2);
    asm.place(tcp)
        .mov(Reg::R1, Reg::R6)
        .add(Reg::R2, 13)
        .mov(Reg::R3, Reg::R10)
        .add(Reg::R3, i32::from(BYTE))
        .mov(Reg::R4, 1)
        .call(Helper::SkbLoadBytes)
        .branch(If::NotEqual, Reg::R0, 0, pass)
        .load(Size::Byte, Reg::R2, Reg::R10, BYTE)
        .and(Reg::R2, flag::RST)
        .branch(If::Equal, Reg::R2, 0, pass);
}

fn load_byte(asm: &mut Asm, at: i32, to: i16, otherwise: Label) {
    asm.mov(Reg::R1, Reg::R6)
        .mov(Reg::R2, at)
        .mov(Reg::R3, Reg::R10)
        .add(Reg::R3, i32::from(to))
        .mov(Reg::R4, 1)
        .call(Helper::SkbLoadBytes)
        .branch(If::NotEqual, Reg::R0, 0, otherwise);
}

/// R3: how many RSTs this socket does not get to see.
fn limit(asm: &mut Asm, limits: &Limits) {
    let known = asm.label("limit_known");
    asm.comment("r3: the limit, by the mark's low byte")
        .load(Size::Word, Reg::R2, Reg::R6, skb::MARK)
        .and(Reg::R2, 0xff)
        .mov(Reg::R3, limits.none)
        .branch(If::Equal, Reg::R2, i32::from(opt_out::MARK_NONE), known);
    for (mark, asked) in (1..).zip(limits.asked) {
        asm.mov(Reg::R3, asked).branch(If::Equal, Reg::R2, mark, known);
    }
    asm.mov(Reg::R3, limits.default);
    asm.place(known);
}
