//! What each outcome of a connect means, for `unstall explain`.

use unstall_core::outcome::Outcome;

/// What an outcome means and what to look at next.
pub(super) const fn meaning(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Connected => "The handshake completed: somebody listens and its accept queue had room.",
        Outcome::Refused => {
            "A reset answered. The host is there and nobody listens on that port and address; on Windows it may also \
             mean that the accept queue is full. Look at who listens on the port, on which address and family."
        }
        Outcome::TimedOut => {
            "Nothing answered in the time allowed: a firewall swallows the packets, the host is down, or the accept \
             queue is full and the SYN was dropped. It is not a refusal, unless the time limit is shorter than this \
             system's refusal."
        }
        Outcome::Unreachable => {
            "A router or the own routing table says that there is no way to that host or network."
        }
        Outcome::NotAvailable => {
            "The address or its family cannot be used here: IPv6 is off, 0.0.0.0 is a destination on Windows, or a \
             link-local address came without its zone."
        }
        Outcome::NotPermitted => {
            "A firewall, a sandbox or a policy of this host forbids the connect (EACCES, EPERM, WSAEACCES). Another \
             address may still be allowed."
        }
        Outcome::NoName => {
            "The name does not resolve to any usable address. For `localhost`, look at the hosts file."
        }
        Outcome::Exhausted => {
            "Local ports, buffers or descriptors are used up. Often tens of thousands of connections to one address \
             are in TIME_WAIT: reuse connections."
        }
        Outcome::SelfConnected => {
            "The socket was connected to itself: nobody listens, the port lies in the ephemeral range, and the kernel \
             chose it as the source port. It counts as refused."
        }
        Outcome::Cancelled => "Given up by the caller, or because another attempt had won.",
        _ => {
            "The operating system gave an error code that none of the tables knows; the report shows the code."
        }
    }
}
