//! What each address of the target comes to, alone, and who listens on its port.

mod address;
mod several;

use super::Subject;
use super::survey::{Listening, Probe, SLOW};
use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, target};
use crate::stats::{ns, show};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;
use unstall_core::listener::{Listener, reaches};
use unstall_core::outcome::{Outcome, Platform};

pub(crate) struct Reach;

/// What was measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Reached {
    /// The name; null: the target is an address.
    pub(crate) name: Option<String>,
    pub(crate) port: u16,
    /// The time limit that was asked for. Local addresses are given 2.6 s at least.
    pub(crate) limit_ns: u64,
    /// Each address alone.
    pub(crate) addresses: Vec<Probe>,
    /// Who listens on the port.
    pub(crate) listening: Listening,
}

impl Check for Reach {
    type Subject = Subject;
    type Data = Reached;
    const ID: &'static str = "target-reach";
    const TITLE: &'static str = "each address";
    const ABOUT: &'static str = "What a connect to each address of the target comes to, alone: connected, refused, silent, \
                                 forbidden, how fast, and who listens on the port on which address.";
    const BUDGET: Duration = Duration::from_secs(4);

    fn measure(context: &Context, subject: &Subject) -> Measured<Reached> {
        let probes = subject.probes(context).map_err(|error| NotRun::CouldNot(error.to_owned()))?;
        if probes.is_empty() {
            return Err(NotRun::NotApplicable("the name has no address".to_owned()));
        }
        Ok(Reached {
            name: subject.names(context).name.clone(),
            port: subject.target.port(),
            limit_ns: ns(context.timeout()),
            addresses: probes.to_vec(),
            listening: subject.listening().clone(),
        })
    }

    fn judge(data: &Reached) -> Vec<Finding> {
        let mut findings: Vec<Finding> =
            data.addresses.iter().flat_map(|probe| address::judge(data, probe)).collect();
        findings.extend(several::judge(data));
        // What keeps the port from working comes before what follows from it: no other address helps against a full
        // queue, and no server starts on a port that is held.
        let causes = [target::QUEUE_FULL.id, target::SELF_CONNECTED.id];
        findings.sort_by_key(|finding| !causes.contains(&finding.id.as_str()));
        findings
    }

    fn describe(data: &Reached) -> Vec<String> {
        // Who listens here says nothing of another host.
        let local = data.addresses.iter().any(|probe| probe.local);
        let listeners = if local { listener_lines(&data.listening) } else { Vec::new() };
        data.addresses.iter().map(line).chain(listeners).collect()
    }
}

impl Reached {
    /// The listeners on the port; none when the table could not be read.
    fn listeners(&self) -> &[Listener] {
        self.listening.listeners.as_deref().unwrap_or_default()
    }

    /// Who a connect to the address reaches, if it is one of this host and anybody listens.
    fn listener(&self, probe: &Probe) -> Option<&Listener> {
        if probe.local { reaches(self.listeners(), probe.address) } else { None }
    }

    /// Every listener as evidence of what this address came to: none for another host.
    fn listener_evidence(&self, probe: &Probe) -> Vec<Evidence> {
        if probe.local { listener_evidence(&self.listening) } else { Vec::new() }
    }

    /// The addresses that connected.
    fn connected(&self) -> impl Iterator<Item = &Probe> {
        self.addresses.iter().filter(|probe| probe.outcome == Outcome::Connected)
    }
}

/// What an address came to, as evidence.
fn evidence(probe: &Probe) -> Evidence {
    Evidence::measured(line(probe), probe.elapsed(), 1)
}

fn line(probe: &Probe) -> String {
    let added = if probe.from_resolver { "" } else { " (not given by the resolver)" };
    format!("{} {} after {}{added}", probe.address, probe.outcome, show(probe.elapsed()))
}

/// Every listener, as evidence.
fn listener_evidence(listening: &Listening) -> Vec<Evidence> {
    listener_lines(listening).into_iter().map(Evidence::seen).collect()
}

fn listener_lines(listening: &Listening) -> Vec<String> {
    match (&listening.listeners, &listening.error) {
        (Some(listeners), _) if listeners.is_empty() => {
            vec!["nobody on this host listens on the port".to_owned()]
        }
        (Some(listeners), _) => listeners.iter().map(listening_line).collect(),
        (None, error) => vec![format!(
            "who listens is not known: {}",
            error.as_deref().unwrap_or("this system does not tell")
        )],
    }
}

fn listening_line(listener: &Listener) -> String {
    let queue = match (listener.waiting, listener.room(Platform::CURRENT)) {
        (Some(waiting), Some(room)) => format!(", {waiting} of at most {room} wait to be accepted"),
        (Some(waiting), None) => format!(", {waiting} wait to be accepted"),
        (None, _) => String::new(),
    };
    format!("{} listens on {}{queue}", owner(listener), listener.address)
}

/// The process that listens, for people.
pub(super) fn owner(listener: &Listener) -> String {
    listener.owner.as_ref().map_or_else(
        || "a process that this user may not see".to_owned(),
        |owner| format!("{} (pid {})", owner.name, owner.pid),
    )
}

#[cfg(test)]
pub(in crate::checks::target) mod tests;
