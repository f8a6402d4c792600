//! What the Windows files share: Winsock's start, sockets, waits, overlapped connects, the AFD poll, the ioctl, the OS's version.

pub(crate) mod afd;
pub(crate) mod event;
pub(crate) mod initial_rto;
pub(crate) mod interfaces;
pub(crate) mod notified;
pub(crate) mod overlapped;
pub(crate) mod processes;
pub(crate) mod selected;
pub(crate) mod tcp_table;
pub(crate) mod version;
pub(crate) mod winsock;

use std::io;

/// The error of a call that returns its code.
pub(crate) fn os_error(code: u32) -> io::Error {
    io::Error::from_raw_os_error(i32::try_from(code).unwrap_or(i32::MAX))
}

/// The text in a buffer of UTF-16, up to its first zero.
pub(crate) fn text(buffer: &[u16]) -> String {
    let end = buffer.iter().position(|unit| *unit == 0).unwrap_or(buffer.len());
    String::from_utf16_lossy(&buffer[..end])
}
