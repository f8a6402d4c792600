//! Whether WSAPoll tells of a connect that was refused.

use super::refusal_sweep::end;
use super::{build, only_on_windows};
use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Os, Severity, system};
use crate::probe::{ClosedPort, LOOPBACK, begin_connect, borrowed};
use crate::stats::{ns, show};
use schemars::JsonSchema;
use serde::Serialize;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use unstall_core::outcome::Outcome;
use unstall_core::syn::{FIRST_BUILD_WITHOUT_RETRANSMISSION, NO_RETRANSMISSIONS};
use unstall_sys::connect::set_initial_rto;
use unstall_sys::readiness::{Readiness, poll};

pub(in crate::checks) struct WsaPoll;

/// A connect to a closed port at 127.0.0.1, waited for in two ways.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "WsaPollData")]
pub(in crate::checks) struct Data {
    /// Windows' build; null: not known.
    build: Option<u32>,
    /// After how long select told of the refusal.
    select_ns: u64,
    /// After how long WSAPoll did; null: it did not, as long as it was waited for.
    poll_ns: Option<u64>,
    /// How long WSAPoll was waited for.
    limit_ns: u64,
}

/// The first build whose WSAPoll tells (published: Microsoft's page of WSAPoll).
const FIRST_BUILD_THAT_TELLS: u32 = 19041;
/// How much longer than for select WSAPoll is waited for.
const LONGER: Duration = Duration::from_millis(500);

impl Check for WsaPoll {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "wsapoll";
    const TITLE: &'static str = "WSAPoll of a refused connect";
    const ABOUT: &'static str =
        "Windows: whether WSAPoll tells of a refused connect, beside select: before build 19041 it does not";
    const BUDGET: Duration = Duration::from_secs(6);
    const OS: Os = Os::Windows;

    fn measure(context: &Context, (): &()) -> Measured<Data> {
        only_on_windows("WSAPoll")?;
        compare(context)
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let build = data.build.map_or_else(|| "unknown".to_owned(), |build| build.to_string());
        if data.poll_ns.is_some() {
            return Vec::new();
        }
        let new = data.build.is_some_and(|build| build >= FIRST_BUILD_THAT_TELLS);
        // Where Microsoft says that it was mended, something else keeps the event away: a layer, or an emulation.
        let severity = if new { Severity::Warn } else { Severity::Info };
        let [select, limit] = [data.select_ns, data.limit_ns].map(Duration::from_nanos);
        let found = system::WSAPOLL_BLIND.found(&[("build", &build)]).with_severity(severity);
        vec![
            found
                .with_evidence(Evidence::measured(
                    format!("WSAPoll of a refused connect told nothing in {}", show(limit)),
                    limit,
                    1,
                ))
                .with_evidence(Evidence::measured(
                    format!("select with its except set told of the same refusal after {}", show(select)),
                    select,
                    1,
                )),
        ]
    }

    fn describe(data: &Data) -> Vec<String> {
        let told = |ns| show(Duration::from_nanos(ns));
        let poll = data
            .poll_ns
            .map_or_else(|| format!("not in {}", told(data.limit_ns)), |ns| format!("after {}", told(ns)));
        vec![format!("a refusal is told by select after {}, by WSAPoll {poll}", told(data.select_ns))]
    }
}

fn compare(context: &Context) -> Measured<Data> {
    let failed = |error: io::Error| NotRun::CouldNot(format!("a connect to 127.0.0.1 failed: {error}"));
    let closed = ClosedPort::at(LOOPBACK[0]).map_err(failed)?;
    let socket = socket(closed.address).map_err(failed)?;
    let start = Instant::now();
    let outcome = end(&socket, closed.address, context.refusal_timeout()).map_err(failed)?;
    let by_select = start.elapsed();
    if outcome != Outcome::Refused {
        return Err(NotRun::CouldNot(format!("a closed port at 127.0.0.1 was not refused: {outcome}")));
    }
    let limit = by_select + LONGER;
    let by_poll = told_by_poll(closed.address, limit).map_err(failed)?;
    Ok(Data { build: build(), select_ns: ns(by_select), poll_ns: by_poll.map(ns), limit_ns: ns(limit) })
}

/// After how long WSAPoll tells of a refusal; `None`: it does not.
fn told_by_poll(address: SocketAddr, limit: Duration) -> io::Result<Option<Duration>> {
    let socket = socket(address)?;
    let start = Instant::now();
    if begin_connect(&socket, address).is_err() {
        return Ok(Some(start.elapsed()));
    }
    let told = poll(borrowed(&socket), limit)?;
    Ok((told == Readiness::Failed).then(|| start.elapsed()))
}

/// A socket whose refusal comes at the first reset, where that can be had: the question is not how long it takes.
fn socket(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    let retransmissions = match build() {
        Some(build) if build >= FIRST_BUILD_WITHOUT_RETRANSMISSION => NO_RETRANSMISSIONS,
        _ => 1,
    };
    // Without it the check takes some seconds longer.
    let _ = set_initial_rto(borrowed(&socket), [0xFF, 0xFF, retransmissions, 0]);
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;

    fn found(build: u32, poll_ns: Option<u64>) -> Vec<(String, Severity)> {
        let data = Data { build: Some(build), select_ns: 300_000, poll_ns, limit_ns: 500_300_000 };
        WsaPoll::judge(&data).into_iter().map(|finding| (finding.id, finding.severity)).collect()
    }

    #[test]
    fn what_was_measured_decides_and_the_build_says_how_bad_it_is() {
        let blind = |severity| vec![("wsapoll-blind".to_owned(), severity)];
        assert_eq!(found(18363, None), blind(Severity::Info));
        assert_eq!(found(19041, None), blind(Severity::Warn));
        assert_eq!(found(18363, Some(300_000)), []);
        assert_eq!(found(26200, Some(300_000)), []);
    }

    #[test]
    fn both_ways_tell_of_a_refusal_here() {
        let context = Context::new(&Options::default()).for_budget(WsaPoll::BUDGET);
        let data = compare(&context).expect("measured");
        assert!(data.poll_ns.is_some() || cfg!(windows), "{data:?}");
        assert!(data.limit_ns > data.select_ns);
    }
}
