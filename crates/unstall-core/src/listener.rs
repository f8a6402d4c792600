//! Who listens: the rows of a listener table and which of them a connect to an address reaches.

use std::net::{IpAddr, SocketAddr};

/// The process that owns a listening socket, as far as this user may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// Name of the program, without its path.
    pub name: String,
}

/// One listening TCP socket.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Listener {
    /// The address and port that it is bound to; 0.0.0.0 and :: are wildcards.
    pub address: SocketAddr,
    /// For an IPv6 wildcard: whether it refuses IPv4 (IPV6_V6ONLY). `None`: the OS does not tell.
    pub v6_only: Option<bool>,
    /// Connections that wait to be accepted. `None`: the OS does not tell.
    pub waiting: Option<u32>,
    /// How many may wait: the backlog, as the kernel clamped it. `None`: the OS does not tell.
    pub backlog: Option<u32>,
    /// The process; `None`: not visible to this user.
    pub owner: Option<Owner>,
}
