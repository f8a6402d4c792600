//! Windows: the table of unicast addresses, and the notice of its changes.
//!
//! A destination is local when it is in the table. GetBestInterfaceEx does not tell: for the host's own address on a network
//! card it names the card.

use crate::error::Error;
use crate::windows::os_error;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr::{NonNull, null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use windows_sys::Win32::Foundation::{HANDLE, NO_ERROR};
use windows_sys::Win32::NetworkManagement::IpHelper::{
    FreeMibTable, GetUnicastIpAddressTable, MIB_NOTIFICATION_TYPE, MIB_UNICASTIPADDRESS_ROW,
    MIB_UNICASTIPADDRESS_TABLE, NotifyUnicastIpAddressChange,
};
use windows_sys::Win32::Networking::WinSock::{AF_INET, AF_INET6, AF_UNSPEC, SOCKADDR_INET};

/// Counts the changes of this host's addresses.
static CHANGES: AtomicU64 = AtomicU64::new(0);

pub(super) fn own() -> Result<Vec<IpAddr>, Error> {
    let table = Table::read().map_err(|error| Error::table("the table of this host's addresses", error))?;
    let mut addresses: Vec<IpAddr> = table.addresses().collect();
    addresses.sort_unstable();
    addresses.dedup();
    Ok(addresses)
}

/// A number that changes with the addresses. `None`: this Windows gives no notice (Wine does not).
pub(super) fn generation() -> Option<u64> {
    static NOTIFIED: OnceLock<bool> = OnceLock::new();
    let notified = *NOTIFIED.get_or_init(|| {
        let mut registration: HANDLE = null_mut();
        // SAFETY: the callback takes no context and is never unregistered; `registration` takes a handle.
        let code = unsafe {
            NotifyUnicastIpAddressChange(AF_UNSPEC, Some(changed), null(), false, &raw mut registration)
        };
        // Wine reports success and registers nothing.
        code == NO_ERROR && !registration.is_null()
    });
    notified.then(|| CHANGES.load(Ordering::Acquire))
}

unsafe extern "system" fn changed(
    _context: *const core::ffi::c_void,
    _row: *const MIB_UNICASTIPADDRESS_ROW,
    _kind: MIB_NOTIFICATION_TYPE,
) {
    CHANGES.fetch_add(1, Ordering::Release);
}

/// What GetUnicastIpAddressTable gave. Frees it.
struct Table(NonNull<MIB_UNICASTIPADDRESS_TABLE>);

impl Table {
    fn read() -> io::Result<Self> {
        let mut table: *mut MIB_UNICASTIPADDRESS_TABLE = null_mut();
        // SAFETY: `table` takes a pointer.
        let code = unsafe { GetUnicastIpAddressTable(AF_UNSPEC, &raw mut table) };
        if code != NO_ERROR {
            return Err(os_error(code));
        }
        NonNull::new(table).map(Self).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let table = self.0.as_ptr();
        // SAFETY: the table is alive as long as `self`.
        let number = unsafe { (*table).NumEntries };
        // SAFETY: a pointer to a field of the table, of which nothing is read here.
        let first = unsafe { &raw const (*table).Table }.cast::<MIB_UNICASTIPADDRESS_ROW>();
        (0..number as usize).filter_map(move |index| {
            let row = first.wrapping_add(index);
            // SAFETY: the table has that many rows.
            let row = unsafe { row.read_unaligned() };
            address(&row.Address)
        })
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: it came from GetUnicastIpAddressTable and is freed once, here.
        unsafe { FreeMibTable(self.0.as_ptr().cast()) };
    }
}

fn address(address: &SOCKADDR_INET) -> Option<IpAddr> {
    // SAFETY: every member of the union begins with the family.
    match unsafe { address.si_family } {
        AF_INET => {
            // SAFETY: the family says that this member is the one that is set.
            let v4 = unsafe { address.Ipv4.sin_addr.S_un.S_addr };
            Some(Ipv4Addr::from(v4.to_ne_bytes()).into())
        }
        AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { address.Ipv6.sin6_addr.u.Byte };
            Some(Ipv6Addr::from(v6).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{CHANGES, changed, generation};
    use std::net::Ipv4Addr;
    use std::ptr::null;
    use std::sync::atomic::Ordering;

    /// Wine gives no notice, so the function that Windows would call is called here.
    #[test]
    fn a_notice_changes_the_generation() {
        let (before, told) = (CHANGES.load(Ordering::Acquire), generation());
        // SAFETY: it looks at none of its arguments.
        unsafe { changed(null(), null(), 0) };
        assert!(CHANGES.load(Ordering::Acquire) > before);
        assert_eq!(told.is_some(), generation().is_some());
        assert!(told.is_none() || generation() > told);
    }

    #[test]
    fn the_table_has_loopback() {
        assert!(super::own().unwrap().contains(&Ipv4Addr::LOCALHOST.into()));
    }
}
