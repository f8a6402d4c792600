//! Windows: its version, and whether it is Wine.

use super::Facts;
use crate::windows::{processes, version};
use std::env::consts::{ARCH, OS};

pub(super) fn facts() -> Facts {
    let version::Version { major, minor, build } = version::version();
    Facts {
        os: OS.to_owned(),
        kernel: Some(format!("{major}.{minor}.{build}")),
        arch: ARCH.to_owned(),
        wine: version::wine(),
        ..Facts::default()
    }
}

pub(super) fn syn_schedule() -> unstall_core::resend::Schedule {
    unstall_core::resend::Schedule::WINDOWS
}

pub(super) fn programs() -> Vec<String> {
    processes::names().into_values().collect()
}
