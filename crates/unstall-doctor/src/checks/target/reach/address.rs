//! What one address's outcome means.

use super::super::survey::Probe;
use super::{Reached, SLOW, evidence, owner};
use crate::Severity;
use crate::findings::{Evidence, Finding, Place, target};
use crate::stats::show;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use unstall_core::listener::Listener;
use unstall_core::locality::unspecified_to_loopback;
use unstall_core::outcome::{Outcome, Platform};

pub(super) fn judge(data: &Reached, probe: &Probe) -> Vec<Finding> {
    // An address that the resolver does not give is nobody's trouble until a program tries it.
    let someone_else = data.connected().next();
    let mut findings = match (probe.outcome, someone_else) {
        (Outcome::Connected, _) => slow_connect(data, probe).into_iter().collect(),
        (_, Some(_)) if !probe.from_resolver => return Vec::new(),
        (Outcome::Refused | Outcome::SelfConnected, connected) => refused(data, probe, connected),
        (Outcome::TimedOut, connected) => vec![silent(data, probe, connected)],
        (_, connected) => other(data, probe, connected.is_some()).into_iter().collect(),
    };
    findings.extend(unspecified(probe));
    findings
}

fn slow_connect(data: &Reached, probe: &Probe) -> Option<Finding> {
    if !probe.local || probe.elapsed() < SLOW {
        return None;
    }
    let full = data.listener(probe).is_some_and(|listener| listener.waiting.is_some_and(|n| n > 0));
    let cause = if full {
        "Connections wait in the server's accept queue: when it is full the SYN is dropped and sent again a second later \
         (on Windows it is reset and sent again every 505 ms)."
    } else {
        "1, 3 or 7 s mean that the SYN was dropped and sent again: a full accept queue, or a filter. Multiples of 505 ms mean \
         Windows' retry after a reset. Anything else is time that some program in between takes."
    };
    let time = show(probe.elapsed());
    let found = target::CONNECT_SLOW.found(&[
        ("address", &probe.address),
        ("time", &time),
        ("cause", &cause),
        port(data),
    ]);
    Some(found.with_evidence(evidence(probe)).with_all(data.listener_evidence(probe)))
}

fn port(data: &Reached) -> crate::findings::Value<'_> {
    ("port", &data.port)
}

fn refused(data: &Reached, probe: &Probe, connected: Option<&Probe>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(connected) = connected {
        findings.push(one_family(data, probe, connected));
    } else if let Some(listener) = data.listener(probe) {
        let values = [("address", &probe.address as _), ("owner", &owner(listener) as _)];
        let found = target::REFUSED_THOUGH_LISTENING.found(&values);
        // A queue with room is no reason to refuse: what is left is a filter.
        let room = listener.queue_full(Platform::CURRENT) == Some(false);
        findings.push(if room { found.without_fixes_at(Place::Server) } else { found });
    } else if let Some(elsewhere) = elsewhere(data, probe) {
        findings.push(other_address(probe, elsewhere));
    } else if data.connected().next().is_none() && first_refused(data, probe) {
        findings.push(target::NOBODY_LISTENS.found(&[("address", &refused_addresses(data)), port(data)]));
    }
    findings.extend(slow_refusal(data, probe));
    for finding in &mut findings {
        finding.evidence.push(evidence(probe));
        finding.evidence.extend(data.listener_evidence(probe));
    }
    findings
}

/// `localhost` is one address to some programs and the other to others; any other address has to be listened on itself.
fn other_address(probe: &Probe, elsewhere: &Listener) -> Finding {
    let ip = probe.address.ip();
    let by_name = ip.is_unspecified() || ip == Ipv4Addr::LOCALHOST || ip == Ipv6Addr::LOCALHOST;
    let (both, option) = if by_name {
        ("both 127.0.0.1 and ::1".to_owned(), "localhost".to_owned())
    } else {
        (format!("{ip} as well"), ip.to_string())
    };
    target::OTHER_FAMILY.found(&[
        ("address", &probe.address),
        ("owner", &owner(elsewhere)),
        ("other", &elsewhere.address),
        ("both", &both),
        ("option", &option),
    ])
}

/// Several refused addresses of a name are one finding, made for the first.
fn first_refused(data: &Reached, probe: &Probe) -> bool {
    data.addresses.iter().find(|other| other.outcome == Outcome::Refused).is_none_or(|first| first == probe)
}

fn refused_addresses(data: &Reached) -> String {
    let refused = data.addresses.iter().filter(|probe| probe.outcome == Outcome::Refused);
    refused.map(|probe| probe.address.to_string()).collect::<Vec<_>>().join(" or ")
}

/// A listener on the same port at another address of this host.
fn elsewhere<'a>(data: &'a Reached, probe: &Probe) -> Option<&'a Listener> {
    let family = |listener: &&Listener| listener.address.is_ipv4() != probe.address.is_ipv4();
    let listeners = data.listeners();
    probe.local.then(|| listeners.iter().find(family).or_else(|| listeners.first())).flatten()
}

fn one_family(data: &Reached, probe: &Probe, connected: &Probe) -> Finding {
    let name = data.name.as_deref().unwrap_or("the target");
    let found = target::ONE_FAMILY.found(&[
        ("name", &name),
        ("refused", &bracketed(probe)),
        ("connected", &bracketed(connected)),
        port(data),
    ]);
    found.with_evidence(evidence(connected)).with_evidence(Evidence::published(
        "Windows takes 2026 ms to refuse a local connect unless the program prevents it",
        "curl-library, 2026-08-04",
    ))
}

/// The address as it stands before a port.
fn bracketed(probe: &Probe) -> String {
    let ip = probe.address.ip();
    if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }
}

fn slow_refusal(data: &Reached, probe: &Probe) -> Vec<Finding> {
    let (time, limit) = (probe.elapsed(), Duration::from_nanos(data.limit_ns));
    let mut findings = Vec::new();
    if probe.local && time >= SLOW {
        findings.push(target::REFUSAL_SLOW.found(&[("address", &probe.address), ("time", &show(time))]));
    }
    if time > limit {
        findings.push(target::LIMIT_BELOW_REFUSAL.found(&[
            ("address", &probe.address),
            ("time", &show(time)),
            ("limit", &show(limit)),
        ]));
    }
    findings
}

fn silent(data: &Reached, probe: &Probe, connected: Option<&Probe>) -> Finding {
    let listener = data.listener(probe);
    let full = listener.filter(|listener| listener.queue_full(Platform::CURRENT) == Some(true));
    let found = match (full, connected) {
        (Some(listener), _) => target::QUEUE_FULL.found(&[
            ("owner", &owner(listener)),
            ("address", &probe.address),
            ("waiting", &listener.waiting.unwrap_or_default()),
            ("backlog", &listener.backlog.unwrap_or_default()),
            ("room", &listener.room(Platform::CURRENT).unwrap_or_default()),
            port(data),
        ]),
        (None, Some(connected)) => {
            let name = data.name.as_deref().unwrap_or("the target");
            let values = [
                ("name", &name as _),
                ("silent", &bracketed(probe) as _),
                ("connected", &bracketed(connected) as _),
            ];
            target::SILENT_ADDRESS.found(&values).with_evidence(evidence(connected))
        }
        (None, None) => {
            target::FILTERED.found(&[("address", &probe.address), ("time", &show(probe.elapsed()))])
        }
    };
    found.with_evidence(evidence(probe)).with_all(data.listener_evidence(probe))
}

/// The outcomes that the operating system decides before a packet is sent.
fn other(data: &Reached, probe: &Probe, another_connects: bool) -> Option<Finding> {
    let cause = probe.error.as_deref().unwrap_or("no reason given");
    let (address, cause): (_, crate::findings::Value<'_>) =
        (("address", &probe.address as _), ("cause", &cause));
    let found = match probe.outcome {
        Outcome::NotPermitted => target::NOT_PERMITTED.found(&[address, cause]),
        Outcome::Unreachable => target::UNREACHABLE.found(&[address, cause, ("host", &probe.address.ip())]),
        Outcome::NotAvailable if lacks_zone(probe.address) => {
            target::NO_ZONE.found(&[address, ("host", &probe.address.ip()), port(data)])
        }
        Outcome::NotAvailable => target::NOT_AVAILABLE.found(&[address, cause]),
        Outcome::Exhausted => target::EXHAUSTED.found(&[address, ("taken", &range_words(data))]),
        _ => return None,
    };
    // It fails at once, so it costs nothing where another address works, except for programs that stop there.
    let severity = if another_connects { Severity::Info } else { found.severity };
    Some(found.with_severity(severity).with_evidence(evidence(probe)))
}

fn lacks_zone(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() && v6.scope_id() == 0)
}

fn range_words(data: &Reached) -> String {
    match data.listening.ephemeral_range {
        Some((low, high)) => {
            format!(
                "This host chooses source ports from {low} to {high}, {} in all.",
                u32::from(high - low) + 1
            )
        }
        None => String::new(),
    }
}

/// Where nobody is reached by it, that it stands for loopback here is not what ails the program.
fn unspecified(probe: &Probe) -> Option<Finding> {
    let loopback = unspecified_to_loopback(probe.address);
    let matters = !matches!(probe.outcome, Outcome::Refused | Outcome::SelfConnected);
    (matters && probe.address.ip().is_unspecified()).then(|| {
        let found =
            target::UNSPECIFIED_DESTINATION.found(&[("address", &probe.address), ("loopback", &loopback)]);
        found.with_evidence(evidence(probe))
    })
}
