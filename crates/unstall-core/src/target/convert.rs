//! The forms in which std's `ToSocketAddrs` takes a host and a port, so that a call needs no other change than its name.

use super::{ParseTargetError, Target};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// `Target::try_from` by way of a form that is implemented already.
macro_rules! try_from {
    ($($from:ty, $value:ident => $by:expr;)*) => {$(
        impl TryFrom<$from> for Target {
            type Error = ParseTargetError;

            fn try_from($value: $from) -> Result<Self, ParseTargetError> {
                Self::try_from($by)
            }
        }
    )*};
}

try_from! {
    (String, u16), pair => (&*pair.0, pair.1);
    (&String, u16), pair => (&**pair.0, pair.1);
    (Ipv4Addr, u16), pair => (IpAddr::V4(pair.0), pair.1);
    (Ipv6Addr, u16), pair => (IpAddr::V6(pair.0), pair.1);
    SocketAddrV4, address => SocketAddr::V4(address);
    SocketAddrV6, address => SocketAddr::V6(address);
    &SocketAddr, address => *address;
}

/// A copy.
impl From<&Target> for Target {
    fn from(target: &Target) -> Self {
        target.clone()
    }
}
