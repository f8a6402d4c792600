//! What the Windows files share: Winsock's start, sockets, waits, overlapped connects, the ioctl, the OS's version.

pub(crate) mod event;
pub(crate) mod initial_rto;
pub(crate) mod overlapped;
pub(crate) mod selected;
pub(crate) mod tcp_table;
pub(crate) mod version;
pub(crate) mod winsock;
