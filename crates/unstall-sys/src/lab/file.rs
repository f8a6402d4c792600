//! A file as memory. The kernel hands out its type information a page at a time by read(2), all at once by mmap(2).

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::slice;

/// The bytes of a file that nobody changes.
#[derive(Debug)]
pub enum Bytes {
    /// Mapped.
    Mapped {
        /// Where.
        start: NonNull<u8>,
        /// How much.
        length: usize,
    },
    /// Read, where the kernel cannot map it (BTF before 6.16).
    Read(Vec<u8>),
}

impl Bytes {
    /// The bytes of a file below `/sys` or `/proc`, which the kernel keeps as they are.
    ///
    /// # Errors
    ///
    /// As for opening and reading it.
    pub fn of_kernel_file(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(0);
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let mapped = unsafe { mmap(null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, &file, 0) };
        if let Some(start) = mapped.ok().and_then(|start| NonNull::new(start.cast())) {
            return Ok(Self::Mapped { start, length });
        }
        let mut bytes = Vec::with_capacity(length);
        file.read_to_end(&mut bytes)?;
        Ok(Self::Read(bytes))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            // SAFETY: mapped for reading at this length until drop; the kernel does not change such a file.
            Self::Mapped { start, length } => unsafe { slice::from_raw_parts(start.as_ptr(), *length) },
            Self::Read(bytes) => bytes,
        }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if let Self::Mapped { start, length } = self {
            // SAFETY: the mapping is ours, and no reference into it outlives `self`.
            // A failure would leave the mapping in place, which harms nobody.
            let _ = unsafe { munmap(start.as_ptr().cast(), *length) };
        }
    }
}
