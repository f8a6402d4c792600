//! ConnectEx: a connect that the kernel completes, so that its outcome need not be asked for.
//!
//! SO_ERROR right after a non-blocking connect can wait 15 ms for nothing (a race within mswsock); a completion carries the
//! outcome itself.

use super::event::Event;
use super::winsock::{last_error, raw, result};
use socket2::SockAddr;
use std::os::windows::io::OwnedSocket;
use std::ptr::{NonNull, null, null_mut};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use windows_sys::Win32::Networking::WinSock::{
    LPFN_CONNECTEX, SIO_GET_EXTENSION_FUNCTION_POINTER, SO_UPDATE_CONNECT_CONTEXT, SOCKADDR, SOCKET,
    SOL_SOCKET, WSA_IO_INCOMPLETE, WSA_IO_PENDING, WSAGetOverlappedResult, WSAID_CONNECTEX, WSAIoctl,
    setsockopt,
};
use windows_sys::Win32::System::IO::{CancelIoEx, OVERLAPPED};
use windows_sys::core::{BOOL, GUID};

/// How long a cancelled operation may take to end. The kernel needs microseconds; a third party's layer may need longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// ConnectEx of one provider.
pub(crate) type ConnectEx = unsafe extern "system" fn(
    SOCKET,
    *const SOCKADDR,
    i32,
    *const core::ffi::c_void,
    u32,
    *mut u32,
    *mut OVERLAPPED,
) -> BOOL;

/// ConnectEx of the provider that `socket` is of. It is asked for once per family; `None`: the provider has none.
pub(crate) fn connect_ex(socket: &OwnedSocket, is_ipv4: bool) -> Option<ConnectEx> {
    static FOUND: [OnceLock<Option<ConnectEx>>; 2] = [OnceLock::new(), OnceLock::new()];
    if cfg!(unstall_no_connect_ex) {
        return None;
    }
    *FOUND[usize::from(is_ipv4)].get_or_init(|| look_up(socket))
}

fn look_up(socket: &OwnedSocket) -> Option<ConnectEx> {
    let guid = WSAID_CONNECTEX;
    let mut function: LPFN_CONNECTEX = None;
    let mut length = 0;
    // SAFETY: both buffers have the sizes that are passed with them; the answer is a pointer to such a function or null.
    let returned = unsafe {
        WSAIoctl(
            raw(socket),
            SIO_GET_EXTENSION_FUNCTION_POINTER,
            (&raw const guid).cast(),
            size_of::<GUID>() as u32,
            (&raw mut function).cast(),
            size_of::<LPFN_CONNECTEX>() as u32,
            &raw mut length,
            null_mut(),
            None,
        )
    };
    result(returned).ok()?;
    function
}

/// A connect that ConnectEx has begun. Dropping it cancels it and closes the socket.
#[derive(Debug)]
pub(crate) struct Pending {
    // Dropped first: the socket must be open while the operation is cancelled.
    operation: Operation,
    socket: OwnedSocket,
}

impl Pending {
    /// Begins to connect `socket`, which must be bound. `event` is reset now, and signalled when the connect has ended.
    pub(crate) fn begin(
        connect_ex: ConnectEx,
        socket: OwnedSocket,
        address: &SockAddr,
        event: &Arc<Event>,
    ) -> Result<Self, i32> {
        let overlapped = Box::new(OVERLAPPED { hEvent: event.handle(), ..OVERLAPPED::default() });
        let overlapped = NonNull::from(Box::leak(overlapped));
        // SAFETY: the address has the length that is passed with it, nothing is sent, and the OVERLAPPED lives until the kernel is
        // done with it.
        let connected = unsafe {
            connect_ex(
                raw(&socket),
                address.as_ptr().cast(),
                address.len(),
                null(),
                0,
                null_mut(),
                overlapped.as_ptr(),
            )
        };
        match if connected == 0 { last_error() } else { WSA_IO_PENDING } {
            WSA_IO_PENDING => {
                let operation = Operation { overlapped, socket: raw(&socket), event: Arc::clone(event) };
                Ok(Self { operation, socket })
            }
            code => {
                // SAFETY: it came from `Box::leak`, and the kernel did not take it.
                drop(unsafe { Box::from_raw(overlapped.as_ptr()) });
                Err(code)
            }
        }
    }

    /// What the connect came to; `None`: it has not ended. No system call.
    pub(crate) fn outcome(&self) -> Option<Result<(), i32>> {
        self.operation.outcome()
    }

    /// The socket of a connect that succeeded, made an ordinary one: without that, shutdown and getpeername fail.
    pub(crate) fn into_socket(self) -> Result<OwnedSocket, i32> {
        let Self { operation, socket } = self;
        drop(operation);
        update_context(&socket).map(|()| socket)
    }
}

/// Makes a socket that ConnectEx connected an ordinary one.
pub(super) fn update_context(socket: &OwnedSocket) -> Result<(), i32> {
    // SAFETY: the option takes no value.
    result(unsafe { setsockopt(raw(socket), SOL_SOCKET, SO_UPDATE_CONNECT_CONTEXT, null(), 0) })
}

/// What the kernel writes into until the connect has ended. It stays where it is, on the heap, and is freed when the kernel is
/// done with it, not before. The socket is open as long as this lives.
#[derive(Debug)]
struct Operation {
    overlapped: NonNull<OVERLAPPED>,
    socket: SOCKET,
    event: Arc<Event>,
}

impl Operation {
    fn outcome(&self) -> Option<Result<(), i32>> {
        let mut bytes = 0;
        let mut flags = 0;
        // SAFETY: the OVERLAPPED is alive as long as `self`, and it is the one that this socket's ConnectEx got.
        let ended = unsafe {
            WSAGetOverlappedResult(self.socket, self.overlapped.as_ptr(), &raw mut bytes, 0, &raw mut flags)
        };
        match if ended == 0 { last_error() } else { 0 } {
            0 => Some(Ok(())),
            WSA_IO_INCOMPLETE => None,
            code => Some(Err(code)),
        }
    }

    /// Cancels it and waits for the kernel to be done, which takes microseconds. True: it is.
    fn cancel(&self) -> bool {
        // SAFETY: the socket is open and the OVERLAPPED alive. That there is nothing to cancel any more is no failure.
        let _ = unsafe { CancelIoEx(self.socket as _, self.overlapped.as_ptr()) };
        while self.outcome().is_none() {
            // The event may speak for another connect; then this one is looked at again.
            if !self.event.wait(Some(PATIENCE)).unwrap_or(false) {
                return self.outcome().is_some();
            }
        }
        true
    }
}

/// Should something between this program and the kernel not let go of the memory, it is given up rather than freed too early.
impl Drop for Operation {
    fn drop(&mut self) {
        if self.outcome().is_some() || self.cancel() {
            // SAFETY: it came from `Box::leak`, the kernel is done with it, and this is its last use.
            drop(unsafe { Box::from_raw(self.overlapped.as_ptr()) });
        }
    }
}

// SAFETY: no part of it belongs to a thread: the OVERLAPPED is on the heap, and every call that gets it may come from any thread.
// (The kernel cancels a connect whose thread ends; that is an outcome like any other.)
unsafe impl Send for Operation {}
