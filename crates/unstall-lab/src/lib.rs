//! Windows' refusals and broken networks on any Linux machine, for any program.
//!
//! A [`Lab`] is a private network namespace in which TCP behaves as a [`Profile`] says: with `windows-11` a connect to a
//! closed port is refused after 2.02 s, as there. Everything within ends with the lab, however the lab ends.
//!
//! ```no_run
//! use unstall_lab::{Lab, Profile, Program};
//!
//! # fn main() -> Result<(), unstall_lab::Error> {
//! let lab = Lab::builder(Profile::find("windows-11")?).start()?;
//! let curl = Program::new("curl").argument("http://127.0.0.1:9/");
//! let finished = lab.output(&curl, None)?;
//! println!("{:?} after {:?}", finished.ended, finished.elapsed);
//! # Ok(())
//! # }
//! ```
//!
//! A lab needs root for half-second steps and for refusals by a full accept queue (BPF). Without root,
//! [`Privilege::acquire`] at the start of `main` gives a user namespace and the coarse engine, in steps of a second.
//!
//! Nothing here was measured on Windows: a profile emulates what others have published, and names them.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod backlog;
mod bpf;
pub mod burst;
pub mod client;
mod engine;
mod error;
mod foreground;
pub mod inside;
mod isolation;
mod lab;
pub mod matrix;
pub mod opt_out;
mod profile;
mod program;
pub mod reference;
pub mod scenario;
mod schedule;
mod units;
pub mod wine;
pub mod wire;

pub use engine::{Counts, Engine, EngineChoice};
pub use error::Error;
pub use foreground::Foreground;
pub use isolation::privilege::Privilege;
pub use lab::{Builder, Lab};
pub use profile::{
    Destination, FullQueue, Names, Prefix, Profile, QueueAnswer, Refused, Retries, Unanswered,
};
pub use program::{Ended, Finished, Program, Running};
