//! Ports that Windows has set aside for Hyper-V, WinNAT and others: nobody listens on them, and nobody can.

use super::only_on_windows;
use crate::checks::host::COMMON_PORTS;
use crate::checks::target::Subject;
use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Os, ports};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::time::Duration;
use unstall_sys::ports::Excluded;

pub(in crate::checks) struct ExcludedPorts;

/// The port ranges that are set aside.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ExcludedPortsData")]
pub(in crate::checks) struct Data {
    /// The ranges, in Windows' order.
    ranges: Vec<Range>,
}

/// A range of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ExcludedRange")]
pub(in crate::checks) struct Range {
    first: u16,
    last: u16,
    /// Set aside by an administrator, and not by Hyper-V, WinNAT or a service.
    administered: bool,
}

impl Range {
    fn has(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.first, self.last)
    }
}

impl From<Excluded> for Range {
    fn from(excluded: Excluded) -> Self {
        Self {
            first: *excluded.ports.start(),
            last: *excluded.ports.end(),
            administered: excluded.administered,
        }
    }
}

fn read() -> Measured<Vec<Range>> {
    only_on_windows("excluded port ranges")?;
    let excluded = unstall_sys::ports::excluded().map_err(|error| NotRun::CouldNot(error.to_string()))?;
    Ok(excluded.into_iter().map(Range::from).collect())
}

impl Check for ExcludedPorts {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "excluded-ports";
    const TITLE: &'static str = "excluded port ranges";
    const ABOUT: &'static str = "Windows: port ranges that Hyper-V, WinNAT or an administrator has set aside, and which common server \
                                 ports lie in them";
    const BUDGET: Duration = Duration::from_secs(5);
    const OS: Os = Os::Windows;

    fn measure(_: &Context, (): &()) -> Measured<Data> {
        read().map(|ranges| Data { ranges })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        // What an administrator set aside by hand is meant for some server.
        let taken = || data.ranges.iter().filter(|range| !range.administered);
        let hit: Vec<String> = COMMON_PORTS
            .iter()
            .filter(|(port, _)| taken().any(|range| range.has(*port)))
            .map(|(port, of)| format!("{port} ({of})"))
            .collect();
        if hit.is_empty() {
            return Vec::new();
        }
        let ranges = taken().filter(|range| COMMON_PORTS.iter().any(|(port, _)| range.has(*port)));
        let evidence = ranges.map(|range| Evidence::seen(format!("excluded: {range}")));
        vec![ports::COMMON_PORTS_EXCLUDED.found(&[("ports", &hit.join(", "))]).with_all(evidence)]
    }

    fn describe(data: &Data) -> Vec<String> {
        let count: u32 =
            data.ranges.iter().map(|range| u32::from(range.last.saturating_sub(range.first)) + 1).sum();
        let ranges: Vec<_> =
            data.ranges.iter().map(|range| format!("{}-{}", range.first, range.last)).collect();
        let list = if ranges.is_empty() { String::new() } else { format!(": {}", ranges.join(", ")) };
        vec![format!("{} ranges, {count} ports{list}", data.ranges.len())]
    }
}

pub(in crate::checks) struct TargetExcluded;

/// The target's port among them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TargetExcludedData")]
pub(in crate::checks) struct TargetData {
    port: u16,
    /// The range that it lies in; null: in none.
    range: Option<Range>,
    /// Whether somebody on this host listens on it; null: not known.
    listened_on: Option<bool>,
}

impl Check for TargetExcluded {
    type Subject = Subject;
    type Data = TargetData;
    const ID: &'static str = "target-excluded";
    const TITLE: &'static str = "excluded port ranges";
    const ABOUT: &'static str = "Windows: whether the target's port, if it is this machine's, lies in a range that Hyper-V, WinNAT or an \
                                 administrator has set aside";
    const BUDGET: Duration = Duration::from_secs(5);
    const OS: Os = Os::Windows;

    fn measure(context: &Context, subject: &Subject) -> Measured<TargetData> {
        let ranges = read()?;
        let probes = subject.probes(context).map_err(|error| NotRun::CouldNot(error.to_owned()))?;
        if !probes.iter().any(|probe| probe.local) {
            return Err(NotRun::NotApplicable("the target is another machine".to_owned()));
        }
        let port = subject.target.port();
        let listeners = subject.listening().listeners.as_ref();
        Ok(TargetData {
            port,
            range: ranges.into_iter().find(|range| range.has(port)),
            listened_on: listeners.map(|listeners| !listeners.is_empty()),
        })
    }

    fn judge(data: &TargetData) -> Vec<Finding> {
        let Some(range) = data.range.filter(|_| data.listened_on != Some(true)) else { return Vec::new() };
        let by = if range.administered { "an administrator" } else { "Hyper-V, WinNAT or a service" };
        let values: &[(&str, &dyn Display)] = &[("port", &data.port), ("range", &range), ("by", &by)];
        let seen = Evidence::seen(format!("excluded: {range}, set aside by {by}"));
        vec![ports::PORT_EXCLUDED.found(values).with_evidence(seen)]
    }

    fn describe(data: &TargetData) -> Vec<String> {
        vec![match data.range {
            Some(range) => format!("{} lies in {range}", data.port),
            None => format!("{} lies in none", data.port),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Severity;

    fn range(first: u16, last: u16) -> Range {
        Range { first, last, administered: false }
    }

    fn found(ranges: Vec<Range>) -> Vec<String> {
        ExcludedPorts::judge(&Data { ranges }).into_iter().map(|finding| finding.title).collect()
    }

    #[test]
    fn common_server_ports_in_a_range_are_named() {
        assert_eq!(found(vec![range(50000, 50050), range(5358, 5360)]), [""; 0]);
        let titles = found(vec![range(4185, 4284), range(49700, 49799)]);
        assert_eq!(titles.len(), 1);
        assert!(titles[0].contains("4200 (Angular)"), "{}", titles[0]);
        let administered = Range { administered: true, ..range(4185, 4284) };
        assert_eq!(found(vec![administered]), [""; 0]);
    }

    fn target(range: Option<Range>, listened_on: Option<bool>) -> Vec<(String, Severity)> {
        let data = TargetData { port: 4200, range, listened_on };
        TargetExcluded::judge(&data).into_iter().map(|finding| (finding.id, finding.severity)).collect()
    }

    #[test]
    fn a_port_in_a_range_is_an_error_unless_somebody_has_it() {
        let error = vec![("port-excluded".to_owned(), Severity::Error)];
        assert_eq!(target(Some(range(4185, 4284)), Some(false)), error);
        assert_eq!(target(Some(range(4185, 4284)), None), error);
        assert_eq!(target(Some(range(4185, 4284)), Some(true)), []);
        assert_eq!(target(None, Some(false)), []);
    }

    #[test]
    fn the_ends_of_a_range_belong_to_it() {
        let range = range(4185, 4284);
        assert!(range.has(4185) && range.has(4284) && !range.has(4184) && !range.has(4285));
    }
}
