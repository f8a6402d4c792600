//! Fast refusal for a socket that somebody else connects.

use crate::{Prepared, SynRetransmissions};
use std::net::SocketAddr;
use unstall_core::locality;
use unstall_core::outcome::Platform;
use unstall_sys::connect::SocketRef;
use unstall_sys::{addresses, connect, listeners};

/// Prepares a socket that is not connected yet, so that its connect to `address` is refused at once where the OS would
/// otherwise wait. Call it right before the connect; the result can be ignored.
///
/// It takes any socket that lends its descriptor: `socket2::Socket`, tokio's `TcpSocket`, mio's and std's types.
/// Nothing is done for an address that is not on this host, nor where the OS does not stall (Linux and every other Unix:
/// [`Prepared::NotNeeded`]). A socket that could not be prepared is as it was; [`Prepared::NotSupported`] keeps the OS's
/// error code.
///
/// # It looks first
/// On Windows the SYN retransmission that makes a refusal slow also gets a connect through when the server's accept queue is full for a
/// moment, since a full queue answers with a reset there. [`Connector`](crate::Connector) makes such a connect again; a socket that
/// somebody else connects cannot be replaced. So the retransmissions are taken away only where the table of listening sockets
/// says that nobody listens at `address`. Where somebody does ([`Prepared::Listening`]), or where the table cannot be read
/// ([`Prepared::ListenersUnknown`]), the OS's default stays.
///
/// The table may have changed when the connect is made:
///
/// * A server that **starts to listen in between** is connected as ever; only if its queue is full by then is the connect refused
///   at once instead of made again by the OS.
/// * A server that **stops to listen in between** is refused after the OS's default, 2 s.
/// * Where nobody listens the refusal is final: a server that starts within the 2 s in which Windows would have gone on is not
///   reached. Call `prepare` and connect again.
///
/// The look costs one reading of the table, tens of microseconds (under Wine 40 ms and more).
///
/// With socket2, and from there with std and mio:
///
/// ```
/// use socket2::{Domain, Socket, Type};
///
/// # fn main() -> std::io::Result<()> {
/// # let server = unstall::testing::v4_only()?;
/// # let address = server.addr();
/// let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
/// let prepared = unstall::prepare(&socket, address);
/// # #[cfg(unix)]
/// assert_eq!(prepared, unstall::Prepared::NotNeeded);
/// socket.connect(&address.into())?;
/// let stream = std::net::TcpStream::from(socket);
///
/// stream.set_nonblocking(true)?;
/// let stream = mio::net::TcpStream::from_std(stream);
/// # drop(stream);
/// # Ok(())
/// # }
/// ```
///
/// With tokio:
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # let server = unstall::testing::v4_only()?;
/// # let address = server.addr();
/// # tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(async {
/// let socket = tokio::net::TcpSocket::new_v4()?;
/// unstall::prepare(&socket, address);
/// let stream = socket.connect(address).await?;
/// # drop(stream);
/// # Ok(())
/// # })
/// # }
/// ```
#[cfg(unix)]
pub fn prepare(socket: &impl std::os::fd::AsFd, address: SocketAddr) -> Prepared {
    look_first(Platform::CURRENT, socket.as_fd(), address)
}

/// Prepares a socket that is not connected yet, so that its connect to `address` is refused at once where the OS would
/// otherwise wait. Call it right before the connect; the result can be ignored.
///
/// It looks first: where somebody listens at `address` ([`Prepared::Listening`]), or where that is not known
/// ([`Prepared::ListenersUnknown`]), the OS's SYN retransmission stays, since it gets a connect through when the server's accept queue is
/// full for a moment. The table of listening sockets may have changed when the connect is made: a server that starts to listen in
/// between is connected as ever, unless its queue is full by then; one that stops is refused after the OS's default, 2 s.
#[cfg(windows)]
pub fn prepare(socket: &impl std::os::windows::io::AsSocket, address: SocketAddr) -> Prepared {
    look_first(Platform::CURRENT, socket.as_socket(), address)
}

/// The look, and what it leaves to be done.
fn look_first(os: Platform, socket: SocketRef<'_>, address: SocketAddr) -> Prepared {
    let stalls = os == Platform::Windows && locality::is_local_by(address.ip(), addresses::is_own);
    // Where nothing would be taken away there is nothing to look for.
    let left = if stalls { left_for(anybody(address)) } else { None };
    left.unwrap_or_else(|| connect::prepare(socket, address, SynRetransmissions::NoneIfLocal))
}

/// Whether anybody listens there, by a table that is read now; a wildcard of which the OS does not tell whether it takes IPv4 counts.
/// `None`: the OS does not tell.
fn anybody(destination: SocketAddr) -> Option<bool> {
    let table = listeners::without_owners(Some(destination.port())).ok()?;
    Some(table.listeners.iter().any(|listener| listener.accepts(destination) != Some(false)))
}

/// Why the retransmissions are left as they are; `None`: they are not, for nobody listens.
const fn left_for(anybody: Option<bool>) -> Option<Prepared> {
    match anybody {
        Some(false) => None,
        Some(true) => Some(Prepared::Listening),
        None => Some(Prepared::ListenersUnknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};

    #[cfg(unix)]
    fn borrowed(socket: &TcpListener) -> SocketRef<'_> {
        std::os::fd::AsFd::as_fd(socket)
    }

    #[cfg(windows)]
    fn borrowed(socket: &TcpListener) -> SocketRef<'_> {
        std::os::windows::io::AsSocket::as_socket(socket)
    }

    /// Whether the table can be read here.
    const TABLE: bool = cfg!(all(
        not(unstall_no_listener_table),
        any(windows, all(target_os = "linux", not(unstall_portable)))
    ));

    /// The decision of Windows, with the table of whatever system this is.
    fn on_windows(address: SocketAddr) -> Option<Prepared> {
        left_for(anybody(address))
    }

    #[test]
    fn only_where_nobody_listens_is_anything_taken_away() {
        assert_eq!(left_for(Some(false)), None);
        assert_eq!(left_for(Some(true)), Some(Prepared::Listening));
        assert_eq!(left_for(None), Some(Prepared::ListenersUnknown));
    }

    #[test]
    fn a_listener_is_found_by_every_address_that_reaches_it() {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let left = if TABLE { Prepared::Listening } else { Prepared::ListenersUnknown };
        for ip in [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 1, 2, 3), Ipv4Addr::UNSPECIFIED] {
            for ip in [IpAddr::V4(ip), IpAddr::V6(ip.to_ipv6_mapped())] {
                assert_eq!(on_windows(SocketAddr::new(ip, port)), Some(left), "{ip}");
            }
        }
        // IPv4 alone, so nobody there.
        let other = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port);
        assert_eq!(on_windows(other), if TABLE { None } else { Some(Prepared::ListenersUnknown) });
    }

    #[test]
    fn a_listener_that_has_gone_is_not_found() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let left = if TABLE { Prepared::Listening } else { Prepared::ListenersUnknown };
        assert_eq!(on_windows(address), Some(left));
        drop(listener);
        assert_eq!(on_windows(address), if TABLE { None } else { Some(Prepared::ListenersUnknown) });
    }

    #[test]
    fn nobody_looks_where_nothing_would_be_taken_away() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        for os in [Platform::Linux, Platform::Apple, Platform::Bsd] {
            let prepared = look_first(os, borrowed(&listener), address);
            assert_ne!(prepared, Prepared::Listening, "{os:?}");
        }
        let left = if TABLE { Prepared::Listening } else { Prepared::ListenersUnknown };
        assert_eq!(look_first(Platform::Windows, borrowed(&listener), address), left);
        // Not of this host: the listener on the same port is no reason.
        let remote = SocketAddr::new(IpAddr::from([192, 0, 2, 1]), address.port());
        let prepared = look_first(Platform::Windows, borrowed(&listener), remote);
        assert_eq!(prepared, if cfg!(windows) { Prepared::NotLocal } else { Prepared::NotNeeded });
    }
}
