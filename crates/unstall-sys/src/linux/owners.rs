//! Which process holds a socket: by the links below /proc/PID/fd, as far as this user may read them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use unstall_core::listener::Owner;

/// The owners of the sockets with these inodes, in one pass over the processes. A socket that several processes share is the
/// first's, which is the parent's as a rule. What cannot be read is left out.
pub(crate) fn owners(inodes: &[u64]) -> HashMap<u64, Owner> {
    let mut wanted: HashSet<u64> = inodes.iter().copied().filter(|inode| *inode != 0).collect();
    let mut found = HashMap::new();
    let Ok(processes) = fs::read_dir("/proc") else { return found };
    for process in processes.flatten() {
        if wanted.is_empty() {
            break;
        }
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(descriptors) = fs::read_dir(process.path().join("fd")) else { continue };
        for inode in descriptors.flatten().filter_map(|descriptor| socket_inode(&descriptor.path())) {
            if wanted.remove(&inode) {
                found.insert(inode, Owner { pid, name: name(&process.path()) });
            }
        }
    }
    found
}

/// The number in `socket:[4026]`.
fn socket_inode(link: &Path) -> Option<u64> {
    let link = fs::read_link(link).ok()?;
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// The program's file name; the kernel's short name of the main thread where that is not readable.
fn name(process: &Path) -> String {
    let program = fs::read_link(process.join("exe")).ok();
    let name = program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.map(|name| name.trim_end_matches(" (deleted)").to_owned())
        .or_else(|| fs::read_to_string(process.join("comm")).ok().map(|name| name.trim_end().to_owned()))
        .unwrap_or_default()
}
