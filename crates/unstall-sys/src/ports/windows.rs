//! Windows: `netsh` for the ranges, the TCP table for the connections.

use super::{Excluded, Taken, netsh};
use crate::error::Error;
use crate::windows::tcp_table::{self, Class, ESTABLISHED, NAME, TIME_WAIT};
use std::collections::BTreeMap;
use std::env;
use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::os::windows::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;

/// No Windows chooses a lower port for a socket that is not bound.
const LOWEST_SOURCE_PORT: u16 = 1025;

pub(super) fn ephemeral_range() -> Result<RangeInclusive<u16>, Error> {
    ask("dynamicport", "the ephemeral port range (netsh)", netsh::dynamic_range)
}

/// Asking netsh takes as long as many connects. The range of Windows XP began at 1025, today's begins at 49152 unless an
/// administrator moved it.
pub(super) fn may_be_source(port: u16) -> bool {
    port >= LOWEST_SOURCE_PORT
}

pub(super) fn excluded() -> Result<Vec<Excluded>, Error> {
    ask("excludedportrange", "the excluded port ranges (netsh)", netsh::excluded_ranges)
}

fn ask<T>(what: &str, name: &str, read: fn(&str) -> Option<T>) -> Result<T, Error> {
    let output = netsh_program()
        .args(["interface", "ipv4", "show", what, "tcp"])
        .stdin(Stdio::null())
        .creation_flags(CREATE_NO_WINDOW)
        .output()
        .map_err(|error| Error::table(name, error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Wine's netsh says nothing.
    read(&text).ok_or_else(|| Error::table(name, io::ErrorKind::Unsupported.into()))
}

/// Windows' own, whatever else of that name there is in PATH.
fn netsh_program() -> Command {
    let folder = env::var_os("SystemRoot").map_or_else(|| PathBuf::from(r"C:\Windows"), PathBuf::from);
    Command::new(folder.join("System32").join("netsh.exe"))
}

pub(super) fn per_destination() -> Result<BTreeMap<SocketAddr, Taken>, Error> {
    let mut taken = BTreeMap::<SocketAddr, Taken>::new();
    for row in tcp_table::rows(Class::All).map_err(|error| Error::table(NAME, error))? {
        match row.state {
            ESTABLISHED => taken.entry(row.remote).or_default().established += 1,
            TIME_WAIT => taken.entry(row.remote).or_default().time_wait += 1,
            _ => {}
        }
    }
    Ok(taken)
}
