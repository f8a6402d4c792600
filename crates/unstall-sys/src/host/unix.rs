//! Any Unix: uname.

use super::Facts;
use std::env::consts::{ARCH, OS};

pub(super) fn facts() -> Facts {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    Facts { os: OS.to_owned(), arch: ARCH.to_owned(), kernel: Some(release), ..Facts::default() }
}

/// The classic one; what the system's settings say is not asked.
#[cfg(any(not(target_os = "linux"), unstall_portable))]
pub(super) fn syn_schedule() -> unstall_core::resend::Schedule {
    unstall_core::resend::Schedule::linux(0, 6)
}
