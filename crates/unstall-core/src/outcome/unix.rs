//! The errno values of Linux, of Apple's systems and of the BSDs, as far as socket, bind, connect and the
//! calls around them give them.
//!
//! Sources: the Linux manual pages connect(2), socket(2), bind(2), listen(2), poll(2), ip(7), ipv6(7),
//! tcp(7); the kernel's tables from ICMP to errno (`icmp_err_convert` in net/ipv4/icmp.c, `tab_unreach` in
//! net/ipv6/icmp.c) and from route types to errno (`fib_props` in net/ipv4/fib_semantics.c); POSIX.1-2024
//! connect(); connect(2), bind(2) and intro(2) of macOS, FreeBSD, NetBSD and OpenBSD. Numbers:
//! include/uapi/asm-generic/errno.h (not those of MIPS, SPARC, Alpha and PA-RISC, which have their own) and
//! sys/errno.h.

use super::Outcome::{
    self, Cancelled, Exhausted, NotAvailable, NotPermitted, Refused, TimedOut, Unknown, Unreachable,
};

/// One errno: its numbers, what it means for a connect, and in words. 0: that system has no such errno, or
/// its BSDs differ.
pub(super) struct Errno {
    pub(super) name: &'static str,
    pub(super) linux: i32,
    pub(super) apple: i32,
    pub(super) bsd: i32,
    pub(super) outcome: Outcome,
    pub(super) meaning: &'static str,
}

const fn row(
    name: &'static str,
    [linux, apple, bsd]: [i32; 3],
    outcome: Outcome,
    meaning: &'static str,
) -> Errno {
    Errno { name, linux, apple, bsd, outcome, meaning }
}

/// Every row once; what differs by operation is in `by_operation` of the parent module.
pub(super) const ERRNOS: &[Errno] = &[
    row(
        "EPERM",
        [1, 1, 1],
        NotPermitted,
        "a firewall rule, a BPF program or a sandbox of this host forbids it",
    ),
    row("ENOENT", [2, 2, 2], Unknown, "no such file or entry"),
    row("ESRCH", [3, 3, 3], Unknown, "no such process, or no IPsec state for the destination"),
    row("EINTR", [4, 4, 4], Unknown, "a signal interrupted the call; the connect itself goes on"),
    row("EIO", [5, 5, 5], Unknown, "input or output error"),
    row("ENXIO", [6, 6, 6], NotAvailable, "no such device"),
    row("EBADF", [9, 9, 9], Unknown, "the descriptor is not open"),
    row("EAGAIN", [11, 35, 35], Exhausted, "no free local port or no room for another route at the moment"),
    row("ENOMEM", [12, 12, 12], Exhausted, "the kernel is out of memory"),
    row(
        "EACCES",
        [13, 13, 13],
        NotPermitted,
        "a policy, a prohibiting route or missing privilege forbids it",
    ),
    row("EFAULT", [14, 14, 14], Unknown, "bad pointer"),
    row("EBUSY", [16, 16, 16], Unknown, "the resource is busy"),
    row("ENODEV", [19, 19, 19], NotAvailable, "there is no such network interface"),
    row("EINVAL", [22, 22, 22], Unknown, "an argument that the OS does not take"),
    row("ENFILE", [23, 23, 23], Exhausted, "the system has no free file descriptors"),
    row("EMFILE", [24, 24, 24], Exhausted, "the process has no free file descriptors"),
    row("EPIPE", [32, 32, 32], Refused, "the connection is closed"),
    row("ENOSYS", [38, 78, 78], NotAvailable, "this OS has no such call"),
    row("ENONET", [64, 0, 0], Unreachable, "the host is not on the network (ICMP: source host isolated)"),
    row("EPROTO", [71, 100, 0], Unreachable, "protocol error (ICMPv6: parameter problem)"),
    row("ENOTSOCK", [88, 38, 38], Unknown, "the descriptor is not a socket"),
    row("EDESTADDRREQ", [89, 39, 39], Unknown, "the call needs a destination"),
    row("EMSGSIZE", [90, 40, 40], Unreachable, "a packet does not fit the path (ICMP: fragmentation needed)"),
    row("EPROTOTYPE", [91, 41, 41], NotAvailable, "the protocol does not fit the kind of socket"),
    row("ENOPROTOOPT", [92, 42, 42], NotAvailable, "this OS does not know the option"),
    row("EPROTONOSUPPORT", [93, 43, 43], NotAvailable, "this OS does not have the protocol"),
    row("ESOCKTNOSUPPORT", [94, 44, 44], NotAvailable, "this OS does not have that kind of socket"),
    row("EOPNOTSUPP", [95, 102, 45], NotAvailable, "the socket does not support the operation"),
    row("ENOTSUP", [0, 45, 0], NotAvailable, "not supported"),
    row("EPFNOSUPPORT", [96, 46, 46], NotAvailable, "this OS does not have the protocol family"),
    row("EAFNOSUPPORT", [97, 47, 47], NotAvailable, "this host does not have the address family"),
    row("EADDRINUSE", [98, 48, 48], Exhausted, "the local address and port are taken"),
    row("EADDRNOTAVAIL", [99, 49, 49], NotAvailable, "the address cannot be used on this host"),
    row("ENETDOWN", [100, 50, 50], Unreachable, "the network interface is down"),
    row("ENETUNREACH", [101, 51, 51], Unreachable, "there is no route to the network"),
    row("ENETRESET", [102, 52, 52], Unreachable, "the network dropped the connection"),
    row("ECONNABORTED", [103, 53, 53], Refused, "the connection was aborted before it could be used"),
    row("ECONNRESET", [104, 54, 54], Refused, "the connection was reset as soon as it stood"),
    row("ENOBUFS", [105, 55, 55], Exhausted, "the kernel has no buffer space"),
    row("EISCONN", [106, 56, 56], Unknown, "the socket is connected already"),
    row("ENOTCONN", [107, 57, 57], Unknown, "the socket is not connected"),
    row("ETOOMANYREFS", [109, 59, 59], Exhausted, "too many references"),
    row("ETIMEDOUT", [110, 60, 60], TimedOut, "nothing answered any of the SYNs"),
    row(
        "ECONNREFUSED",
        [111, 61, 61],
        Refused,
        "the SYN was refused: nobody listens on the port, or a filter answers for it",
    ),
    row("EHOSTDOWN", [112, 64, 64], Unreachable, "the host does not answer on its link"),
    row("EHOSTUNREACH", [113, 65, 65], Unreachable, "there is no way to the host"),
    row("EALREADY", [114, 37, 37], Unknown, "a connect is under way on this socket already"),
    row("EINPROGRESS", [115, 36, 36], Unknown, "the connect is under way"),
    row("EUNATCH", [49, 0, 0], NotAvailable, "the protocol driver is not attached"),
    row("EDQUOT", [122, 69, 69], Exhausted, "a quota is used up"),
    row("ECANCELED", [125, 89, 0], Cancelled, "the operation was cancelled"),
    row("ENOKEY", [126, 0, 0], NotPermitted, "a key that the connection needs is missing"),
    row("ECAPMODE", [0, 0, 94], NotPermitted, "the process is in capability mode (FreeBSD Capsicum)"),
    row("ENOTCAPABLE", [0, 0, 93], NotPermitted, "the descriptor lacks the capability (FreeBSD Capsicum)"),
];
