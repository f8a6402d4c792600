//! Fast refusal for a socket that Python connects.

use crate::options::Address;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use unstall::Prepared;

/// Prepares the socket with this number; the word for what was done, and the OS's error code if it was refused.
#[pyfunction]
pub(crate) fn prepare(
    py: Python<'_>,
    socket: i64,
    address: Address,
) -> PyResult<(&'static str, Option<i32>)> {
    let address = address.read()?;
    let number = socket.try_into().ok().filter(|_| socket >= 0);
    let number = number.ok_or_else(|| PyValueError::new_err("the socket is closed"))?;
    // Reading the table of listeners can take a while.
    let prepared = py.detach(|| {
        // SAFETY: it is not the number that stands for none, the caller holds the Python socket that it belongs to, and it is used within
        // this call only. If it is no open socket the OS says so.
        let socket = unsafe { borrow(number) };
        unstall::prepare(&socket, address)
    });
    Ok(match prepared {
        Prepared::NotNeeded => ("not_needed", None),
        Prepared::NoRetransmission => ("no_retransmission", None),
        Prepared::OneRetransmission => ("one_retransmission", None),
        Prepared::NotLocal => ("not_local", None),
        Prepared::NotSupported(code) => ("not_supported", Some(code)),
        Prepared::Listening => ("listening", None),
        Prepared::ListenersUnknown => ("listeners_unknown", None),
        _ => ("unknown", None),
    })
}

#[cfg(unix)]
unsafe fn borrow<'a>(number: std::os::fd::RawFd) -> std::os::fd::BorrowedFd<'a> {
    // SAFETY: the caller promises it.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(number) }
}

#[cfg(windows)]
unsafe fn borrow<'a>(number: std::os::windows::io::RawSocket) -> std::os::windows::io::BorrowedSocket<'a> {
    // SAFETY: the caller promises it.
    unsafe { std::os::windows::io::BorrowedSocket::borrow_raw(number) }
}
