//! An assembler for the eBPF instructions that our programs use, with labels, comments and a listing.
//!
//! Jumps go forward only: these programs have no loops, and the verifier of older kernels accepts none. Comparisons are of
//! the low 32 bits, which is what the word loads fill, but for the test of a pointer.
//!
//! Instruction set: `Documentation/bpf/standardization/instruction-set.rst` in the kernel's sources.

use std::fmt::{self, Write as _};

/// A register. R0 is a call's result, R1 to R5 its arguments (lost by it), R6 to R9 survive calls, R10 is the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// How much a load or store moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Byte,
    Half,
    Word,
    Double,
}

/// The second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Reg(Reg),
    Imm(i32),
}

impl From<Reg> for Source {
    fn from(reg: Reg) -> Self {
        Self::Reg(reg)
    }
}

impl From<i32> for Source {
    fn from(imm: i32) -> Self {
        Self::Imm(imm)
    }
}

/// The same 32 bits.
impl From<u32> for Source {
    fn from(imm: u32) -> Self {
        Self::Imm(i32::from_ne_bytes(imm.to_ne_bytes()))
    }
}

/// 64-bit arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alu {
    Add,
    And,
    ShiftLeft,
    ShiftRight,
    Xor,
    Move,
}

/// Comparisons of the low 32 bits, unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum If {
    Equal,
    NotEqual,
    Greater,
    Less,
}

/// Functions of the kernel, `include/uapi/linux/bpf.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helper {
    SkbStoreBytes = 9,
    L3CsumReplace = 10,
    SkbLoadBytes = 26,
    CsumDiff = 28,
    SkbChangeTail = 38,
    SkRelease = 86,
    SkFullsock = 95,
    TcpSock = 96,
    SkcLookupTcp = 99,
    SkcToTcpSock = 137,
}

/// A place to jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(usize);

#[derive(Clone, Copy, Debug)]
enum Op {
    Alu {
        alu: Alu,
        to: Reg,
        from: Source,
    },
    /// To network byte order, so many bits, the rest cleared.
    Swap {
        to: Reg,
        bits: i32,
    },
    Load {
        size: Size,
        to: Reg,
        base: Reg,
        offset: i16,
    },
    Store {
        size: Size,
        base: Reg,
        offset: i16,
        from: Source,
    },
    AtomicAdd {
        base: Reg,
        offset: i16,
        from: Reg,
    },
    /// The address of a byte in a map's only element. Two slots.
    MapAddress {
        to: Reg,
        map: i32,
        offset: i32,
    },
    Goto {
        to: Label,
    },
    Branch {
        condition: If,
        left: Reg,
        right: Source,
        to: Label,
    },
    BranchNull {
        pointer: Reg,
        to: Label,
    },
    Call(Helper),
    Exit,
}

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AsmError {
    #[error("BPF program {0}: label `{1}` is never placed")]
    NotPlaced(&'static str, String),
    #[error("BPF program {0}: label `{1}` is placed twice")]
    PlacedTwice(&'static str, String),
    #[error("BPF program {0}: the jump to `{1}` does not go forward")]
    Backward(&'static str, String),
    #[error("BPF program {0}: the jump to `{1}` is too far")]
    TooFar(&'static str, String),
    #[error("BPF program {0}: the last instruction runs off the end")]
    NoEnd(&'static str),
}

/// A program in the making.
#[derive(Clone, Debug)]
pub(crate) struct Asm {
    name: &'static str,
    ops: Vec<Op>,
    /// Each label's name and, once placed, the index of the operation that it stands before.
    labels: Vec<(String, Option<usize>)>,
    /// Comments, by the index of the operation that they stand before.
    comments: Vec<(usize, &'static str)>,
    placed_twice: Option<Label>,
}

impl Asm {
    /// `name`: what the kernel lists it as, at most 15 letters.
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, ops: Vec::new(), labels: Vec::new(), comments: Vec::new(), placed_twice: None }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// A new label, to be placed once.
    pub(crate) fn label(&mut self, name: impl Into<String>) -> Label {
        self.labels.push((name.into(), None));
        Label(self.labels.len() - 1)
    }

    /// The label is here.
    pub(crate) fn place(&mut self, label: Label) -> &mut Self {
        if self.labels[label.0].1.replace(self.ops.len()).is_some() {
            self.placed_twice = Some(label);
        }
        self
    }

    /// A comment for the listing.
    pub(crate) fn comment(&mut self, text: &'static str) -> &mut Self {
        self.comments.push((self.ops.len(), text));
        self
    }

    fn push(&mut self, op: Op) -> &mut Self {
        self.ops.push(op);
        self
    }

    fn alu(&mut self, alu: Alu, to: Reg, from: impl Into<Source>) -> &mut Self {
        self.push(Op::Alu { alu, to, from: from.into() })
    }

    pub(crate) fn mov(&mut self, to: Reg, from: impl Into<Source>) -> &mut Self {
        self.alu(Alu::Move, to, from)
    }

    pub(crate) fn add(&mut self, to: Reg, from: impl Into<Source>) -> &mut Self {
        self.alu(Alu::Add, to, from)
    }

    pub(crate) fn and(&mut self, to: Reg, mask: i32) -> &mut Self {
        self.alu(Alu::And, to, mask)
    }

    pub(crate) fn xor(&mut self, to: Reg, mask: i32) -> &mut Self {
        self.alu(Alu::Xor, to, mask)
    }

    pub(crate) fn shift_left(&mut self, to: Reg, bits: i32) -> &mut Self {
        self.alu(Alu::ShiftLeft, to, bits)
    }

    pub(crate) fn shift_right(&mut self, to: Reg, bits: i32) -> &mut Self {
        self.alu(Alu::ShiftRight, to, bits)
    }

    /// Between host and network byte order.
    pub(crate) fn swap(&mut self, to: Reg, bits: i32) -> &mut Self {
        self.push(Op::Swap { to, bits })
    }

    pub(crate) fn load(&mut self, size: Size, to: Reg, base: Reg, offset: i16) -> &mut Self {
        self.push(Op::Load { size, to, base, offset })
    }

    pub(crate) fn store(&mut self, size: Size, base: Reg, offset: i16, from: impl Into<Source>) -> &mut Self {
        self.push(Op::Store { size, base, offset, from: from.into() })
    }

    /// Adds 1 to the counter with this index. R1 and R2 are lost.
    pub(crate) fn count(&mut self, map: i32, index: i32) -> &mut Self {
        self.push(Op::MapAddress { to: Reg::R1, map, offset: 8 * index });
        self.mov(Reg::R2, 1);
        self.push(Op::AtomicAdd { base: Reg::R1, offset: 0, from: Reg::R2 })
    }

    pub(crate) fn goto(&mut self, to: Label) -> &mut Self {
        self.push(Op::Goto { to })
    }

    pub(crate) fn branch(
        &mut self,
        condition: If,
        left: Reg,
        right: impl Into<Source>,
        to: Label,
    ) -> &mut Self {
        self.push(Op::Branch { condition, left, right: right.into(), to })
    }

    /// Jumps if a helper's pointer is none.
    pub(crate) fn branch_null(&mut self, pointer: Reg, to: Label) -> &mut Self {
        self.push(Op::BranchNull { pointer, to })
    }

    pub(crate) fn call(&mut self, helper: Helper) -> &mut Self {
        self.push(Op::Call(helper))
    }

    /// Ends the program with this result.
    pub(crate) fn exit(&mut self, result: i32) -> &mut Self {
        self.mov(Reg::R0, result);
        self.push(Op::Exit)
    }

    /// The instructions as the kernel takes them.
    pub(crate) fn encode(&self) -> Result<Vec<u64>, AsmError> {
        if let Some(label) = self.placed_twice {
            return Err(AsmError::PlacedTwice(self.name, self.labels[label.0].0.clone()));
        }
        if !matches!(self.ops.last(), Some(Op::Exit | Op::Goto { .. })) {
            return Err(AsmError::NoEnd(self.name));
        }
        let slots = self.slots();
        let mut code = Vec::with_capacity(slots[self.ops.len()]);
        for op in &self.ops {
            self.encode_op(*op, &slots, &mut code)?;
        }
        Ok(code)
    }

    /// At which slot each operation begins, and where the program ends.
    fn slots(&self) -> Vec<usize> {
        let mut slots = vec![0];
        for op in &self.ops {
            let last = slots[slots.len() - 1];
            slots.push(last + if matches!(op, Op::MapAddress { .. }) { 2 } else { 1 });
        }
        slots
    }

    fn encode_op(&self, op: Op, slots: &[usize], code: &mut Vec<u64>) -> Result<(), AsmError> {
        let jump = |to: Label| self.distance(code.len(), to, slots);
        let slot = match op {
            Op::Alu { alu, to, from } => slot(0x07 | alu.code() | from.flag(), to, from.reg(), 0, from.imm()),
            Op::Swap { to, bits } => slot(0xdc, to, Reg::R0, 0, bits),
            Op::Load { size, to, base, offset } => slot(0x61 | size.code(), to, base, offset, 0),
            Op::Store { size, base, offset, from } => {
                let class = if matches!(from, Source::Reg(_)) { 0x63 } else { 0x62 };
                slot(class | size.code(), base, from.reg(), offset, from.imm())
            }
            Op::AtomicAdd { base, offset, from } => slot(0xdb, base, from, offset, 0),
            Op::MapAddress { to, map, offset } => {
                // Source 2: a map's descriptor, and in the second slot an offset into its element.
                code.push(slot(0x18, to, Reg::R2, 0, map));
                slot(0, Reg::R0, Reg::R0, 0, offset)
            }
            Op::Goto { to } => slot(0x05, Reg::R0, Reg::R0, jump(to)?, 0),
            Op::Branch { condition, left, right, to } => {
                slot(0x06 | condition.code() | right.flag(), left, right.reg(), jump(to)?, right.imm())
            }
            Op::BranchNull { pointer, to } => slot(0x15, pointer, Reg::R0, jump(to)?, 0),
            Op::Call(helper) => slot(0x85, Reg::R0, Reg::R0, 0, helper as i32),
            Op::Exit => slot(0x95, Reg::R0, Reg::R0, 0, 0),
        };
        code.push(slot);
        Ok(())
    }

    /// How many slots lie between the jump at `from` and its label.
    fn distance(&self, from: usize, to: Label, slots: &[usize]) -> Result<i16, AsmError> {
        let (name, place) = &self.labels[to.0];
        let Some(place) = place else { return Err(AsmError::NotPlaced(self.name, name.clone())) };
        let target = slots[*place];
        if target <= from || *place >= self.ops.len() {
            return Err(AsmError::Backward(self.name, name.clone()));
        }
        i16::try_from(target - from - 1).map_err(|_| AsmError::TooFar(self.name, name.clone()))
    }

    /// The program as text: slots, labels, comments.
    pub(crate) fn listing(&self) -> String {
        let mut text = String::new();
        let slots = self.slots();
        for (index, op) in self.ops.iter().enumerate() {
            for (name, _) in self.labels.iter().filter(|(_, place)| *place == Some(index)) {
                let _ = writeln!(text, "{name}:");
            }
            for (_, comment) in self.comments.iter().filter(|(place, _)| *place == index) {
                let _ = writeln!(text, "     ; {comment}");
            }
            let _ = writeln!(text, "{:4}: {}", slots[index], Shown(self, *op));
        }
        text
    }
}

/// `struct bpf_insn`: operation, the two registers, offset, immediate.
fn slot(operation: u8, to: Reg, from: Reg, offset: i16, imm: i32) -> u64 {
    let [offset0, offset1] = offset.to_ne_bytes();
    let [imm0, imm1, imm2, imm3] = imm.to_ne_bytes();
    let registers = to as u8 | (from as u8) << 4;
    u64::from_ne_bytes([operation, registers, offset0, offset1, imm0, imm1, imm2, imm3])
}

impl Source {
    const fn flag(self) -> u8 {
        match self {
            Self::Reg(_) => 0x08,
            Self::Imm(_) => 0,
        }
    }

    const fn reg(self) -> Reg {
        match self {
            Self::Reg(reg) => reg,
            Self::Imm(_) => Reg::R0,
        }
    }

    const fn imm(self) -> i32 {
        match self {
            Self::Reg(_) => 0,
            Self::Imm(imm) => imm,
        }
    }
}

impl Size {
    const fn code(self) -> u8 {
        match self {
            Self::Word => 0x00,
            Self::Half => 0x08,
            Self::Byte => 0x10,
            Self::Double => 0x18,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Word => "u32",
            Self::Half => "u16",
            Self::Byte => "u8",
            Self::Double => "u64",
        }
    }
}

impl Alu {
    const fn code(self) -> u8 {
        match self {
            Self::Add => 0x00,
            Self::And => 0x50,
            Self::ShiftLeft => 0x60,
            Self::ShiftRight => 0x70,
            Self::Xor => 0xa0,
            Self::Move => 0xb0,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Add => "+=",
            Self::And => "&=",
            Self::ShiftLeft => "<<=",
            Self::ShiftRight => ">>=",
            Self::Xor => "^=",
            Self::Move => "=",
        }
    }
}

impl If {
    const fn code(self) -> u8 {
        match self {
            Self::Equal => 0x10,
            Self::Greater => 0x20,
            Self::NotEqual => 0x50,
            Self::Less => 0xa0,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Greater => ">",
            Self::NotEqual => "!=",
            Self::Less => "<",
        }
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", *self as u8)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reg(reg) => reg.fmt(f),
            Self::Imm(imm) if (-0x1_0000..0x1_0000).contains(imm) => imm.fmt(f),
            Self::Imm(imm) => write!(f, "{imm:#x}"),
        }
    }
}

/// An operation with the names of its labels.
struct Shown<'a>(&'a Asm, Op);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = |to: &Label| &self.0.labels[to.0].0;
        match &self.1 {
            Op::Alu { alu, to, from } => write!(f, "{to} {} {from}", alu.text()),
            Op::Swap { to, bits } => write!(f, "{to} = be{bits} {to}"),
            Op::Load { size, to, base, offset } => {
                write!(f, "{to} = *({} *)({base} {offset:+})", size.text())
            }
            Op::Store { size, base, offset, from } => {
                write!(f, "*({} *)({base} {offset:+}) = {from}", size.text())
            }
            Op::AtomicAdd { base, offset, from } => write!(f, "lock *(u64 *)({base} {offset:+}) += {from}"),
            Op::MapAddress { to, offset, .. } => write!(f, "{to} = &map[{offset}]"),
            Op::Goto { to } => write!(f, "goto {}", label(to)),
            Op::Branch { condition, left, right, to } => {
                write!(f, "if (u32){left} {} {right} goto {}", condition.text(), label(to))
            }
            Op::BranchNull { pointer, to } => write!(f, "if {pointer} == 0 goto {}", label(to)),
            Op::Call(helper) => write!(f, "call {helper:?}"),
            Op::Exit => f.write_str("exit"),
        }
    }
}
