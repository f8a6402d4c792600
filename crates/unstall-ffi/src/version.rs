//! The version of the library that the program runs with.

use crate::guard::guard;
use std::ffi::{CStr, c_char};

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"unknown",
};

/// The version of the library that the program runs with, `0.1.0` for example. `UNSTALL_VERSION` is the version of the
/// header that it was compiled with.
///
/// The text is static: never free it.
#[unsafe(no_mangle)]
pub extern "C" fn unstall_version() -> *const c_char {
    guard(VERSION.as_ptr(), || VERSION.as_ptr())
}
