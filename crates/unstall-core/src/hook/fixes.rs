//! The fixes, and when each is applied.

use crate::locality;
use crate::syn::FIRST_BUILD_WITHOUT_RETRANSMISSION;
use std::net::SocketAddr;

/// Something that is done about a program's connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fix {
    /// No SYN is sent again to a local port where nobody listens.
    FastRefusal,
    /// SO_ERROR after a successful connect is answered without asking mswsock.
    NoSoErrorStall,
    /// TCP_NODELAY on every socket that connects.
    Nodelay,
    /// 0.0.0.0 and :: as destinations are taken for the loopback addresses.
    UnspecifiedToLoopback,
}

impl Fix {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::FastRefusal, Self::NoSoErrorStall, Self::Nodelay, Self::UnspecifiedToLoopback];

    /// Those that are applied unless somebody says otherwise.
    pub const DEFAULT: [Self; 2] = [Self::FastRefusal, Self::NoSoErrorStall];

    /// Its name on the command line and in reports.
    pub const fn id(self) -> &'static str {
        match self {
            Self::FastRefusal => "fast-refusal",
            Self::NoSoErrorStall => "no-so-error-stall",
            Self::Nodelay => "nodelay",
            Self::UnspecifiedToLoopback => "unspecified-to-loopback",
        }
    }

    /// The fix of that name.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fix| fix.id() == id)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of fixes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fixes(u8);

impl Fixes {
    /// Whether a fix is in it.
    pub const fn has(self, fix: Fix) -> bool {
        self.0 & fix.bit() != 0
    }

    /// Without a fix.
    #[must_use]
    pub const fn without(self, fix: Fix) -> Self {
        Self(self.0 & !fix.bit())
    }

    /// Those in it.
    pub fn iter(self) -> impl Iterator<Item = Fix> {
        Fix::ALL.into_iter().filter(move |fix| self.has(*fix))
    }
}

impl FromIterator<Fix> for Fixes {
    fn from_iter<T: IntoIterator<Item = Fix>>(fixes: T) -> Self {
        Self(fixes.into_iter().fold(0, |bits, fix| bits | fix.bit()))
    }
}

/// Whether the socket's SYN is not to be sent again: only where nobody listens, for a server that listens but whose queue is full
/// refuses as well, and Windows' own repetition gets through. Never before build 16299, where 0xFE would mean 254 repetitions.
///
/// `anybody` is asked for last, since it costs a look at the table of listeners.
pub fn takes_retransmission_away(
    fixes: Fixes,
    build: u32,
    local: bool,
    anybody: impl FnOnce() -> Option<bool>,
) -> bool {
    fixes.has(Fix::FastRefusal)
        && build >= FIRST_BUILD_WITHOUT_RETRANSMISSION
        && local
        && anybody() == Some(false)
}

/// Where a connect goes in place of its destination; `None`: nothing changes.
pub fn instead(fixes: Fixes, destination: SocketAddr) -> Option<SocketAddr> {
    let other = locality::unspecified_to_loopback(destination);
    (fixes.has(Fix::UnspecifiedToLoopback) && other != destination).then_some(other)
}

#[cfg(test)]
mod tests {
    use super::{Fix, Fixes, instead, takes_retransmission_away};

    #[test]
    fn each_fix_has_a_name_and_its_own_place() {
        for fix in Fix::ALL {
            assert_eq!(Fix::from_id(fix.id()), Some(fix));
            assert_eq!(Fixes::from_iter([fix]).iter().collect::<Vec<_>>(), [fix]);
            assert!(!Fixes::from_iter(Fix::ALL).without(fix).has(fix));
        }
        assert_eq!(Fix::from_id("all"), None);
    }

    #[test]
    fn only_a_local_port_where_nobody_listens_loses_its_repetitions() {
        let fixes = Fixes::from_iter(Fix::DEFAULT);
        let rows = [
            (fixes, 22631, true, Some(false), true),
            (fixes, 16299, true, Some(false), true),
            (fixes, 16298, true, Some(false), false),
            (fixes, 22631, false, Some(false), false),
            (fixes, 22631, true, Some(true), false),
            (fixes, 22631, true, None, false),
            (Fixes::from_iter([Fix::Nodelay]), 22631, true, Some(false), false),
        ];
        for (fixes, build, local, anybody, expected) in rows {
            let taken = takes_retransmission_away(fixes, build, local, || anybody);
            assert_eq!(taken, expected, "{fixes:?} {build} {local} {anybody:?}");
        }
    }

    #[test]
    fn nobody_looks_at_the_table_for_a_remote_address_or_on_an_old_windows() {
        let fixes = Fixes::from_iter(Fix::DEFAULT);
        for (build, local) in [(22631, false), (14393, true)] {
            assert!(!takes_retransmission_away(fixes, build, local, || panic!("looked")));
        }
    }

    #[test]
    fn the_unspecified_addresses_become_loopback_if_wanted() {
        let on = Fixes::from_iter([Fix::UnspecifiedToLoopback]);
        for (from, to) in [("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80")] {
            assert_eq!(instead(on, from.parse().unwrap()), Some(to.parse().unwrap()));
            assert_eq!(instead(Fixes::default(), from.parse().unwrap()), None);
        }
        assert_eq!(instead(on, "127.0.0.1:80".parse().unwrap()), None);
    }
}
