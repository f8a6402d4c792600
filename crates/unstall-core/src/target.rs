//! What a person types to say where to connect: `localhost:4200`, `[::1]:80`, `:4200`, `http://localhost:4200/x`.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU16;

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    host: Host,
    port: NonZeroU16,
}

/// The host part of a [`Target`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Host {
    /// An address; no name has to be resolved and nothing is allocated.
    Ip(IpAddr),
    /// An IPv6 address with a zone, `fe80::1%eth0`.
    Zoned(Ipv6Addr, Zone),
    /// A name, in ASCII (IDN hosts are converted), lower case, a trailing dot kept.
    Name(Box<str>),
}

/// The zone (RFC 4007) of a link-local IPv6 address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Zone {
    /// The interface's index, `%2`.
    Index(u32),
    /// The interface's name, `%eth0`.
    Name(Box<str>),
}

impl Target {
    /// A target from its parts.
    pub const fn new(host: Host, port: NonZeroU16) -> Self {
        Self { host, port }
    }

    /// The host.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The port, 1 to 65535.
    pub const fn port(&self) -> u16 {
        self.port.get()
    }
}
