//! Any Unix: getaddrinfo and if_nametoindex. std's own lookup loses the resolver's code.

use super::LookupError;
use std::ffi::CString;
use std::io;
use std::mem::zeroed;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::ptr;

pub(super) fn lookup(name: Option<&str>, port: u16) -> Result<Vec<SocketAddr>, LookupError> {
    let name = name.map(CString::new).transpose().map_err(|_| LookupError::NotAName)?;
    // The null name needs a service. The ports are set below, so any will do.
    let service = if name.is_none() { c"9".as_ptr() } else { ptr::null() };
    // SAFETY: all zero is a valid addrinfo: no flags, any family, null pointers.
    let mut hints: libc::addrinfo = unsafe { zeroed() };
    hints.ai_socktype = libc::SOCK_STREAM;
    let mut list = ptr::null_mut();
    let node = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
    // SAFETY: `node` and `service` are null or end with a null byte, `hints` is valid, `list` takes a pointer; all outlive the call.
    let code = unsafe { libc::getaddrinfo(node, service, &raw const hints, &raw mut list) };
    match code {
        0 => Ok(List(list).addresses(port)),
        libc::EAI_SYSTEM => {
            let errno = io::Error::last_os_error().raw_os_error();
            Err(LookupError::Code(errno.filter(|errno| *errno != 0).unwrap_or(code)))
        }
        code => Err(LookupError::Code(code)),
    }
}

/// What getaddrinfo gave. Frees it.
struct List(*mut libc::addrinfo);

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
            // SAFETY: the list came from getaddrinfo and is freed once, here.
            unsafe { libc::freeaddrinfo(self.0) };
        }
    }
}

fn socket_address(entry: &libc::addrinfo, port: u16) -> Option<SocketAddr> {
    if entry.ai_addr.is_null() {
        return None;
    }
    match entry.ai_family {
        libc::AF_INET => {
            // SAFETY: the family says that ai_addr points to a sockaddr_in; it is read wherever it lies.
            let v4 = unsafe { entry.ai_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(SocketAddrV4::new(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)), port).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that ai_addr points to a sockaddr_in6; it is read wherever it lies.
            let v6 = unsafe { entry.ai_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(SocketAddrV6::new(Ipv6Addr::from(v6.sin6_addr.s6_addr), port, 0, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

pub(super) fn interface_index(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: `name` ends with a null byte and outlives the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index != 0).then_some(index)
}
