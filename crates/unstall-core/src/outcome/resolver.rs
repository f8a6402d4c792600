//! getaddrinfo's codes on Unix. On Windows it gives WSA codes, which stand in the table of those.
//!
//! Sources: POSIX.1-2024 getaddrinfo() and RFC 3493 section 6.1 for the meanings; the `netdb.h` of glibc and
//! musl (negative, as in OpenBSD, whose last four differ) and of macOS, FreeBSD, NetBSD and bionic
//! (positive).

use super::Outcome::{self, Cancelled, Exhausted, NoName, NotAvailable, Unknown};

/// One code: its numbers in glibc, in macOS (and FreeBSD, NetBSD, bionic) and in OpenBSD; 0: that one has it
/// not.
pub(super) struct Eai {
    pub(super) name: &'static str,
    pub(super) glibc: i32,
    pub(super) apple: i32,
    pub(super) openbsd: i32,
    pub(super) outcome: Outcome,
    pub(super) meaning: &'static str,
}

const fn row(
    name: &'static str,
    [glibc, apple, openbsd]: [i32; 3],
    outcome: Outcome,
    meaning: &'static str,
) -> Eai {
    Eai { name, glibc, apple, openbsd, outcome, meaning }
}

pub(super) const EAIS: &[Eai] = &[
    row("EAI_BADFLAGS", [-1, 3, -1], Unknown, "flags that the resolver does not take"),
    row("EAI_NONAME", [-2, 8, -2], NoName, "the name is not known"),
    row("EAI_AGAIN", [-3, 2, -3], NoName, "no name server answered, or it failed for now"),
    row("EAI_FAIL", [-4, 4, -4], NoName, "the name server failed"),
    row("EAI_NODATA", [-5, 7, -5], NoName, "the name has no address"),
    row("EAI_FAMILY", [-6, 5, -6], NotAvailable, "the resolver does not support the address family"),
    row("EAI_SOCKTYPE", [-7, 10, -7], Unknown, "the resolver does not support that kind of socket"),
    row("EAI_SERVICE", [-8, 9, -8], Unknown, "the service is not known for that kind of socket"),
    row("EAI_ADDRFAMILY", [-9, 1, -9], NoName, "the name has no address of that family"),
    row("EAI_MEMORY", [-10, 6, -10], Exhausted, "out of memory"),
    row("EAI_SYSTEM", [-11, 11, -11], Unknown, "a system call failed; errno says which way"),
    row("EAI_OVERFLOW", [-12, 14, -14], Unknown, "a buffer was too small"),
    row("EAI_BADHINTS", [0, 12, -12], Unknown, "hints that the resolver does not take"),
    row("EAI_PROTOCOL", [0, 13, -13], Unknown, "the resolver does not know the protocol"),
    row("EAI_INPROGRESS", [-100, 0, 0], Unknown, "the query is under way"),
    row("EAI_CANCELED", [-101, 0, 0], Cancelled, "the query was cancelled"),
    row("EAI_NOTCANCELED", [-102, 0, 0], Unknown, "the query could not be cancelled"),
    row("EAI_ALLDONE", [-103, 0, 0], Unknown, "all queries are done"),
    row("EAI_INTR", [-104, 0, 0], Unknown, "a signal interrupted the query"),
    row("EAI_IDN_ENCODE", [-105, 0, 0], NoName, "the international name cannot be written in ASCII"),
];
