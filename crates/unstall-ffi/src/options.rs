//! The options of a connect, in a struct that can grow: its first field says how long the caller's one is.

use std::mem::size_of;
use std::ptr;
use std::time::Duration;
use unstall::{Connector, Family, SynRetransmissions};

/// `unstall_options.syn_retransmissions`: none to addresses of this host, the OS's default elsewhere. The default.
pub const UNSTALL_SYN_NONE_IF_LOCAL: i32 = 0;
/// `unstall_options.syn_retransmissions`: none to any address.
pub const UNSTALL_SYN_NONE_ANYWHERE: i32 = -1;
/// `unstall_options.syn_retransmissions`: what the OS does by default.
pub const UNSTALL_SYN_OS_DEFAULT: i32 = -2;

/// `unstall_options.family`: IPv4 and IPv6. The default.
pub const UNSTALL_FAMILY_ANY: i32 = 0;
/// `unstall_options.family`: IPv4 alone.
pub const UNSTALL_FAMILY_V4: i32 = 4;
/// `unstall_options.family`: IPv6 alone.
pub const UNSTALL_FAMILY_V6: i32 = 6;

/// The most bytes that a caller's struct may have: far more than it will ever need, far less than garbage.
const LONGEST: usize = 4096;

/// How to connect. Begin with `UNSTALL_OPTIONS_INIT`, then set what is to be other than the default. 0 is the default of
/// every field.
///
/// The struct grows at its end in later versions. `size` says how much of it the caller knows, so a program that was
/// compiled with an older header works with a newer library. With an older library than its header a program may set
/// what both know; anything else than 0 in what the library does not know is an invalid argument, never ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct UnstallOptions {
    /// `sizeof(unstall_options)`, as `UNSTALL_OPTIONS_INIT` sets it.
    pub size: usize,
    /// How long the connect may take as a whole, the resolution of the name included, in ms. 0: no limit, as `connect`
    /// itself; the OS gives up by itself, on Linux after about 2 min of silence.
    pub connect_timeout_ms: u64,
    /// How long the newest attempt may be pending before the next address is tried too, in ms. 0: 250 (RFC 8305).
    /// Clamped to 10 .. 2000.
    pub attempt_delay_ms: u32,
    /// The same while all pending attempts are to addresses of this host, in ms. 0: 10. Clamped to 10 .. 2000.
    pub local_attempt_delay_ms: u32,
    /// How often a SYN may be sent again, which on Windows is also how often a refused connect is repeated:
    /// `UNSTALL_SYN_NONE_IF_LOCAL`, `UNSTALL_SYN_NONE_ANYWHERE`, `UNSTALL_SYN_OS_DEFAULT`, or 1 to 8. Without effect on
    /// systems that refuse at once.
    pub syn_retransmissions: i32,
    /// Which addresses may be tried: `UNSTALL_FAMILY_ANY`, `UNSTALL_FAMILY_V4`, `UNSTALL_FAMILY_V6`.
    pub family: i32,
    /// 0: small writes are sent at once (`TCP_NODELAY`). 1: they may wait for the peer's delayed ACK, 40 ms or more, as on
    /// a socket that nobody told otherwise.
    pub delay_small_writes: i32,
    /// Must be 0.
    pub reserved: u32,
}

impl UnstallOptions {
    /// The caller's options; every default for a null pointer. `None`: the size is impossible, or the caller set
    /// something that this version does not know.
    ///
    /// # Safety
    /// `options` is null or points to as many readable bytes as the `usize` at its start says; at least to that.
    pub(crate) unsafe fn read(options: *const Self) -> Option<Self> {
        if options.is_null() {
            return Some(Self::default());
        }
        // SAFETY: the caller promises that there is a usize; nothing is promised about its alignment.
        let size = unsafe { options.cast::<usize>().read_unaligned() };
        if !(size_of::<usize>()..=LONGEST).contains(&size) {
            return None;
        }
        let known = size.min(size_of::<Self>());
        let mut read = Self::default();
        // SAFETY: the caller promises `size` readable bytes, `read` has room for `known`, and any bytes are valid for its
        // fields, which are integers.
        unsafe { ptr::copy_nonoverlapping(options.cast::<u8>(), (&raw mut read).cast::<u8>(), known) };
        // SAFETY: `known` is at most `size`.
        let rest = unsafe { options.cast::<u8>().add(known) };
        // SAFETY: these are the remaining bytes of the `size` that the caller promises.
        let unknown = unsafe { std::slice::from_raw_parts(rest, size - known) };
        unknown.iter().all(|byte| *byte == 0).then_some(read)
    }

    /// What they mean. `None`: a value that makes no sense.
    pub(crate) fn connector(&self) -> Option<Connector> {
        let mut connector = Connector::new()
            .syn_retransmissions(syn_retransmissions(self.syn_retransmissions)?)
            .family(family(self.family)?);
        match self.delay_small_writes {
            0 => {}
            1 => connector = connector.nodelay(false),
            _ => return None,
        }
        if self.reserved != 0 {
            return None;
        }
        if self.attempt_delay_ms != 0 {
            connector = connector.attempt_delay(Duration::from_millis(self.attempt_delay_ms.into()));
        }
        if self.local_attempt_delay_ms != 0 {
            let delay = Duration::from_millis(self.local_attempt_delay_ms.into());
            connector = connector.local_attempt_delay(delay);
        }
        Some(connector)
    }

    /// The time limit; `None`: none.
    pub(crate) fn limit(&self) -> Option<Duration> {
        (self.connect_timeout_ms != 0).then(|| Duration::from_millis(self.connect_timeout_ms))
    }
}

fn syn_retransmissions(number: i32) -> Option<SynRetransmissions> {
    match number {
        UNSTALL_SYN_NONE_IF_LOCAL => Some(SynRetransmissions::NoneIfLocal),
        UNSTALL_SYN_NONE_ANYWHERE => Some(SynRetransmissions::NoneAnywhere),
        UNSTALL_SYN_OS_DEFAULT => Some(SynRetransmissions::OsDefault),
        1..=8 => Some(SynRetransmissions::Exactly(number as u8)),
        _ => None,
    }
}

fn family(number: i32) -> Option<Family> {
    match number {
        UNSTALL_FAMILY_ANY => Some(Family::Any),
        UNSTALL_FAMILY_V4 => Some(Family::V4),
        UNSTALL_FAMILY_V6 => Some(Family::V6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As C would hand it in: bytes, of which the first are the size.
    fn read(size: usize, rest: &[u8]) -> Option<UnstallOptions> {
        let mut bytes = size.to_ne_bytes().to_vec();
        bytes.extend(rest);
        assert!(
            bytes.len() >= size || size > LONGEST || size < size_of::<usize>(),
            "a test within its bounds"
        );
        // SAFETY: there are `size` bytes, or the size alone is looked at.
        unsafe { UnstallOptions::read(bytes.as_ptr().cast()) }
    }

    #[test]
    fn a_shorter_struct_has_the_defaults_of_what_it_lacks() {
        let limit = 1500u64.to_ne_bytes();
        // What follows the caller's struct in memory is not looked at.
        let garbage = [0xFF; 64];
        let options = read(16, &[&limit[..], &garbage].concat()).expect("an older struct");
        assert_eq!(options, UnstallOptions { size: 16, connect_timeout_ms: 1500, ..Default::default() });
        assert_eq!(read(8, &garbage), Some(UnstallOptions { size: 8, ..Default::default() }));
    }

    #[test]
    fn a_longer_struct_may_hold_nothing_that_is_not_known() {
        let ours = size_of::<UnstallOptions>();
        let mut rest = vec![0; ours];
        assert!(read(ours + 8, &rest).is_some());
        *rest.last_mut().expect("not empty") = 1;
        assert_eq!(read(ours + 8, &rest), None);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for size in [0, 1, 7, LONGEST + 1, usize::MAX] {
            assert_eq!(read(size, &[0; 64]), None, "{size}");
        }
        // SAFETY: null is allowed.
        let none = unsafe { UnstallOptions::read(ptr::null()) };
        assert_eq!(none, Some(UnstallOptions::default()));
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let wrong: [fn(&mut UnstallOptions); 6] = [
            |options| options.family = 5,
            |options| options.syn_retransmissions = 9,
            |options| options.syn_retransmissions = -3,
            |options| options.delay_small_writes = 2,
            |options| options.delay_small_writes = -1,
            |options| options.reserved = 1,
        ];
        assert!(UnstallOptions::default().connector().is_some());
        for set in wrong {
            let mut options = UnstallOptions::default();
            set(&mut options);
            assert!(options.connector().is_none(), "{options:?}");
        }
    }

    /// So that a field that is added later is beyond the size of every older struct.
    #[test]
    fn nothing_is_padding_at_the_end() {
        let end = std::mem::offset_of!(UnstallOptions, reserved) + size_of::<u32>();
        assert_eq!(end, size_of::<UnstallOptions>());
    }
}
