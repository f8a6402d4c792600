//! Spans and events for the crate `tracing` (feature `tracing`): one span per connect, one below it per attempt. Without the feature
//! all of it is nothing, and takes no room.
//!
//! Everything has the target `unstall` and the level DEBUG. The fields are OpenTelemetry's where it has one (semantic conventions for
//! network and DNS attributes); what it has none for begins with `unstall.`.
//!
//! | | fields |
//! |---|---|
//! | span `connect` | `otel.kind`, `server.address`, `server.port`, `network.transport`; at its end `unstall.outcome` and `network.peer.address`, `network.peer.port` or `error.type` |
//! | span `attempt` | `network.peer.address`, `network.peer.port`, `network.type`, `network.transport`, `unstall.reason`; at its end `unstall.outcome`, `error.type` |
//! | event `resolved` | `dns.question.name`, `dns.answers`, `error.type` |
//! | events `attempt ended`, `connect ended` | `unstall.outcome` |

#[cfg(feature = "tracing")]
pub(crate) use on::Trace;

#[cfg(not(feature = "tracing"))]
pub(crate) use off::Trace;

#[cfg(feature = "tracing")]
mod on {
    use crate::{Outcome, Reason, Target};
    use std::net::SocketAddr;
    use tracing::field::{Empty, display};
    use tracing::{Span, debug, debug_span};
    use unstall_core::outcome::OsError;
    use unstall_core::race::AttemptId;
    use unstall_sys::Error;

    /// The spans of one connect that are open. Whoever drops it closes them.
    pub(crate) struct Trace {
        connect: Span,
        /// None is kept where nobody listens, so that this allocates for those alone who do.
        attempts: Vec<(AttemptId, SocketAddr, Span)>,
    }

    impl Trace {
        pub(crate) fn connect(target: &Target) -> Self {
            let connect = debug_span!(
                target: "unstall",
                "connect",
                otel.kind = "client",
                server.address = %target.host(),
                server.port = target.port(),
                network.transport = "tcp",
                network.peer.address = Empty,
                network.peer.port = Empty,
                unstall.outcome = Empty,
                error.type = Empty,
            );
            Self { connect, attempts: Vec::new() }
        }

        /// The resolver has answered, `error` if it failed.
        pub(crate) fn resolved(&self, target: &Target, addresses: &[SocketAddr], error: Option<&Error>) {
            let failure = error.map(|error| error.outcome().id());
            let ips = || addresses.iter().map(SocketAddr::ip);
            debug!(
                target: "unstall",
                parent: &self.connect,
                {
                    dns.question.name = %target.host(),
                    dns.answers = ?ips().collect::<Vec<_>>(),
                    error.type = failure,
                },
                "resolved"
            );
        }

        pub(crate) fn attempt(&mut self, id: AttemptId, address: SocketAddr, reason: Reason) {
            let span = debug_span!(
                target: "unstall",
                parent: &self.connect,
                "attempt",
                network.peer.address = %address.ip(),
                network.peer.port = address.port(),
                network.type = if address.is_ipv6() { "ipv6" } else { "ipv4" },
                network.transport = "tcp",
                unstall.reason = reason.id(),
                unstall.outcome = Empty,
                error.type = Empty,
            );
            if !(span.is_disabled() && self.connect.is_disabled()) {
                self.attempts.push((id, address, span));
            }
        }

        pub(crate) fn attempt_ended(&mut self, id: AttemptId, outcome: Outcome, error: Option<OsError>) {
            let Some(index) = self.attempts.iter().position(|(open, ..)| *open == id) else { return };
            let (_, address, span) = self.attempts.remove(index);
            end(&span, outcome, error);
            debug!(target: "unstall", parent: &span, { unstall.outcome = outcome.id() }, "attempt ended");
            if outcome == Outcome::Connected {
                self.connect.record("network.peer.address", display(address.ip()));
                self.connect.record("network.peer.port", address.port());
            }
        }

        pub(crate) fn ended(self, outcome: Outcome) {
            end(&self.connect, outcome, None);
            debug!(target: "unstall", parent: &self.connect, { unstall.outcome = outcome.id() }, "connect ended");
        }

        /// The connect and its only attempt are over.
        pub(crate) fn over(mut self, id: AttemptId, error: Option<&Error>) {
            let outcome = error.map_or(Outcome::Connected, Error::outcome);
            self.attempt_ended(id, outcome, error.and_then(Error::os_error));
            self.ended(outcome);
        }
    }

    fn end(span: &Span, outcome: Outcome, error: Option<OsError>) {
        // The name of an error is looked up for those alone who want to see it.
        if span.is_disabled() {
            return;
        }
        span.record("unstall.outcome", outcome.id());
        if outcome != Outcome::Connected {
            span.record("error.type", error.and_then(OsError::name).unwrap_or(outcome.id()));
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod off {
    use crate::{Outcome, Reason, Target};
    use std::net::SocketAddr;
    use unstall_core::outcome::OsError;
    use unstall_core::race::AttemptId;
    use unstall_sys::Error;

    /// Nothing.
    pub(crate) struct Trace;

    #[expect(clippy::unused_self, clippy::needless_pass_by_ref_mut, reason = "as with the feature")]
    impl Trace {
        pub(crate) const fn connect(_: &Target) -> Self {
            Self
        }

        pub(crate) const fn resolved(&self, _: &Target, _: &[SocketAddr], _: Option<&Error>) {}

        pub(crate) const fn attempt(&mut self, _: AttemptId, _: SocketAddr, _: Reason) {}

        pub(crate) const fn attempt_ended(&mut self, _: AttemptId, _: Outcome, _: Option<OsError>) {}

        pub(crate) const fn ended(self, _: Outcome) {}

        pub(crate) const fn over(self, _: AttemptId, _: Option<&Error>) {}
    }
}
