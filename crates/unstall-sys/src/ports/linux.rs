//! Linux: `ip_local_port_range` (for IPv6 as well), and the connection table.

use super::{Excluded, Taken};
use crate::error::Error;
use crate::linux::{proc_file, tcp_table};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// The range and the second in which it was read: second (32 bits, never 0), low, high. One word, so that neither a lock nor an
/// allocation stands between a connect and its range. A thread in another network namespace sees this one's for up to a second.
static CACHED: AtomicU64 = AtomicU64::new(0);

pub(super) fn ephemeral_range() -> Result<RangeInclusive<u16>, Error> {
    let (low, high) = read().map_err(|error| Error::table(RANGE, error))?;
    Ok(low..=high)
}

/// The range, at most about a second old. `None`: the kernel does not tell (no /proc).
pub(crate) fn cached_ephemeral_range() -> Option<(u16, u16)> {
    // Seconds are all that is needed, and this clock is the cheaper one to read.
    let second = clock_gettime(ClockId::MonotonicCoarse).tv_sec as u32 | 1 << 31;
    let cached = CACHED.load(Ordering::Relaxed);
    if (cached >> 32) as u32 == second {
        return Some(((cached >> 16) as u16, cached as u16));
    }
    let (low, high) = read().ok()?;
    let fresh = u64::from(second) << 32 | u64::from(low) << 16 | u64::from(high);
    CACHED.store(fresh, Ordering::Relaxed);
    Some((low, high))
}

pub(super) fn may_be_source(port: u16) -> bool {
    cached_ephemeral_range().is_none_or(|(low, high)| (low..=high).contains(&port))
}

fn read() -> io::Result<(u16, u16)> {
    let mut buffer = [0; 32];
    let text = proc_file::read_into(RANGE, &mut buffer)?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(low)), Some(Ok(high))) if low <= high => Ok((low, high)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

pub(super) fn per_destination() -> Result<BTreeMap<SocketAddr, Taken>, Error> {
    let mut taken = BTreeMap::<SocketAddr, Taken>::new();
    tcp_table::each(&[tcp_table::State::Established, tcp_table::State::TimeWait], None, |row| {
        let entry = taken.entry(row.remote).or_default();
        match row.state {
            tcp_table::State::TimeWait => entry.time_wait += 1,
            _ => entry.established += 1,
        }
    })?;
    Ok(taken)
}

pub(super) fn excluded() -> Result<Vec<Excluded>, Error> {
    Err(Error::table("the excluded port ranges", io::ErrorKind::Unsupported.into()))
}
