//! Loopback's self-test: connects and one-byte round trips to a listener of our own, on both families.

use super::slow;
use crate::checks::{Check, Measured, NotRun, not_exhausted};
use crate::context::Context;
use crate::findings::{Evidence, Finding, exchange};
use crate::probe::{Ended, LOOPBACK, Pair};
use crate::stats::{Figures, known_causes, show};
use crate::wire;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::time::Duration;
use unstall_core::outcome::{OsError, Outcome};
use unstall_core::signature::{Figure, Phase};

pub(super) struct Loopback;

/// The self-test of each family.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "LoopbackData")]
pub(super) struct Data {
    families: Vec<Family>,
}

/// One family's self-test.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "LoopbackFamily")]
pub(super) struct Family {
    /// 127.0.0.1 or ::1.
    address: IpAddr,
    /// How the connects ended: that of the first that failed, else `connected`.
    #[schemars(schema_with = "wire::outcome")]
    outcome: Outcome,
    #[schemars(schema_with = "wire::os_error")]
    os_error: Option<OsError>,
    /// Connects; null: none succeeded.
    connect: Option<Figures>,
    /// One byte there and one back, with TCP_NODELAY; null: none succeeded.
    exchange: Option<Figures>,
}

impl Check for Loopback {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "loopback";
    const TITLE: &'static str = "loopback self-test";
    const ABOUT: &'static str = "connects and one-byte round trips to a listener of its own, at 127.0.0.1 and ::1: finds what slows or blocks loopback";
    const BUDGET: Duration = Duration::from_secs(1);

    fn measure(context: &Context, (): &()) -> Measured<Data> {
        let families: Vec<_> = LOOPBACK.iter().filter_map(|&address| family(context, address)).collect();
        not_exhausted(families.iter().map(|family| family.outcome))?;
        if families.is_empty() {
            return Err(NotRun::CouldNot("no socket could listen at 127.0.0.1 or ::1".to_owned()));
        }
        Ok(Data { families })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let mut findings: Vec<_> = data.families.iter().filter_map(broken).collect();
        let connects = || data.families.iter().map(|family| (family.address, family.connect.as_ref()));
        let exchanges = data.families.iter().map(|family| (family.address, family.exchange.as_ref()));
        let slow_connects = slow(&exchange::LOOPBACK_CONNECT_SLOW, "connect", connects());
        // Several seconds are a SYN that was lost and sent again.
        let longest =
            connects().filter_map(|(_, figures)| figures.map(Figures::median)).max().unwrap_or_default();
        let known = known_causes(&Figure::new(Phase::Connect, longest).outcome(Outcome::Connected));
        findings.extend(slow_connects.map(|finding| finding.with_all(known)));
        findings.extend(slow(&exchange::LOOPBACK_EXCHANGE_SLOW, "one byte and back", exchanges));
        findings
    }

    fn describe(data: &Data) -> Vec<String> {
        let median = |figures: &Option<Figures>| {
            figures.as_ref().map_or("not measured".to_owned(), |figures| show(figures.median()))
        };
        let line = |family: &Family| match family.outcome {
            Outcome::Connected => format!(
                "{}: connect {}, one byte and back {}",
                family.address,
                median(&family.connect),
                median(&family.exchange)
            ),
            outcome => format!("{}: {outcome}", family.address),
        };
        data.families.iter().map(line).collect()
    }
}

/// `None`: nothing can listen at this address, which for ::1 is the business of the check `ipv6`.
fn family(context: &Context, address: IpAddr) -> Option<Family> {
    let listener = match TcpListener::bind((address, 0)) {
        Ok(listener) => listener,
        Err(error) => {
            let Ended { outcome, os_error, .. } = Ended::by(&error);
            let lacks = outcome == Outcome::Exhausted;
            return lacks.then_some(Family { address, outcome, os_error, connect: None, exchange: None });
        }
    };
    let mut ended = Ended { outcome: Outcome::Connected, os_error: None, elapsed: Duration::ZERO };
    let mut connects = Vec::new();
    let mut last = None;
    while connects.len() < context.samples(1) && (connects.is_empty() || context.has_time()) {
        match Pair::connect(&listener, context.timeout()) {
            Ok((pair, ended)) => {
                connects.push(ended.elapsed);
                last = Some(pair);
            }
            Err(failed) => {
                ended = failed;
                break;
            }
        }
    }
    let exchanges = last.and_then(|pair| exchanges(context, pair).ok());
    Some(Family {
        address,
        outcome: ended.outcome,
        os_error: ended.os_error,
        connect: Figures::of(&connects),
        exchange: exchanges.as_deref().and_then(Figures::of),
    })
}

fn exchanges(context: &Context, mut pair: Pair) -> io::Result<Vec<Duration>> {
    pair.set_nodelay(true)?;
    context.series(context.samples(1), || pair.exchange(1, 1))
}

/// A connect that failed. ::1 that does not connect is judged by the check `ipv6`, which knows who would try it.
fn broken(family: &Family) -> Option<Finding> {
    if family.outcome == Outcome::Connected || family.address.is_ipv6() {
        return None;
    }
    let values: &[(&str, &dyn Display)] = &[("address", &family.address), ("outcome", &family.outcome)];
    let code = family.os_error.map_or_else(String::new, |error| format!(", OS error {}", error.code));
    let text = format!("connect to a listener at {}: {}{code}", family.address, family.outcome);
    Some(exchange::LOOPBACK_BROKEN.found(values).with_evidence(Evidence::seen(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;
    use crate::stats::tests::figures;

    fn judged(address: IpAddr, outcome: Outcome, connect: &[f64], exchange: &[f64]) -> Vec<String> {
        let some = |ms: &[f64]| (!ms.is_empty()).then(|| figures(ms));
        let family =
            Family { address, outcome, os_error: None, connect: some(connect), exchange: some(exchange) };
        Loopback::judge(&Data { families: vec![family] }).into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn a_median_above_5_ms_is_slow() {
        let v4 = LOOPBACK[0];
        assert_eq!(judged(v4, Outcome::Connected, &[5.0; 9], &[5.0; 9]), [""; 0]);
        assert_eq!(judged(v4, Outcome::Connected, &[5.1; 9], &[0.1; 9]), ["loopback-connect-slow"]);
        assert_eq!(judged(v4, Outcome::Connected, &[0.1; 9], &[5.1; 9]), ["loopback-exchange-slow"]);
    }

    #[test]
    fn both_families_make_one_finding_with_the_cause_that_is_known() {
        let family = |address| Family {
            address,
            outcome: Outcome::Connected,
            os_error: None,
            connect: Some(figures(&[1023.0])),
            exchange: Some(figures(&[0.1])),
        };
        let findings = Loopback::judge(&Data { families: LOOPBACK.map(family).into() });
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].title, "a connect to an own listener at 127.0.0.1, ::1 takes 1023 ms");
        let mut facts = findings[0].evidence.iter().map(|fact| &fact.text);
        assert!(facts.any(|text| text.contains("a SYN was lost")), "{:?}", findings[0].evidence);
    }

    #[test]
    fn single_hiccups_are_no_finding() {
        let mut ms = vec![0.03; 96];
        ms.extend([40.0; 4]);
        assert_eq!(judged(LOOPBACK[0], Outcome::Connected, &ms, &ms), [""; 0]);
    }

    #[test]
    fn a_failed_connect_is_broken_at_127_0_0_1_and_left_to_ipv6_at_1() {
        assert_eq!(judged(LOOPBACK[0], Outcome::TimedOut, &[], &[]), ["loopback-broken"]);
        assert_eq!(judged(LOOPBACK[0], Outcome::NotPermitted, &[0.1], &[0.1]), ["loopback-broken"]);
        assert_eq!(judged(LOOPBACK[1], Outcome::TimedOut, &[], &[]), [""; 0]);
    }

    #[test]
    fn both_are_measured_on_real_sockets() {
        let context =
            Context::new(&Options { samples: 10, ..Options::default() }).for_budget(Loopback::BUDGET);
        let data = Loopback::measure(&context, &()).expect("not measured");
        let v4 = &data.families[0];
        assert_eq!(v4.outcome, Outcome::Connected);
        assert_eq!(v4.connect.as_ref().map(Figures::n), Some(10));
        assert_eq!(v4.exchange.as_ref().map(Figures::n), Some(10));
    }
}
