//! Any Unix: getifaddrs.

use crate::error::Error;
use std::net::IpAddr;

pub(super) fn own() -> Result<Vec<IpAddr>, Error> {
    let interfaces =
        if_addrs::get_if_addrs().map_err(|error| Error::table("the list of network interfaces", error))?;
    let mut addresses: Vec<IpAddr> = interfaces.iter().map(if_addrs::Interface::ip).collect();
    addresses.sort_unstable();
    addresses.dedup();
    Ok(addresses)
}

pub(super) fn generation() -> Option<u64> {
    None
}
