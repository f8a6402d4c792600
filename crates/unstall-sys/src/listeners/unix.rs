//! Any Unix: there is no portable table, so nothing is known.

pub(super) use super::probe::is_taken;
use super::{Peers, ServerSide, Table};
use crate::error::Error;
use std::io;
use std::net::SocketAddr;
use unstall_core::listener::Listener;

pub(super) fn table(_port: Option<u16>, _owners: bool) -> Result<Table, Error> {
    Err(unknown())
}

pub(super) fn quickly(_port: u16) -> io::Result<Vec<Listener>> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn peers(_port: u16) -> Result<Peers, Error> {
    Err(unknown())
}

pub(super) fn anybody(_destination: SocketAddr) -> Option<bool> {
    None
}

pub(super) fn server_side(_client: SocketAddr, _server: SocketAddr) -> ServerSide {
    ServerSide::Unknown
}

fn unknown() -> Error {
    Error::table("the table of listening sockets", io::ErrorKind::Unsupported.into())
}
