//! Exit codes: one table for the program, its help and its man page.

use std::process::ExitCode;

/// What a run came to, as the shell sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Nothing found; connected.
    Ok,
    /// Something found; not connected.
    Found,
    /// The command line makes no sense.
    Usage,
    /// Nothing could be measured, or the result could not be written.
    CouldNot,
    /// The time limit ended it.
    TimedOut,
    /// A program ran, and this is its own code or tells why it did not.
    Program(u8),
}

impl Exit {
    /// The number.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Found => 1,
            Self::Usage => 2,
            Self::CouldNot => 3,
            Self::TimedOut => 124,
            Self::Program(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The codes of `doctor`.
pub(crate) const DOCTOR: &[(u8, &str)] = &[
    (0, "nothing found at or above --fail-on"),
    (1, "something found at or above --fail-on"),
    (2, "bad usage; nothing was measured"),
    (3, "nothing could be measured, or the report could not be written"),
    (130, "interrupted"),
];

/// The codes of `connect`.
pub(crate) const CONNECT: &[(u8, &str)] = &[
    (0, "connected"),
    (1, "not connected: refused, unreachable, no such name, ..."),
    (2, "bad usage; nothing was tried"),
    (3, "the report could not be written"),
    (124, "the time limit ended it"),
    (130, "interrupted"),
];

/// The codes of `clients`.
pub(crate) const CLIENTS: &[(u8, &str)] = &[
    (0, "nothing found at or above --fail-on"),
    (1, "something found at or above --fail-on"),
    (2, "bad usage; nothing was run"),
    (3, "no program could be run, or the report could not be written"),
    (130, "interrupted"),
];

/// The codes of `wait`.
pub(crate) const WAIT: &[(u8, &str)] = &[
    (0, "it listens (or is free); with a COMMAND: the command's own code"),
    (2, "bad usage; nothing was tried"),
    (3, "nobody knows: descriptors, ports or permission were lacking"),
    (124, "the time limit ended it"),
    (126, "COMMAND cannot be executed"),
    (127, "there is no such COMMAND"),
    (130, "interrupted"),
];

/// The codes of `lab`.
pub(crate) const LAB: &[(u8, &str)] = &[
    (0, "the program's own, as every other code that is not listed"),
    (2, "bad usage: no such profile, scenario or option; nothing was changed"),
    (125, "there is no lab: the reason is on stderr"),
    (126, "the program cannot be executed"),
    (127, "there is no such program"),
    (128, "and more: 128 + n, the program was ended by signal n"),
];

/// The codes of `run`.
pub(crate) const RUN: &[(u8, &str)] = &[
    (0, "the program's own, as every other code that is not listed"),
    (2, "bad usage; nothing was started"),
    (
        125,
        "the fixes cannot be put into the program, or there is no place for the report: the reason is on stderr",
    ),
    (126, "the program cannot be executed"),
    (127, "there is no such program"),
];

/// The codes of commands that only print.
pub(crate) const PRINT: &[(u8, &str)] =
    &[(0, "printed"), (2, "bad usage"), (3, "the output could not be written")];
