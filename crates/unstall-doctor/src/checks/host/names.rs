//! The names of loopback: what `localhost`, `localhost.` and `x.localhost` resolve to, how long it takes, and from where.

use crate::checks::{Check, Measured};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Severity, names};
use crate::hosts::{self, Hosts};
use crate::lookup::{Answer, Lookup, lookup};
use crate::stats::{Figures, known_causes, ns, show};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::net::IpAddr;
use std::thread;
use std::time::Duration;
use unstall_core::locality;
use unstall_core::signature::{Figure, Phase};

pub(super) struct Names;

/// The look-ups.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "NamesData")]
pub(super) struct Data {
    /// How long an answer was waited for.
    limit_ns: u64,
    /// Where the system looks names up (the line `hosts:` of nsswitch.conf), in order; null: it does not tell.
    services: Option<Vec<String>>,
    /// Whether the hosts file gives `localhost` an address of each family, IPv4 first; null: it cannot be read.
    hosts_file: Option<[bool; 2]>,
    lookups: Vec<Asked>,
}

/// One name.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "NamesAsked")]
pub(super) struct Asked {
    name: String,
    /// The addresses in the resolver's order; empty: there was no answer, or it had none.
    addresses: Vec<Address>,
    /// The resolver's words when it found nothing; null: it found something, or did not answer in time.
    failure: Option<String>,
    /// How long the answers took, the first one first; null: no answer in time.
    elapsed: Option<Figures>,
}

/// An address, and where it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "NamesAddress")]
pub(super) struct Address {
    address: IpAddr,
    source: Source,
}

/// Where an address came from, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Source {
    /// A line of the hosts file.
    HostsFile,
    /// The resolver knows the name by itself (RFC 6761), without a query.
    Synthesized,
    /// A name server.
    NameServer,
    /// It cannot be told.
    Unknown,
}

/// `localhost` itself, and the names that RFC 6761 makes loopback with it.
const NAMES: [&str; 3] = ["localhost", "localhost.", "x.localhost"];
/// Looking `localhost` up needs no network; beyond this a name server took part, or a broken cache.
const SLOW: Duration = Duration::from_millis(100);
/// A name server far away answers in a few hundred ms; beyond this it does not answer at the first try.
const SILENT: Duration = Duration::from_secs(1);

impl Check for Names {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "names";
    const TITLE: &'static str = "names of loopback";
    const ABOUT: &'static str = "what `localhost`, `localhost.` and `x.localhost` resolve to, in which order, how long it takes and from where: \
                                 finds names that are missing, slow, or not loopback";
    const BUDGET: Duration = Duration::from_secs(1);

    fn measure(context: &Context, (): &()) -> Measured<Data> {
        let hosts =
            std::fs::read(hosts::path()).ok().map(|text| Hosts::parse(&String::from_utf8_lossy(&text)));
        let services = std::fs::read_to_string("/etc/nsswitch.conf").ok().and_then(|text| services(&text));
        // Side by side, so that a resolver that does not answer costs its time-out once.
        let first = thread::scope(|scope| {
            let running = NAMES.map(|name| scope.spawn(move || lookup(name, context.timeout())));
            running.map(|thread| thread.join().ok())
        });
        let lookups = NAMES.iter().zip(first).filter_map(|(name, first)| {
            Some(name_of(context, name, first?, hosts.as_ref(), services.as_deref()))
        });
        Ok(Data {
            limit_ns: ns(context.timeout()),
            hosts_file: hosts.as_ref().map(|hosts| {
                [true, false].map(|v4| hosts.addresses("localhost").iter().any(|ip| ip.is_ipv4() == v4))
            }),
            lookups: lookups.collect(),
            services: services.clone(),
        })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let mut findings = Vec::new();
        for name in &data.lookups {
            findings.extend(not_loopback(name));
            if name.name == "localhost" {
                findings.extend(localhost(data, name));
            }
        }
        findings.extend(resolver_silent(data));
        findings.extend(asks_dns(data));
        findings
    }

    fn describe(data: &Data) -> Vec<String> {
        data.lookups.iter().map(|name| name.words(data)).collect()
    }
}

fn name_of(
    context: &Context,
    name: &str,
    first: Lookup,
    hosts: Option<&Hosts>,
    services: Option<&[String]>,
) -> Asked {
    let mut elapsed = Vec::new();
    if first.answer != Answer::Unanswered {
        elapsed.push(first.elapsed);
        // A machine that is busy for a moment is slow once. What takes a second has said enough.
        let wanted = if first.elapsed < SLOW { context.samples(20) } else { context.samples(20).min(3) };
        while elapsed.len() < wanted && first.elapsed < SILENT && context.has_time() {
            elapsed.push(lookup(name, context.timeout()).elapsed);
        }
    }
    let source = |address: &IpAddr| {
        let in_file = hosts.is_some_and(|hosts| hosts.addresses(name).contains(address));
        Address { address: *address, source: source(in_file, services, std::env::consts::OS) }
    };
    Asked {
        name: name.to_owned(),
        addresses: first.addresses().unwrap_or_default().iter().map(source).collect(),
        failure: match first.answer {
            Answer::Failed(words) => Some(words),
            Answer::Addresses(_) | Answer::Unanswered => None,
        },
        elapsed: Figures::of(&elapsed),
    }
}

/// The services of the line `hosts:` of nsswitch.conf, without their actions in brackets.
fn services(nsswitch: &str) -> Option<Vec<String>> {
    let line = nsswitch.lines().find_map(|line| line.trim_start().strip_prefix("hosts:"))?;
    let line = line.split('#').next().unwrap_or_default();
    let mut services = Vec::new();
    let mut in_brackets = false;
    for word in line.split_whitespace() {
        in_brackets |= word.starts_with('[');
        if !in_brackets {
            services.push(word.to_owned());
        }
        in_brackets &= !word.ends_with(']');
    }
    Some(services)
}

/// Where an address of a loopback name came from.
fn source(in_hosts_file: bool, services: Option<&[String]>, os: &str) -> Source {
    let uses = |name: &str| services.is_some_and(|services| services.iter().any(|service| service == name));
    if in_hosts_file && (services.is_none() || uses("files")) {
        Source::HostsFile
    } else if uses("resolve") || uses("myhostname") || matches!(os, "windows" | "macos") {
        Source::Synthesized
    } else if uses("dns") {
        Source::NameServer
    } else {
        Source::Unknown
    }
}

impl Asked {
    /// How long a look-up takes: the middle one, or the limit that it exceeded.
    fn time(&self, data: &Data) -> Duration {
        self.elapsed.as_ref().map_or(Duration::from_nanos(data.limit_ns), Figures::median)
    }

    /// The same for people.
    fn time_words(&self, data: &Data) -> String {
        let more = if self.elapsed.is_some() { "" } else { "more than " };
        format!("{more}{}", show(self.time(data)))
    }

    fn is_loopback(&self) -> bool {
        !self.addresses.is_empty() && self.addresses.iter().all(|of| locality::is_loopback(of.address))
    }

    fn words(&self, data: &Data) -> String {
        let answer = match (&self.failure, self.addresses.is_empty()) {
            (Some(failure), _) => failure.clone(),
            (None, true) => "no answer".to_owned(),
            (None, false) => self.addresses.iter().map(Address::words).collect::<Vec<_>>().join(", "),
        };
        format!("{}: {answer} ({})", self.name, self.time_words(data))
    }

    fn evidence(&self, data: &Data) -> Evidence {
        Evidence::measured(self.words(data), self.time(data), self.elapsed.as_ref().map_or(1, Figures::n))
    }
}

impl Address {
    fn words(&self) -> String {
        let source = match self.source {
            Source::HostsFile => "hosts file",
            Source::Synthesized => "known to the resolver",
            Source::NameServer => "name server",
            Source::Unknown => "source unknown",
        };
        format!("{} ({source})", self.address)
    }
}

fn not_loopback(name: &Asked) -> Option<Finding> {
    let elsewhere: Vec<_> =
        name.addresses.iter().filter(|of| !locality::is_loopback(of.address)).map(Address::words).collect();
    if elsewhere.is_empty() {
        return None;
    }
    let values: &[(&str, &dyn Display)] = &[("name", &name.name), ("addresses", &elsewhere.join(", "))];
    let seen = Evidence::seen(format!("{} resolves to {}", name.name, elsewhere.join(", ")));
    Some(names::LOCALHOST_NOT_LOOPBACK.found(values).with_evidence(seen))
}

fn localhost(data: &Data, name: &Asked) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(failure) = &name.failure {
        findings
            .push(names::LOCALHOST_NO_NAME.found(&[("why_not", failure)]).with_evidence(name.evidence(data)));
    }
    let time = name.time(data);
    if time >= SLOW {
        let severity = if name.elapsed.is_none() { Severity::Error } else { Severity::Warn };
        let found = names::LOCALHOST_SLOW.found(&[("time", &name.time_words(data))]);
        // The line that the other fixes ask for is there and was what answered: it takes long to find.
        let from_file =
            !name.addresses.is_empty() && name.addresses.iter().all(|of| of.source == Source::HostsFile);
        findings.push(
            if from_file { found.with_last_fix_alone() } else { found }
                .with_severity(severity)
                .with_evidence(name.evidence(data))
                .with_all(known_causes(&Figure::new(Phase::Resolve, time))),
        );
    }
    let v4 = name.addresses.iter().filter(|of| of.address.is_ipv4()).count();
    let one_family = name.is_loopback() && (v4 == 0 || v4 == name.addresses.len());
    // A hosts file that names one family is the check `hosts-file`'s to tell.
    if one_family && data.hosts_file.is_none_or(|[v4, v6]| v4 == v6) {
        let family = if v4 == 0 { "IPv6" } else { "IPv4" };
        findings.push(
            names::LOCALHOST_ONE_FAMILY.found(&[("family", &family)]).with_evidence(name.evidence(data)),
        );
    }
    findings
}

/// A name server that does not answer, seen at the names that are looked up there.
fn resolver_silent(data: &Data) -> Option<Finding> {
    let silent = |name: &&Asked| name.name != "localhost" && name.time(data) >= SILENT;
    let slowest = data.lookups.iter().filter(silent).max_by_key(|name| name.time(data))?;
    let values: &[(&str, &dyn Display)] = &[("name", &slowest.name), ("time", &slowest.time_words(data))];
    Some(
        names::RESOLVER_SILENT
            .found(values)
            .with_evidence(slowest.evidence(data))
            .with_all(known_causes(&Figure::new(Phase::Resolve, slowest.time(data)))),
    )
}

/// The names below `localhost` that the system does not know as loopback.
fn asks_dns(data: &Data) -> Option<Finding> {
    let unknown: Vec<_> =
        data.lookups.iter().filter(|name| name.name != "localhost" && name.failure.is_some()).collect();
    if unknown.is_empty() {
        return None;
    }
    let listed: Vec<_> = unknown.iter().map(|name| format!("`{}`", name.name)).collect();
    let verb = if listed.len() == 1 { "is" } else { "are" };
    let finding =
        names::LOCALHOST_NAMES_ASK_DNS.found(&[("names", &format!("{} {verb}", listed.join(" and ")))]);
    Some(finding.with_all(unknown.iter().map(|name| name.evidence(data))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;
    use crate::stats::tests::figures;

    fn name(name: &str, addresses: &[&str], ms: Option<f64>) -> Asked {
        let address =
            |ip: &&str| Address { address: ip.parse().expect("an address"), source: Source::HostsFile };
        Asked {
            name: name.to_owned(),
            addresses: addresses.iter().map(address).collect(),
            failure: (addresses.is_empty() && ms.is_some()).then(|| "Asked or service not known".to_owned()),
            elapsed: ms.map(|ms| figures(&[ms; 3])),
        }
    }

    fn judge(lookups: Vec<Asked>) -> Vec<(String, Severity)> {
        let data = Data { limit_ns: 3_000_000_000, services: None, hosts_file: Some([true, true]), lookups };
        Names::judge(&data).into_iter().map(|finding| (finding.id, finding.severity)).collect()
    }

    fn one(id: &str, severity: Severity) -> Vec<(String, Severity)> {
        vec![(id.to_owned(), severity)]
    }

    const BOTH: &[&str] = &["::1", "127.0.0.1"];

    #[test]
    fn all_names_on_both_families_are_sound() {
        assert_eq!(judge(NAMES.map(|each| name(each, BOTH, Some(0.1))).into()), []);
    }

    #[test]
    fn localhost_is_slow_from_100_ms_and_an_error_without_answer() {
        assert_eq!(judge(vec![name("localhost", BOTH, Some(99.0))]), []);
        assert_eq!(judge(vec![name("localhost", BOTH, Some(100.0))]), one("localhost-slow", Severity::Warn));
        assert_eq!(judge(vec![name("localhost", &[], None)]), one("localhost-slow", Severity::Error));
    }

    #[test]
    fn a_slow_answer_from_the_hosts_file_is_the_files_fault() {
        let data = |lookup| Data {
            limit_ns: 3_000_000_000,
            services: None,
            hosts_file: Some([true, true]),
            lookups: vec![lookup],
        };
        let fixes = |lookup| {
            let found = Names::judge(&data(lookup)).remove(0);
            found.fixes().map(|fix| fix.text.clone()).collect::<Vec<_>>()
        };
        assert_eq!(fixes(name("localhost", BOTH, Some(141.0))), ["make the hosts file smaller"]);
        assert!(fixes(name("localhost", &[], None))[0].contains("have the lines"));
    }

    #[test]
    fn localhost_that_does_not_resolve_is_an_error() {
        assert_eq!(judge(vec![name("localhost", &[], Some(0.2))]), one("localhost-no-name", Severity::Error));
    }

    #[test]
    fn names_that_leave_the_machine_are_errors() {
        for each in NAMES {
            let found = judge(vec![name(each, &["127.0.0.1", "::1", "192.0.2.1"], Some(0.2))]);
            assert_eq!(found, one("localhost-not-loopback", Severity::Error), "{each}");
        }
    }

    #[test]
    fn one_family_is_information_unless_the_hosts_file_explains_it() {
        let lookups = vec![name("localhost", &["127.0.0.1"], Some(0.2))];
        assert_eq!(judge(lookups.clone()), one("localhost-one-family", Severity::Info));
        let data = Data { limit_ns: 1, services: None, hosts_file: Some([true, false]), lookups };
        assert_eq!(Names::judge(&data), []);
    }

    /// What glibc does without myhostname: the name server says at once that there is no such name.
    #[test]
    fn names_below_localhost_that_fail_at_once_are_information() {
        let found = judge(vec![name("localhost.", &[], Some(0.9)), name("x.localhost", &[], Some(30.0))]);
        assert_eq!(found, one("localhost-names-ask-dns", Severity::Info));
    }

    #[test]
    fn a_resolver_that_takes_a_second_is_silent() {
        let silent = |ms| judge(vec![name("x.localhost", BOTH, ms)]);
        assert_eq!(silent(Some(999.0)), []);
        assert_eq!(silent(Some(1000.0)), one("resolver-silent", Severity::Warn));
        assert_eq!(judge(vec![name("x.localhost", &[], None)]), one("resolver-silent", Severity::Warn));
    }

    #[test]
    fn the_line_hosts_of_nsswitch_is_read_without_actions() {
        let text = "passwd: files\nhosts:  files mymachines resolve [!UNAVAIL=return] myhostname [ NOTFOUND = return ] dns # x\n";
        assert_eq!(services(text).expect("a line"), ["files", "mymachines", "resolve", "myhostname", "dns"]);
        assert_eq!(services("passwd: files\n"), None);
    }

    #[test]
    fn the_source_is_told_as_far_as_it_can_be() {
        let uses = |list: &[&str]| Some(list.iter().map(|&service| service.to_owned()).collect::<Vec<_>>());
        let of = |in_file, services: Option<Vec<String>>, os| source(in_file, services.as_deref(), os);
        assert_eq!(of(true, uses(&["files", "dns"]), "linux"), Source::HostsFile);
        assert_eq!(of(true, uses(&["dns"]), "linux"), Source::NameServer);
        assert_eq!(of(false, uses(&["files", "dns"]), "linux"), Source::NameServer);
        assert_eq!(of(false, uses(&["files", "myhostname", "dns"]), "linux"), Source::Synthesized);
        assert_eq!(of(false, None, "windows"), Source::Synthesized);
        assert_eq!(of(true, None, "linux"), Source::HostsFile);
        assert_eq!(of(false, None, "linux"), Source::Unknown);
    }

    #[test]
    fn every_name_is_looked_up() {
        let context = Context::new(&Options { timeout: Duration::from_millis(200), ..Options::default() });
        let data = Names::measure(&context, &()).expect("not measured");
        let names: Vec<_> = data.lookups.iter().map(|lookup| lookup.name.as_str()).collect();
        assert_eq!(names, NAMES);
    }
}
