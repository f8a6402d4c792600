//! How long a refusal takes: closed ports at several addresses of this machine.

use crate::checks::{Check, Measured, not_exhausted};
use crate::context::Context;
use crate::findings::{Evidence, Finding, refusal};
use crate::probe::{
    ClosedPort, Ended, connect_with_one_retransmission, connect_without_retransmission, plain_connect,
};
use crate::stats::{Figures, known_causes, ns, show};
use crate::wire;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread;
use std::time::Duration;
use unstall_core::outcome::{OsError, Outcome};
use unstall_core::signature::{Figure, Phase};

pub(super) struct Refusal;

/// Closed ports.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "RefusalData")]
pub(super) struct Data {
    /// How long a connect was waited for.
    limit_ns: u64,
    ports: Vec<Port>,
}

/// A port that is closed, since the check itself holds it, bound and not listening.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "RefusalPort")]
pub(super) struct Port {
    /// The address.
    address: IpAddr,
    /// What a connect to it came to; `not_available`: the address cannot be used here.
    #[schemars(schema_with = "wire::outcome")]
    outcome: Outcome,
    #[schemars(schema_with = "wire::os_error")]
    os_error: Option<OsError>,
    /// How long the refusals took; null: none came.
    refused: Option<Figures>,
    /// The same without SYN retransmissions; null: the refusals are quick, or this system has no such option.
    without_retransmission: Option<Figures>,
    /// The same with one SYN retransmission, the least before build 16299; null as above.
    one_retransmission: Option<Figures>,
}

/// A refusal is microseconds of work. The least of the stalls that are known is one retransmission, 505 ms.
const SLOW: Duration = Duration::from_millis(100);
/// From this share of slow refusals on it is no hiccup of a busy machine.
const OFTEN: f64 = 0.1;

impl Check for Refusal {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "refusal";
    const TITLE: &'static str = "refusal of closed ports";
    const ABOUT: &'static str = "how long a connect to a closed port takes at 127.0.0.1, 127.0.0.2, ::1 and an own address: finds \
                                 refusals that come late, never, or on some addresses only";
    const BUDGET: Duration = Duration::from_secs(3);

    fn measure(context: &Context, (): &()) -> Measured<Data> {
        // Side by side while it is not known whether they take seconds, one after the other once they are quick.
        let probes: Vec<Probe> = thread::scope(|scope| {
            let running: Vec<_> = addresses()
                .into_iter()
                .map(|address| scope.spawn(move || Probe::first(context, address)))
                .collect();
            running.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        let ports: Vec<Port> = probes.into_iter().map(|probe| probe.rest(context)).collect();
        not_exhausted(ports.iter().map(|port| port.outcome))?;
        Ok(Data { limit_ns: ns(context.refusal_timeout()), ports })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let mut findings = Vec::new();
        findings.extend(never_refused(data));
        findings.extend(slow(data));
        findings.extend(with_outcome(data, Outcome::Connected, &refusal::CLOSED_PORT_ANSWERS));
        findings.extend(with_outcome(data, Outcome::NotPermitted, &refusal::LOOPBACK_NOT_PERMITTED));
        findings
    }

    fn describe(data: &Data) -> Vec<String> {
        let words = |port: &Port| match &port.refused {
            Some(figures) => format!("{} in {}", port.address, show(figures.median())),
            None => format!("{} {}", port.address, port.outcome),
        };
        vec![data.ports.iter().map(words).collect::<Vec<_>>().join(", ")]
    }
}

/// 127.0.0.1, 127.0.0.2, ::1 and, if there is one, an address of an interface.
fn addresses() -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> =
        vec![Ipv4Addr::LOCALHOST.into(), Ipv4Addr::new(127, 0, 0, 2).into(), Ipv6Addr::LOCALHOST.into()];
    // Link-local addresses need a zone: another check's business.
    let usable =
        |ip: &IpAddr| !ip.is_loopback() && !matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let own = unstall_sys::addresses::own().unwrap_or_default();
    addresses.extend(own.iter().filter(|ip| usable(ip)).min_by_key(|ip| ip.is_ipv6()));
    addresses
}

/// A closed port, and how its first refusals went.
struct Probe {
    address: IpAddr,
    closed: Option<ClosedPort>,
    last: Ended,
    refused: Vec<Duration>,
    without_retransmission: Vec<Duration>,
    one_retransmission: Vec<Duration>,
}

impl Probe {
    /// The first connect, and two more if it is slow. Three that take seconds tell as much as a hundred.
    fn first(context: &Context, address: IpAddr) -> Self {
        let closed = ClosedPort::at(address);
        let not_available = Ended { outcome: Outcome::NotAvailable, os_error: None, elapsed: Duration::ZERO };
        let exhausted = closed.as_ref().err().map(Ended::by).filter(|by| by.outcome == Outcome::Exhausted);
        let mut probe = Self {
            address,
            closed: closed.ok(),
            last: exhausted.unwrap_or(not_available),
            refused: Vec::new(),
            without_retransmission: Vec::new(),
            one_retransmission: Vec::new(),
        };
        probe.connect(context);
        while probe.last.elapsed >= SLOW
            && probe.refused.len() < context.samples(1).min(3)
            && context.has_time()
        {
            if !probe.connect(context) {
                break;
            }
        }
        if probe.last.elapsed >= SLOW {
            probe.cure(context);
        }
        probe
    }

    /// As many connects without SYN retransmissions, to show what that is worth here.
    fn cure(&mut self, context: &Context) {
        let Some(closed) = &self.closed else { return };
        let refused = |connect: fn(SocketAddr, Duration) -> Option<Ended>| {
            let one = || connect(closed.address, context.refusal_timeout());
            let refused =
                self.refused.iter().map_while(|_| one().filter(|ended| ended.outcome == Outcome::Refused));
            refused.map(|ended| ended.elapsed).collect()
        };
        let (none, one) = (refused(connect_without_retransmission), refused(connect_with_one_retransmission));
        (self.without_retransmission, self.one_retransmission) = (none, one);
    }

    /// One connect. Whether it was refused.
    fn connect(&mut self, context: &Context) -> bool {
        let Some(closed) = &self.closed else { return false };
        self.last = plain_connect(closed.address, context.refusal_timeout()).0;
        let refused = self.last.outcome == Outcome::Refused;
        if refused {
            self.refused.push(self.last.elapsed);
        }
        refused
    }

    /// The rest of the series, of a port that refuses quickly.
    fn rest(mut self, context: &Context) -> Port {
        let quick = self.last.outcome == Outcome::Refused && self.last.elapsed < SLOW;
        while quick && self.refused.len() < context.samples(1) && context.has_time() && self.connect(context)
        {
        }
        let Ended { outcome, os_error, .. } = self.last;
        Port {
            address: self.address,
            outcome,
            os_error,
            refused: Figures::of(&self.refused),
            without_retransmission: Figures::of(&self.without_retransmission),
            one_retransmission: Figures::of(&self.one_retransmission),
        }
    }
}

impl Port {
    fn is_slow(&self) -> bool {
        self.refused
            .as_ref()
            .is_some_and(|figures| figures.median() >= SLOW || figures.share_from(SLOW) >= OFTEN)
    }

    /// The refusal time that people notice: that of the slow ones.
    fn slow_time(&self) -> Option<Duration> {
        let figures = self.refused.as_ref()?;
        let slow: Vec<_> = figures.values().iter().copied().filter(|time| *time >= SLOW).collect();
        Figures::of(&slow).map(|slow| slow.median())
    }

    /// What taking the SYN retransmissions away is worth, all of them or all but one.
    fn cured(&self) -> impl Iterator<Item = Evidence> {
        let ways = [("without", &self.without_retransmission), ("with one", &self.one_retransmission)];
        ways.into_iter().filter_map(|(way, figures)| {
            let what = format!("closed port at {}, refused {way} SYN retransmission", self.address);
            Some(figures.as_ref()?.evidence(&what))
        })
    }

    fn evidence(&self) -> Evidence {
        match &self.refused {
            Some(figures) => figures.evidence(&format!("closed port at {}, refused", self.address)),
            None => Evidence::seen(format!("closed port at {}: {}", self.address, self.outcome)),
        }
    }
}

/// `127.0.0.1, ::1`.
fn list<'a>(ports: impl IntoIterator<Item = &'a Port>) -> String {
    ports.into_iter().map(|port| port.address.to_string()).collect::<Vec<_>>().join(", ")
}

fn never_refused(data: &Data) -> Option<Finding> {
    let (silent, rest): (Vec<&Port>, Vec<_>) =
        data.ports.iter().partition(|port| port.outcome == Outcome::TimedOut);
    if silent.is_empty() {
        return None;
    }
    let prompt: Vec<_> =
        rest.into_iter().filter(|port| port.outcome == Outcome::Refused && !port.is_slow()).collect();
    // The same family, or else a rule about IPv6 would look like a lost reset.
    let beside: Vec<_> = prompt
        .iter()
        .copied()
        .filter(|port| silent.iter().any(|silent| silent.address.is_ipv4() == port.address.is_ipv4()))
        .collect();
    let time = show(Duration::from_nanos(data.limit_ns));
    let values: &[(&str, &dyn Display)] = &[
        ("addresses", &list(silent.iter().copied())),
        ("prompt", &list(beside.iter().copied())),
        ("time", &time),
    ];
    let entry =
        if beside.is_empty() { &refusal::REFUSAL_MISSING } else { &refusal::REFUSAL_LOST_ON_ONE_ADDRESS };
    let facts = silent.iter().map(|port| {
        let text = format!("closed port at {}: no answer in {time}", port.address);
        Evidence::measured(text, Duration::from_nanos(data.limit_ns), 1)
    });
    Some(entry.found(values).with_all(facts).with_all(prompt.iter().map(|port| port.evidence())))
}

fn slow(data: &Data) -> Option<Finding> {
    let slow: Vec<_> = data.ports.iter().filter(|port| port.is_slow()).collect();
    let time = slow.iter().filter_map(|port| port.slow_time()).max()?;
    let values: &[(&str, &dyn Display)] =
        &[("addresses", &list(slow.iter().copied())), ("time", &show(time))];
    let finding = refusal::SLOW_REFUSAL.found(values);
    let known = Figure::new(Phase::Connect, time).outcome(Outcome::Refused);
    let cured = slow.iter().flat_map(|port| port.cured());
    Some(
        finding
            .with_all(slow.iter().map(|port| port.evidence()))
            .with_all(cured)
            .with_all(known_causes(&known)),
    )
}

fn with_outcome(data: &Data, outcome: Outcome, entry: &'static crate::findings::Entry) -> Option<Finding> {
    let ports: Vec<_> = data.ports.iter().filter(|port| port.outcome == outcome).collect();
    if ports.is_empty() {
        return None;
    }
    let finding = entry.found(&[("addresses", &list(ports.iter().copied()))]);
    Some(finding.with_all(ports.iter().map(|port| port.evidence())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;
    use crate::findings::Severity;
    use crate::stats::tests::figures;

    fn refused(address: &str, ms: &[f64]) -> Port {
        Port {
            address: address.parse().expect("an address"),
            outcome: Outcome::Refused,
            os_error: None,
            refused: Some(figures(ms)),
            without_retransmission: None,
            one_retransmission: None,
        }
    }

    fn ended(address: &str, outcome: Outcome) -> Port {
        Port { outcome, refused: None, ..refused(address, &[0.1]) }
    }

    fn judge(ports: Vec<Port>) -> Vec<Finding> {
        Refusal::judge(&Data { limit_ns: 3_000_000_000, ports })
    }

    fn ids(ports: Vec<Port>) -> Vec<String> {
        judge(ports).into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn a_median_of_100_ms_is_slow_and_below_is_not() {
        assert_eq!(ids(vec![refused("127.0.0.1", &[99.0; 5])]), [""; 0]);
        assert_eq!(ids(vec![refused("127.0.0.1", &[100.0; 5])]), ["slow-refusal"]);
    }

    /// Published for Windows 11: 2026 ms at 127.0.0.1.
    #[test]
    fn windows_refusal_is_named_once_for_all_its_addresses() {
        let ports =
            ["127.0.0.1", "127.0.0.2", "::1"].map(|address| refused(address, &[2026.0, 2015.0, 2033.0]));
        let findings = judge(ports.into());
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Warn);
        assert_eq!(
            findings[0].title,
            "a closed port at 127.0.0.1, 127.0.0.2, ::1 is refused only after 2026 ms"
        );
        assert_eq!(findings[0].evidence[0].value_ns, Some(2_026_000_000));
        assert_eq!(findings[0].evidence[0].n, Some(3));
    }

    /// Published for Windows 11: 0.3 ms with the retransmission taken away.
    #[test]
    fn what_the_cure_is_worth_stands_beside_the_stall() {
        let cured = Some(figures(&[0.3; 3]));
        let one = Some(figures(&[506.0; 3]));
        let port = Port {
            without_retransmission: cured,
            one_retransmission: one,
            ..refused("127.0.0.1", &[2026.0; 3])
        };
        let found = judge(vec![port]);
        let text = "closed port at 127.0.0.1, refused without SYN retransmission: median 0.30 ms";
        assert!(found[0].evidence[1].text.starts_with(text), "{}", found[0].evidence[1].text);
        let text = "closed port at 127.0.0.1, refused with one SYN retransmission: median 506 ms";
        assert!(found[0].evidence[2].text.starts_with(text), "{}", found[0].evidence[2].text);
    }

    #[test]
    fn one_slow_refusal_in_ten_is_slow_and_a_single_hiccup_is_not() {
        let mut ms = vec![0.1; 91];
        ms.extend([2026.0; 9]);
        assert_eq!(ids(vec![refused("127.0.0.1", &ms)]), [""; 0]);
        ms.push(2026.0);
        ms.remove(0);
        assert_eq!(ids(vec![refused("127.0.0.1", &ms)]), ["slow-refusal"]);
    }

    #[test]
    fn silence_is_told_from_a_reset_that_is_lost_at_one_address() {
        let prompt = || refused("127.0.0.2", &[0.2; 9]);
        let lost = vec![ended("127.0.0.1", Outcome::TimedOut), prompt()];
        assert_eq!(ids(lost), ["refusal-lost-on-one-address"]);
        let all = vec![ended("127.0.0.1", Outcome::TimedOut), ended("127.0.0.2", Outcome::TimedOut)];
        assert_eq!(ids(all), ["refusal-missing"]);
        let other_family = vec![ended("::1", Outcome::TimedOut), prompt()];
        assert_eq!(ids(other_family), ["refusal-missing"]);
    }

    #[test]
    fn what_is_neither_refused_nor_silent_has_its_own_finding() {
        assert_eq!(ids(vec![ended("127.0.0.1", Outcome::Connected)]), ["closed-port-answers"]);
        assert_eq!(ids(vec![ended("127.0.0.1", Outcome::NotPermitted)]), ["loopback-not-permitted"]);
        assert_eq!(ids(vec![ended("::1", Outcome::NotAvailable)]), [""; 0]);
    }

    #[test]
    fn closed_ports_of_this_machine_are_refused() {
        let context = Context::new(&Options { samples: 5, ..Options::default() }).for_budget(Refusal::BUDGET);
        let data = Refusal::measure(&context, &()).expect("not measured");
        assert_eq!(data.ports[0].outcome, Outcome::Refused);
        assert_eq!(data.ports[0].refused.as_ref().map(Figures::n), Some(5));
    }
}
