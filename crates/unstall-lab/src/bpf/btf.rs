//! Where members of kernel structures lie, from the running kernel's BTF (`/sys/kernel/btf/vmlinux`).
//!
//! The format is described in `Documentation/bpf/btf.rst` of the kernel's sources. One pass finds where each type begins;
//! only the four structures that are asked for are looked into.

use std::io;

/// Byte offsets within `struct tcp_sock`, which begins with `struct sock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offsets {
    /// Connections that wait to be accepted: `sk_ack_backlog`.
    pub(crate) waiting: i16,
    /// Connections that are half open: `icsk_accept_queue.qlen`.
    pub(crate) half_open: i16,
    /// The backlog: `sk_max_ack_backlog`.
    pub(crate) backlog: i16,
}

impl Offsets {
    /// From a BTF file's bytes.
    pub(crate) fn find(btf: &[u8]) -> io::Result<Self> {
        let types = Types::parse(btf)?;
        // The kernel itself casts between these, so a pointer to one is a pointer to the others.
        for (outer, first) in
            [("tcp_sock", "inet_conn"), ("inet_connection_sock", "icsk_inet"), ("inet_sock", "sk")]
        {
            if types.offset(outer, first)? != 0 {
                return Err(invalid(&format!("{outer} does not begin with {first}")));
            }
        }
        Ok(Self {
            waiting: types.offset("sock", "sk_ack_backlog")?,
            half_open: types.offset("inet_connection_sock", "icsk_accept_queue.qlen.counter")?,
            backlog: types.offset("sock", "sk_max_ack_backlog")?,
        })
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("BTF: {what}"))
}

/// Kinds of types, `include/uapi/linux/btf.h`.
mod kind {
    pub(super) const INT: u32 = 1;
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const ENUM: u32 = 6;
    pub(super) const TYPEDEF: u32 = 8;
    pub(super) const RESTRICT: u32 = 11;
    pub(super) const FUNC_PROTO: u32 = 13;
    pub(super) const VAR: u32 = 14;
    pub(super) const DATASEC: u32 = 15;
    pub(super) const DECL_TAG: u32 = 17;
    pub(super) const TYPE_TAG: u32 = 18;
    pub(super) const ENUM64: u32 = 19;
}

/// How many bytes follow the 12 that every type has.
fn extra(kind: u32, length: usize) -> Option<usize> {
    Some(match kind {
        kind::INT | kind::VAR | kind::DECL_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => 12 * length,
        kind::ENUM | kind::FUNC_PROTO => 8 * length,
        2 | 7..=12 | 16 | kind::TYPE_TAG => 0,
        _ => return None,
    })
}

struct Types<'a> {
    /// The type section, and where each type begins in it; the first is type 1.
    bytes: &'a [u8],
    starts: Vec<u32>,
    strings: &'a [u8],
}

fn word(bytes: &[u8], at: usize) -> io::Result<u32> {
    let bytes =
        bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| invalid("cut short"))?;
    Ok(u32::from_ne_bytes(bytes))
}

/// Kind, number of members, and whether members may be bit fields.
fn decode(info: u32) -> (u32, usize, bool) {
    (info >> 24 & 0x1f, (info & 0xffff) as usize, info >> 31 == 1)
}

impl<'a> Types<'a> {
    fn parse(btf: &'a [u8]) -> io::Result<Self> {
        const MAGIC: u32 = 0xeb9f;
        if word(btf, 0)? & 0xffff != MAGIC {
            return Err(invalid("no magic number"));
        }
        let header = word(btf, 4)? as usize;
        let section = |at: usize| {
            let (start, length) = (header + word(btf, at)? as usize, word(btf, at + 4)? as usize);
            btf.get(start..start + length).ok_or_else(|| invalid("cut short"))
        };
        let (bytes, strings) = (section(8)?, section(16)?);
        let mut starts = Vec::with_capacity(bytes.len() / 24);
        let mut at = 0;
        while at < bytes.len() {
            starts.push(at as u32);
            let (kind, length, _) = decode(word(bytes, at + 4)?);
            at += 12 + extra(kind, length).ok_or_else(|| invalid(&format!("unknown kind {kind}")))?;
        }
        Ok(Self { bytes, starts, strings })
    }

    fn is_named(&self, name: u32, wanted: &str) -> bool {
        let from = self.strings.get(name as usize..).unwrap_or_default();
        from.starts_with(wanted.as_bytes()) && from.get(wanted.len()) == Some(&0)
    }

    /// Where a type begins, seen through typedefs and qualifiers. `None` for void.
    fn resolve(&self, mut id: u32) -> io::Result<Option<usize>> {
        loop {
            let Some(index) = id.checked_sub(1) else { return Ok(None) };
            let at = *self.starts.get(index as usize).ok_or_else(|| invalid("no such type"))? as usize;
            let (kind, ..) = decode(word(self.bytes, at + 4)?);
            match kind {
                kind::TYPEDEF..=kind::RESTRICT | kind::TYPE_TAG => id = word(self.bytes, at + 8)?,
                _ => return Ok(Some(at)),
            }
        }
    }

    /// A member's offset in bits and its type; anonymous structures and unions are looked through.
    fn member(&self, of: usize, wanted: &str) -> io::Result<Option<(u32, u32)>> {
        let (kind, length, bit_fields) = decode(word(self.bytes, of + 4)?);
        if !matches!(kind, kind::STRUCT | kind::UNION) {
            return Ok(None);
        }
        for index in 0..length {
            let at = of + 12 + 12 * index;
            let (name, id, offset) =
                (word(self.bytes, at)?, word(self.bytes, at + 4)?, word(self.bytes, at + 8)?);
            let offset = if bit_fields { offset & 0x00ff_ffff } else { offset };
            if self.is_named(name, wanted) {
                return Ok(Some((offset, id)));
            }
            if name == 0 {
                let inner = self.resolve(id)?.map(|inner| self.member(inner, wanted)).transpose()?.flatten();
                if let Some((within, id)) = inner {
                    return Ok(Some((offset + within, id)));
                }
            }
        }
        Ok(None)
    }

    fn structure(&self, wanted: &str) -> io::Result<Option<usize>> {
        for at in self.starts.iter().map(|start| *start as usize) {
            let (kind, ..) = decode(word(self.bytes, at + 4)?);
            if kind == kind::STRUCT && self.is_named(word(self.bytes, at)?, wanted) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// The byte offset of `path` (`a.b`: of `b` within `a`) within a structure.
    fn offset(&self, structure: &str, path: &str) -> io::Result<i16> {
        let missing = || invalid(&format!("there is no {structure}.{path}"));
        let mut at = self.structure(structure)?;
        let mut bits = 0;
        for name in path.split('.') {
            let (offset, id) =
                at.map(|at| self.member(at, name)).transpose()?.flatten().ok_or_else(missing)?;
            bits += offset;
            at = self.resolve(id)?;
        }
        i16::try_from(bits / 8).map_err(|_| missing())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small BTF: `struct sock { <anonymous union { u32 a; } >; u32 sk_ack_backlog : 32; u32 sk_max_ack_backlog }` and what
    /// is around it.
    fn btf(first_member: &str) -> Vec<u8> {
        let mut strings = vec![0_u8];
        let mut name = |text: &str| {
            let at = strings.len() as u32;
            strings.extend(text.as_bytes());
            strings.push(0);
            at
        };
        let info = |kind: u32, length: u32, bits: u32| bits << 31 | kind << 24 | length;
        let mut types: Vec<u32> = Vec::new();
        // 1: u32
        types.extend([name("u32"), info(kind::INT, 0, 0), 4, 32]);
        // 2: an anonymous union { u32 a; }
        types.extend([0, info(kind::UNION, 1, 0), 4, name("a"), 1, 0]);
        // 3: typedef u32 counter_t
        types.extend([name("counter_t"), info(kind::TYPEDEF, 0, 0), 1]);
        // 4: struct sock, with bit fields: the member's size is in the offset's high byte
        types.extend([name("sock"), info(kind::STRUCT, 3, 1), 12]);
        types.extend([0, 2, 0, name("sk_ack_backlog"), 3, 32 << 24 | 32, name("sk_max_ack_backlog"), 1, 64]);
        // 5: atomic_t
        types.extend([name("atomic_t"), info(kind::STRUCT, 1, 0), 4, name("counter"), 1, 0]);
        // 6: const atomic_t
        types.extend([0, info(10, 0, 0), 5]);
        // 7: struct request_sock_queue { u32 lock; const atomic_t qlen; }
        types.extend([name("queue"), info(kind::STRUCT, 2, 0), 8, name("lock"), 1, 0, name("qlen"), 6, 32]);
        // 8, 9, 10: inet_sock, inet_connection_sock, tcp_sock
        types.extend([name("inet_sock"), info(kind::STRUCT, 1, 0), 12, name("sk"), 4, 0]);
        let (icsk, inet) = (name("inet_connection_sock"), name(first_member));
        types.extend([icsk, info(kind::STRUCT, 2, 0), 20, inet, 8, 0, name("icsk_accept_queue"), 7, 96]);
        types.extend([name("tcp_sock"), info(kind::STRUCT, 1, 0), 20, name("inet_conn"), 9, 0]);
        let types: Vec<u8> = types.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let (length, strings_length) = (types.len() as u32, strings.len() as u32);
        let header = [0x0001_eb9f, 24, 0, length, length, strings_length];
        [header.iter().flat_map(|word: &u32| word.to_ne_bytes()).collect(), types, strings].concat()
    }

    #[test]
    fn finds_members_through_typedefs_unions_and_bit_fields() {
        let offsets = Offsets::find(&btf("icsk_inet")).expect("well formed");
        assert_eq!(offsets, Offsets { waiting: 4, half_open: 16, backlog: 8 });
    }

    #[test]
    fn says_what_is_missing() {
        let error = Offsets::find(&btf("other")).expect_err("a member is missing");
        assert_eq!(error.to_string(), "BTF: there is no inet_connection_sock.icsk_inet");
        let whole = btf("icsk_inet");
        for length in 0..whole.len() {
            assert!(Offsets::find(&whole[..length]).is_err(), "{length} bytes");
        }
        assert_eq!(Offsets::find(&[0; 64]).expect_err("no BTF").to_string(), "BTF: no magic number");
    }
}
