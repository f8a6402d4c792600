//! Any Unix: uname.

use super::Facts;
use std::env::consts::{ARCH, OS};

pub(super) fn facts() -> Facts {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    Facts { os: OS.to_owned(), arch: ARCH.to_owned(), kernel: Some(release), ..Facts::default() }
}
