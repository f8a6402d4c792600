//! Engines: what plays a profile on Linux' own TCP.
//!
//! | | exact ([`Engine::Bpf`]) | coarse ([`Engine::Coarse`]) |
//! |---|---|---|
//! | needs | root, Linux 6.5, BTF | a user namespace, Linux 6.5, `nft` |
//! | steps between SYNs | the profile's, within a slot of the timer wheel | 1 s |
//! | full accept queue | answers with RST, as Windows does | drops the SYN, as Linux does |
//! | counts what it did | yes | no |
//!
//! There is no third one with NFQUEUE. It would hold each RST in a helper program for exactly as long as asked, but the SYNs
//! in between would be missing on the wire, each SYN would cost 30 µs one after another, and many kernels have nft without
//! its queue; as root BPF does all of it better.
//!
//! Retries of a burst come in lockstep: Linux' timer wheel fires them in one tick, so each wave fills an accept queue before
//! anything is accepted. That is a property of this emulation; whether Windows does the same is not known. Pacing
//! spreads them.

mod coarse;
mod exact;
mod kernel;
mod plan;

use crate::error::{Error, Step};
use crate::isolation::cgroup::Cgroup;
use crate::isolation::privilege::Privilege;
use crate::profile::{Destination, Prefix, Profile};
use plan::Facts;
use std::fs;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::process::{Command, Stdio};

/// What plays the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// BPF programs on a cgroup and on `lo`: half-second steps, resets from full accept queues. Needs root.
    Bpf,
    /// nft rules: steps of a second, no resets from full accept queues. Needs a user namespace.
    Coarse,
    /// The profile changes nothing that needs one.
    Nothing,
}

/// Which engine is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// BPF if the process may, else coarse.
    #[default]
    Auto,
    /// BPF or nothing.
    Bpf,
    /// Coarse, also as root.
    Coarse,
}

impl EngineChoice {
    /// What it comes to for this profile and this process.
    pub(crate) fn resolve(self, profile: &Profile, privilege: Privilege) -> Result<Engine, Error> {
        let nothing =
            profile.refused.is_none() && profile.full_queue.is_none() && profile.unanswered.is_none();
        match (self, privilege) {
            _ if nothing => Ok(Engine::Nothing),
            (Self::Coarse, _) | (Self::Auto, Privilege::Namespaces) => Ok(Engine::Coarse),
            (Self::Auto | Self::Bpf, Privilege::Full) => Ok(Engine::Bpf),
            (Self::Bpf, Privilege::Namespaces) => Err(Error::Missing {
                what: "the exact engine needs root on the host: in a user namespace the kernel takes no BPF"
                    .to_owned(),
                remedy: "run it with sudo, or with --engine coarse".to_owned(),
            }),
            (_, Privilege::None) => Err(crate::isolation::privilege::none()),
        }
    }
}

/// What the profile's programs have counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// RSTs that were kept from a connecting socket, so that it would send its SYN again.
    pub resets_held: u64,
    /// RSTs that a connecting socket got to see after all.
    pub resets_passed: u64,
    /// SYNs that a full accept queue answered with a RST.
    pub full_queue_resets: u64,
}

/// What is attached for the profile, until this is dropped.
#[derive(Debug)]
pub(crate) struct Attached {
    exact: Option<exact::Attached>,
    pub(crate) notes: Vec<String>,
}

impl Attached {
    pub(crate) fn counts(&self) -> Option<Counts> {
        self.exact.as_ref().and_then(exact::Attached::counts)
    }
}

/// Has the calling thread's network namespace behave as the profile says.
pub(crate) fn attach(
    profile: &Profile,
    engine: Engine,
    cgroup: Option<&Cgroup>,
    own: &[IpAddr],
) -> Result<Attached, Error> {
    let facts = Facts::read(profile, own);
    match (engine, cgroup) {
        (Engine::Bpf, Some(cgroup)) => {
            let (exact, notes) = exact::Attached::new(profile, cgroup, &facts)?;
            Ok(Attached { exact: Some(exact), notes })
        }
        (Engine::Nothing, _) => Ok(Attached { exact: None, notes: Vec::new() }),
        _ => {
            let mut plan = coarse::plan(profile, &facts)?;
            plan.write_settings()?;
            plan.load_rules()?;
            Ok(Attached { exact: None, notes: plan.notes })
        }
    }
}

/// What [`attach`] would do, for people: kernel settings, BPF programs, nft rules.
pub(crate) fn describe(profile: &Profile, engine: Engine, own: &[IpAddr]) -> Result<String, Error> {
    let facts = Facts::read(profile, own);
    match engine {
        Engine::Bpf => exact::plan(profile, &facts, 0).map(|plan| plan.text()),
        Engine::Coarse => coarse::plan(profile, &facts).map(|plan| plan.text()),
        Engine::Nothing => Ok(String::new()),
    }
}

/// A profile's destinations as prefixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolved(Option<Vec<Prefix>>);

impl Resolved {
    /// `own`: the host's own addresses.
    fn new(profile: &Profile, own: &[IpAddr]) -> Self {
        let destinations = profile.refused.as_ref().map_or(&[][..], |refused| &refused.destinations);
        if destinations.contains(&Destination::Any) {
            return Self(None);
        }
        let local = || {
            [Prefix::LOOPBACK_V4, Prefix::LOOPBACK_V6]
                .into_iter()
                .chain(own.iter().copied().map(Prefix::single))
        };
        let prefixes = destinations.iter().flat_map(|destination| match destination {
            Destination::Prefix(prefix) => vec![*prefix],
            Destination::Any | Destination::Local => local().collect(),
        });
        Self(Some(prefixes.collect()))
    }

    /// `None` for any.
    fn prefixes(&self) -> Option<&[Prefix]> {
        self.0.as_deref()
    }
}

/// A kernel setting of the calling thread's network namespace.
pub(crate) fn set(path: &str, value: &str) -> Result<(), Error> {
    let name = format!("net.{}", path.replace('/', "."));
    match fs::write(format!("/proc/sys/net/{path}"), value) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(Error::Missing {
            what: format!("this kernel ({}) has no {name} in a network namespace", kernel::release()),
            remedy: "use a newer kernel, or a profile that does not need it".to_owned(),
        }),
        other => other.step(&format!("set {name} to {value}")),
    }
}

/// Has `nft` load rules into the calling thread's network namespace.
pub(crate) fn load_rules(text: &str) -> Result<(), Error> {
    feed("nft", &["-f", "-"], text, "install nftables")
}

/// Spreads the SYNs that leave through the calling thread's `lo`, 118 µs apart. Everything else passes as before.
///
/// HTB with a class for SYNs without ACK; the filters look at the TCP flags of IPv4 without options and of IPv6.
pub(crate) fn pace() -> Result<(), Error> {
    const TC: &str = "\
qdisc add dev lo root handle 1: htb default 10
class add dev lo parent 1: classid 1:10 htb rate 100gbit quantum 65536
class add dev lo parent 1: classid 1:20 htb rate 5mbit burst 74 cburst 74 quantum 1514
qdisc add dev lo parent 1:20 pfifo limit 5000
filter add dev lo parent 1: prio 1 protocol ip u32 match ip protocol 6 0xff match u8 0x02 0x12 at 33 flowid 1:20
filter add dev lo parent 1: prio 2 protocol ipv6 u32 match u8 6 0xff at 6 match u8 0x02 0x12 at 53 flowid 1:20
";
    feed(
        "tc",
        &["-batch", "-"],
        TC,
        "install iproute2 and use a kernel with sch_htb and cls_u32, or leave out --pace",
    )
}

/// Runs a tool of the system in the calling thread's namespaces with this as its input.
fn feed(tool: &str, arguments: &[&str], input: &str, remedy: &str) -> Result<(), Error> {
    let failed = |why: String| Error::Missing { what: format!("{tool} {why}"), remedy: remedy.to_owned() };
    let mut command = Command::new(tool);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    crate::lab::prepare(&mut command);
    let mut child = command.spawn().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => failed("is not installed".to_owned()),
        _ => failed(format!("does not start ({e})")),
    })?;
    // A tool that reads no more has said why.
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().step(&format!("wait for {tool}"))?;
    if output.status.success() && written.is_ok() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(failed(format!("failed ({})", complaint.lines().next().unwrap_or("without a word"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_follows_from_privilege_and_profile() {
        let windows = Profile::find("windows-11").expect("built in");
        let linux = Profile::find("linux").expect("built in");
        let resolve =
            |choice: EngineChoice, privilege| choice.resolve(&windows, privilege).map_err(|e| e.exit_code());
        assert_eq!(resolve(EngineChoice::Auto, Privilege::Full), Ok(Engine::Bpf));
        assert_eq!(resolve(EngineChoice::Auto, Privilege::Namespaces), Ok(Engine::Coarse));
        assert_eq!(resolve(EngineChoice::Coarse, Privilege::Full), Ok(Engine::Coarse));
        assert_eq!(resolve(EngineChoice::Bpf, Privilege::Namespaces), Err(125));
        assert_eq!(resolve(EngineChoice::Auto, Privilege::None), Err(125));
        assert_eq!(EngineChoice::Bpf.resolve(&linux, Privilege::Full).ok(), Some(Engine::Nothing));
    }

    #[test]
    fn destinations_become_prefixes() {
        let windows = Profile::find("windows-11").expect("built in");
        assert_eq!(Resolved::new(&windows, &[]).prefixes(), None);
        let text = "base = \"windows-11\"\n[refused]\ndestinations = [\"local\", \"10.0.0.0/8\"]\n";
        let local = Profile::parse(text).expect("a profile");
        let own = ["192.0.2.2".parse().expect("an address")];
        let shown: Vec<String> = Resolved::new(&local, &own)
            .prefixes()
            .unwrap_or_default()
            .iter()
            .map(Prefix::to_string)
            .collect();
        assert_eq!(shown, ["127.0.0.0/8", "::1", "192.0.2.2", "10.0.0.0/8"]);
    }
}
