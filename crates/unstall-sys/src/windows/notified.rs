//! ConnectEx for a future: its end is told to a waker by the process's own thread pool, whatever the runtime.
//!
//! A thread-pool I/O object rather than a wait for an event (RegisterWaitForSingleObject):
//!
//! - each connect that was begun has exactly one callback, also when it is cancelled, and that callback frees what the kernel wrote
//!   into; a registered wait must be unregistered, which either waits for its callback (a deadlock where that callback wakes the one
//!   who unregisters) or leaves its memory in doubt;
//! - the kernel cancels a connect that has no completion port when the thread that began it ends; runtimes end threads;
//! - no system call for the wait itself, and no thread for each 63 of them.
//!
//! The price: the socket stays with the pool's completion port. mio and polling do not mind, for they ask for readiness through a
//! handle of their own.

use super::overlapped::{ConnectEx, update_context};
use super::winsock::{last_error, raw};
use socket2::SockAddr;
use std::cell::UnsafeCell;
use std::os::windows::io::OwnedSocket;
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use windows_sys::Win32::Foundation::GetLastError;
use windows_sys::Win32::Networking::WinSock::{WSA_IO_INCOMPLETE, WSA_IO_PENDING, WSAGetOverlappedResult};
use windows_sys::Win32::System::IO::{CancelIoEx, OVERLAPPED};
use windows_sys::Win32::System::Threading::{
    CancelThreadpoolIo, CloseThreadpoolIo, CreateThreadpoolIo, PTP_CALLBACK_INSTANCE, PTP_IO,
    StartThreadpoolIo,
};

/// A connect that ConnectEx has begun. Dropping it cancels it, closes the socket and waits for nothing: what the kernel writes
/// into is freed by the callback.
#[derive(Debug)]
pub(crate) struct Notified {
    block: Arc<Block>,
    /// `None`: it was handed out.
    socket: Option<OwnedSocket>,
}

/// What the kernel writes into, and whom to wake. One reference is the future's; another is the callback's, from the beginning of
/// the connect to its end.
#[derive(Debug)]
#[repr(C)]
struct Block {
    // First, so that the kernel's pointer to it is also one to the block.
    overlapped: UnsafeCell<OVERLAPPED>,
    io: Io,
    end: Mutex<End>,
}

#[derive(Debug)]
enum End {
    /// It has not come; whom to wake when it does.
    Awaited(Option<Waker>),
    Come,
}

impl Notified {
    /// Begins to connect `socket`, which must be bound.
    pub(crate) fn begin(connect_ex: ConnectEx, socket: OwnedSocket, address: &SockAddr) -> Result<Self, i32> {
        let io = Io::new(&socket)?;
        let overlapped = UnsafeCell::new(OVERLAPPED::default());
        let block = Arc::new(Block { overlapped, io, end: Mutex::new(End::Awaited(None)) });
        let of_callback = Arc::into_raw(Arc::clone(&block));
        // SAFETY: the object is open.
        unsafe { StartThreadpoolIo(block.io.0) };
        // SAFETY: the address has the length that is passed with it, nothing is sent, and the OVERLAPPED lives until the callback.
        let connected = unsafe {
            connect_ex(
                raw(&socket),
                address.as_ptr().cast(),
                address.len(),
                null(),
                0,
                null_mut(),
                block.overlapped.get(),
            )
        };
        match if connected == 0 { last_error() } else { WSA_IO_PENDING } {
            WSA_IO_PENDING => Ok(Self { block, socket: Some(socket) }),
            code => {
                // SAFETY: the object is open, and no callback comes for a call that failed at once.
                unsafe { CancelThreadpoolIo(block.io.0) };
                // SAFETY: it came from `Arc::into_raw`, and the callback will not take it.
                drop(unsafe { Arc::from_raw(of_callback) });
                Err(code)
            }
        }
    }

    /// The socket, made an ordinary one, or the code of the error.
    pub(crate) fn poll(&mut self, context: &Context<'_>) -> Poll<Result<OwnedSocket, i32>> {
        let mut end = self.block.end.lock().unwrap_or_else(PoisonError::into_inner);
        if let End::Awaited(waker) = &mut *end {
            match waker {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
            return Poll::Pending;
        }
        drop(end);
        let Some(socket) = self.socket.take() else { return Poll::Ready(Err(WSA_IO_INCOMPLETE)) };
        Poll::Ready(self.block.outcome(&socket).and_then(|()| update_context(&socket)).map(|()| socket))
    }

    fn is_awaited(&self) -> bool {
        matches!(*self.block.end.lock().unwrap_or_else(PoisonError::into_inner), End::Awaited(_))
    }
}

impl Drop for Notified {
    fn drop(&mut self) {
        if let Some(socket) = self.socket.as_ref().filter(|_| self.is_awaited()) {
            // SAFETY: the socket is open and the OVERLAPPED alive. That there is nothing to cancel any more is no failure.
            let _ = unsafe { CancelIoEx(raw(socket) as _, self.block.overlapped.get()) };
        }
    }
}

impl Block {
    /// What an ended connect came to.
    fn outcome(&self, socket: &OwnedSocket) -> Result<(), i32> {
        let mut bytes = 0;
        let mut flags = 0;
        let overlapped = self.overlapped.get();
        // SAFETY: it is the OVERLAPPED that this socket's ConnectEx got, and the kernel is done with it.
        let ended =
            unsafe { WSAGetOverlappedResult(raw(socket), overlapped, &raw mut bytes, 0, &raw mut flags) };
        if ended == 0 { Err(last_error()) } else { Ok(()) }
    }
}

/// Called once for each connect that was begun, when it has ended.
unsafe extern "system" fn ended(
    _instance: PTP_CALLBACK_INSTANCE,
    _context: *mut core::ffi::c_void,
    overlapped: *mut core::ffi::c_void,
    _code: u32,
    _bytes: usize,
    _io: PTP_IO,
) {
    // SAFETY: the OVERLAPPED is the first part of the block, whose reference for this callback is taken here, once.
    let block = unsafe { Arc::from_raw(overlapped.cast::<Block>().cast_const()) };
    let before = std::mem::replace(&mut *block.end.lock().unwrap_or_else(PoisonError::into_inner), End::Come);
    if let End::Awaited(Some(waker)) = before {
        // A waker that panics must not take the process's thread pool with it.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| waker.wake()));
    }
}

/// A thread-pool I/O object. It is closed with the last reference to its block, when no callback can come any more but the one that
/// may be running, after which Windows frees it.
#[derive(Debug)]
struct Io(PTP_IO);

impl Io {
    fn new(socket: &OwnedSocket) -> Result<Self, i32> {
        // SAFETY: the socket is open, and the callback takes no context.
        let io = unsafe { CreateThreadpoolIo(raw(socket) as _, Some(ended), null_mut(), null()) };
        if io == 0 {
            // SAFETY: it reads a thread-local variable.
            return Err(i32::try_from(unsafe { GetLastError() }).unwrap_or(i32::MAX));
        }
        Ok(Self(io))
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        // SAFETY: it came from CreateThreadpoolIo and is closed once, here.
        unsafe { CloseThreadpoolIo(self.0) };
    }
}

// SAFETY: no part of it belongs to a thread: the kernel alone writes into the OVERLAPPED, and it is read after its end alone.
unsafe impl Send for Block {}
// SAFETY: as above; what is shared beside it is a Mutex and a handle.
unsafe impl Sync for Block {}
