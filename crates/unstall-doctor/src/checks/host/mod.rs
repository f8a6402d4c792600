//! The checks of this machine, one file each.

mod accept_queue;
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

use super::Row;

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
    Row::of::<proxy::Proxy>(),
];
