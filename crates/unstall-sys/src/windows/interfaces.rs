//! The names of the network interfaces, as GetIfTable2 tells them.

use super::{os_error, text};
use std::io;
use std::ptr::{NonNull, null_mut};
use windows_sys::Win32::Foundation::NO_ERROR;
use windows_sys::Win32::NetworkManagement::IpHelper::{
    FreeMibTable, GetIfTable2, MIB_IF_ROW2, MIB_IF_TABLE2,
};

/// The name of each interface as Windows shows it: `vEthernet (WSL)`, `Ethernet`.
pub(crate) fn names() -> io::Result<Vec<String>> {
    let mut table: *mut MIB_IF_TABLE2 = null_mut();
    // SAFETY: `table` takes a pointer.
    let code = unsafe { GetIfTable2(&raw mut table) };
    if code != NO_ERROR {
        return Err(os_error(code));
    }
    let table = NonNull::new(table).ok_or(io::ErrorKind::InvalidData)?;
    let names = read(table);
    // SAFETY: it came from GetIfTable2 and is freed once, here.
    unsafe { FreeMibTable(table.as_ptr().cast()) };
    Ok(names)
}

fn read(table: NonNull<MIB_IF_TABLE2>) -> Vec<String> {
    let table = table.as_ptr();
    // SAFETY: the table is alive.
    let number = unsafe { (*table).NumEntries };
    // SAFETY: a pointer to a field of the table, of which nothing is read here.
    let first = unsafe { &raw const (*table).Table }.cast::<MIB_IF_ROW2>();
    (0..number as usize)
        .map(|index| {
            let row = first.wrapping_add(index);
            // SAFETY: the table has that many rows.
            let alias = unsafe { (*row).Alias };
            text(&alias)
        })
        .collect()
}
