//! What the checks of a target share, looked up once: the addresses of its name, what a connect to each alone comes to,
//! and who listens on the port.

use crate::context::{Context, LOCAL_PATIENCE};
use crate::stats::ns;
use schemars::JsonSchema;
use serde::Serialize;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use unstall_core::listener::Listener;
use unstall_core::locality::{is_local_by, is_localhost_name, unspecified_to_loopback};
use unstall_core::outcome::Outcome;
use unstall_core::race::Family;
use unstall_core::syn::SynRetransmissions;
use unstall_core::target::{Host, Target};
use unstall_sys::connect::{AttemptSet, Options, Started, connect_blocking};
use unstall_sys::{Error, addresses, listeners, resolve};

/// A local connect or refusal that takes longer is called slow: both take some tens of microseconds, the timers that
/// stall them begin at 200 ms.
pub(super) const SLOW: Duration = Duration::from_millis(100);

/// From here on a wait may be that for a second SYN (505 ms on Windows, 1 s elsewhere), which need not come again.
const SECOND_SYN: Duration = Duration::from_millis(450);

/// How often an address that was slow is looked at again.
const AGAIN: usize = 3;

/// A target and what its checks share.
#[derive(Debug)]
pub(crate) struct Subject {
    /// What the person typed, made a target.
    pub(crate) target: Target,
    /// Which of its addresses are tried.
    family: Family,
    names: OnceLock<Names>,
    probes: OnceLock<Result<Vec<Probe>, String>>,
    listening: OnceLock<Listening>,
}

/// What the target's host resolves to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Names {
    /// The name; null: the target is an address.
    pub(crate) name: Option<String>,
    /// What the operating system's resolver gives, in its order.
    pub(crate) addresses: Vec<SocketAddr>,
    /// What a client that knows RFC 6761 adds: the other loopback address of a localhost name.
    pub(crate) completed: Vec<SocketAddr>,
    /// How long the resolver took; null: it was not asked.
    pub(crate) elapsed_ns: Option<u64>,
    /// The only family that was to be tried, `IPv4` or `IPv6`; null: any.
    pub(crate) only: Option<String>,
    /// Why there is no address; null: there are some.
    pub(crate) error: Option<String>,
    /// What that comes to; null: there are addresses.
    #[schemars(with = "Option<String>")]
    pub(crate) failure: Option<Outcome>,
}

/// A connect to one address, alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Probe {
    /// Where to.
    pub(crate) address: SocketAddr,
    /// Whether the resolver gave it (false: RFC 6761 adds it to a localhost name).
    pub(crate) from_resolver: bool,
    /// Whether its packets stay on this host.
    pub(crate) local: bool,
    /// What it came to.
    #[schemars(with = "String")]
    pub(crate) outcome: Outcome,
    /// How long that took.
    pub(crate) elapsed_ns: u64,
    /// The operating system's error code; null: there is none.
    pub(crate) os_error: Option<i32>,
    /// The error in words; null: it connected.
    pub(crate) error: Option<String>,
}

impl Probe {
    /// How long it took.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed_ns)
    }
}

/// Who listens on the target's port, on any address of this host.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Listening {
    /// The listening sockets; null: the table could not be read.
    #[schemars(with = "Option<Vec<ListenerSchema>>")]
    pub(crate) listeners: Option<Vec<Listener>>,
    /// Why the table could not be read; null: it was.
    pub(crate) error: Option<String>,
    /// Connections on the port whose two ends are the same; null: not known.
    pub(crate) to_themselves: Option<u32>,
    /// The ports that the kernel chooses source ports from; null: not known.
    pub(crate) ephemeral_range: Option<(u16, u16)>,
}

/// A listening socket, as the report shows it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it describes the JSON of unstall_core's Listener")]
struct ListenerSchema {
    /// The address and port that it is bound to; 0.0.0.0 and :: are wildcards.
    address: SocketAddr,
    /// For an IPv6 wildcard: whether it refuses IPv4; null: not known.
    v6_only: Option<bool>,
    /// Connections that wait to be accepted; null: not known.
    waiting: Option<u32>,
    /// How many may wait; null: not known.
    backlog: Option<u32>,
    /// The process; null: not visible to this user.
    owner: Option<OwnerSchema>,
}

/// A process, as the report shows it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it describes the JSON of unstall_core's Owner")]
struct OwnerSchema {
    /// Process id.
    pid: u32,
    /// Name of the program.
    name: String,
}

impl Subject {
    pub(crate) fn new(target: Target, family: Family) -> Self {
        Self { target, family, names: OnceLock::new(), probes: OnceLock::new(), listening: OnceLock::new() }
    }

    /// The addresses of the target's host.
    pub(crate) fn names(&self, context: &Context) -> &Names {
        let only = match self.family {
            Family::V4 => Some("IPv4".to_owned()),
            Family::V6 => Some("IPv6".to_owned()),
            Family::Any => None,
        };
        self.names.get_or_init(|| Names { only, ..Names::of(&self.target, context.timeout()) })
    }

    /// What a connect to each address comes to. The table of listeners is read before, so that the connects made here do
    /// not show in its queues.
    pub(crate) fn probes(&self, context: &Context) -> Result<&[Probe], &str> {
        self.listening();
        let probes = self.probes.get_or_init(|| {
            let names = self.names(context);
            probe_all(names, self.family, context.timeout()).map_err(|error| error.to_string())
        });
        probes.as_deref().map_err(String::as_str)
    }

    /// Who listens on the port.
    pub(crate) fn listening(&self) -> &Listening {
        self.listening.get_or_init(|| Listening::of(self.target.port()))
    }
}

impl Names {
    fn of(target: &Target, limit: Duration) -> Self {
        let Host::Name(name) = target.host() else {
            return match resolve::resolve(target, Some(limit)) {
                Ok(addresses) => Self::answer(None, addresses, None),
                Err(error) => Self::failed(None, None, &error),
            };
        };
        let start = Instant::now();
        let asked = resolve::ask_os(name, target.port(), Some(limit));
        let elapsed = Some(ns(start.elapsed()));
        let mut names = match asked {
            Ok(addresses) => Self::answer(Some(name.to_string()), addresses, elapsed),
            Err(error) => Self::failed(Some(name.to_string()), elapsed, &error),
        };
        if is_localhost_name(name) {
            // Never asks anybody for longer than 50 ms.
            let whole = resolve::resolve(target, Some(limit)).unwrap_or_default();
            names.completed =
                whole.into_iter().filter(|address| !names.addresses.contains(address)).collect();
        }
        names
    }

    fn answer(name: Option<String>, addresses: Vec<SocketAddr>, elapsed_ns: Option<u64>) -> Self {
        Self { name, addresses, completed: Vec::new(), elapsed_ns, only: None, error: None, failure: None }
    }

    fn failed(name: Option<String>, elapsed_ns: Option<u64>, error: &Error) -> Self {
        let (failure, error) = (Some(error.outcome()), Some(error.to_string()));
        Self { name, addresses: Vec::new(), completed: Vec::new(), elapsed_ns, only: None, error, failure }
    }

    /// Every address, with whether the resolver gave it.
    fn all(&self) -> impl Iterator<Item = (SocketAddr, bool)> {
        let given = self.addresses.iter().map(|&address| (address, true));
        given.chain(self.completed.iter().map(|&address| (address, false)))
    }
}

impl Listening {
    fn of(port: u16) -> Self {
        let range = unstall_sys::ports::ephemeral_range().ok();
        let ephemeral_range = range.map(|range| (*range.start(), *range.end()));
        let to_themselves = listeners::peers(port).ok().and_then(|peers| peers.to_themselves);
        match listeners::table(Some(port)) {
            Ok(table) => {
                Self { listeners: Some(table.listeners), error: None, to_themselves, ephemeral_range }
            }
            Err(error) => {
                Self { listeners: None, error: Some(error.to_string()), to_themselves, ephemeral_range }
            }
        }
    }
}

/// Whether an address's packets stay on this host.
fn is_local(address: SocketAddr) -> bool {
    is_local_by(unspecified_to_loopback(address).ip(), addresses::is_own)
}

/// A connect as the OS does it by default, which is what the person's programs get.
fn plain(local: bool) -> Options {
    Options { local, syn_retransmissions: SynRetransmissions::OsDefault, ..Options::default() }
}

/// Connects to every address of the family at the same time, each alone in its outcome.
fn probe_all(names: &Names, family: Family, limit: Duration) -> Result<Vec<Probe>, Error> {
    let mut set = AttemptSet::new();
    let mut probes: Vec<Probe> = Vec::new();
    let mut starts: Vec<Instant> = Vec::new();
    for (key, (address, from_resolver)) in
        names.all().filter(|(address, _)| family.allows(*address)).enumerate()
    {
        let local = is_local(address);
        starts.push(Instant::now());
        let (_, started) = set.start(key, address, &plain(local));
        let mut probe = Probe {
            address,
            from_resolver,
            local,
            outcome: Outcome::TimedOut,
            elapsed_ns: 0,
            os_error: None,
            error: None,
        };
        match started {
            Ok(Started::Pending) => {}
            Ok(Started::Connected(_)) => probe.ends(starts[key], None),
            Err(error) => probe.ends(starts[key], Some(&error)),
        }
        probes.push(probe);
    }
    let patience = |probe: &Probe| if probe.local { limit.max(LOCAL_PATIENCE) } else { limit };
    let deadline = probes.iter().map(patience).max().unwrap_or(limit);
    let begin = starts.first().copied().unwrap_or_else(Instant::now);
    while !set.is_empty() {
        let left = deadline.saturating_sub(begin.elapsed());
        let Some((key, result)) = set.wait(Some(left))? else { break };
        probes[key].ends(starts[key], result.as_ref().err());
    }
    for (probe, start) in probes.iter_mut().zip(starts).filter(|(probe, _)| probe.elapsed_ns == 0) {
        probe.ends(start, Some(&Error::limit(probe.address, deadline)));
    }
    for probe in &mut probes {
        probe.look_again(|probe| probe.once_more(limit));
    }
    Ok(probes)
}

/// Whether the server reset the connection so soon after the handshake that the connect itself reports it.
pub(super) fn reset_at_once(error: &Error) -> bool {
    let name = error.os_error().and_then(unstall_core::outcome::OsError::name);
    matches!(name, Some("ECONNRESET" | "WSAECONNRESET" | "ERROR_NETNAME_DELETED"))
}

impl Probe {
    /// A machine that is busy for a moment is as slow as one that stalls, but only once: what is slow and no wait for
    /// a second SYN is looked at again, and the quickest counts.
    fn look_again(&mut self, once_more: impl Fn(&Self) -> Self) {
        for _ in 0..AGAIN {
            if !self.local || !(SLOW..SECOND_SYN).contains(&self.elapsed()) {
                return;
            }
            let again = once_more(self);
            if again.outcome == self.outcome {
                self.elapsed_ns = self.elapsed_ns.min(again.elapsed_ns);
            }
        }
    }

    /// The same connect.
    fn once_more(&self, limit: Duration) -> Self {
        let start = Instant::now();
        let (_, result) = connect_blocking(self.address, &plain(self.local), Some(limit));
        let mut again = self.clone();
        again.ends(start, result.as_ref().err());
        again
    }

    fn ends(&mut self, start: Instant, error: Option<&Error>) {
        self.elapsed_ns = ns(start.elapsed()).max(1);
        // A handshake that was completed and then reset is a connect; what came after it is another check's.
        let error = error.filter(|error| !reset_at_once(error));
        self.outcome = error.map_or(Outcome::Connected, Error::outcome);
        self.os_error = error.and_then(Error::os_error).map(|os_error| os_error.code);
        self.error = error.map(ToString::to_string);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context;
    use std::net::TcpListener;

    fn context() -> Context {
        Context::new(&context::Options::default()).for_budget(Duration::from_secs(5))
    }

    #[test]
    fn an_address_is_not_resolved_and_probed_alone() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = server.local_addr().expect("an address");
        let subject = Subject::new(address.try_into().expect("a target"), Family::Any);
        let context = context();
        let names = subject.names(&context);
        assert_eq!((&names.name, names.elapsed_ns, &names.addresses[..]), (&None, None, &[address][..]));
        let probes = subject.probes(&context).expect("probes");
        assert_eq!((probes.len(), probes[0].outcome, probes[0].local), (1, Outcome::Connected, true));
        drop(server);
        let refused = Subject::new(address.try_into().expect("a target"), Family::Any);
        let probes = refused.probes(&context).expect("probes");
        assert_eq!((probes[0].outcome, probes[0].os_error.is_some()), (Outcome::Refused, true));
    }

    /// The elapsed ms of a probe that took `first` ms, then each of `then`.
    fn looked_at(local: bool, first: u64, then: &[(u64, Outcome)]) -> (u64, usize) {
        let ms = |ms: u64| ms * 1_000_000;
        let mut probe = Probe {
            address: "127.0.0.1:80".parse().expect("an address"),
            from_resolver: true,
            local,
            outcome: Outcome::Connected,
            elapsed_ns: ms(first),
            os_error: None,
            error: None,
        };
        let looks = std::cell::Cell::new(0);
        probe.look_again(|probe| {
            let (elapsed, outcome) = then[looks.replace(looks.get() + 1)];
            Probe { elapsed_ns: ms(elapsed), outcome, ..probe.clone() }
        });
        (probe.elapsed_ns / 1_000_000, looks.get())
    }

    #[test]
    fn what_a_busy_machine_slows_down_is_looked_at_again() {
        let quick = (1, Outcome::Connected);
        assert_eq!(looked_at(true, 99, &[]), (99, 0));
        assert_eq!(looked_at(true, 100, &[quick]), (1, 1));
        assert_eq!(looked_at(true, 449, &[(300, Outcome::Connected), quick]), (1, 2));
        assert_eq!(looked_at(true, 300, &[(310, Outcome::Connected); 3]), (300, 3), "slow each time");
        assert_eq!(looked_at(true, 300, &[(1, Outcome::Refused); 3]), (300, 3), "another outcome");
        assert_eq!(looked_at(true, 450, &[]), (450, 0), "perhaps a second SYN");
        assert_eq!(looked_at(false, 300, &[]), (300, 0), "far away");
    }

    #[test]
    fn a_localhost_name_is_completed_without_the_resolver() {
        let subject = Subject::new("app.localhost:4200".parse().expect("a target"), Family::Any);
        let names = subject.names(&context()).clone();
        let all: Vec<_> = names.all().map(|(address, _)| address.ip()).collect();
        assert!(
            all.iter().any(std::net::IpAddr::is_ipv6) && all.iter().any(std::net::IpAddr::is_ipv4),
            "{all:?}"
        );
    }
}
