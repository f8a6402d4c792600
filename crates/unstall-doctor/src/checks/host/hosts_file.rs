//! The hosts file: whether it names `localhost`, how, and how big it is.

use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Severity, names};
use crate::hosts::{self, Hosts};
use crate::stats::{ns, show};
use schemars::JsonSchema;
use serde::Serialize;
use std::net::IpAddr;
use std::time::{Duration, Instant};

pub(super) struct HostsFile;

/// The hosts file.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "HostsFileData")]
pub(super) struct Data {
    /// `linux`, `windows`, ...: how the file is used depends on it.
    os: String,
    /// Where it is.
    path: String,
    /// Its size in bytes.
    size: usize,
    /// How many pairs of an address and a name it has.
    entries: usize,
    /// What it gives for `localhost`.
    localhost: Vec<IpAddr>,
    /// Names with several addresses of one family; at most ten of them.
    ambiguous: Vec<String>,
    /// How long reading it from beginning to end takes.
    read_ns: u64,
}

/// How many ambiguous names are listed.
const LISTED: usize = 10;
/// Block lists have tens of thousands of entries; what people write by hand has tens.
const HUGE: usize = 10_000;

impl Check for HostsFile {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "hosts-file";
    const TITLE: &'static str = "hosts file";
    const ABOUT: &'static str =
        "whether the hosts file names `localhost`, for which families, ambiguously, and whether it is huge";
    const BUDGET: Duration = Duration::from_millis(500);

    fn measure(_: &Context, (): &()) -> Measured<Data> {
        let path = hosts::path();
        let start = Instant::now();
        let bytes = std::fs::read(&path)
            .map_err(|error| NotRun::CouldNot(format!("{} cannot be read: {error}", path.display())))?;
        let hosts = Hosts::parse(&String::from_utf8_lossy(&bytes));
        let read_ns = ns(start.elapsed());
        Ok(Data {
            os: std::env::consts::OS.to_owned(),
            path: path.display().to_string(),
            size: bytes.len(),
            entries: hosts.entries,
            localhost: hosts.addresses("localhost").to_vec(),
            ambiguous: hosts.ambiguous().take(LISTED).map(str::to_owned).collect(),
            read_ns,
        })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let mut findings: Vec<_> = localhost(data).into_iter().collect();
        if !data.ambiguous.is_empty() {
            let listed = data.ambiguous.join(", ");
            let seen = Evidence::seen(format!("{}: {listed}", data.path));
            findings.push(names::HOSTS_DUPLICATES.found(&[("names", &listed)]).with_evidence(seen));
        }
        if data.entries >= HUGE {
            let size = format!("{} KiB", data.size.div_ceil(1024));
            let read = Duration::from_nanos(data.read_ns);
            let text = format!("{}: {} entries, {size}, read in {}", data.path, data.entries, show(read));
            // Windows' DNS Client takes the whole file into memory and stalls; elsewhere each look-up pays the reading.
            let severity = if data.os == "windows" { Severity::Warn } else { Severity::Info };
            findings.push(
                names::HOSTS_HUGE
                    .found(&[("entries", &data.entries), ("size", &size)])
                    .with_severity(severity)
                    .with_evidence(Evidence::measured(text, read, 1)),
            );
        }
        findings
    }

    fn describe(data: &Data) -> Vec<String> {
        let localhost = if data.localhost.is_empty() { "nothing".to_owned() } else { list(&data.localhost) };
        vec![format!("{}: {} entries, localhost is {localhost}", data.path, data.entries)]
    }
}

/// What the line or lines of `localhost` are worth telling.
fn localhost(data: &Data) -> Option<Finding> {
    let seen = Evidence::seen(match data.localhost.as_slice() {
        [] => format!("{}: no line for localhost", data.path),
        addresses => format!("{}: localhost is {}", data.path, list(addresses)),
    });
    let elsewhere: Vec<_> = data.localhost.iter().copied().filter(|address| !is_loopback(*address)).collect();
    let has = |v4: bool| data.localhost.iter().any(|address| address.is_ipv4() == v4);
    let finding = if data.localhost.is_empty() {
        // Windows and macOS know the name by themselves, and ship without the line.
        (data.os == "linux").then(|| names::HOSTS_WITHOUT_LOCALHOST.found(&[]))?
    } else if !elsewhere.is_empty() {
        names::HOSTS_LOCALHOST_ELSEWHERE.found(&[("addresses", &list(&elsewhere))])
    } else if has(true) != has(false) {
        names::HOSTS_ONE_FAMILY.found(&[("family", &if has(true) { "IPv4" } else { "IPv6" })])
    } else {
        return None;
    };
    Some(finding.with_evidence(seen))
}

/// Loopback, or macOS' usual `fe80::1%lo0`.
fn is_loopback(address: IpAddr) -> bool {
    let link_local = "fe80::1".parse() == Ok(address);
    unstall_core::locality::is_loopback(address) || link_local
}

fn list(addresses: &[IpAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(os: &str, localhost: &[&str]) -> Data {
        let localhost = localhost.iter().map(|address| address.parse().expect("an address")).collect();
        Data { os: os.to_owned(), localhost, entries: 3, ..Data::default() }
    }

    fn judged(data: &Data) -> Vec<(String, Severity)> {
        HostsFile::judge(data).into_iter().map(|finding| (finding.id, finding.severity)).collect()
    }

    fn info(id: &str) -> Vec<(String, Severity)> {
        vec![(id.to_owned(), Severity::Info)]
    }

    #[test]
    fn both_families_are_sound_and_one_is_information() {
        assert_eq!(judged(&data("linux", &["127.0.0.1", "::1"])), []);
        assert_eq!(judged(&data("linux", &["127.0.0.1"])), info("hosts-one-family"));
        assert_eq!(judged(&data("linux", &["::1"])), info("hosts-one-family"));
        assert_eq!(judged(&data("macos", &["127.0.0.1", "::1", "fe80::1"])), []);
    }

    #[test]
    fn no_line_is_told_where_the_file_is_the_usual_source() {
        assert_eq!(judged(&data("linux", &[])), info("hosts-without-localhost"));
        assert_eq!(judged(&data("windows", &[])), []);
    }

    #[test]
    fn localhost_elsewhere_is_a_warning() {
        let elsewhere = judged(&data("linux", &["127.0.0.1", "192.0.2.1"]));
        assert_eq!(elsewhere, [("hosts-localhost-elsewhere".to_owned(), Severity::Warn)]);
    }

    #[test]
    fn ten_thousand_entries_are_huge() {
        let sized = |os, entries| judged(&Data { entries, ..data(os, &["127.0.0.1", "::1"]) });
        assert_eq!(sized("linux", 9_999), []);
        assert_eq!(sized("linux", 10_000), info("hosts-huge"));
        assert_eq!(sized("windows", 10_000), [("hosts-huge".to_owned(), Severity::Warn)]);
    }

    #[test]
    fn ambiguous_names_are_information() {
        let ambiguous = Data { ambiguous: vec!["box".to_owned()], ..data("linux", &["127.0.0.1", "::1"]) };
        assert_eq!(judged(&ambiguous), info("hosts-duplicates"));
    }

    #[test]
    #[cfg(unix)]
    fn the_file_of_this_machine_is_read() {
        let data = HostsFile::measure(&Context::new(&crate::Options::default()), &()).expect("not measured");
        assert_eq!(data.path, "/etc/hosts");
        assert!(data.size > 0);
    }
}
