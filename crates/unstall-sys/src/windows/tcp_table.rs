//! The kernel's TCP table, as GetExtendedTcpTable tells it.

use super::os_error;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use windows_sys::Win32::Foundation::{ERROR_INSUFFICIENT_BUFFER, NO_ERROR};
use windows_sys::Win32::NetworkManagement::IpHelper::{
    GetExtendedTcpTable, MIB_TCP_STATE_ESTAB, MIB_TCP_STATE_TIME_WAIT, MIB_TCP6ROW_OWNER_PID,
    MIB_TCPROW_OWNER_PID, TCP_TABLE_CLASS, TCP_TABLE_OWNER_PID_ALL, TCP_TABLE_OWNER_PID_LISTENER,
};
use windows_sys::Win32::Networking::WinSock::{AF_INET, AF_INET6};

/// Its name in error messages.
pub(crate) const NAME: &str = "the TCP table (GetExtendedTcpTable)";

/// The states that are asked about.
pub(crate) const ESTABLISHED: u32 = MIB_TCP_STATE_ESTAB as u32;
pub(crate) const TIME_WAIT: u32 = MIB_TCP_STATE_TIME_WAIT as u32;

/// Room for some hundred rows, so that one call does, in u32.
const ROOM: usize = 4096;

/// How often a table that grew between two calls is read again.
const TRIES: usize = 8;

/// Which rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Listeners,
    All,
}

/// One row. Scope ids are left out (0, unknown): whether they are in network byte order is told both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// MIB_TCP_STATE.
    pub(crate) state: u32,
    /// 0: nobody's, or not told.
    pub(crate) pid: u32,
}

/// The rows of both families. A family that is switched off has none.
pub(crate) fn rows(class: Class) -> io::Result<Vec<Row>> {
    if cfg!(unstall_no_listener_table) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let class = match class {
        Class::Listeners => TCP_TABLE_OWNER_PID_LISTENER,
        Class::All => TCP_TABLE_OWNER_PID_ALL,
    };
    let mut rows: Vec<Row> = entries::<MIB_TCPROW_OWNER_PID>(AF_INET, class)?.iter().map(v4_row).collect();
    // Without IPv6 the call fails; the IPv4 rows are still true.
    let v6 = entries::<MIB_TCP6ROW_OWNER_PID>(AF_INET6, class);
    rows.extend(v6.unwrap_or_default().iter().map(v6_row));
    Ok(rows)
}

/// The rows of one family, as the OS writes them: their number, then that many of `T`.
fn entries<T: Copy>(family: u16, class: TCP_TABLE_CLASS) -> io::Result<Vec<T>> {
    let mut buffer: Vec<u32> = vec![0; ROOM];
    for _ in 0..TRIES {
        let mut bytes = size_of_val(&buffer[..]) as u32;
        let table = buffer.as_mut_ptr().cast();
        // SAFETY: the buffer has the length that is passed with it.
        let code = unsafe { GetExtendedTcpTable(table, &raw mut bytes, 0, family.into(), class, 0) };
        match code {
            NO_ERROR => return Ok(read(&buffer)),
            // Some room more than asked for, so that a table that grows meanwhile fits.
            ERROR_INSUFFICIENT_BUFFER => buffer.resize(bytes as usize / size_of::<u32>() + 256, 0),
            code => return Err(os_error(code)),
        }
    }
    Err(os_error(ERROR_INSUFFICIENT_BUFFER))
}

/// The rows in a buffer. More rows than the buffer has room for are not believed.
fn read<T: Copy>(buffer: &[u32]) -> Vec<T> {
    let Some((number, rest)) = buffer.split_first() else { return Vec::new() };
    let room = size_of_val(rest) / size_of::<T>();
    let first: *const T = rest.as_ptr().cast();
    (0..room.min(*number as usize))
        .map(|index| {
            let row = first.wrapping_add(index);
            // SAFETY: the row lies within the buffer, and any bits are a valid row of plain numbers.
            unsafe { row.read_unaligned() }
        })
        .collect()
}

fn v4_row(row: &MIB_TCPROW_OWNER_PID) -> Row {
    let ip = |address: u32| Ipv4Addr::from(address.to_ne_bytes());
    Row {
        local: (ip(row.dwLocalAddr), port(row.dwLocalPort)).into(),
        remote: (ip(row.dwRemoteAddr), port(row.dwRemotePort)).into(),
        state: row.dwState,
        pid: row.dwOwningPid,
    }
}

fn v6_row(row: &MIB_TCP6ROW_OWNER_PID) -> Row {
    Row {
        local: (Ipv6Addr::from(row.ucLocalAddr), port(row.dwLocalPort)).into(),
        remote: (Ipv6Addr::from(row.ucRemoteAddr), port(row.dwRemotePort)).into(),
        state: row.dwState,
        pid: row.dwOwningPid,
    }
}

/// Ports are in network byte order, in the lower half; the upper half is not specified.
fn port(port: u32) -> u16 {
    u16::from_be(port as u16)
}

#[cfg(test)]
mod tests {
    use super::{Class, port, read, rows};
    use std::net::TcpListener;

    #[test]
    fn believes_no_more_rows_than_there_is_room_for() {
        assert_eq!(read::<[u32; 2]>(&[3, 1, 2, 3, 4, 5]), [[1, 2], [3, 4]]);
        assert_eq!(read::<[u32; 2]>(&[]), [[0; 2]; 0]);
        assert_eq!(port(0xABCD_5000), 80);
    }

    #[test]
    #[cfg(not(unstall_no_listener_table))]
    fn shows_a_listener_of_this_process() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(rows(Class::Listeners).unwrap().iter().any(|row| row.local == address));
        assert!(rows(Class::All).unwrap().iter().any(|row| row.local == address));
    }
}
