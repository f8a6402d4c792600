//! The C interface of unstall. `include/unstall.h` is made from this crate by `cargo xtask docs`; what stands here as
//! documentation stands there too.
//!
//! | file | what it offers to C |
//! |---|---|
//! | [`connect`] | `unstall_connect`, `unstall_connect_until`, `unstall_now_ns` |
//! | [`options`] | `unstall_options`, which can grow |
//! | [`prepare`] | `unstall_prepare`, for a socket that somebody else connects |
//! | [`last`] | what the last connect of this thread came to: sentence, OS code, timeline |
//! | [`status`] | the classes of failures and their names |
//! | [`version`] | `unstall_version` |
//!
//! # What holds for every function
//! * **Threads.** Any function may be called from any thread at any time. What the last connect came to is kept for each
//!   thread apart.
//! * **Ownership.** A socket that is handed out belongs to the caller, who closes it. A `char *` that is handed out
//!   belongs to the caller, who gives it back with `unstall_string_free`; a `const char *` is static. What is handed in is
//!   read before the function returns and never kept.
//! * **Panics.** None crosses into C: each function runs in [`guard`](guard::guard), and reports one as
//!   `UNSTALL_STATUS_INTERNAL`.
//! * **Bad arguments** (`NULL`, a host that is none, a struct of an impossible size) are `UNSTALL_STATUS_INVALID_ARGUMENT`;
//!   nothing has been done then.
#![allow(unsafe_code)]

pub mod connect;
pub mod guard;
pub mod last;
pub mod options;
pub mod prepare;
pub mod status;
pub mod version;

#[cfg(not(windows))]
use std::ffi::c_int;

/// A socket, as the system's own functions take it: a file descriptor.
#[cfg(not(windows))]
pub type UnstallSocket = c_int;

/// A socket, as the system's own functions take it: a `SOCKET`.
#[cfg(windows)]
pub type UnstallSocket = usize;

/// What stands in place of a socket where there is none: -1, on Windows `INVALID_SOCKET`.
#[cfg(not(windows))]
pub(crate) const NO_SOCKET: UnstallSocket = -1;
#[cfg(windows)]
pub(crate) const NO_SOCKET: UnstallSocket = usize::MAX;
