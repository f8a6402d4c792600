//! Any Unix: poll.

use super::{Interest, Readiness};
use crate::connect::SocketRef;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::time::Duration;

pub(super) fn select(socket: SocketRef<'_>, limit: Duration) -> io::Result<Readiness> {
    poll(socket, limit)
}

pub(super) fn poll(socket: SocketRef<'_>, limit: Duration) -> io::Result<Readiness> {
    let limit = Timespec::try_from(limit).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut waited = [PollFd::new(&socket, PollFlags::OUT)];
    rustix::event::poll(&mut waited, Some(&limit))?;
    let told = waited[0].revents();
    Ok(if told.intersects(PollFlags::ERR | PollFlags::HUP) {
        Readiness::Failed
    } else if told.contains(PollFlags::OUT) {
        Readiness::Writable
    } else {
        Readiness::Nothing
    })
}

#[derive(Debug)]
pub(super) struct Reactor(std::convert::Infallible);

impl Reactor {
    pub(super) fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn wait(&mut self, _: SocketRef<'_>, _: Interest, _: Duration) -> io::Result<Readiness> {
        match self.0 {}
    }
}
