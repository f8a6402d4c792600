//! Socket addresses of a caller, which may point anywhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use windows_sys::Win32::Networking::WinSock::{
    AF_INET, AF_INET6, SOCKADDR, SOCKADDR_IN, SOCKADDR_IN6, SOCKADDR_STORAGE,
};
use windows_sys::Win32::System::Memory::IsBadReadPtr;

/// The address at a caller's pointer. `None`: it cannot be read, is too short, or is of another family; the call itself says what is
/// wrong with it.
pub(crate) fn read(address: *const SOCKADDR, length: i32) -> Option<SocketAddr> {
    let length = usize::try_from(length).ok()?;
    if address.is_null() || length < size_of::<SOCKADDR_IN>() {
        return None;
    }
    // SAFETY: the function is there to find out whether the memory can be read; it catches the fault if not.
    if unsafe { IsBadReadPtr(address.cast(), length.min(size_of::<SOCKADDR_IN6>())) } != 0 {
        return None;
    }
    // SAFETY: so many bytes can be read, and any bits are a valid address of plain numbers.
    let v4: SOCKADDR_IN = unsafe { address.cast::<SOCKADDR_IN>().read_unaligned() };
    match v4.sin_family {
        AF_INET => {
            // SAFETY: any four bytes are a valid member of the union.
            let ip = unsafe { v4.sin_addr.S_un.S_addr };
            Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(ip.to_ne_bytes())), u16::from_be(v4.sin_port)))
        }
        AF_INET6 if length >= size_of::<SOCKADDR_IN6>() => {
            // SAFETY: as above; the length was compared.
            let v6: SOCKADDR_IN6 = unsafe { address.cast::<SOCKADDR_IN6>().read_unaligned() };
            // SAFETY: any bytes are a valid member of the union.
            let ip = unsafe { v6.sin6_addr.u.Byte };
            // SAFETY: as above.
            let scope = unsafe { v6.Anonymous.sin6_scope_id };
            Some(
                SocketAddrV6::new(Ipv6Addr::from(ip), u16::from_be(v6.sin6_port), v6.sin6_flowinfo, scope)
                    .into(),
            )
        }
        _ => None,
    }
}

/// A copy of the caller's address, of which [`read`] has read `length` bytes, that goes to another IP address of the same family.
pub(crate) fn with_ip(address: *const SOCKADDR, ip: IpAddr) -> SOCKADDR_STORAGE {
    let mut copy = SOCKADDR_STORAGE::default();
    let to: *mut SOCKADDR_STORAGE = &raw mut copy;
    match ip {
        IpAddr::V4(ip) => {
            // SAFETY: `read` has read as much from there.
            let mut v4 = unsafe { address.cast::<SOCKADDR_IN>().read_unaligned() };
            v4.sin_addr.S_un.S_addr = u32::from_ne_bytes(ip.octets());
            // SAFETY: the storage is made for any address.
            unsafe { to.cast::<SOCKADDR_IN>().write(v4) };
        }
        IpAddr::V6(ip) => {
            // SAFETY: as above.
            let mut v6 = unsafe { address.cast::<SOCKADDR_IN6>().read_unaligned() };
            v6.sin6_addr.u.Byte = ip.octets();
            // SAFETY: as above.
            unsafe { to.cast::<SOCKADDR_IN6>().write(v6) };
        }
    }
    copy
}
