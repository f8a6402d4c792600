//! The decisions behind unstall, without I/O, without a clock and without unsafe code.
//!
//! Everything here is a function of its arguments: what a person typed becomes a [`target`], addresses are judged
//! by [`locality`], a [`race`] says which connect attempt starts when and which one won, an [`outcome`] names what an
//! OS error code means, a [`timeline`] keeps what happened, a [`sample`] says what a series of measurements looks
//! like and which stall it points to. Time is always passed in, as the time since the start of the connect, so every
//! rule is tested in simulated time.
//!
//! Words (attempt, race, attempt delay, outcome, local, stall) are used as RFC 9293 and RFC 8305 use them; see
//! `docs/DESIGN.md`.
#![forbid(unsafe_code)]

pub mod backlog;
pub mod hook;
pub mod listener;
pub mod locality;
pub mod outcome;
pub mod race;
pub mod resend;
pub mod sample;
pub mod signature;
pub mod syn;
pub mod target;
pub mod text;
pub mod timeline;
