//! The classes of failures.

use crate::guard::guard;
use std::ffi::{CStr, c_char};
use unstall::{ConnectError, Outcome};

/// What a connect came to. The numbers are fixed; later versions may add some, so treat one that you do not know like
/// `UNSTALL_STATUS_UNKNOWN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum UnstallStatus {
    /// Connected.
    Ok = 0,
    /// An argument makes no sense; nothing was tried.
    InvalidArgument = 1,
    /// The host is there and nobody serves on the port.
    Refused = 2,
    /// The time limit struck, or the OS gave up, before anything answered.
    TimedOut = 3,
    /// There is no way to the host or its network.
    Unreachable = 4,
    /// The address or its family cannot be used on this host, or may not by the options.
    NotAvailable = 5,
    /// A firewall, sandbox or policy of this host forbids it.
    NotPermitted = 6,
    /// The name does not resolve.
    NoName = 7,
    /// Local ports, buffers or descriptors are used up.
    Exhausted = 8,
    /// It failed with an OS code that no class stands for; see `unstall_last_os_error`.
    Unknown = 9,
    /// A bug of this library; nothing is known about the connect, and no socket was handed out.
    Internal = 10,
}

impl UnstallStatus {
    /// Every status, in the order of its number.
    const ALL: [Self; 11] = [
        Self::Ok,
        Self::InvalidArgument,
        Self::Refused,
        Self::TimedOut,
        Self::Unreachable,
        Self::NotAvailable,
        Self::NotPermitted,
        Self::NoName,
        Self::Exhausted,
        Self::Unknown,
        Self::Internal,
    ];

    /// The class of an error.
    pub(crate) fn of(error: &ConnectError) -> Self {
        error.outcome().map_or(Self::InvalidArgument, Self::from_outcome)
    }

    fn from_outcome(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Connected => Self::Ok,
            // Nobody listens, in either case.
            Outcome::Refused | Outcome::SelfConnected => Self::Refused,
            Outcome::TimedOut => Self::TimedOut,
            Outcome::Unreachable => Self::Unreachable,
            Outcome::NotAvailable => Self::NotAvailable,
            Outcome::NotPermitted => Self::NotPermitted,
            Outcome::NoName => Self::NoName,
            Outcome::Exhausted => Self::Exhausted,
            _ => Self::Unknown,
        }
    }

    /// Its name; where an outcome of the timeline stands for the same, the name is the same.
    fn name(self) -> &'static CStr {
        match self {
            Self::Ok => c"ok",
            Self::InvalidArgument => c"invalid_argument",
            Self::Refused => c"refused",
            Self::TimedOut => c"timed_out",
            Self::Unreachable => c"unreachable",
            Self::NotAvailable => c"not_available",
            Self::NotPermitted => c"not_permitted",
            Self::NoName => c"no_name",
            Self::Exhausted => c"exhausted",
            Self::Unknown => c"unknown",
            Self::Internal => c"internal",
        }
    }
}

/// The name of a status, `refused` for example; `unknown` for a number that is none.
///
/// The text is static: never free it.
#[unsafe(no_mangle)]
pub extern "C" fn unstall_status_name(status: i32) -> *const c_char {
    guard(c"internal".as_ptr(), || {
        let known = UnstallStatus::ALL.into_iter().find(|known| *known as i32 == status);
        known.unwrap_or(UnstallStatus::Unknown).name().as_ptr()
    })
}

#[cfg(test)]
mod tests {
    use super::UnstallStatus;
    use unstall::Outcome;

    #[test]
    fn numbers_count_from_nought_and_names_are_those_of_the_outcomes() {
        for (number, status) in UnstallStatus::ALL.into_iter().enumerate() {
            assert_eq!(status as usize, number);
        }
        for outcome in Outcome::ALL {
            let status = UnstallStatus::from_outcome(outcome);
            let expected = match outcome {
                Outcome::Connected => "ok",
                Outcome::SelfConnected => "refused",
                Outcome::Cancelled => "unknown",
                other => other.id(),
            };
            assert_eq!(status.name().to_str(), Ok(expected));
        }
    }
}
