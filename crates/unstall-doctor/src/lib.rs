//! Finds what stalls TCP connects on this machine, or on the way to a target, and says what to do about it.
//!
//! [`Doctor::run`] checks this machine, [`Doctor::run_targets`] checks targets; both give a [`Report`]. What was measured
//! is in [`report`], what can be found is in [`findings`]: one table, from which the texts of `unstall explain`
//! and `docs/FINDINGS.md` come too.
//!
//! A check either ran, could not run (and says why), or does not apply here: nothing unknown is ever reported as
//! sound. Measuring and judging are apart, so every verdict is tested without the machine that would show it.
#![forbid(unsafe_code)]

mod checks;
mod clients;
mod context;
mod doctor;
pub mod findings;
mod hosts;
mod lookup;
mod probe;
pub mod repair;
pub mod report;
mod stats;
#[cfg(all(test, unix))]
mod testing;
mod wire;

pub use checks::{CheckInfo, list_checks};
pub use context::Options;
pub use doctor::{Doctor, Event, Selection};
pub use findings::{Finding, Label, Severity, Unknown, explain};
pub use report::{ExitStatus, Report};
