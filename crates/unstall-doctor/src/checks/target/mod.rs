//! The checks of a target, one file each.

use super::Row;

/// A target and what its checks share.
#[derive(Debug)]
pub(crate) struct Subject {
    /// What the person typed, made a target.
    pub(crate) target: unstall_core::target::Target,
}

/// Every check of a target, in the order in which they run.
pub(crate) static CHECKS: &[Row<Subject>] = &[];
