//! Outcomes of errno values until the core table is there.
use unstall_core::outcome::{Operation, Outcome};

pub(crate) fn outcome(_operation: Operation, code: i32) -> Outcome {
    match code {
        libc::ECONNREFUSED => Outcome::Refused,
        libc::ETIMEDOUT => Outcome::TimedOut,
        libc::EHOSTUNREACH | libc::ENETUNREACH => Outcome::Unreachable,
        libc::EADDRNOTAVAIL | libc::EAFNOSUPPORT | libc::EINVAL => Outcome::NotAvailable,
        libc::EACCES | libc::EPERM => Outcome::NotPermitted,
        libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM | libc::EAGAIN => Outcome::Exhausted,
        _ => Outcome::Unknown,
    }
}
