//! Any Unix: there is no portable table, so nothing is known.

use super::{Peers, Table};
use crate::error::Error;
use std::io;

pub(super) fn table(_port: Option<u16>, _owners: bool) -> Result<Table, Error> {
    Err(unknown())
}

pub(super) fn peers(_port: u16) -> Result<Peers, Error> {
    Err(unknown())
}

fn unknown() -> Error {
    Error::table("the table of listening sockets", io::ErrorKind::Unsupported.into())
}
