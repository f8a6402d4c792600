//! Local ports: the range that the kernel chooses from, against TIME_WAIT and against the ports of servers.

use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Severity, ports};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::net::SocketAddr;
use std::time::Duration;
use unstall_core::locality;
use unstall_sys::{host, listeners};

pub(super) struct Ports;

/// Local ports.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PortsData")]
pub(super) struct Data {
    /// The first port that the kernel chooses from.
    first: u16,
    /// The last.
    last: u16,
    /// The destinations to which most local ports are taken, at most ten; null: the connection table cannot be read.
    taken: Option<Vec<Taken>>,
    /// All connections in TIME_WAIT; null: the connection table cannot be read.
    time_wait: Option<u64>,
    /// Whether ports in TIME_WAIT are used again (net.ipv4.tcp_tw_reuse): 0 no, 1 yes, 2 for loopback; null: not told.
    tw_reuse: Option<u32>,
    /// Ports in the range on which somebody listens; null: the listener table cannot be read.
    listening: Option<Vec<u16>>,
}

/// The local ports that are taken for one destination.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PortsTaken")]
pub(super) struct Taken {
    destination: SocketAddr,
    /// Connections that stand.
    established: u32,
    /// Connections that were closed here, whose ports are kept for a while.
    time_wait: u32,
}

/// Ports that servers commonly use, and by whom. Those below 32768 lie in no usual range.
pub(in crate::checks) const COMMON: &[(u16, &str)] = &[
    (3000, "development servers"),
    (3306, "MySQL"),
    (4200, "Angular"),
    (5000, "Flask, ASP.NET"),
    (5173, "Vite"),
    (5432, "PostgreSQL"),
    (5672, "RabbitMQ"),
    (6379, "Redis"),
    (8000, "development servers"),
    (8080, "HTTP"),
    (8443, "HTTPS"),
    (8888, "Jupyter"),
    (9000, "PHP-FPM, MinIO"),
    (9090, "Prometheus"),
    (9092, "Kafka"),
    (9200, "Elasticsearch"),
    (9222, "Chrome DevTools"),
    (11211, "memcached"),
    (11434, "Ollama"),
    (27017, "MongoDB"),
    (35729, "LiveReload"),
    (50051, "gRPC"),
];

/// Where the usual ranges begin: 32768 on Linux, 49152 on Windows and macOS.
const USUAL_START: u16 = 32768;
/// From this part of the range on it is a matter of seconds until the rest is taken too.
const USED_UP: f64 = 0.8;
/// Fewer ports than that are gone within a second of connections that are made one after the other.
const FEW: u32 = 1024;
/// How many destinations are listed.
const LISTED: usize = 10;

impl Check for Ports {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "ports";
    const TITLE: &'static str = "local ports";
    const ABOUT: &'static str = "the range of local ports against TIME_WAIT per destination and against ports of servers: finds ports that \
                                 are used up, and where a program can connect to itself";
    const BUDGET: Duration = Duration::from_millis(500);

    fn measure(_: &Context, (): &()) -> Measured<Data> {
        let range =
            unstall_sys::ports::ephemeral_range().map_err(|error| NotRun::CouldNot(error.to_string()))?;
        let table = unstall_sys::ports::per_destination().ok();
        let mut taken: Option<Vec<Taken>> = table.map(|table| {
            let row = |(destination, of): (SocketAddr, unstall_sys::ports::Taken)| Taken {
                destination,
                established: of.established,
                time_wait: of.time_wait,
            };
            table.into_iter().map(row).collect()
        });
        let time_wait = taken.as_ref().map(|taken| taken.iter().map(|of| u64::from(of.time_wait)).sum());
        if let Some(taken) = &mut taken {
            taken.sort_by_key(|of| std::cmp::Reverse(of.count()));
            taken.truncate(LISTED);
        }
        Ok(Data {
            first: *range.start(),
            last: *range.end(),
            taken,
            time_wait,
            tw_reuse: host::facts().tcp_tw_reuse,
            listening: listeners::without_owners(None).ok().map(|table| {
                let mut ports: Vec<u16> =
                    table.listeners.iter().map(|listener| listener.address.port()).collect();
                ports.sort_unstable();
                ports.dedup();
                ports.retain(|port| range.contains(port));
                ports
            }),
        })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let mut findings = Vec::new();
        findings.extend(used_up(data));
        findings.extend(few(data));
        findings.extend(common_inside(data));
        findings.extend(self_connect(data));
        findings
    }

    fn describe(data: &Data) -> Vec<String> {
        let waiting = data.time_wait.map_or("an unknown number".to_owned(), |count| count.to_string());
        vec![format!("{} to {}, {} ports; {waiting} in TIME_WAIT", data.first, data.last, data.size())]
    }
}

impl Taken {
    fn count(&self) -> u32 {
        self.established.saturating_add(self.time_wait)
    }
}

impl Data {
    fn size(&self) -> u32 {
        u32::from(self.last).saturating_sub(self.first.into()) + 1
    }

    fn has(&self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }

    /// Whether the kernel gives a port in TIME_WAIT to a new connection to this destination when it needs one.
    fn reuses(&self, destination: SocketAddr) -> bool {
        match self.tw_reuse {
            Some(1) => true,
            Some(2) => locality::is_loopback(destination.ip()),
            _ => false,
        }
    }

    fn range(&self) -> Evidence {
        Evidence::seen(format!(
            "local ports are chosen from {} to {}, {} ports",
            self.first,
            self.last,
            self.size()
        ))
    }
}

fn used_up(data: &Data) -> Option<Finding> {
    let most = data.taken.as_ref()?.iter().max_by_key(|of| of.count())?;
    if f64::from(most.count()) < USED_UP * f64::from(data.size()) {
        return None;
    }
    let values: &[(&str, &dyn Display)] =
        &[("taken", &most.count()), ("size", &data.size()), ("destination", &most.destination)];
    let text =
        format!("to {}: {} established, {} in TIME_WAIT", most.destination, most.established, most.time_wait);
    let finding =
        ports::PORTS_USED_UP.found(values).with_evidence(Evidence::seen(text)).with_evidence(data.range());
    // A port in TIME_WAIT that is given to the next connection is not lost: only those that stand count then.
    let lost = if data.reuses(most.destination) { most.established } else { most.count() };
    let severity =
        if f64::from(lost) < USED_UP * f64::from(data.size()) { Severity::Info } else { Severity::Warn };
    let reuse = data.tw_reuse.filter(|_| severity == Severity::Info);
    let reuse = reuse.map(|mode| {
        Evidence::seen(format!(
            "net.ipv4.tcp_tw_reuse is {mode}: ports in TIME_WAIT are used again after a second"
        ))
    });
    Some(finding.with_severity(severity).with_all(reuse))
}

fn few(data: &Data) -> Option<Finding> {
    let values: &[(&str, &dyn Display)] =
        &[("size", &data.size()), ("first", &data.first), ("last", &data.last)];
    (data.size() < FEW).then(|| ports::FEW_PORTS.found(values).with_evidence(data.range()))
}

/// Ports below every usual range that lie in this one.
fn common_inside(data: &Data) -> Option<Finding> {
    let inside: Vec<_> = COMMON
        .iter()
        .filter(|(port, _)| *port < USUAL_START && data.has(*port))
        .map(|(port, of)| format!("{port} ({of})"))
        .collect();
    let values: &[(&str, &dyn Display)] =
        &[("ports", &inside.join(", ")), ("first", &data.first), ("last", &data.last)];
    (!inside.is_empty()).then(|| ports::SELF_CONNECT_COMMON.found(values).with_evidence(data.range()))
}

/// Ports of servers that lie in the usual range: those on which somebody listens, and common ones.
fn self_connect(data: &Data) -> Option<Finding> {
    let listening = data.listening.as_deref().unwrap_or_default();
    let common = COMMON.iter().filter(|(port, _)| *port >= USUAL_START && data.has(*port));
    let mut inside: Vec<u16> = common.map(|(port, _)| *port).chain(listening.iter().copied()).collect();
    inside.sort_unstable();
    inside.dedup();
    let first = inside.first()?;
    let list = inside.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let names: Vec<_> = inside
        .iter()
        .map(|port| {
            let common = COMMON.iter().find(|(common, _)| common == port).map(|(_, of)| *of);
            format!("{port} ({})", common.unwrap_or("somebody listens there"))
        })
        .collect();
    let title = match names.as_slice() {
        [one] => format!("{one} is a port of servers"),
        [one, rest @ ..] => format!("{one} and {} more are ports of servers", rest.len()),
        [] => return None,
    };
    let values: &[(&str, &dyn Display)] =
        &[("ports", &title), ("first", &data.first), ("last", &data.last), ("list", &list), ("port", first)];
    let seen = Evidence::seen(format!("within the range: {}", names.join(", ")));
    Some(ports::SELF_CONNECT_RANGE.found(values).with_evidence(seen).with_evidence(data.range()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(first: u16, last: u16) -> Data {
        Data { first, last, taken: None, time_wait: None, tw_reuse: None, listening: None }
    }

    fn judge(data: &Data) -> Vec<(String, Severity)> {
        Ports::judge(data).into_iter().map(|finding| (finding.id, finding.severity)).collect()
    }

    fn taken(destination: &str, established: u32, time_wait: u32, tw_reuse: Option<u32>) -> Data {
        let destination = destination.parse().expect("an address");
        // 51000 to 51999: no common port inside, 1000 ports, so `few-ports` comes along.
        let taken = Some(vec![Taken { destination, established, time_wait }]);
        Data { taken, tw_reuse, ..data(51000, 52999) }
    }

    #[test]
    fn four_fifths_of_the_range_are_used_up() {
        let warn = [("ports-used-up".to_owned(), Severity::Warn)];
        assert_eq!(judge(&taken("127.0.0.1:11434", 0, 1599, Some(0))), []);
        assert_eq!(judge(&taken("127.0.0.1:11434", 0, 1600, Some(0))), warn);
        assert_eq!(judge(&taken("127.0.0.1:11434", 800, 800, None)), warn);
    }

    #[test]
    fn ports_that_are_used_again_are_not_lost() {
        let info = [("ports-used-up".to_owned(), Severity::Info)];
        let warn = [("ports-used-up".to_owned(), Severity::Warn)];
        assert_eq!(judge(&taken("127.0.0.1:80", 0, 1900, Some(2))), info);
        assert_eq!(judge(&taken("192.0.2.1:80", 0, 1900, Some(2))), warn);
        assert_eq!(judge(&taken("192.0.2.1:80", 0, 1900, Some(1))), info);
        assert_eq!(judge(&taken("127.0.0.1:80", 1700, 200, Some(2))), warn);
    }

    #[test]
    fn fewer_than_1024_ports_are_few() {
        assert_eq!(judge(&data(51000, 52023)), []);
        assert_eq!(judge(&data(51000, 52022)), [("few-ports".to_owned(), Severity::Warn)]);
    }

    #[test]
    fn the_usual_ranges_give_information_at_most() {
        assert_eq!(judge(&data(32768, 60999)), [("self-connect-range".to_owned(), Severity::Info)]);
        assert_eq!(judge(&data(49152, 65535)), [("self-connect-range".to_owned(), Severity::Info)]);
        assert_eq!(judge(&data(51000, 60999)), []);
    }

    #[test]
    fn a_range_that_holds_common_ports_is_a_warning() {
        let found = judge(&data(8080, 32767));
        assert_eq!(found, [("self-connect-common".to_owned(), Severity::Warn)]);
        assert_eq!(judge(&data(27018, 32767)), []);
    }

    #[test]
    fn listeners_within_the_range_are_named_with_the_command_that_reserves_them() {
        let found = Ports::judge(&Data { listening: Some(vec![51234, 51240]), ..data(51000, 60999) });
        assert_eq!(
            found[0].title,
            "51234 (somebody listens there) and 1 more are ports of servers within the range that the kernel takes local ports from (51000 to 60999)"
        );
        if cfg!(target_os = "linux") {
            let commands: Vec<_> = found[0].fixes().flat_map(|fix| &fix.commands).collect();
            assert_eq!(commands, ["sudo sysctl -w net.ipv4.ip_local_reserved_ports=51234,51240"]);
        }
    }

    #[test]
    fn the_common_ports_are_sorted_and_unique() {
        assert!(COMMON.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    #[cfg(all(target_os = "linux", not(unstall_portable), not(unstall_no_listener_table)))]
    fn the_range_of_this_machine_is_read() {
        let data = Ports::measure(&Context::new(&crate::Options::default()), &()).expect("not measured");
        assert!(data.first < data.last);
        assert!(data.taken.is_some() && data.listening.is_some());
    }
}
