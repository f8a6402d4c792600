//! Accept queues: the bounds that the system sets, and queues that are full right now.

use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Severity, system, target};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::net::SocketAddr;
use std::thread;
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
    /// What it asked listen(2) for, as the kernel clamped it.
    backlog: u32,
    /// How many may wait.
    room: u64,
    /// The process, `name (pid)`; null: not visible to this user.
    owner: Option<String>,
}

/// How long a burst may fill a queue before it counts as full.
const BURST: Duration = Duration::from_millis(200);
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
        findings.extend(data.full.iter().flatten().map(Full::finding));
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
            room: listener.room(Platform::CURRENT)?,
            owner: owner.map(|owner| format!("{} ({})", owner.name, owner.pid)),
        })
    }

    fn finding(&self) -> Finding {
        let owner = self.owner.as_deref().unwrap_or("a process that this user cannot see");
        let values: &[(&str, &dyn Display)] = &[
            ("owner", &owner),
            ("address", &self.address),
            ("port", &self.address.port()),
            ("waiting", &self.waiting),
            ("backlog", &self.backlog),
            ("room", &self.room),
        ];
        let text = format!("{}: {} wait, the backlog is {}, twice", self.address, self.waiting, self.backlog);
        // Nobody asked about this server, so it is no error that one of its clients would meet right now.
        target::QUEUE_FULL.found(values).with_severity(Severity::Warn).with_evidence(Evidence::seen(text))
    }
}

/// Listeners whose queue is full and stays so. A burst may fill a queue for a moment, which is what it is for, so it is
/// looked at twice. `None`: the table does not tell.
fn full() -> Option<Vec<Full>> {
    let is_full = |listener: &Listener| listener.queue_full(Platform::CURRENT);
    let table = listeners::without_owners(None).ok()?.listeners;
    if !table.is_empty() && table.iter().all(|listener| is_full(listener).is_none()) {
        return None;
    }
    if !table.iter().any(|listener| is_full(listener) == Some(true)) {
        return Some(Vec::new());
    }
    thread::sleep(BURST);
    let still = listeners::table(None).ok()?.listeners;
    let was_full = |full: &Full| {
        table.iter().any(|listener| listener.address == full.address && is_full(listener) == Some(true))
    };
    Some(still.iter().filter_map(Full::of).filter(was_full).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn each_full_queue_is_told_with_its_server() {
        let full = |address: &str, owner: Option<&str>| Full {
            address: address.parse().expect("an address"),
            waiting: 3,
            backlog: 2,
            room: 3,
            owner: owner.map(str::to_owned),
        };
        let both = vec![full("127.0.0.1:80", Some("node (4242)")), full("[::1]:81", None)];
        let findings = AcceptQueue::judge(&Data { full: Some(both), ..Data::default() });
        assert_eq!(findings.len(), 2);
        assert!(
            findings[0]
                .title
                .starts_with("node (4242) listens on 127.0.0.1:80, but its accept queue is full (3 of 3)")
        );
        assert!(findings[1].title.starts_with("a process that this user cannot see listens on [::1]:81"));
        assert_eq!(ids(&Data { full: Some(Vec::new()), ..Data::default() }), [""; 0]);
    }

    #[test]
    #[cfg(all(target_os = "linux", not(unstall_portable), not(unstall_no_listener_table)))]
    fn the_bounds_of_this_machine_are_read() {
        let data =
            AcceptQueue::measure(&Context::new(&crate::Options::default()), &()).expect("not measured");
        assert!(data.somaxconn.is_some() && data.abort_on_overflow.is_some());
    }
}
