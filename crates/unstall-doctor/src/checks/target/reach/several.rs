//! What the port shows as a whole: several servers on it, and programs connected to themselves.

use super::{Reached, evidence, listener_evidence, owner};
use crate::findings::{Evidence, Finding, target};
use unstall_core::listener::{Listener, Reach, overlaps};
use unstall_core::outcome::Outcome;

pub(super) fn judge(data: &Reached) -> Vec<Finding> {
    // Another host's port says nothing about who listens here.
    if !data.addresses.iter().any(|probe| probe.local) {
        return Vec::new();
    }
    [two_servers(data), self_connected(data), self_connect_possible(data)].into_iter().flatten().collect()
}

fn two_servers(data: &Reached) -> Option<Finding> {
    let reached = overlaps(data.listeners(), data.port);
    let differ = |a: &Reach<'_>, b: &Reach<'_>| differ(a.listener, b.listener);
    if !reached.iter().any(|a| reached.iter().any(|b| differ(a, b))) {
        return None;
    }
    let words: Vec<String> =
        reached.iter().map(|reach| format!("{} is {}", reach.destination, owner(reach.listener))).collect();
    let found = target::TWO_SERVERS.found(&[("port", &data.port), ("reached", &words.join(", "))]);
    let hidden = reached.iter().flat_map(|reach| {
        let at = reach.destination;
        reach.hidden.iter().map(move |listener| {
            Evidence::seen(format!("at {at} {} is hidden behind the more specific address", owner(listener)))
        })
    });
    Some(found.with_all(hidden).with_all(listener_evidence(&data.listening)))
}

/// Whether two listeners belong to different processes, as far as both are visible.
fn differ(a: &Listener, b: &Listener) -> bool {
    match (&a.owner, &b.owner) {
        (Some(a), Some(b)) => a.pid != b.pid,
        _ => false,
    }
}

fn self_connected(data: &Reached) -> Option<Finding> {
    let count = data.listening.to_themselves.filter(|&count| count > 0)?;
    let address = data.addresses.iter().find(|probe| probe.local)?.address;
    let found = target::SELF_CONNECTED.found(&[("address", &address), ("port", &data.port)]);
    Some(found.with_evidence(Evidence::seen(format!(
        "{count} connection(s) on port {} whose two ends are the same",
        data.port
    ))))
}

fn self_connect_possible(data: &Reached) -> Option<Finding> {
    let (low, high) = data.listening.ephemeral_range?;
    let refused = data.addresses.iter().find(|probe| probe.local && probe.outcome == Outcome::Refused)?;
    let nobody = data.listening.listeners.as_ref().is_some_and(Vec::is_empty);
    if !nobody || !(low..=high).contains(&data.port) {
        return None;
    }
    let range = format!("{low} to {high}");
    Some(
        target::SELF_CONNECT
            .found(&[("port", &data.port), ("range", &range)])
            .with_evidence(evidence(refused))
            .with_evidence(Evidence::seen(format!("the kernel chooses source ports from {range}"))),
    )
}
