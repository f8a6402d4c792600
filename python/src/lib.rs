//! The native half of the Python package `unstall`. It connects and says what came of it, in plain tuples; exceptions, sockets and
//! everything else that Python has better words for are made in Python (`unstall/`).
//!
//! | file | what it offers to Python |
//! |---|---|
//! | [`blocking`] | `connect`: waits with the GIL released, and looks for signals |
//! | [`polled`] | `Connecting`: a connect that an event loop drives |
//! | [`options`] | the options of both |
//! | [`end`] | what a connect came to, as a tuple |
//! | [`prepare`] | `prepare`, for a socket that somebody else connects |
//! | [`lifecycle`] | `forked`, `close`: what the interpreter tells; `would_try` |
#![warn(missing_docs)]

mod blocking;
mod end;
mod lifecycle;
mod options;
mod polled;
mod prepare;

use pyo3::prelude::*;

/// The native half of `unstall`; use the package, not this.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::blocking::connect;
    #[pymodule_export]
    use super::lifecycle::{close, forked, would_try};
    #[pymodule_export]
    use super::polled::Connecting;
    #[pymodule_export]
    use super::prepare::prepare;
}
