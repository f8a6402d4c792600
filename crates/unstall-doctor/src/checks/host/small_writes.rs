//! Two small writes and a read, with and without TCP_NODELAY: Nagle against the delayed acknowledgement.

use super::slow;
use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Finding, Severity, exchange};
use crate::probe::{LOOPBACK, Pair, SLOW};
use crate::stats::{Figures, known_causes, show};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::time::Duration;
use unstall_core::signature::{Figure, Phase};

pub(super) struct SmallWrites;

/// Exchanges of two writes of 10 bytes and one read, on a connection that lasts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SmallWritesData")]
pub(super) struct Data {
    families: Vec<Family>,
}

/// One family's exchanges.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SmallWritesFamily")]
pub(super) struct Family {
    /// 127.0.0.1 or ::1.
    address: IpAddr,
    /// Without TCP_NODELAY.
    plain: Figures,
    /// With TCP_NODELAY.
    nodelay: Figures,
}

/// Above every timer that is known for delayed acknowledgements: 200 ms on Windows 7 and at most on Linux.
const LONGER_THAN_ANY_TIMER: Duration = Duration::from_millis(250);

impl Check for SmallWrites {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "small-writes";
    const TITLE: &'static str = "two small writes and a read";
    const ABOUT: &'static str = "two writes and a read with and without TCP_NODELAY: what Nagle and delayed acknowledgements cost a program here";
    const BUDGET: Duration = Duration::from_millis(1200);

    fn measure(context: &Context, (): &()) -> Measured<Data> {
        let mut why = "nothing could listen at 127.0.0.1 or ::1".to_owned();
        let mut families = Vec::new();
        for address in LOOPBACK {
            match family(context, address) {
                Ok(family) => families.extend(family),
                Err(reason) => why = reason,
            }
        }
        if families.is_empty() { Err(NotRun::CouldNot(why)) } else { Ok(Data { families }) }
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let with_nodelay = data.families.iter().map(|family| (family.address, Some(&family.nodelay)));
        let mut findings: Vec<_> =
            slow(&exchange::NODELAY_DOES_NOT_HELP, "with TCP_NODELAY", with_nodelay).into_iter().collect();
        let waits = |family: &&Family| family.plain.median() > SLOW && family.nodelay.median() <= SLOW;
        findings.extend(
            data.families.iter().filter(waits).max_by_key(|family| family.plain.median()).map(waits_for),
        );
        findings
    }

    fn describe(data: &Data) -> Vec<String> {
        let line = |family: &Family| {
            let [plain, nodelay] = [&family.plain, &family.nodelay].map(|figures| show(figures.median()));
            format!("{}: {plain} without TCP_NODELAY, {nodelay} with it", family.address)
        };
        data.families.iter().map(line).collect()
    }
}

/// `Ok(None)`: nothing can listen at this address.
fn family(context: &Context, address: IpAddr) -> Result<Option<Family>, String> {
    let Ok(listener) = TcpListener::bind((address, 0)) else { return Ok(None) };
    let (mut pair, _) = Pair::connect(&listener, context.timeout())
        .map_err(|ended| format!("the connect to a listener at {address} ended as {}", ended.outcome))?;
    let mut series = |nodelay, count| {
        pair.set_nodelay(nodelay)?;
        // The first is left out: a fresh connection is acknowledged at once.
        pair.exchange(2, 10)?;
        context.series(count, || pair.exchange(2, 10))
    };
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("an exchange at {address} took longer than the time limit, {}", show(context.timeout()))
        }
        _ => format!("an exchange at {address} failed: {error}"),
    };
    let nodelay = series(true, context.samples(1)).map_err(failed)?;
    // A dear series: each exchange may cost a timer of 40 ms or more.
    let plain = series(false, context.samples(10)).map_err(failed)?;
    let family = |(plain, nodelay)| Family { address, plain, nodelay };
    Ok(Figures::of(&plain).zip(Figures::of(&nodelay)).map(family))
}

fn waits_for(family: &Family) -> Finding {
    let (plain, nodelay) = (&family.plain, &family.nodelay);
    let severity = if plain.median() >= LONGER_THAN_ANY_TIMER { Severity::Warn } else { Severity::Info };
    let values: &[(&str, &dyn Display)] =
        &[("time", &show(plain.median())), ("fast", &show(nodelay.median()))];
    exchange::SMALL_WRITES_WAIT
        .found(values)
        .with_severity(severity)
        .with_evidence(plain.evidence(&format!("without TCP_NODELAY at {}", family.address)))
        .with_evidence(nodelay.evidence(&format!("with TCP_NODELAY at {}", family.address)))
        .with_all(known_causes(&Figure::new(Phase::Exchange, plain.median())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::figures;

    fn judged(plain: f64, nodelay: f64) -> Vec<(String, Severity)> {
        let family =
            Family { address: LOOPBACK[0], plain: figures(&[plain; 10]), nodelay: figures(&[nodelay; 10]) };
        let findings = SmallWrites::judge(&Data { families: vec![family.clone(), family] });
        findings.into_iter().map(|finding| (finding.id, finding.severity)).collect()
    }

    #[test]
    fn what_every_tcp_does_is_information() {
        let info = vec![("small-writes-wait".to_owned(), Severity::Info)];
        assert_eq!(judged(44.0, 0.02), info);
        assert_eq!(judged(200.0, 0.02), info);
        assert_eq!(judged(5.0, 0.02), vec![]);
        assert_eq!(judged(5.1, 0.02), info);
    }

    #[test]
    fn a_wait_beyond_every_known_timer_is_a_warning() {
        assert_eq!(judged(249.0, 0.02)[0].1, Severity::Info);
        assert_eq!(judged(250.0, 0.02)[0].1, Severity::Warn);
        assert_eq!(judged(2500.0, 0.02)[0].1, Severity::Warn);
    }

    #[test]
    fn nodelay_that_does_not_help_is_a_warning_of_its_own() {
        let slow = ("nodelay-does-not-help".to_owned(), Severity::Warn);
        assert_eq!(judged(44.0, 5.1), vec![slow]);
        assert_eq!(judged(4.0, 5.0), vec![]);
    }

    /// Linux' timer for delayed acknowledgements is 40 ms at the least (TCP_DELACK_MIN).
    #[test]
    #[cfg(target_os = "linux")]
    fn linux_shows_its_timer_without_nodelay_and_none_with_it() {
        let context = Context::new(&crate::Options { samples: 30, ..crate::Options::default() })
            .for_budget(SmallWrites::BUDGET);
        let data = SmallWrites::measure(&context, &()).expect("not measured");
        let v4 = &data.families[0];
        assert!(v4.plain.median() >= Duration::from_millis(39), "{}", v4.plain.words());
        assert!(v4.nodelay.median() < Duration::from_millis(20), "{}", v4.nodelay.words());
    }
}
