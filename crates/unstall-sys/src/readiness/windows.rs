//! Windows: `select`, WSAPoll, and the poll of the AFD driver that mio and polling use.

use super::{Interest, Readiness};
use crate::connect::SocketRef;
use crate::windows::afd::{self, Afd};
use crate::windows::winsock::{last_error, raw};
use std::io;
use std::ptr::null_mut;
use std::time::Duration;
use windows_sys::Win32::Networking::WinSock::{
    FD_SET, POLLERR, POLLHUP, POLLWRNORM, TIMEVAL, WSAPOLLFD, WSAPoll, select as winsock_select,
};

pub(super) fn select(socket: SocketRef<'_>, limit: Duration) -> io::Result<Readiness> {
    let mut one = FD_SET { fd_count: 1, ..FD_SET::default() };
    one.fd_array[0] = raw(&socket);
    let (mut writable, mut failed) = (one, one);
    let time = TIMEVAL {
        tv_sec: i32::try_from(limit.as_secs()).unwrap_or(i32::MAX),
        tv_usec: i32::try_from(limit.subsec_micros()).unwrap_or(0),
    };
    // SAFETY: all three are valid for the call; the sets hold one socket each, which is open.
    let ready = unsafe { winsock_select(0, null_mut(), &raw mut writable, &raw mut failed, &raw const time) };
    match ready {
        ..0 => Err(code(last_error())),
        _ if failed.fd_count > 0 => Ok(Readiness::Failed),
        _ if writable.fd_count > 0 => Ok(Readiness::Writable),
        _ => Ok(Readiness::Nothing),
    }
}

pub(super) fn poll(socket: SocketRef<'_>, limit: Duration) -> io::Result<Readiness> {
    let mut waited = WSAPOLLFD { fd: raw(&socket), events: POLLWRNORM, revents: 0 };
    let milliseconds = i32::try_from(limit.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX);
    // SAFETY: one entry, which is writable.
    let ready = unsafe { WSAPoll(&raw mut waited, 1, milliseconds) };
    match ready {
        ..0 => Err(code(last_error())),
        _ if waited.revents & (POLLERR | POLLHUP) != 0 => Ok(Readiness::Failed),
        _ if waited.revents & POLLWRNORM != 0 => Ok(Readiness::Writable),
        _ => Ok(Readiness::Nothing),
    }
}

fn code(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

#[derive(Debug)]
pub(super) struct Reactor(Afd);

/// What mio 1.2 registers for reading and writing, and polling 3.11 for writing.
const WRITING: u32 = afd::SEND | afd::ABORT | afd::CONNECT_FAIL;
const BOTH: u32 = WRITING | afd::RECEIVE | afd::DISCONNECT | afd::ACCEPT;

impl Reactor {
    pub(super) fn new() -> io::Result<Self> {
        Afd::open().map(Self)
    }

    pub(super) fn wait(
        &mut self,
        socket: SocketRef<'_>,
        interest: Interest,
        limit: Duration,
    ) -> io::Result<Readiness> {
        let asked = match interest {
            Interest::Both => BOTH,
            Interest::Writing => WRITING,
        };
        let told = self.0.poll(socket, asked, limit)?;
        Ok(if told & (afd::ABORT | afd::CONNECT_FAIL) != 0 {
            Readiness::Failed
        } else if told & afd::SEND != 0 {
            Readiness::Writable
        } else {
            Readiness::Nothing
        })
    }
}
