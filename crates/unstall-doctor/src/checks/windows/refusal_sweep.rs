//! How long a refusal takes for every value of Windows' option for SYN retransmissions.

use super::{build, only_on_windows};
use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Os, refusal};
use crate::probe::{ClosedPort, LOOPBACK, begin_connect, borrowed};
use crate::stats::{Figures, ns, show};
use crate::wire;
use schemars::JsonSchema;
use serde::Serialize;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use unstall_core::outcome::{Operation, OsError, Outcome};
use unstall_core::syn::{
    FIRST_BUILD_WITHOUT_RETRANSMISSION, NO_RETRANSMISSIONS, UNSPECIFIED_RETRANSMISSIONS,
};
use unstall_sys::connect::set_initial_rto;
use unstall_sys::readiness::{Readiness, select};

pub(in crate::checks) struct RefusalSweep;

/// A closed port at 127.0.0.1, refused under each value of SIO_TCP_INITIAL_RTO's MaxSynRetransmissions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "RefusalSweepData")]
pub(in crate::checks) struct Data {
    /// Windows' build; null: this is no Windows.
    build: Option<u32>,
    /// How long a refusal was waited for.
    limit_ns: u64,
    /// A row for each value.
    values: Vec<Row>,
}

/// What one value does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RefusalSweepValue")]
pub(in crate::checks) struct Row {
    /// MaxSynRetransmissions; null: the option was not set.
    value: Option<u8>,
    /// What the value means by its documentation.
    meaning: String,
    #[schemars(schema_with = "wire::os_error")]
    /// Why the option could not be set; null: it was, or was not to be.
    not_set: Option<OsError>,
    /// What the last connect came to; null: the option could not be set.
    #[schemars(with = "Option<String>")]
    outcome: Option<Outcome>,
    /// How long the refusals took; null: none came.
    refused: Option<Figures>,
    /// What it takes on Windows 11, published on the curl-library list on 2026-08-04; null: nothing was published.
    published_ns: Option<u64>,
}

/// The values: MaxSynRetransmissions, its meaning, and the published time on Windows 11 in microseconds.
const VALUES: [(Option<u8>, &str, Option<u64>); 6] = [
    (None, "option not set", Some(2_026_000)),
    (Some(0), "the default", Some(2_015_000)),
    (Some(1), "one retransmission", Some(506_000)),
    (Some(2), "two retransmissions", None),
    (Some(NO_RETRANSMISSIONS), "no retransmission", Some(300)),
    (Some(UNSPECIFIED_RETRANSMISSIONS), "the administrator's", Some(2_023_000)),
];
/// Before build 16299.
const A_COUNT: &str = "a count of 255 on this build: 128 s (published)";
/// A refusal that takes longer is slow, as in the check `refusal`.
const SLOW: Duration = Duration::from_millis(100);

impl Check for RefusalSweep {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "refusal-sweep";
    const TITLE: &'static str = "refusals, by SYN retransmissions";
    const ABOUT: &'static str = "Windows: how long a refusal at 127.0.0.1 takes with SIO_TCP_INITIAL_RTO not set, 0, 1, 2, 254 and 255; takes \
                                 half a minute";
    const BUDGET: Duration = Duration::from_secs(40);
    const OS: Os = Os::Windows;
    const ON_REQUEST: bool = true;

    fn measure(context: &Context, (): &()) -> Measured<Data> {
        only_on_windows(
            "the option SIO_TCP_INITIAL_RTO, since no other system sends a SYN again after a reset",
        )?;
        sweep(context)
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let row = |value| data.values.iter().find(|row| row.value == value);
        let (Some(plain), Some(without)) = (row(None), row(Some(NO_RETRANSMISSIONS))) else {
            return Vec::new();
        };
        let old = data.build.is_some_and(|build| build < FIRST_BUILD_WITHOUT_RETRANSMISSION);
        let times = (plain.median(), without.median());
        match times {
            (Some(plain_time), Some(time)) if !old && plain_time >= SLOW && time >= plain_time / 2 => {
                let found = refusal::OPTION_WITHOUT_EFFECT.found(&[("time", &show(time))]);
                vec![found.with_all([plain, without].into_iter().filter_map(Row::evidence))]
            }
            _ => Vec::new(),
        }
    }

    fn describe(data: &Data) -> Vec<String> {
        let head = "a closed port at 127.0.0.1, by MaxSynRetransmissions".to_owned();
        std::iter::once(head).chain(data.values.iter().map(|row| row.line(data.limit_ns))).collect()
    }
}

fn sweep(context: &Context) -> Measured<Data> {
    let failed = |error: io::Error| NotRun::CouldNot(format!("a connect to 127.0.0.1 failed: {error}"));
    let closed = ClosedPort::at(LOOPBACK[0]).map_err(failed)?;
    let build = build();
    let mut values = Vec::new();
    for (value, meaning, published) in VALUES {
        let old = build.is_some_and(|build| build < FIRST_BUILD_WITHOUT_RETRANSMISSION);
        let meaning = if old && value == Some(NO_RETRANSMISSIONS) { A_COUNT } else { meaning };
        let published_ns = published.filter(|_| !old).map(|us| us * 1000);
        let mut row = Row {
            value,
            meaning: meaning.to_owned(),
            not_set: None,
            outcome: None,
            refused: None,
            published_ns,
        };
        row.fill(context, closed.address).map_err(failed)?;
        values.push(row);
    }
    Ok(Data { build, limit_ns: ns(context.refusal_timeout()), values })
}

impl Row {
    /// Connects with this value, three times by default, until one is not refused.
    fn fill(&mut self, context: &Context, address: SocketAddr) -> io::Result<()> {
        let mut refused = Vec::new();
        for _ in 0..context.samples(33) {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            if let Some(value) = self.value {
                if let Err(code) = set_initial_rto(borrowed(&socket), [0xFF, 0xFF, value, 0]) {
                    self.not_set = Some(OsError { operation: Operation::SetOption, code });
                    return Ok(());
                }
            }
            let start = Instant::now();
            let outcome = end(&socket, address, context.refusal_timeout())?;
            let elapsed = start.elapsed();
            self.outcome = Some(outcome);
            if outcome != Outcome::Refused {
                break;
            }
            refused.push(elapsed);
        }
        self.refused = Figures::of(&refused);
        Ok(())
    }

    fn median(&self) -> Option<Duration> {
        self.refused.as_ref().map(Figures::median)
    }

    fn name(&self) -> String {
        let value = self.value.map_or_else(String::new, |value| format!("{value}, "));
        format!("{value}{}", self.meaning)
    }

    fn evidence(&self) -> Option<Evidence> {
        self.refused.as_ref().map(|figures| figures.evidence(&format!("{}: refused", self.name())))
    }

    fn line(&self, limit_ns: u64) -> String {
        let told = match (&self.not_set, &self.refused, self.outcome) {
            (Some(error), ..) => format!("could not run: the OS does not take the option, {error}"),
            (None, Some(figures), _) => {
                format!("refused after {} (here, n {})", show(figures.median()), figures.n())
            }
            (None, None, Some(Outcome::TimedOut)) => {
                format!("not refused within {} (measured)", show(Duration::from_nanos(limit_ns)))
            }
            (None, None, Some(outcome)) => format!("{outcome} (measured)"),
            (None, None, None) => "not measured".to_owned(),
        };
        let published = self.published_ns.map_or_else(String::new, |ns| {
            format!("; Windows 11: {} (published)", show(Duration::from_nanos(ns)))
        });
        format!("{}: {told}{published}", self.name())
    }
}

/// What a non-blocking connect comes to, waited for by select.
pub(super) fn end(socket: &Socket, address: SocketAddr, limit: Duration) -> io::Result<Outcome> {
    let failure = |error: &io::Error| match error.raw_os_error() {
        Some(code) => Outcome::from_os(OsError { operation: Operation::Connect, code }),
        None => Outcome::Unknown,
    };
    if let Err(error) = begin_connect(socket, address) {
        return Ok(failure(&error));
    }
    Ok(match select(borrowed(socket), limit)? {
        Readiness::Writable => Outcome::Connected,
        Readiness::Nothing => Outcome::TimedOut,
        Readiness::Failed => socket.take_error()?.as_ref().map_or(Outcome::Unknown, failure),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;
    use crate::stats::tests::figures;

    fn row(value: Option<u8>, ms: f64) -> Row {
        Row {
            value,
            meaning: "a value".to_owned(),
            not_set: None,
            outcome: Some(Outcome::Refused),
            refused: Some(figures(&[ms; 3])),
            published_ns: None,
        }
    }

    fn found(build: u32, plain: f64, without: f64) -> Vec<String> {
        let values = vec![row(None, plain), row(Some(254), without)];
        let data = Data { build: Some(build), limit_ns: 3_000_000_000, values };
        RefusalSweep::judge(&data).into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn an_option_that_is_taken_and_changes_nothing_is_found() {
        assert_eq!(found(26200, 2026.0, 0.3), [""; 0]);
        assert_eq!(found(26200, 2026.0, 1012.0), [""; 0]);
        assert_eq!(found(26200, 2026.0, 1013.0), ["syn-option-without-effect"]);
        assert_eq!(found(26200, 2026.0, 2026.0), ["syn-option-without-effect"]);
        assert_eq!(found(26200, 0.3, 0.3), [""; 0]);
        assert_eq!(found(14393, 2026.0, 2026.0), [""; 0]);
    }

    #[test]
    fn each_value_is_told_with_what_it_took_and_what_was_published() {
        let ok = Row { published_ns: Some(300_000), ..row(Some(254), 0.4) };
        assert_eq!(
            ok.line(0),
            "254, a value: refused after 0.40 ms (here, n 3); Windows 11: 0.30 ms (published)"
        );
        let silent = Row { outcome: Some(Outcome::TimedOut), refused: None, ..row(Some(254), 0.0) };
        assert_eq!(silent.line(2_600_000_000), "254, a value: not refused within 2600 ms (measured)");
        let error = OsError { operation: Operation::SetOption, code: 10045 };
        let not_set = Row { not_set: Some(error), outcome: None, refused: None, ..row(Some(1), 0.0) };
        assert!(not_set.line(0).starts_with("1, a value: could not run: the OS does not take the option, "));
        assert!(not_set.line(0).contains("10045"));
    }

    #[test]
    fn without_the_option_a_closed_port_is_refused_here_too() {
        let context =
            Context::new(&Options { samples: 100, ..Options::default() }).for_budget(Duration::ZERO);
        let data = sweep(&context).expect("measured");
        assert_eq!(data.values.len(), VALUES.len());
        assert_eq!(data.values[0].outcome, Some(Outcome::Refused));
        assert_eq!(data.values[0].refused.as_ref().map(Figures::n), Some(3));
        for row in &data.values[1..] {
            assert!(row.not_set.is_some() != row.refused.is_some(), "{row:?}");
        }
        assert!(RefusalSweep::describe(&data).len() == 7);
    }
}
