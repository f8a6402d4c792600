//! Windows: GetExtendedTcpTable, and the owners' names from one snapshot of all processes, which needs no rights on them.
//! The table has neither backlogs nor IPV6_V6ONLY.

use super::{Peers, Source, Table};
use crate::error::Error;
use crate::windows::tcp_table::{self, Class, ESTABLISHED, NAME};
use std::collections::BTreeMap;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use unstall_core::listener::{Listener, Owner};
use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};

pub(super) fn table(port: Option<u16>, with_owners: bool) -> Result<Table, Error> {
    let rows = tcp_table::rows(Class::Listeners).map_err(|error| Error::table(NAME, error))?;
    let names = if with_owners { process_names() } else { BTreeMap::new() };
    let listeners = rows
        .into_iter()
        .filter(|row| port.is_none_or(|port| row.local.port() == port))
        .map(|row| Listener {
            address: row.local,
            v6_only: None,
            waiting: None,
            backlog: None,
            owner: names.get(&row.pid).map(|name| Owner { pid: row.pid, name: name.clone() }),
        })
        .collect();
    Ok(Table { source: Source::ExtendedTcpTable, listeners })
}

pub(super) fn peers(port: u16) -> Result<Peers, Error> {
    let rows = tcp_table::rows(Class::All).map_err(|error| Error::table(NAME, error))?;
    let ours = rows.iter().filter(|row| row.state == ESTABLISHED && row.local.port() == port);
    Ok(Peers { established: ours.count() as u32, waiting: None, to_themselves: None })
}

/// The program of each process, `node.exe`. Empty where the OS does not tell.
fn process_names() -> BTreeMap<u32, String> {
    let mut names = BTreeMap::new();
    // SAFETY: no pointer is passed.
    let snapshot = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if snapshot == INVALID_HANDLE_VALUE {
        return names;
    }
    // SAFETY: it was made just now, and nobody else knows it.
    let snapshot = unsafe { OwnedHandle::from_raw_handle(snapshot) };
    let mut entry =
        PROCESSENTRY32W { dwSize: size_of::<PROCESSENTRY32W>() as u32, ..PROCESSENTRY32W::default() };
    // SAFETY: the snapshot is open, and `entry` is writable and says its size.
    let mut more = unsafe { Process32FirstW(snapshot.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        // The process 0 is the idle loop, and the table's word for "nobody".
        if entry.th32ProcessID != 0 {
            let end = entry.szExeFile.iter().position(|unit| *unit == 0).unwrap_or(entry.szExeFile.len());
            names.insert(entry.th32ProcessID, String::from_utf16_lossy(&entry.szExeFile[..end]));
        }
        // SAFETY: as above.
        more = unsafe { Process32NextW(snapshot.as_raw_handle(), &raw mut entry) };
    }
    names
}
