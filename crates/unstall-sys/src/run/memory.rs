//! Shared memory with a name, in which a process finds its settings.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::null;
use unstall_core::hook::settings::{self, ROOM, Settings};
use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_READ, FILE_MAP_WRITE, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile,
    OpenFileMappingW, PAGE_READWRITE, UnmapViewOfFile,
};

/// It exists as long as this.
#[derive(Debug)]
pub(super) struct Shared {
    _mapping: OwnedHandle,
}

impl Shared {
    pub(super) fn new(process_id: u32, settings: &Settings) -> io::Result<Self> {
        let bytes = settings.encode().ok_or(io::ErrorKind::InvalidInput)?;
        let name = wide(process_id);
        // SAFETY: no file; the name ends with a zero.
        let mapping = unsafe {
            CreateFileMappingW(INVALID_HANDLE_VALUE, null(), PAGE_READWRITE, 0, ROOM as u32, name.as_ptr())
        };
        let mapping = owned(mapping)?;
        let view = View::new(&mapping, FILE_MAP_WRITE)?;
        // SAFETY: the view has `ROOM` bytes, no fewer than `bytes`, and nobody reads it yet.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), view.0.Value.cast(), bytes.len()) };
        Ok(Self { _mapping: mapping })
    }
}

/// What was left for a process.
pub(super) fn read(process_id: u32) -> io::Result<Settings> {
    let name = wide(process_id);
    // SAFETY: the name ends with a zero.
    let mapping = unsafe { OpenFileMappingW(FILE_MAP_READ, 0, name.as_ptr()) };
    let mapping = owned(mapping)?;
    let view = View::new(&mapping, FILE_MAP_READ)?;
    // SAFETY: the view has that many bytes, and whoever made it writes before this process runs, and never again.
    let bytes = unsafe { std::slice::from_raw_parts(view.0.Value.cast::<u8>(), ROOM) };
    Settings::decode(bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

struct View(MEMORY_MAPPED_VIEW_ADDRESS);

impl View {
    fn new(mapping: &OwnedHandle, access: u32) -> io::Result<Self> {
        // SAFETY: the mapping is open and has that size.
        let view = unsafe { MapViewOfFile(mapping.as_raw_handle(), access, 0, 0, ROOM) };
        if view.Value.is_null() { Err(io::Error::last_os_error()) } else { Ok(Self(view)) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: it was mapped by `new` and is used no more.
        unsafe { UnmapViewOfFile(self.0) };
    }
}

fn wide(process_id: u32) -> Vec<u16> {
    settings::name(process_id).encode_utf16().chain([0]).collect()
}

fn owned(handle: *mut core::ffi::c_void) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was made just now, and nobody else knows it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}
