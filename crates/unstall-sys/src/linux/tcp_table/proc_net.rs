//! /proc/net/tcp and tcp6: the same sockets where sock_diag is not to be had. They tell neither the backlog nor
//! IPV6_V6ONLY.

use super::{Row, State};
use procfs::net::TcpNetEntries;
use procfs::{FromReadSI, ProcError, current_system_info};
use std::io;

/// Those of the calling thread's network namespace; /proc/net itself shows the main thread's.
const FILES: [&str; 2] = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"];

pub(super) fn each(states: &[State], port: Option<u16>, visit: &mut dyn FnMut(Row)) -> io::Result<()> {
    for file in FILES {
        let entries = match TcpNetEntries::from_file(file, current_system_info()) {
            Ok(entries) => entries.0,
            // A kernel without IPv6 has no second file.
            Err(ProcError::NotFound(_)) if file == FILES[1] => break,
            Err(ProcError::NotFound(_)) => return Err(io::ErrorKind::NotFound.into()),
            Err(ProcError::PermissionDenied(_)) => return Err(io::ErrorKind::PermissionDenied.into()),
            Err(ProcError::Io(error, _)) => return Err(error),
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        };
        for entry in entries {
            let Some(state) = State::from_kernel(entry.state.to_u8()).filter(|state| states.contains(state))
            else {
                continue;
            };
            if port.is_none_or(|port| port == entry.local_address.port()) {
                visit(Row {
                    state,
                    local: entry.local_address,
                    remote: entry.remote_address,
                    receive_queue: entry.rx_queue,
                    backlog: None,
                    v6_only: None,
                    inode: entry.inode,
                });
            }
        }
    }
    Ok(())
}
