//! The log: one write for each line, so that lines of several threads and processes do not mix.

use std::fmt::Arguments;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::OnceLock;

/// The file; `None`: nobody wants a log. Opened when the DLL is loaded, so that no connect waits for it.
static FILE: OnceLock<Option<File>> = OnceLock::new();

pub(crate) fn line(what: Arguments<'_>) {
    let file = FILE.get_or_init(|| {
        let path = std::env::var_os("UNSTALL_RTOSHIM_LOG")?;
        OpenOptions::new().append(true).create(true).open(path).ok()
    });
    if let Some(mut file) = file.as_ref() {
        // A test that reads the log misses the line, which is all that can be done about it here.
        let _ = file.write_all(format!("{what}\n").as_bytes());
    }
}
