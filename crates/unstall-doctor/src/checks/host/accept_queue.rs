//! Accept queues: the bounds that the system sets, and queues that are full right now.

use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, system};
use schemars::JsonSchema;
use serde::Serialize;
use std::net::SocketAddr;
use std::time::Duration;
use unstall_core::listener::Listener;
use unstall_core::outcome::Platform;
use unstall_sys::{host, listeners};

pub(super) struct AcceptQueue;

/// Accept queues.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "AcceptQueueData")]
pub(super) struct Data {
    /// The bound of every backlog (net.core.somaxconn); null: not told.
    somaxconn: Option<u32>,
    /// Whether a full queue answers with a reset (net.ipv4.tcp_abort_on_overflow); null: not told.
    abort_on_overflow: Option<bool>,
    /// Listeners whose queue is full; null: the listener table cannot be read, or has no queues.
    full: Option<Vec<Full>>,
}

/// A listener whose accept queue is full.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "AcceptQueueFull")]
pub(super) struct Full {
    address: SocketAddr,
    /// Connections that wait to be accepted.
    waiting: u32,
    /// How many may wait.
    backlog: u32,
    /// The process, `name (pid)`; null: not visible to this user.
    owner: Option<String>,
}

/// The bound that Linux had before 5.4; less than that was set by somebody.
const LOW: u32 = 128;

impl Check for AcceptQueue {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "accept-queue";
    const TITLE: &'static str = "accept queues";
    const ABOUT: &'static str = "the system's bounds for accept queues (somaxconn, tcp_abort_on_overflow) and servers whose queue is full right now";
    const BUDGET: Duration = Duration::from_millis(500);

    fn measure(_: &Context, (): &()) -> Measured<Data> {
        let facts = host::facts();
        let full = full();
        if facts.somaxconn.is_none() && facts.tcp_abort_on_overflow.is_none() && full.is_none() {
            return Err(NotRun::NotApplicable(
                "this system does not tell about its accept queues".to_owned(),
            ));
        }
        Ok(Data { somaxconn: facts.somaxconn, abort_on_overflow: facts.tcp_abort_on_overflow, full })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Some(somaxconn) = data.somaxconn.filter(|bound| *bound < LOW) {
            let seen = Evidence::seen(format!("net.core.somaxconn is {somaxconn}"));
            findings.push(system::SOMAXCONN_LOW.found(&[("somaxconn", &somaxconn)]).with_evidence(seen));
        }
        if data.abort_on_overflow == Some(true) {
            let seen = Evidence::seen("net.ipv4.tcp_abort_on_overflow is 1");
            findings.push(system::ABORT_ON_OVERFLOW.found(&[]).with_evidence(seen));
        }
        let full = data.full.as_deref().unwrap_or_default();
        if !full.is_empty() {
            let listed = full.iter().map(|of| of.address.to_string()).collect::<Vec<_>>().join(", ");
            let finding = system::QUEUES_FULL.found(&[("listeners", &listed)]);
            findings.push(finding.with_all(full.iter().map(Full::evidence)));
        }
        findings
    }

    fn describe(data: &Data) -> Vec<String> {
        let bound = data.somaxconn.map_or("unknown".to_owned(), |bound| bound.to_string());
        let overflow =
            data.abort_on_overflow.map_or("unknown", |abort| if abort { "reset" } else { "silence" });
        vec![format!("at most {bound} connections can wait; a full queue answers with: {overflow}")]
    }
}

impl Full {
    fn of(listener: &Listener) -> Option<Self> {
        let owner = listener.owner.as_ref();
        listener.queue_full(Platform::CURRENT).filter(|full| *full)?;
        Some(Self {
            address: listener.address,
            waiting: listener.waiting?,
            backlog: listener.backlog?,
            owner: owner.map(|owner| format!("{} ({})", owner.name, owner.pid)),
        })
    }

    fn evidence(&self) -> Evidence {
        let owner = self.owner.as_deref().unwrap_or("a process that this user cannot see");
        let (address, waiting, backlog) = (self.address, self.waiting, self.backlog);
        Evidence::seen(format!("{address}, {owner}: {waiting} connections wait, the backlog is {backlog}"))
    }
}

fn full() -> Option<Vec<Full>> {
    let table = listeners::without_owners(None).ok()?;
    let known = |listener: &Listener| listener.queue_full(Platform::CURRENT);
    if !table.listeners.is_empty() && table.listeners.iter().all(|listener| known(listener).is_none()) {
        return None;
    }
    if table.listeners.iter().all(|listener| known(listener) != Some(true)) {
        return Some(Vec::new());
    }
    // Looking for owners takes longer, so only when there is something to tell.
    Some(listeners::table(None).ok()?.listeners.iter().filter_map(Full::of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;

    fn ids(data: &Data) -> Vec<String> {
        AcceptQueue::judge(data).into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn a_bound_below_128_is_low() {
        let bound = |somaxconn| Data { somaxconn: Some(somaxconn), ..Data::default() };
        assert_eq!(ids(&bound(128)), [""; 0]);
        assert_eq!(ids(&bound(127)), ["somaxconn-low"]);
        assert_eq!(ids(&Data::default()), [""; 0]);
    }

    #[test]
    fn a_reset_on_overflow_is_told() {
        let abort = |abort| Data { abort_on_overflow: Some(abort), ..Data::default() };
        assert_eq!(ids(&abort(false)), [""; 0]);
        assert_eq!(ids(&abort(true)), ["abort-on-overflow"]);
    }

    #[test]
    fn full_queues_are_told_together() {
        let full = |address: &str| Full {
            address: address.parse().expect("an address"),
            waiting: 3,
            backlog: 2,
            owner: Some("node (4242)".to_owned()),
        };
        let data = Data { full: Some(vec![full("127.0.0.1:80"), full("[::1]:81")]), ..Data::default() };
        let findings = AcceptQueue::judge(&data);
        assert_eq!(findings[0].title, "the accept queue of 127.0.0.1:80, [::1]:81 is full");
        assert_eq!(
            findings[0].evidence[0].text,
            "127.0.0.1:80, node (4242): 3 connections wait, the backlog is 2"
        );
        assert_eq!(ids(&Data { full: Some(Vec::new()), ..Data::default() }), [""; 0]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_bounds_of_this_machine_are_read() {
        let data = AcceptQueue::measure(&Context::new(&Options::default()), &()).expect("not measured");
        assert!(data.somaxconn.is_some() && data.abort_on_overflow.is_some());
    }
}
