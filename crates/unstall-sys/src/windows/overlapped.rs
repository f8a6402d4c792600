//! ConnectEx: a connect that the kernel completes, so that its outcome need not be asked for.
//!
//! SO_ERROR right after a non-blocking connect can wait 15 ms for nothing (a race within mswsock); a completion carries the
//! outcome itself.

use super::event::Event;
use super::winsock::{last_error, raw, result};
use socket2::SockAddr;
use std::os::windows::io::{AsRawSocket, AsSocket};
use std::ptr::{NonNull, null, null_mut};
use std::sync::OnceLock;
use std::time::Duration;
use windows_sys::Win32::Networking::WinSock::{
    LPFN_CONNECTEX, SIO_GET_EXTENSION_FUNCTION_POINTER, SO_UPDATE_CONNECT_CONTEXT, SOL_SOCKET, WSA_IO_INCOMPLETE,
    WSA_IO_PENDING, WSAGetOverlappedResult, WSAID_CONNECTEX, WSAIoctl, setsockopt,
};
use windows_sys::Win32::System::IO::{CancelIoEx, OVERLAPPED};
use windows_sys::core::GUID;

/// How long a cancelled operation may take to end. The kernel needs microseconds; a third party's layer may not care.
const PATIENCE: Duration = Duration::from_secs(1);

/// ConnectEx of one provider.
#[derive(Clone, Copy)]
pub(crate) struct ConnectEx(NonNullConnectEx);

type NonNullConnectEx = unsafe extern "system" fn(
    usize,
    *const windows_sys::Win32::Networking::WinSock::SOCKADDR,
    i32,
    *const core::ffi::c_void,
    u32,
    *mut u32,
    *mut OVERLAPPED,
) -> i32;

/// A connect that ConnectEx has begun. The kernel writes into its OVERLAPPED, which therefore stays where it is, on the heap,
/// and is freed when the kernel is done with it, not before.
#[derive(Debug)]
pub(crate) struct Pending(NonNull<OVERLAPPED>);

/// ConnectEx of the provider that `socket` is of. It is asked for once per family; `None`: the provider has none.
pub(crate) fn connect_ex(socket: &impl AsRawSocket, is_ipv4: bool) -> Option<ConnectEx> {
    static FOUND: [OnceLock<Option<ConnectEx>>; 2] = [OnceLock::new(), OnceLock::new()];
    if cfg!(unstall_no_connect_ex) {
        return None;
    }
    *FOUND[usize::from(is_ipv4)].get_or_init(|| look_up(socket))
}

fn look_up(socket: &impl AsRawSocket) -> Option<ConnectEx> {
    let mut function: LPFN_CONNECTEX = None;
    let mut length = 0;
    // SAFETY: both buffers have the sizes that are passed with them; the answer is a pointer to such a function or null.
    let returned = unsafe {
        WSAIoctl(
            raw(socket),
            SIO_GET_EXTENSION_FUNCTION_POINTER,
            (&raw const WSAID_CONNECTEX).cast(),
            size_of::<GUID>() as u32,
            (&raw mut function).cast(),
            size_of::<LPFN_CONNECTEX>() as u32,
            &raw mut length,
            null_mut(),
            None,
        )
    };
    result(returned).ok()?;
    function.map(ConnectEx)
}

impl Pending {
    /// Begins to connect `socket`, which must be bound. `event` is reset now, and signalled when the connect has ended. The caller
    /// keeps the socket open until [`Self::outcome`] tells the end or [`Self::abandon`] was called.
    pub(crate) fn begin(
        connect_ex: ConnectEx,
        socket: &impl AsRawSocket,
        address: &SockAddr,
        event: &Event,
    ) -> Result<Self, i32> {
        let overlapped = Box::new(OVERLAPPED { hEvent: event.handle(), ..OVERLAPPED::default() });
        let overlapped = NonNull::from(Box::leak(overlapped));
        let ConnectEx(connect_ex) = connect_ex;
        // SAFETY: the address has the length that is passed with it, nothing is sent, and the OVERLAPPED lives until the kernel is
        // done with it (`outcome`, `abandon`).
        let connected = unsafe {
            connect_ex(
                raw(socket),
                address.as_ptr().cast(),
                address.len(),
                null(),
                0,
                null_mut(),
                overlapped.as_ptr(),
            )
        };
        let begun = if connected == 0 { last_error() } else { WSA_IO_PENDING };
        if begun == WSA_IO_PENDING {
            return Ok(Self(overlapped));
        }
        Self(overlapped).free();
        Err(begun)
    }

    /// What the connect came to; `None`: it has not ended. No system call.
    pub(crate) fn outcome(&self, socket: &impl AsRawSocket) -> Option<Result<(), i32>> {
        let mut bytes = 0;
        let mut flags = 0;
        // SAFETY: the OVERLAPPED is alive as long as `self`, and it is the one that this socket's ConnectEx got.
        let ended =
            unsafe { WSAGetOverlappedResult(raw(socket), self.0.as_ptr(), &raw mut bytes, 0, &raw mut flags) };
        if ended != 0 {
            return Some(Ok(()));
        }
        match last_error() {
            WSA_IO_INCOMPLETE => None,
            code => Some(Err(code)),
        }
    }

    /// Frees what an ended connect needed.
    pub(crate) fn free(self) {
        // SAFETY: it came from `Box::leak`, `self` was its only owner, and the kernel is done with it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }

    /// Gives the connect up: cancels it and waits for the kernel to be done, which takes microseconds. Should something between
    /// this program and the kernel not let go of it, its memory is given up as well, rather than freed too early. False: it was.
    pub(crate) fn abandon(self, socket: &impl AsRawSocket, event: &Event) -> bool {
        // SAFETY: the socket is open and the OVERLAPPED alive. That there was nothing to cancel any more is no failure.
        let _ = unsafe { CancelIoEx(raw(socket) as _, self.0.as_ptr()) };
        while self.outcome(socket).is_none() {
            // The event may speak for another connect; then this one is looked at again.
            if !event.wait(Some(PATIENCE)).unwrap_or(false) {
                return false;
            }
        }
        self.free();
        true
    }
}

/// Makes a socket that ConnectEx connected an ordinary one: without it, shutdown and getpeername fail.
pub(crate) fn update_context(socket: &impl AsSocket) -> Result<(), i32> {
    // SAFETY: the option takes no value.
    let returned = unsafe { setsockopt(raw(&socket.as_socket()), SOL_SOCKET, SO_UPDATE_CONNECT_CONTEXT, null(), 0) };
    result(returned)
}
