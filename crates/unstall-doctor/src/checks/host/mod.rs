//! The checks of this machine, one file each.

use super::Row;

/// Every check of this machine, in the order in which they run.
pub(crate) static CHECKS: &[Row<()>] = &[];
