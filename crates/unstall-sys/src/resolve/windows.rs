//! Windows: GetAddrInfoW, whose codes are Winsock's own.

use super::LookupError;
use crate::windows::winsock;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::ptr::{null, null_mut};
use windows_sys::Win32::NetworkManagement::IpHelper::if_nametoindex;
use windows_sys::Win32::Networking::WinSock::{
    ADDRINFOW, AF_INET, AF_INET6, FreeAddrInfoW, GetAddrInfoW, SOCK_STREAM, SOCKADDR_IN, SOCKADDR_IN6,
};
use windows_sys::w;

pub(super) fn lookup(name: Option<&str>, port: u16) -> Result<Vec<SocketAddr>, LookupError> {
    winsock::startup().map_err(LookupError::Code)?;
    let name = name.map(wide).transpose()?;
    // The null name needs a service. The ports are set below, so any will do.
    let (node, service) = name.as_ref().map_or((null(), w!("9")), |name| (name.as_ptr(), null()));
    let hints = ADDRINFOW { ai_socktype: SOCK_STREAM, ..ADDRINFOW::default() };
    let mut list = null_mut();
    // SAFETY: `node` and `service` are null or end with a zero, `hints` is valid, `list` takes a pointer; all outlive the call.
    match unsafe { GetAddrInfoW(node, service, &raw const hints, &raw mut list) } {
        0 => Ok(List(list).addresses(port)),
        code => Err(LookupError::Code(code)),
    }
}

/// UTF-16 that ends with a zero.
fn wide(text: &str) -> Result<Vec<u16>, LookupError> {
    if text.contains('\0') {
        return Err(LookupError::NotAName);
    }
    Ok(text.encode_utf16().chain([0]).collect())
}

/// What GetAddrInfoW gave. Frees it.
struct List(*mut ADDRINFOW);

impl List {
    fn addresses(&self, port: u16) -> Vec<SocketAddr> {
        let mut addresses = Vec::new();
        let mut next = self.0;
        // SAFETY: `next` is null or an entry of the list, which lives as long as `self`.
        while let Some(entry) = unsafe { next.as_ref() } {
            addresses.extend(socket_address(entry, port).filter(|address| !addresses.contains(address)));
            next = entry.ai_next;
        }
        addresses
    }
}

impl Drop for List {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the list came from GetAddrInfoW and is freed once, here.
            unsafe { FreeAddrInfoW(self.0) };
        }
    }
}

fn socket_address(entry: &ADDRINFOW, port: u16) -> Option<SocketAddr> {
    if entry.ai_addr.is_null() {
        return None;
    }
    match u16::try_from(entry.ai_family).ok()? {
        AF_INET => {
            // SAFETY: the family says that ai_addr points to a SOCKADDR_IN; it is read wherever it lies.
            let v4 = unsafe { entry.ai_addr.cast::<SOCKADDR_IN>().read_unaligned() };
            // SAFETY: every bit pattern of the union is an address.
            let address = unsafe { v4.sin_addr.S_un.S_addr };
            Some(SocketAddrV4::new(Ipv4Addr::from(address.to_ne_bytes()), port).into())
        }
        AF_INET6 => {
            // SAFETY: the family says that ai_addr points to a SOCKADDR_IN6; it is read wherever it lies.
            let v6 = unsafe { entry.ai_addr.cast::<SOCKADDR_IN6>().read_unaligned() };
            // SAFETY: every bit pattern of the union is an address.
            let address = unsafe { v6.sin6_addr.u.Byte };
            // SAFETY: every bit pattern of the union is a scope id.
            let scope = unsafe { v6.Anonymous.sin6_scope_id };
            Some(SocketAddrV6::new(Ipv6Addr::from(address), port, 0, scope).into())
        }
        _ => None,
    }
}

pub(super) fn interface_index(name: &str) -> Option<u32> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: `name` ends with a zero and outlives the call.
    let index = unsafe { if_nametoindex(name.as_ptr().cast()) };
    (index != 0).then_some(index)
}
