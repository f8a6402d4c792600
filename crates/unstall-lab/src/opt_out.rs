//! How a socket asks for fewer retries, as SIO_TCP_INITIAL_RTO does on Windows: by its mark, TTL or hop limit, options that
//! any client can be taught.
//!
//! | asks for | SO_MARK | IP_TTL / IPV6_UNICAST_HOPS |
//! |---|---|---|
//! | no retry (`MaxSynRetransmissions` 0xFE) | 0xFE | 254 |
//! | n retries, 1 to 8 | n | 200 + n |
//! | the default (0 or 0xFF) | anything else | anything else |
//!
//! To be set before connect. A socket that may connect to both families sets both TTL and hop limit: a connect to an
//! IPv4-mapped address sends IPv4. SO_MARK needs CAP_NET_ADMIN, which programs in a lab have. The sysctl `ip_default_ttl`
//! of the lab's namespace teaches every IPv4 socket at once.

/// The mark of a socket that asks for no retry, and its TTL.
pub const MARK_NONE: u8 = 0xFE;

/// The TTL or hop limit of a socket that asks for no retry.
pub const TTL_NONE: u8 = 254;

/// The TTL or hop limit of a socket that asks for n retries is this and n more.
pub const TTL_BASE: u8 = 200;

/// The most retries that can be asked for; Windows' settings end there as well.
pub const MOST_RETRIES: u8 = 8;

/// The TTL or hop limit that asks for so many retries; 0: none. `None`: it cannot be asked for.
pub const fn ttl(retries: u8) -> Option<u8> {
    match retries {
        0 => Some(TTL_NONE),
        1..=MOST_RETRIES => Some(TTL_BASE + retries),
        _ => None,
    }
}

/// The mark that asks for so many retries; 0: none. `None`: it cannot be asked for.
pub const fn mark(retries: u8) -> Option<u8> {
    match retries {
        0 => Some(MARK_NONE),
        1..=MOST_RETRIES => Some(retries),
        _ => None,
    }
}
