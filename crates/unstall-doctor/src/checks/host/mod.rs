//! The checks of this machine, one file each; those of what only Windows has are in [`windows`].

mod accept_queue;
mod backlog_burst;
mod clock;
mod completion;
mod hosts_file;
mod ipv6;
mod loopback;
mod names;
mod platform;
mod ports;
mod proxy;
mod refusal;
mod small_writes;

use super::{Row, windows};
use crate::findings::{Entry, Finding};
use crate::probe::SLOW;
use crate::stats::{Figures, show};
use std::net::IpAddr;

/// Every check of this machine, in the order in which they run.
pub(crate) static CHECKS: &[Row<()>] = &[
    Row::of::<platform::Platform>(),
    Row::of::<clock::Clock>(),
    Row::of::<hosts_file::HostsFile>(),
    Row::of::<names::Names>(),
    Row::of::<loopback::Loopback>(),
    Row::of::<ipv6::Ipv6>(),
    Row::of::<refusal::Refusal>(),
    Row::of::<small_writes::SmallWrites>(),
    Row::of::<completion::Completion>(),
    Row::of::<ports::Ports>(),
    Row::of::<accept_queue::AcceptQueue>(),
    Row::of::<backlog_burst::BacklogBurst>(),
    Row::of::<proxy::Proxy>(),
    Row::of::<windows::wsapoll::WsaPoll>(),
    Row::of::<windows::timer::Timer>(),
    Row::of::<windows::winsock::Winsock>(),
    Row::of::<windows::excluded::ExcludedPorts>(),
    Row::of::<windows::wsl::WslHost>(),
    Row::of::<windows::proxy_settings::ProxySettings>(),
    Row::of::<windows::count_trap::CountTrap>(),
    Row::of::<windows::refusal_sweep::RefusalSweep>(),
];

pub(in crate::checks) use ports::COMMON as COMMON_PORTS;
#[cfg(any(windows, test))]
pub(in crate::checks) use proxy::without_password;

/// One finding for all loopback addresses at which something is slow at the median; `None`: at none. The entry's
/// placeholders are the address and the time.
fn slow<'a>(
    entry: &Entry,
    what: &str,
    measured: impl Iterator<Item = (IpAddr, Option<&'a Figures>)>,
) -> Option<Finding> {
    let slow: Vec<_> = measured
        .filter_map(|(address, figures)| Some((address, figures?)))
        .filter(|(_, figures)| figures.median() > SLOW)
        .collect();
    let time = slow.iter().map(|(_, figures)| figures.median()).max()?;
    let addresses: Vec<_> = slow.iter().map(|(address, _)| address.to_string()).collect();
    let finding = entry.found(&[("address", &addresses.join(", ")), ("time", &show(time))]);
    Some(
        finding.with_all(
            slow.iter().map(|(address, figures)| figures.evidence(&format!("{what} at {address}"))),
        ),
    )
}
