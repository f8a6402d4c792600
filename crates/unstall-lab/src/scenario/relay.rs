//! A far host on one machine: a TUN device whose packets come back late, with source and destination exchanged.
//!
//! What this host sends to 198.18.1.2 leaves by the device; the relay holds each packet for a while, exchanges its two
//! addresses and gives it back, so that it arrives from 198.18.1.2 at 198.18.1.1, where the server listens. Both ends
//! are the kernel's own TCP. Checksums stay right, since they are sums over both addresses.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::{read, write};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often the relay looks whether it is over, while nothing comes.
const LOOK: Duration = Duration::from_millis(20);

/// A relay that runs. Dropping it ends it, and the device with it.
#[derive(Debug)]
pub(super) struct Relay {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Relays the packets of a TUN device, each so long after it came.
    pub(super) fn start(device: OwnedFd, delay: Duration) -> io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let thread = thread::Builder::new()
            .name("scenario relay".to_owned())
            .spawn(move || relay(&device, delay, &ends))?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn relay(device: &OwnedFd, delay: Duration, over: &AtomicBool) {
    let mut under_way: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut packet = [0; 2048];
    while !over.load(Ordering::Acquire) {
        let next = under_way.front().map_or(LOOK, |(at, _)| at.saturating_duration_since(Instant::now()));
        let timeout = Timespec::try_from(next.min(LOOK)).ok();
        let mut ready = [PollFd::new(device, PollFlags::IN)];
        if poll(&mut ready, timeout.as_ref()).is_ok_and(|count| count > 0) {
            let Ok(length) = read(device, &mut packet) else { return };
            if let Some(turned) = turn(&packet[..length]) {
                under_way.push_back((Instant::now() + delay, turned));
            }
        }
        while under_way.front().is_some_and(|(at, _)| *at <= Instant::now()) {
            // A packet that the kernel does not take is lost, as on any network.
            let _ = under_way.pop_front().map(|(_, packet)| write(device, &packet));
        }
    }
}

/// An IPv4 packet with its two addresses exchanged; `None` for anything else.
fn turn(packet: &[u8]) -> Option<Vec<u8>> {
    (packet.len() >= 20 && packet[0] >> 4 == 4).then(|| {
        let mut packet = packet.to_vec();
        let (source, destination) = packet[12..20].split_at_mut(4);
        source.swap_with_slice(destination);
        packet
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_exchanged_and_nothing_else() {
        let packet: Vec<u8> = (0x45..0x45 + 24).collect();
        let turned = turn(&packet).expect("an IPv4 packet");
        assert_eq!(turned[12..16], packet[16..20]);
        assert_eq!(turned[16..20], packet[12..16]);
        assert_eq!((&turned[..12], &turned[20..]), (&packet[..12], &packet[20..]));
        assert_eq!(turn(&packet[..19]), None);
        assert_eq!(turn(&[0x60; 40]), None);
    }
}
