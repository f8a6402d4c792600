//! Small files of /proc and /sys. They describe the calling thread's network namespace.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::read;
use std::io;

/// Reads a small file into `buffer` without allocating and gives its text without the white space around it.
pub(crate) fn read_into<'b>(path: &str, buffer: &'b mut [u8]) -> io::Result<&'b str> {
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let length = read(&file, &mut *buffer)?;
    let text = std::str::from_utf8(&buffer[..length]).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(text.trim())
}
