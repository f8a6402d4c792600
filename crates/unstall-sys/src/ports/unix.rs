//! Any Unix: these tables have no portable form, so nothing is known.

use super::{Excluded, Taken};
use crate::error::Error;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

pub(super) fn ephemeral_range() -> Result<RangeInclusive<u16>, Error> {
    Err(Error::table("the ephemeral port range", io::ErrorKind::Unsupported.into()))
}

pub(super) fn may_be_source(_port: u16) -> bool {
    true
}

pub(super) fn per_destination() -> Result<BTreeMap<SocketAddr, Taken>, Error> {
    Err(Error::table("the connection table", io::ErrorKind::Unsupported.into()))
}

pub(super) fn excluded() -> Result<Vec<Excluded>, Error> {
    Err(Error::table("the excluded port ranges", io::ErrorKind::Unsupported.into()))
}
