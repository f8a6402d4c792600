//! The checks of this machine, one file each.

mod clock;
mod completion;
mod ipv6;
mod loopback;
mod platform;
mod refusal;
mod small_writes;

use super::Row;

/// Every check of this machine, in the order in which they run.
pub(crate) static CHECKS: &[Row<()>] = &[
    Row::of::<platform::Platform>(),
    Row::of::<clock::Clock>(),
    Row::of::<loopback::Loopback>(),
    Row::of::<ipv6::Ipv6>(),
    Row::of::<refusal::Refusal>(),
    Row::of::<small_writes::SmallWrites>(),
    Row::of::<completion::Completion>(),
];
