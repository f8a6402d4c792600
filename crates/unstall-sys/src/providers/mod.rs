//! The Winsock catalogue: the providers and layers that every socket of a Windows program goes through.
//!
//! # Contract
//!
//! `catalogue()`, an error where the OS has no such thing or does not tell.

use crate::error::Error;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as imp;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as imp;

/// An entry of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// What it calls itself: `MSAFD Tcpip [TCP/IP]`.
    pub name: String,
    /// The library that it is made of, as the catalogue writes it: `%SystemRoot%\system32\mswsock.dll`. `None`: not told.
    pub library: Option<String>,
    /// Where it stands.
    pub place: Place,
    /// Its number in the catalogue.
    pub id: u32,
}

/// Where an entry of the catalogue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the bottom: it talks to the kernel.
    Base,
    /// A layer, to be put over others.
    Layer,
    /// So many entries, one over the other, beginning with a layer.
    Chain(u32),
}

/// The catalogue, in its order.
///
/// # Errors
///
/// Outcome `not_available` where the OS has none.
pub fn catalogue() -> Result<Vec<Provider>, Error> {
    imp::catalogue()
}
