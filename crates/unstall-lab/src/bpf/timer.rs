//! `sock_ops`: how long the first SYN of a connect waits before it is sent again.
//!
//! The kernel asks (BPF_SOCK_OPS_TIMEOUT_INIT) when it sends the SYN; the answer is in jiffies, -1 means its own second.
//! It asks for the SYN-ACK of a listener as well, with a request socket, which is no full one: that is left alone.

use super::asm::{Asm, If, Reg, Size};
use super::context::{self, sock_ops};
use crate::profile::Prefix;

/// `destinations`: `None` for any.
pub(crate) fn program(jiffies: u32, destinations: Option<&[Prefix]>) -> Asm {
    let mut asm = Asm::new("unstall_timer");
    let own = asm.label("kernel_decides");
    asm.load(Size::Word, Reg::R2, Reg::R1, sock_ops::OP)
        .branch(If::NotEqual, Reg::R2, sock_ops::TIMEOUT_INIT, own)
        .load(Size::Word, Reg::R2, Reg::R1, sock_ops::IS_FULLSOCK)
        .branch(If::Equal, Reg::R2, 0, own);
    if let Some(prefixes) = destinations {
        context::only_for(&mut asm, Reg::R1, sock_ops::REMOTE, prefixes, own);
    }
    asm.store(Size::Word, Reg::R1, sock_ops::REPLY, jiffies).exit(1);
    asm.place(own).store(Size::Word, Reg::R1, sock_ops::REPLY, -1).exit(1);
    asm
}
