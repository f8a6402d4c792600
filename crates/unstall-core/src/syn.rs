//! SYN retransmission: what the caller may ask for, what was done, and the bytes of Windows' ioctl.
//!
//! The ioctl is `SIO_TCP_INITIAL_RTO` on a socket that is not connected yet; its input is
//! `TCP_INITIAL_RTO_PARAMETERS` (mstcpip.h): `Rtt`, a `u16` in ms, then `MaxSynRetransmissions`, a `u8`, then
//! a byte of padding. It holds for the SYN and for the SYN+ACK, so it must never be set on a socket that
//! listens. Everything here is arithmetic; nothing of it has been measured on Windows by this project.

use crate::outcome::Platform;
use std::fmt;
use std::time::Duration;

/// `SIO_TCP_INITIAL_RTO`: `_WSAIOW(IOC_VENDOR, 17)` of mstcpip.h.
pub const SIO_TCP_INITIAL_RTO: u32 = 0x9800_0011;

/// The first build that takes 0xFE for "no retransmission": Windows 10 version 1709 (mstcpip.h makes the
/// constant available from `NTDDI_WIN10_RS3`). Earlier builds take it for a count: 255 SYNs 500 ms apart, 128
/// s (the review of JDK-8250521).
pub const FIRST_BUILD_WITHOUT_RETRANSMISSION: u32 = 16299;

/// `TCP_INITIAL_RTO_UNSPECIFIED_RTT`: the system's value, as the administrator set it.
pub const UNSPECIFIED_RTT: u16 = 0xFFFF;

/// `TCP_INITIAL_RTO_UNSPECIFIED_MAX_SYN_RETRANSMISSIONS`: the system's value.
pub const UNSPECIFIED_RETRANSMISSIONS: u8 = 0xFF;

/// `TCP_INITIAL_RTO_NO_SYN_RETRANSMISSIONS`, a `u8` (mstcpip.h; windows-sys 0.61 types it as a `u16` of
/// 65534).
pub const NO_RETRANSMISSIONS: u8 = 0xFE;

/// The first time-out of a SYN is about this many times `Rtt` (published: netscli-core 0.3.4, Windows 11).
pub const TIMEOUT_PER_RTT: u32 = 3;

/// How often the SYN may be sent again. On Windows that is also how often a connect is repeated after a reset
/// (KB175523), which is what makes a refused local connect take 2 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SynRetransmissions {
    /// None for destinations that never leave this host, the OS default elsewhere.
    #[default]
    NoneIfLocal,
    /// None for any destination.
    NoneAnywhere,
    /// Leave the OS default alone.
    OsDefault,
    /// This many, 1 to 8; what is outside is taken for the nearer bound. 0 would mean the default to Windows,
    /// 254 and 255 have meanings of their own.
    Exactly(u8),
}

/// What was done about SYN retransmissions on a socket, before its connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Prepared {
    /// The first reset is final (Windows 10 build 16299 and later).
    NoRetransmission,
    /// One retransmission, about 510 ms: the least that Windows before build 16299 can do.
    OneRetransmission,
    /// As many retransmissions as the caller asked for.
    Retransmissions(u8),
    /// The destination is not local, so nothing was changed.
    NotLocal,
    /// This OS reports a refusal at once by itself.
    NotNeeded,
    /// The caller asked for the OS default.
    OsDefault,
    /// Somebody listens at the destination, so nothing was changed: a full accept queue answers with a reset, and the OS's own
    /// retransmission gets through.
    Listening,
    /// Whether somebody listens at the destination is not known, so nothing was changed.
    ListenersUnknown,
    /// The OS did not take the option; its error code. Nothing was changed.
    NotSupported(i32),
}

/// Whether the ioctl is to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Wanted {
    /// Yes, with the bytes of [`initial_rto`]; then [`prepared`] says what was done.
    Set,
    /// No; this is what to report.
    Leave(Prepared),
}

/// Whether the ioctl is to be called for a destination. Only Windows repeats a connect after a reset.
pub const fn wanted(policy: SynRetransmissions, local: bool, os: Platform) -> Wanted {
    match (policy, os) {
        (SynRetransmissions::OsDefault, _) => Wanted::Leave(Prepared::OsDefault),
        (_, Platform::Linux | Platform::Apple | Platform::Bsd) => Wanted::Leave(Prepared::NotNeeded),
        (SynRetransmissions::NoneIfLocal, Platform::Windows) if !local => Wanted::Leave(Prepared::NotLocal),
        (_, Platform::Windows) => Wanted::Set,
    }
}

/// The four bytes to give to [`SIO_TCP_INITIAL_RTO`].
///
/// `build` is the true build number of this Windows (RtlGetVersion; 14393 is Server 2016). `limit` is how
/// long a single SYN may wait for its answer: where none is sent again ([`SynRetransmissions::NoneAnywhere`])
/// Windows gives up after 3 x `Rtt`, so `Rtt` follows the limit; without a limit, and under every other
/// policy, it stays the administrator's value (about 1 s), for a local SYN that is lost is made again with a
/// fresh socket.
///
/// Never 0 retransmissions, which means the default; never 254 before build 16299, which means 254.
///
/// ```
/// # use unstall_core::syn::{SynRetransmissions, initial_rto};
/// assert_eq!(initial_rto(22631, SynRetransmissions::NoneIfLocal, None), [0xFF, 0xFF, 0xFE, 0]);
/// assert_eq!(initial_rto(14393, SynRetransmissions::NoneIfLocal, None), [0xFF, 0xFF, 1, 0]);
/// ```
pub fn initial_rto(build: u32, policy: SynRetransmissions, limit: Option<Duration>) -> [u8; 4] {
    let rtt = match (policy, limit) {
        (SynRetransmissions::NoneAnywhere, Some(limit)) => rtt_for(limit),
        _ => UNSPECIFIED_RTT,
    };
    let retransmissions = match policy {
        SynRetransmissions::OsDefault => UNSPECIFIED_RETRANSMISSIONS,
        SynRetransmissions::Exactly(count) => count.clamp(1, 8),
        SynRetransmissions::NoneIfLocal | SynRetransmissions::NoneAnywhere => {
            if build >= FIRST_BUILD_WITHOUT_RETRANSMISSION { NO_RETRANSMISSIONS } else { 1 }
        }
    };
    // Windows runs on little-endian machines only.
    let [low, high] = rtt.to_le_bytes();
    [low, high, retransmissions, 0]
}

/// The `Rtt` with which the first time-out is not before `limit`: 1 to 65534 ms, for 0 and 65535 have
/// meanings of their own.
fn rtt_for(limit: Duration) -> u16 {
    let ms = limit.as_micros().div_ceil(1_000).div_ceil(u128::from(TIMEOUT_PER_RTT));
    u16::try_from(ms).unwrap_or(u16::MAX).clamp(1, UNSPECIFIED_RTT - 1)
}

/// What to report after the ioctl: `Ok` when the OS took the bytes of [`initial_rto`] for the same build and
/// policy, else its error code.
pub fn prepared(build: u32, policy: SynRetransmissions, result: Result<(), i32>) -> Prepared {
    if let Err(code) = result {
        return Prepared::NotSupported(code);
    }
    let [_, _, retransmissions, _] = initial_rto(build, policy, None);
    match (policy, retransmissions) {
        (SynRetransmissions::OsDefault, _) => Prepared::OsDefault,
        (_, NO_RETRANSMISSIONS) => Prepared::NoRetransmission,
        (_, 1) => Prepared::OneRetransmission,
        (_, count) => Prepared::Retransmissions(count),
    }
}

/// One line, as in "SYN retransmission: ...".
impl fmt::Display for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRetransmission => f.pad("off, the first reset is final"),
            Self::OneRetransmission => f.pad("one, about 0.5 s, the least before Windows 10 build 16299"),
            Self::Retransmissions(count) => write!(f, "{count}, as asked for"),
            Self::NotLocal => f.pad("unchanged, the destination is not local"),
            Self::NotNeeded => f.pad("unchanged, this OS reports a refusal at once"),
            Self::OsDefault => f.pad("unchanged, as asked for"),
            Self::Listening => f.pad("unchanged, somebody listens there, and a full queue needs it"),
            Self::ListenersUnknown => f.pad("unchanged, whether somebody listens there is not known"),
            Self::NotSupported(code) => write!(f, "unchanged, the OS did not take the option (error {code})"),
        }
    }
}
