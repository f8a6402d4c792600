//! Unix: sockets are the kernel's own.

use super::Provider;
use crate::error::Error;
use std::io;

pub(super) fn catalogue() -> Result<Vec<Provider>, Error> {
    Err(Error::table("the Winsock catalogue", io::ErrorKind::Unsupported.into()))
}
