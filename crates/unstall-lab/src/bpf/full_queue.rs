//! `sched_cls` at the entrance of `lo`: a SYN for a listener whose accept queue is full becomes, in place, the RST that Windows would send.
//!
//! Linux drops such a SYN. Here, before IP sees it, the listener is looked up; if those that wait and those that are half
//! open fill its queue, addresses and ports are swapped, the TCP header is replaced by that of a RST, and the packet goes on
//! up the stack, now on its way to the client. It keeps the SYN's mark, so the opt-out holds for it.
//!
//! Handled: IPv4 with options, IPv6 without extension headers, TIME_WAIT in the listener's place, data in the SYN (cut off).
//! Reading the listener needs offsets into `struct tcp_sock`, which come from the running kernel's BTF.
//!
//! It is attached by clsact, not by tcx: a tcx link waits for other processors when it is made and again when it goes, which costs
//! a lab 20 ms, and needs Linux 6.6.
//!
//! Linux holds one more than the backlog; this program refuses when exactly the backlog waits, as Windows does. That spare
//! place is why two processors that take the last place at once leave no client behind that is never accepted.

use super::asm::{Asm, Helper, If, Label, Reg, Size};
use super::btf::Offsets;
use super::context::{IPPROTO_TCP, counter, flag, network_order, skb, state};

// The frame: a `struct bpf_sock_tuple` (addresses, then ports), the SYN's TCP header, what the new checksum covers
// (addresses, length, protocol, new TCP header), two bytes for short loads.
const TUPLE: i16 = -40;
const SYN: i16 = -64;
const SUMMED: i16 = -128;
const RESET: i16 = SUMMED + 40;
const SHORT: i16 = -136;

const ETHERNET: i32 = 14;
const IPV4_ADDRESSES: i32 = ETHERNET + 12;
const IPV6_ADDRESSES: i32 = ETHERNET + 8;
const TCP_LENGTH: i32 = 20;

/// `sizeof` of the tuple's two forms; R9 holds one of them and so tells the family.
const TUPLE_V4: i32 = 12;
const TUPLE_V6: i32 = 36;

/// The packet goes on; `TC_ACT_UNSPEC`.
const NEXT: i32 = -1;
/// The packet ends here; `TC_ACT_SHOT`.
const DROP: i32 = 2;

/// Registers throughout: R6 the packet, R7 where its TCP header begins, R8 the listener, R9 the tuple's length.
pub(crate) fn program(offsets: Offsets, counters: i32) -> Asm {
    let mut asm = Asm::new("unstall_full");
    let labels = Labels { pass: asm.label("pass"), drop: asm.label("drop"), release: asm.label("release") };
    let full = asm.label("full");
    headers(&mut asm, labels.pass);
    only_syns(&mut asm, labels.pass);
    find_listener(&mut asm, &labels);
    is_full(&mut asm, offsets, full, labels.release);
    asm.place(labels.release).mov(Reg::R1, Reg::R8).call(Helper::SkRelease);
    asm.place(labels.pass).exit(NEXT);
    asm.place(full).mov(Reg::R1, Reg::R8).call(Helper::SkRelease).count(counters, counter::FULL_QUEUE_RESETS);
    reset_header(&mut asm);
    replace(&mut asm, labels.drop);
    asm.exit(NEXT);
    asm.place(labels.drop).exit(DROP);
    asm
}

struct Labels {
    pass: Label,
    drop: Label,
    release: Label,
}

/// A place in the packet: fixed, or from R7 on.
#[derive(Clone, Copy)]
enum At {
    Fixed(i32),
    Tcp,
}

fn packet_arguments(asm: &mut Asm, at: At, frame: i16, length: i32) {
    asm.mov(Reg::R1, Reg::R6);
    match at {
        At::Fixed(offset) => asm.mov(Reg::R2, offset),
        At::Tcp => asm.mov(Reg::R2, Reg::R7),
    };
    asm.mov(Reg::R3, Reg::R10).add(Reg::R3, i32::from(frame)).mov(Reg::R4, length);
}

fn load_bytes(asm: &mut Asm, at: At, frame: i16, length: i32, otherwise: Label) {
    packet_arguments(asm, at, frame, length);
    asm.call(Helper::SkbLoadBytes).branch(If::NotEqual, Reg::R0, 0, otherwise);
}

fn store_bytes(asm: &mut Asm, at: At, frame: i16, length: i32, otherwise: Label) {
    const RECOMPUTE_CSUM: i32 = 1;
    packet_arguments(asm, at, frame, length);
    asm.mov(Reg::R5, RECOMPUTE_CSUM).call(Helper::SkbStoreBytes).branch(If::NotEqual, Reg::R0, 0, otherwise);
}

/// Addresses into tuple and checksum, R7 and R9; or away, if it is not TCP.
fn headers(asm: &mut Asm, pass: Label) {
    const ETH_P_IP: u32 = 0x0800;
    const ETH_P_IPV6: u32 = 0x86dd;
    let (v4, known) = (asm.label("ipv4"), asm.label("headers_known"));
    asm.mov(Reg::R6, Reg::R1)
        .load(Size::Word, Reg::R2, Reg::R6, skb::PROTOCOL)
        .branch(If::Equal, Reg::R2, network_order(ETH_P_IP << 16), v4)
        .branch(If::NotEqual, Reg::R2, network_order(ETH_P_IPV6 << 16), pass);
    load_bytes(asm, At::Fixed(ETHERNET + 6), SHORT, 1, pass);
    asm.load(Size::Byte, Reg::R2, Reg::R10, SHORT).branch(If::NotEqual, Reg::R2, IPPROTO_TCP, pass);
    load_bytes(asm, At::Fixed(IPV6_ADDRESSES), TUPLE, 32, pass);
    load_bytes(asm, At::Fixed(IPV6_ADDRESSES), SUMMED, 32, pass);
    asm.mov(Reg::R7, ETHERNET + 40).mov(Reg::R9, TUPLE_V6).goto(known);
    asm.place(v4);
    load_bytes(asm, At::Fixed(ETHERNET), SUMMED, 20, pass);
    asm.load(Size::Byte, Reg::R2, Reg::R10, SUMMED + 9)
        .branch(If::NotEqual, Reg::R2, IPPROTO_TCP, pass)
        .comment("a fragment but the first has no TCP header")
        .load(Size::Half, Reg::R2, Reg::R10, SUMMED + 6)
        .and(Reg::R2, network_order(0x1fff << 16))
        .branch(If::NotEqual, Reg::R2, 0, pass)
        .load(Size::Byte, Reg::R7, Reg::R10, SUMMED)
        .and(Reg::R7, 15)
        .shift_left(Reg::R7, 2)
        .add(Reg::R7, ETHERNET)
        .load(Size::Word, Reg::R2, Reg::R10, SUMMED + 12)
        .load(Size::Word, Reg::R3, Reg::R10, SUMMED + 16)
        .store(Size::Word, Reg::R10, TUPLE, Reg::R2)
        .store(Size::Word, Reg::R10, TUPLE + 4, Reg::R3)
        .comment("the checksum covers both addresses, then zeros where IPv6 has more")
        .store(Size::Word, Reg::R10, SUMMED, Reg::R2)
        .store(Size::Word, Reg::R10, SUMMED + 4, Reg::R3)
        .store(Size::Double, Reg::R10, SUMMED + 8, 0)
        .store(Size::Double, Reg::R10, SUMMED + 16, 0)
        .store(Size::Double, Reg::R10, SUMMED + 24, 0)
        .mov(Reg::R9, TUPLE_V4);
    asm.place(known);
}

/// The ports into the tuple; or away, if it is no SYN.
fn only_syns(asm: &mut Asm, pass: Label) {
    load_bytes(asm, At::Tcp, SYN, TCP_LENGTH, pass);
    asm.load(Size::Byte, Reg::R2, Reg::R10, SYN + 13)
        .and(Reg::R2, flag::FIN | flag::SYN | flag::RST | flag::ACK)
        .branch(If::NotEqual, Reg::R2, flag::SYN, pass)
        .load(Size::Word, Reg::R2, Reg::R10, SYN);
    store_by_family(asm, Size::Word, "ports");
}

/// Stores R2 where the tuple's ports begin.
fn store_by_family(asm: &mut Asm, size: Size, what: &str) {
    let (v4, done) = (asm.label(format!("{what}_v4")), asm.label(format!("{what}_done")));
    asm.branch(If::Equal, Reg::R9, TUPLE_V4, v4).store(size, Reg::R10, TUPLE + 32, Reg::R2).goto(done);
    asm.place(v4).store(size, Reg::R10, TUPLE + 8, Reg::R2).place(done);
}

/// R8: the socket that the tuple names, R2: its state.
fn look_up(asm: &mut Asm, nothing: Label) {
    const OWN_NAMESPACE: i32 = -1;
    asm.mov(Reg::R1, Reg::R6)
        .mov(Reg::R2, Reg::R10)
        .add(Reg::R2, i32::from(TUPLE))
        .mov(Reg::R3, Reg::R9)
        .mov(Reg::R4, OWN_NAMESPACE)
        .mov(Reg::R5, 0)
        .call(Helper::SkcLookupTcp)
        .branch_null(Reg::R0, nothing)
        .mov(Reg::R8, Reg::R0)
        .load(Size::Word, Reg::R2, Reg::R8, super::context::sock::STATE);
}

/// R0: the listener as a `struct tcp_sock`.
fn find_listener(asm: &mut Asm, labels: &Labels) {
    let listener = asm.label("listener");
    look_up(asm, labels.pass);
    asm.branch(If::Equal, Reg::R2, state::LISTEN, listener)
        .branch(If::NotEqual, Reg::R2, state::TIME_WAIT, labels.release)
        .comment("behind TIME_WAIT there may be a listener: port 0 as the source matches listeners only")
        .mov(Reg::R1, Reg::R8)
        .call(Helper::SkRelease)
        .mov(Reg::R2, 0);
    store_by_family(asm, Size::Half, "source");
    look_up(asm, labels.pass);
    asm.branch(If::NotEqual, Reg::R2, state::LISTEN, labels.release);
    asm.place(listener).mov(Reg::R1, Reg::R8).call(Helper::SkcToTcpSock).branch_null(Reg::R0, labels.release);
}

/// Goes to `full` or `room`. Everything is read before the listener is released: the pointer dies with that.
fn is_full(asm: &mut Asm, offsets: Offsets, full: Label, room: Label) {
    let limited = asm.label("limit_known");
    asm.comment("r2: waiting and half open; r3: the backlog, where 0 still holds one")
        .load(Size::Word, Reg::R2, Reg::R0, offsets.waiting)
        .load(Size::Word, Reg::R3, Reg::R0, offsets.half_open)
        .add(Reg::R2, Reg::R3)
        .load(Size::Word, Reg::R3, Reg::R0, offsets.backlog)
        .branch(If::NotEqual, Reg::R3, 0, limited)
        .mov(Reg::R3, 1);
    asm.place(limited).add(Reg::R2, 1).branch(If::Greater, Reg::R2, Reg::R3, full).goto(room);
}

/// The RST: ports swapped, sequence 0, acknowledging the SYN, no options, no data; with its checksum.
fn reset_header(asm: &mut Asm) {
    let flags = (TCP_LENGTH as u32 / 4) << 28 | ((flag::RST | flag::ACK) as u32) << 16;
    asm.load(Size::Half, Reg::R2, Reg::R10, SYN)
        .store(Size::Half, Reg::R10, RESET + 2, Reg::R2)
        .load(Size::Half, Reg::R2, Reg::R10, SYN + 2)
        .store(Size::Half, Reg::R10, RESET, Reg::R2)
        .store(Size::Word, Reg::R10, RESET + 4, 0)
        .load(Size::Word, Reg::R2, Reg::R10, SYN + 4)
        .swap(Reg::R2, 32)
        .add(Reg::R2, 1)
        .swap(Reg::R2, 32)
        .store(Size::Word, Reg::R10, RESET + 8, Reg::R2)
        .store(Size::Word, Reg::R10, RESET + 12, network_order(flags))
        .store(Size::Word, Reg::R10, RESET + 16, 0)
        .store(Size::Word, Reg::R10, SUMMED + 32, network_order(TCP_LENGTH as u32))
        .store(Size::Word, Reg::R10, SUMMED + 36, network_order(IPPROTO_TCP as u32));
    asm.mov(Reg::R1, 0)
        .mov(Reg::R2, 0)
        .mov(Reg::R3, Reg::R10)
        .add(Reg::R3, i32::from(SUMMED))
        .mov(Reg::R4, 60)
        .mov(Reg::R5, 0)
        .call(Helper::CsumDiff)
        .comment("fold to 16 bits, twice for the carry");
    for _ in 0..2 {
        asm.mov(Reg::R2, Reg::R0).shift_right(Reg::R2, 16).and(Reg::R0, 0xffff).add(Reg::R0, Reg::R2);
    }
    asm.xor(Reg::R0, -1).store(Size::Half, Reg::R10, RESET + 16, Reg::R0);
}

/// The new header and addresses into the packet, and what they change in the IP header.
fn replace(asm: &mut Asm, drop: Label) {
    let (v4, done) = (asm.label("replace_v4"), asm.label("replaced"));
    asm.mov(Reg::R1, Reg::R6)
        .mov(Reg::R2, Reg::R7)
        .add(Reg::R2, TCP_LENGTH)
        .mov(Reg::R3, 0)
        .call(Helper::SkbChangeTail)
        .branch(If::NotEqual, Reg::R0, 0, drop);
    store_bytes(asm, At::Tcp, RESET, TCP_LENGTH, drop);
    asm.branch(If::Equal, Reg::R9, TUPLE_V4, v4);
    store_bytes(asm, At::Fixed(IPV6_ADDRESSES + 16), TUPLE, 16, drop);
    store_bytes(asm, At::Fixed(IPV6_ADDRESSES), TUPLE + 16, 16, drop);
    asm.store(Size::Half, Reg::R10, SHORT, network_order((TCP_LENGTH as u32) << 16));
    store_bytes(asm, At::Fixed(ETHERNET + 4), SHORT, 2, drop);
    asm.goto(done);
    asm.place(v4)
        .load(Size::Word, Reg::R2, Reg::R10, TUPLE)
        .load(Size::Word, Reg::R3, Reg::R10, TUPLE + 4)
        .store(Size::Word, Reg::R10, TUPLE, Reg::R3)
        .store(Size::Word, Reg::R10, TUPLE + 4, Reg::R2);
    store_bytes(asm, At::Fixed(IPV4_ADDRESSES), TUPLE, 8, drop);
    load_bytes(asm, At::Fixed(ETHERNET + 2), SHORT, 2, drop);
    asm.comment("the IP header's checksum: only its total length has changed")
        .load(Size::Half, Reg::R3, Reg::R10, SHORT)
        .mov(Reg::R4, Reg::R7)
        .add(Reg::R4, TCP_LENGTH - ETHERNET)
        .swap(Reg::R4, 16)
        .store(Size::Half, Reg::R10, SHORT, Reg::R4)
        .mov(Reg::R1, Reg::R6)
        .mov(Reg::R2, ETHERNET + 10)
        .mov(Reg::R5, 2)
        .call(Helper::L3CsumReplace)
        .branch(If::NotEqual, Reg::R0, 0, drop);
    store_bytes(asm, At::Fixed(ETHERNET + 2), SHORT, 2, drop);
    asm.place(done);
}
