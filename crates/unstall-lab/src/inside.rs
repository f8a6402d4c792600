//! Whether this process runs in a lab that emulates something, as programs of ours must know that print figures.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;

/// The variable that a lab which emulates another system sets for its programs: the network namespace they are in, as /proc calls
/// it.
pub const NETWORK_VARIABLE: &str = "UNSTALL_LAB_NETWORK";

/// Whether what this process measures is emulated: a lab says so, and this process is in that lab's network still. A program that has
/// moved to another network measures that.
pub fn is_emulated() -> bool {
    env::var_os(NETWORK_VARIABLE).is_some_and(|said| network().is_ok_and(|network| network == said))
}

/// This process's network namespace.
fn network() -> io::Result<OsString> {
    fs::read_link("/proc/self/ns/net").map(Into::into)
}

/// The lab's network namespace, seen from the lab's thread: that of the lab's first process, since the thread itself is not in the lab's
/// /proc.
pub(crate) fn network_of_the_lab() -> io::Result<OsString> {
    fs::read_link("/proc/1/ns/net").map(Into::into)
}
