//! Names to addresses, by the OS's resolver, with `localhost` names kept on this host.

use crate::error::Error;
use std::net::{SocketAddr, SocketAddrV6, ToSocketAddrs};
use std::time::Duration;
use unstall_core::outcome::{Operation, Outcome};
use unstall_core::target::{Host, Target, Zone};

/// first version
pub fn resolve(target: &Target, limit: Option<Duration>) -> Result<Vec<SocketAddr>, Error> {
    let _ = limit;
    match target.host() {
        Host::Ip(ip) => Ok(vec![SocketAddr::new(*ip, target.port())]),
        Host::Zoned(ip, Zone::Index(index)) => Ok(vec![SocketAddrV6::new(*ip, target.port(), 0, *index).into()]),
        Host::Name(name) => (&**name, target.port())
            .to_socket_addrs()
            .map(Iterator::collect)
            .map_err(|e| Error::named(Operation::Resolve, name, Outcome::NoName, e.raw_os_error(), e)),
        _ => todo!(),
    }
}
