//! The poll of the AFD driver, which is what is below Winsock: how the reactors of tokio and async-io wait. Here one poll at a time.
//!
//! The driver is reached through a helper of our own below its name; a poll is an ioctl (0x12024), and its end comes through a
//! completion port. None of it is documented by Microsoft; wepoll, mio, polling and libuv rely on it.

use super::winsock::{raw, result};
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedSocket, FromRawHandle, OwnedHandle};
use std::ptr::{NonNull, null, null_mut};
use std::time::Duration;
use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem::{FILE_OPEN, NtCreateFile};
use windows_sys::Wdk::System::IO::NtDeviceIoControlFile;
use windows_sys::Win32::Foundation::{
    HANDLE, INVALID_HANDLE_VALUE, NTSTATUS, RtlNtStatusToDosError, STATUS_PENDING, STATUS_SUCCESS,
    UNICODE_STRING,
};
use windows_sys::Win32::Networking::WinSock::{SIO_BASE_HANDLE, SOCKET, WSAIoctl};
use windows_sys::Win32::Storage::FileSystem::{FILE_SHARE_READ, FILE_SHARE_WRITE, SYNCHRONIZE};
use windows_sys::Win32::System::IO::{
    CreateIoCompletionPort, GetQueuedCompletionStatus, IO_STATUS_BLOCK, OVERLAPPED,
};

/// The events of a poll.
pub(crate) const RECEIVE: u32 = 0x001;
pub(crate) const SEND: u32 = 0x004;
pub(crate) const DISCONNECT: u32 = 0x008;
pub(crate) const ABORT: u32 = 0x010;
pub(crate) const ACCEPT: u32 = 0x080;
pub(crate) const CONNECT_FAIL: u32 = 0x100;

const IOCTL_AFD_POLL: u32 = 0x0001_2024;
/// How much later than its limit a poll may end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Below the driver's name, any name will do.
const NAME: &str = r"\Device\Afd\Unstall";

/// The driver's answer to a poll, and its question: one and the same memory.
#[repr(C)]
struct Poll {
    /// In 100 ns; negative: from now on.
    timeout: i64,
    number_of_handles: u32,
    exclusive: u32,
    handle: HANDLE,
    events: u32,
    status: NTSTATUS,
}

/// What the kernel writes into until the poll has ended.
#[repr(C)]
struct Block {
    status: IO_STATUS_BLOCK,
    poll: Poll,
}

/// The driver, with a completion port.
#[derive(Debug)]
pub(crate) struct Afd {
    driver: OwnedHandle,
    port: OwnedHandle,
}

impl Afd {
    pub(crate) fn open() -> io::Result<Self> {
        let driver = open_driver()?;
        // SAFETY: no file: a new port.
        let port = unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, null_mut(), 0, 1) };
        let port = owned(port)?;
        // SAFETY: both handles are open.
        let same = unsafe { CreateIoCompletionPort(driver.as_raw_handle(), port.as_raw_handle(), 0, 0) };
        if same.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { driver, port })
    }

    /// Asks for `events` of a socket and waits for the answer, at most `limit`. The events that came; 0: none.
    pub(crate) fn poll(
        &mut self,
        socket: BorrowedSocket<'_>,
        events: u32,
        limit: Duration,
    ) -> io::Result<u32> {
        let block = NonNull::from(Box::leak(Box::new(Block {
            status: IO_STATUS_BLOCK::default(),
            poll: Poll {
                timeout: -i64::try_from(limit.as_nanos() / 100).unwrap_or(i64::MAX),
                number_of_handles: 1,
                exclusive: 0,
                handle: base(socket)? as HANDLE,
                events,
                status: 0,
            },
        })));
        self.begin(block)?;
        self.finish(block, limit)?;
        // SAFETY: it came from `Box::leak`, and the kernel is done with it: its completion was taken from the port.
        let block = unsafe { Box::from_raw(block.as_ptr()) };
        Ok(if block.poll.number_of_handles == 0 { 0 } else { block.poll.events })
    }

    /// Begins the poll in `block`, which is freed when that fails.
    fn begin(&self, block: NonNull<Block>) -> io::Result<()> {
        let block = block.as_ptr();
        // SAFETY: a pointer to a field of a live block, of which nothing is read.
        let poll = unsafe { &raw mut (*block).poll };
        let bytes = size_of::<Poll>() as u32;
        // SAFETY: the driver is open; the block is alive until its completion has come, and nobody else touches it.
        let status = unsafe {
            NtDeviceIoControlFile(
                self.driver.as_raw_handle(),
                null_mut(),
                None,
                block.cast(),
                block.cast(),
                IOCTL_AFD_POLL,
                poll.cast(),
                bytes,
                poll.cast(),
                bytes,
            )
        };
        if status == STATUS_PENDING || status == STATUS_SUCCESS {
            return Ok(());
        }
        // SAFETY: it came from `Box::leak`, and the driver did not take it.
        drop(unsafe { Box::from_raw(block) });
        Err(nt_error(status))
    }

    /// Takes the completion of `block` from the port. An error leaves its memory to the kernel, until it comes after all.
    fn finish(&self, block: NonNull<Block>, limit: Duration) -> io::Result<()> {
        loop {
            let ended = self.next(limit.saturating_add(PATIENCE))?;
            if ended == block.as_ptr() {
                return Ok(());
            }
            // SAFETY: an earlier poll's, given up before its end and not freed; it came from `Box::leak`, and now it has ended.
            drop(unsafe { Box::from_raw(ended) });
        }
    }

    /// The next poll that has ended.
    fn next(&self, limit: Duration) -> io::Result<*mut Block> {
        let milliseconds = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX - 1);
        let (mut bytes, mut key) = (0, 0);
        let mut overlapped: *mut OVERLAPPED = null_mut();
        // SAFETY: the port is open and the rest writable.
        let done = unsafe {
            GetQueuedCompletionStatus(
                self.port.as_raw_handle(),
                &raw mut bytes,
                &raw mut key,
                &raw mut overlapped,
                milliseconds,
            )
        };
        // A completion that speaks of a failure (the poll's own time-out) is a completion all the same.
        if done == 0 && overlapped.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(overlapped.cast())
    }
}

fn open_driver() -> io::Result<OwnedHandle> {
    let mut name: Vec<u16> = NAME.encode_utf16().collect();
    let bytes = (name.len() * size_of::<u16>()) as u16;
    let name = UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: name.as_mut_ptr() };
    let attributes = OBJECT_ATTRIBUTES {
        Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
        RootDirectory: null_mut(),
        ObjectName: &raw const name,
        Attributes: 0,
        SecurityDescriptor: null(),
        SecurityQualityOfService: null(),
    };
    let mut handle: HANDLE = null_mut();
    let mut status = IO_STATUS_BLOCK::default();
    // SAFETY: the attributes and the name are alive for the call, the handle and the status are writable.
    let code = unsafe {
        NtCreateFile(
            &raw mut handle,
            SYNCHRONIZE,
            &raw const attributes,
            &raw mut status,
            null(),
            0,
            FILE_SHARE_READ | FILE_SHARE_WRITE,
            FILE_OPEN,
            0,
            null(),
            0,
        )
    };
    if code == STATUS_SUCCESS { owned(handle) } else { Err(nt_error(code)) }
}

/// A handle that a call has just made; null: it failed.
fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was made just now, and nobody else knows it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// The socket of the provider at the bottom: the driver knows no layers.
fn base(socket: BorrowedSocket<'_>) -> io::Result<SOCKET> {
    let mut base: SOCKET = 0;
    let mut length = 0;
    // SAFETY: the output has the size that is passed with it; there is no input.
    let returned = unsafe {
        WSAIoctl(
            raw(&socket),
            SIO_BASE_HANDLE,
            null(),
            0,
            (&raw mut base).cast(),
            size_of::<SOCKET>() as u32,
            &raw mut length,
            null_mut(),
            None,
        )
    };
    result(returned).map(|()| base).map_err(io::Error::from_raw_os_error)
}

fn nt_error(status: NTSTATUS) -> io::Error {
    // SAFETY: it looks a number up.
    super::os_error(unsafe { RtlNtStatusToDosError(status) })
}
