//! IPv6 loopback: whether ::1 is there, answers, and is what `localhost` gives first.

use crate::checks::{Check, Measured, not_exhausted};
use crate::context::Context;
use crate::findings::{Entry, Evidence, Finding, system};
use crate::lookup::lookup;
use crate::probe::{Ended, Pair, plain_connect};
use crate::stats::{ns, show};
use crate::wire;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;
use unstall_core::outcome::{OsError, Outcome};

pub(super) struct Ipv6;

/// IPv6 loopback.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Ipv6Data")]
pub(super) struct Data {
    /// Whether an interface has ::1; null: the interfaces could not be read.
    present: Option<bool>,
    /// Whether IPv6 is switched off on the loopback interface (net.ipv6.conf.lo.disable_ipv6); null: not told.
    disabled: Option<bool>,
    /// What a connect to ::1 came to: to a listener of our own, or where none can listen, to a port without one.
    #[schemars(schema_with = "wire::outcome")]
    outcome: Outcome,
    #[schemars(schema_with = "wire::os_error")]
    os_error: Option<OsError>,
    /// How long that took.
    elapsed_ns: u64,
    /// What `localhost` resolves to, in order; null: it does not, or not in time.
    localhost: Option<Vec<IpAddr>>,
}

const LOOPBACK: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

impl Check for Ipv6 {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "ipv6";
    const TITLE: &'static str = "IPv6 loopback";
    const ABOUT: &'static str = "whether ::1 is there, answers, and is what `localhost` gives first: finds a ::1 that is silent or unusable";
    const BUDGET: Duration = Duration::from_millis(500);

    fn measure(context: &Context, (): &()) -> Measured<Data> {
        let ended = match TcpListener::bind((LOOPBACK, 0)) {
            Ok(listener) => {
                Pair::connect(&listener, context.timeout()).map_or_else(|ended| ended, |(_, ended)| ended)
            }
            Err(error) if Ended::by(&error).outcome == Outcome::Exhausted => Ended::by(&error),
            Err(_) => plain_connect(SocketAddr::new(LOOPBACK, port_without_listener()), context.timeout()).0,
        };
        not_exhausted([ended.outcome])?;
        let own = unstall_sys::addresses::own().ok();
        Ok(Data {
            present: own.map(|own| own.contains(&LOOPBACK)),
            disabled: unstall_sys::host::facts().ipv6_disabled.lo,
            outcome: ended.outcome,
            os_error: ended.os_error,
            elapsed_ns: ns(ended.elapsed),
            localhost: lookup("localhost", context.timeout()).addresses().map(<[_]>::to_vec),
        })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let first = data.localhost.as_ref().and_then(|addresses| addresses.first());
        let entry: &Entry = match data.outcome {
            Outcome::Connected => return Vec::new(),
            Outcome::TimedOut => &system::IPV6_LOOPBACK_SILENT,
            _ if first == Some(&LOOPBACK) => &system::IPV6_LOOPBACK_UNUSABLE,
            _ => &system::IPV6_LOOPBACK_OFF,
        };
        let elapsed = Duration::from_nanos(data.elapsed_ns);
        let values: &[(&str, &dyn Display)] = &[("time", &show(elapsed)), ("outcome", &data.outcome)];
        let code = data.os_error.map_or_else(String::new, |error| format!(", OS error {}", error.code));
        let connect = format!("connect to ::1: {} after {}{code}", data.outcome, show(elapsed));
        let mut finding = entry.found(values).with_evidence(Evidence::measured(connect, elapsed, 1));
        if data.disabled == Some(true) {
            finding = finding.with_evidence(Evidence::seen("net.ipv6.conf.lo.disable_ipv6 is 1"));
        }
        if let Some(first) = first {
            finding = finding.with_evidence(Evidence::seen(format!("`localhost` resolves to {first} first")));
        }
        vec![finding]
    }

    fn describe(data: &Data) -> Vec<String> {
        vec![format!("::1: {} ({})", data.outcome, show(Duration::from_nanos(data.elapsed_ns)))]
    }
}

/// A port on which nobody listens at 127.0.0.1, and so in all likelihood nobody at ::1.
fn port_without_listener() -> u16 {
    let probe = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0));
    // Port 9 is the discard service, which hardly anybody runs.
    probe.and_then(|listener| listener.local_addr()).map_or(9, |address| address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;

    fn judged(outcome: Outcome, localhost: Option<&[&str]>) -> Vec<String> {
        let parse =
            |addresses: &[&str]| addresses.iter().map(|address| address.parse().expect("address")).collect();
        let data = Data {
            present: Some(false),
            disabled: Some(true),
            outcome,
            os_error: None,
            elapsed_ns: 1_500_000,
            localhost: localhost.map(parse),
        };
        Ipv6::judge(&data).into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn a_silent_loopback_is_an_error_whatever_localhost_gives() {
        assert_eq!(judged(Outcome::TimedOut, Some(&["127.0.0.1"])), ["ipv6-loopback-silent"]);
        assert_eq!(judged(Outcome::TimedOut, Some(&["::1", "127.0.0.1"])), ["ipv6-loopback-silent"]);
    }

    #[test]
    fn ipv6_that_is_off_matters_when_localhost_gives_it_first() {
        assert_eq!(judged(Outcome::NotAvailable, Some(&["::1", "127.0.0.1"])), ["ipv6-loopback-unusable"]);
        assert_eq!(judged(Outcome::NotAvailable, Some(&["127.0.0.1", "::1"])), ["ipv6-loopback-off"]);
        assert_eq!(judged(Outcome::NotAvailable, Some(&["127.0.0.1"])), ["ipv6-loopback-off"]);
        assert_eq!(judged(Outcome::Unreachable, None), ["ipv6-loopback-off"]);
    }

    #[test]
    fn a_loopback_that_connects_is_sound() {
        assert_eq!(judged(Outcome::Connected, Some(&["::1"])), [""; 0]);
    }

    #[test]
    fn the_measurement_ends_and_says_how() {
        let data = Ipv6::measure(&Context::new(&Options::default()), &()).expect("not measured");
        assert_ne!(data.outcome, Outcome::Unknown);
    }
}
