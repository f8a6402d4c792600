//! The ioctl that takes SYN retransmissions away. Its four bytes are made, and explained, in `unstall_core::syn`.

use super::winsock::{raw, result};
use std::os::windows::io::BorrowedSocket;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};
use windows_sys::Win32::Networking::WinSock::{SIO_TCP_INITIAL_RTO, WSAEOPNOTSUPP, WSAIoctl};

/// What [`set_own`] has been told: the code of a refusal that would be repeated, by family. 0: nothing yet.
static REFUSED: [AtomicI32; 2] = [AtomicI32::new(0), AtomicI32::new(0)];

/// [`set`] for a socket that this crate made. A provider that does not know the ioctl (Wine, some third party's layer) is not
/// asked again: all of this crate's sockets of a family come from the same one.
pub(crate) fn set_own(socket: BorrowedSocket<'_>, is_ipv4: bool, parameters: [u8; 4]) -> Result<(), i32> {
    let refused = &REFUSED[usize::from(is_ipv4)];
    match refused.load(Ordering::Relaxed) {
        0 => set(socket, parameters).inspect_err(|code| {
            if *code == WSAEOPNOTSUPP {
                refused.store(*code, Ordering::Relaxed);
            }
        }),
        code => Err(code),
    }
}

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
