//! Fast refusal for a socket that somebody else connects.

use crate::{Prepared, SynRetransmissions};
use std::net::SocketAddr;

/// Prepares a socket that is not connected yet, so that its connect to `address` is refused at once where the OS would
/// otherwise wait. Call it right before the connect; the result can be ignored.
///
/// It takes any socket that lends its descriptor: `socket2::Socket`, tokio's `TcpSocket`, mio's and std's types.
/// Nothing is done for an address that is not on this host, nor where the OS does not stall (Linux and every other Unix:
/// [`Prepared::NotNeeded`]). A socket that could not be prepared is as it was; [`Prepared::NotSupported`] keeps the OS's
/// error code.
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
    unstall_sys::connect::prepare(socket.as_fd(), address, SynRetransmissions::NoneIfLocal)
}

/// Prepares a socket that is not connected yet, so that its connect to `address` is refused at once where the OS would
/// otherwise wait. Call it right before the connect; the result can be ignored.
#[cfg(windows)]
pub fn prepare(socket: &impl std::os::windows::io::AsSocket, address: SocketAddr) -> Prepared {
    unstall_sys::connect::prepare(socket.as_socket(), address, SynRetransmissions::NoneIfLocal)
}
