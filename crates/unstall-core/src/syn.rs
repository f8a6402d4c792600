//! SYN retransmission: what the caller may ask for, what was done, and the bytes of Windows' ioctl.

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
    /// This many, 1 to 8.
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
    /// The destination is not local, so nothing was changed.
    NotLocal,
    /// This OS reports a refusal at once by itself.
    NotNeeded,
    /// The caller asked for the OS default.
    OsDefault,
    /// The OS did not take the option; its error code. Nothing was changed.
    NotSupported(i32),
}
