//! The ioctl that takes SYN retransmissions away. Its four bytes are made, and explained, in `unstall_core::syn`.

use super::winsock::{raw, result};
use std::os::windows::io::BorrowedSocket;
use std::ptr::null_mut;
use windows_sys::Win32::Networking::WinSock::{SIO_TCP_INITIAL_RTO, WSAIoctl};

/// Sets TCP_INITIAL_RTO_PARAMETERS on a socket that is neither connected nor listening.
pub(crate) fn set(socket: BorrowedSocket<'_>, parameters: [u8; 4]) -> Result<(), i32> {
    let mut length = 0;
    // SAFETY: the input has the length that is passed with it; there is no output.
    let returned = unsafe {
        WSAIoctl(
            raw(&socket),
            SIO_TCP_INITIAL_RTO,
            parameters.as_ptr().cast(),
            parameters.len() as u32,
            null_mut(),
            0,
            &raw mut length,
            null_mut(),
            None,
        )
    };
    result(returned)
}
