//! What can go wrong before the program runs, in one sentence each, with its exit code.

use std::io;

/// Why there is no lab, or why the program in it did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Asked for something that does not exist: a profile, an option. Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// There is no such program. Exit code 127.
    #[error("{0}: command not found")]
    NotFound(String),
    /// The program is there, but the system does not run it. Exit code 126.
    #[error("cannot run {program}: {why}")]
    NotExecutable {
        /// As it was found.
        program: String,
        /// Why not.
        why: String,
    },
    /// The kernel or the system lacks something that the profile needs. Exit code 125.
    #[error("{what}; {remedy}")]
    Missing {
        /// What is missing, and for what.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A step of the set-up failed. Exit code 125.
    #[error("cannot {operation}: {source}")]
    System {
        /// Which, as a phrase: `mount a private /etc/hosts`.
        operation: String,
        /// What the system answered.
        source: io::Error,
    },
}

impl Error {
    /// The exit code of `unstall lab` for this: 2 usage, 125 own failure, 126 not executable, 127 not found.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Missing { .. } | Self::System { .. } => 125,
            Self::NotExecutable { .. } => 126,
            Self::NotFound(_) => 127,
        }
    }
}

/// Says which step failed.
pub(crate) trait Step<T> {
    /// `operation` is a phrase that follows "cannot".
    fn step(self, operation: &str) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, operation: &str) -> Result<T, Error> {
        self.map_err(|source| Error::System { operation: operation.to_owned(), source: source.into() })
    }
}
