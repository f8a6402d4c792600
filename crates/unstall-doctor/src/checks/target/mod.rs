//! The checks of a target, one file each. What they share (the addresses, what each came to, who listens) is looked up
//! once, in [`survey`].

mod after_connect;
mod client_delays;
mod reach;
mod resolve;
mod survey;

use super::{Row, windows};

pub(crate) use survey::Subject;

/// Every check of a target, in the order in which they run.
pub(crate) static CHECKS: &[Row<Subject>] = &[
    Row::of::<resolve::Resolve>(),
    Row::of::<reach::Reach>(),
    Row::of::<windows::excluded::TargetExcluded>(),
    Row::of::<after_connect::AfterConnect>(),
    Row::of::<client_delays::ClientDelays>(),
];
