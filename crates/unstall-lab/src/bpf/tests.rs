//! The programs' listings as snapshots, and what the assembler refuses.

use super::asm::{Asm, AsmError, If, Reg, Size};
use super::btf::Offsets;
use super::{full_queue, hold, opt_out, timer};
use crate::profile::Prefix;
use crate::schedule::Limits;

fn prefixes() -> Vec<Prefix> {
    ["127.0.0.0/8", "192.0.2.7", "::1", "fd00::/8"].map(|text| text.parse().expect("a prefix")).to_vec()
}

/// The listing, once it has proved to encode.
fn listing(asm: &Asm) -> String {
    assert!(asm.name().len() < 16);
    asm.encode().expect("encodes");
    asm.listing()
}

#[test]
fn the_timer_for_any_destination() {
    insta::assert_snapshot!(listing(&timer::program(124, None)));
}

#[test]
fn the_timer_for_some_destinations() {
    insta::assert_snapshot!(listing(&timer::program(124, Some(&prefixes()))));
}

#[test]
fn the_hold() {
    let limits = Limits { default: 4, none: 0, asked: [1, 2, 3, 4, 5, 6, 7, 8] };
    let parts = hold::Parts { limits: Some(&limits), destinations: None, counters: 7 };
    insta::assert_snapshot!(listing(&hold::program(&parts)));
}

#[test]
fn the_hold_of_every_reset_from_one_address() {
    let prefixes = ["127.0.0.1".parse().expect("a prefix")];
    let parts = hold::Parts { limits: None, destinations: Some(&prefixes), counters: 7 };
    insta::assert_snapshot!(listing(&hold::program(&parts)));
}

#[test]
fn the_opt_out() {
    insta::assert_snapshot!(listing(&opt_out::program()));
}

#[test]
fn the_full_queue() {
    let offsets = Offsets { waiting: 568, half_open: 1000, backlog: 572 };
    insta::assert_snapshot!(listing(&full_queue::program(offsets, 7)));
}

/// Against the instruction set's own encoding: opcode, registers, offset, immediate.
#[test]
fn instructions_are_encoded_as_the_kernel_reads_them() {
    let mut asm = Asm::new("test");
    let end = asm.label("end");
    asm.mov(Reg::R1, -1)
        .add(Reg::R2, Reg::R3)
        .load(Size::Half, Reg::R4, Reg::R10, -8)
        .store(Size::Byte, Reg::R10, -1, 5)
        .store(Size::Double, Reg::R10, -16, Reg::R9)
        .swap(Reg::R5, 16)
        .branch(If::Equal, Reg::R1, 4, end)
        .branch(If::Less, Reg::R1, Reg::R2, end)
        .branch_null(Reg::R0, end)
        .count(9, 2)
        .goto(end);
    asm.place(end).exit(1);
    let code = asm.encode().expect("encodes");
    let bytes = |slot: u64| slot.to_ne_bytes();
    let expected: Vec<[u8; 8]> = vec![
        [0xb7, 0x01, 0, 0, 0xff, 0xff, 0xff, 0xff],
        [0x0f, 0x32, 0, 0, 0, 0, 0, 0],
        [0x69, 0xa4, 0xf8, 0xff, 0, 0, 0, 0],
        [0x72, 0x0a, 0xff, 0xff, 5, 0, 0, 0],
        [0x7b, 0x9a, 0xf0, 0xff, 0, 0, 0, 0],
        [0xdc, 0x05, 0, 0, 16, 0, 0, 0],
        [0x16, 0x01, 7, 0, 4, 0, 0, 0],
        [0xae, 0x21, 6, 0, 0, 0, 0, 0],
        [0x15, 0x00, 5, 0, 0, 0, 0, 0],
        [0x18, 0x21, 0, 0, 9, 0, 0, 0],
        [0, 0, 0, 0, 16, 0, 0, 0],
        [0xb7, 0x02, 0, 0, 1, 0, 0, 0],
        [0xdb, 0x21, 0, 0, 0, 0, 0, 0],
        [0x05, 0, 0, 0, 0, 0, 0, 0],
        [0xb7, 0x00, 0, 0, 1, 0, 0, 0],
        [0x95, 0, 0, 0, 0, 0, 0, 0],
    ];
    assert_eq!(code.into_iter().map(bytes).collect::<Vec<_>>(), expected);
}

#[test]
fn jumps_are_checked() {
    let refused = |build: &dyn Fn(&mut Asm)| {
        let mut asm = Asm::new("test");
        build(&mut asm);
        asm.encode().expect_err("refused")
    };
    let named = |name: &str| name.to_owned();
    let error = refused(&|asm| {
        let label = asm.label("nowhere");
        asm.goto(label).exit(0);
    });
    assert_eq!(error, AsmError::NotPlaced("test", named("nowhere")));
    let error = refused(&|asm| {
        let label = asm.label("twice");
        asm.goto(label).place(label).place(label).exit(0);
    });
    assert_eq!(error, AsmError::PlacedTwice("test", named("twice")));
    let error = refused(&|asm| {
        let label = asm.label("loop");
        asm.place(label).mov(Reg::R0, 0).goto(label);
    });
    assert_eq!(error, AsmError::Backward("test", named("loop")));
    let error = refused(&|asm| {
        let label = asm.label("after the end");
        asm.goto(label).exit(0).place(label);
    });
    assert_eq!(error, AsmError::Backward("test", named("after the end")));
    let error = refused(&|asm| {
        let label = asm.label("far");
        asm.goto(label);
        (0..=i32::from(i16::MAX)).for_each(|number| {
            asm.mov(Reg::R0, number);
        });
        asm.place(label).exit(0);
    });
    assert_eq!(error, AsmError::TooFar("test", named("far")));
    let error = refused(&|asm| {
        asm.mov(Reg::R0, 0);
    });
    assert_eq!(error, AsmError::NoEnd("test"));
}
