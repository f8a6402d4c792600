//! Windows: its version, and whether it is Wine.

use super::Facts;
use crate::windows::version;
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
