//! A lab in which a scenario is set up: its servers run, its network does what it does.

use super::names::NameServer;
use super::relay::Relay;
use super::serve::{Clock, Serving};
use super::{Does, Effect, Scenario, Server};
use crate::error::{Error, Step};
use crate::isolation::links::{Links, RouteError};
use crate::lab::{Builder, Lab};
use crate::program::Program;
use rustix::net::listen;
use socket2::{Domain, SockAddr, Socket, Type};
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;
use std::time::{Duration, Instant};
use unstall_sys::lab::tun::Tun;

/// Where a scenario's name server listens.
const NAME_SERVER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 53);
/// The two ends of the far host's link: the address of this host, and that of the far one.
const NEAR: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 2);
/// The backlog of a server that has none of its own.
const BACKLOG: i32 = 128;
/// How long a connect may take that fills a queue or takes a port: on loopback it is over in microseconds.
const PATIENCE: Duration = Duration::from_millis(200);

/// A lab in which a scenario's servers run. Dropping it ends them, and every program within.
#[derive(Debug)]
pub struct Stage {
    scenario: &'static Scenario,
    clock: Arc<Clock>,
    // Dropped in this order: what holds queues, ports and servers, so that no server waits for it; the servers; the lab.
    _held: Vec<Socket>,
    _servers: Vec<Serving>,
    _name_server: Option<NameServer>,
    _relay: Option<Relay>,
    lab: Lab,
}

impl Stage {
    /// Sets the scenario up in a lab that is built so.
    ///
    /// # Errors
    ///
    /// As [`Builder::start`]; [`Error::System`] when a server cannot be started.
    pub fn set_up(scenario: &'static Scenario, lab: Builder) -> Result<Self, Error> {
        let lab = scenario.network.iter().fold(lab, prepared).start()?;
        for (to, with) in scenario.network.iter().filter_map(refused_route) {
            lab.within(move || Links::open()?.refuse_route(address(to), with))
                .step(&format!("refuse the route to {to}"))?;
        }
        let relay =
            scenario.network.iter().find_map(distance).map(|delay| far_host(&lab, delay)).transpose()?;
        let name_server = scenario
            .network
            .iter()
            .find_map(name_server)
            .map(|delay| start_names(&lab, delay))
            .transpose()?;
        let clock = Arc::new(Clock::default());
        let (mut servers, mut held) = (Vec::new(), Vec::new());
        for server in scenario.servers {
            let step = format!("start the server on {}", server.at());
            let (socket, holds) = lab.within(|| server.open()).step(&step)?;
            held.extend(holds);
            servers.push(Serving::start(socket, server.does, &clock).step(&step)?);
        }
        for _ in scenario.network.iter().filter(|effect| matches!(effect, Effect::NoPortLeft)) {
            let to = scenario.servers[0].at();
            held.extend(lab.within(move || take_all_ports(to)).step("take every local port")?);
        }
        if scenario.servers.iter().any(|server| server.does == Does::OneAtATime) {
            let to = scenario.servers[0].at();
            held.push(lab.within(move || connected(to)).step("hold an idle connection")?);
        }
        Ok(Self {
            scenario,
            clock,
            _servers: servers,
            _held: held,
            _name_server: name_server,
            _relay: relay,
            lab,
        })
    }

    /// The lab.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// The program is about to start: what servers do after a while counts from now.
    pub fn begins(&self) {
        self.clock.start();
    }

    /// What a client is given as `{url}`.
    pub fn url(&self) -> String {
        let host = self.scenario.host;
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        format!("http://{host}:{}/", self.scenario.port)
    }

    /// Fills `{url}`, `{host}`, `{port}` and `{target}` (host and port as `HOST:PORT`) in a word of a command line.
    pub fn fill(&self, word: &OsStr) -> OsString {
        let url = self.url();
        let target = url.trim_start_matches("http://").trim_end_matches('/');
        let port = self.scenario.port.to_string();
        let values =
            [("{url}", &*url), ("{host}", self.scenario.host), ("{port}", &port), ("{target}", target)];
        let filled = values.iter().fold(word.as_bytes().to_vec(), |word, (name, value)| {
            replace(&word, name.as_bytes(), value.as_bytes())
        });
        OsString::from_vec(filled)
    }

    /// A program with its placeholders filled and the scenario's environment, see [`Self::equip`]. `None`: there is no word.
    pub fn program<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Option<Program> {
        Program::from_words(words.into_iter().map(|word| self.fill(word.as_ref())))
            .map(|program| self.equip(program))
    }

    /// The same program with the scenario's environment: `UNSTALL_LAB_URL`, `UNSTALL_LAB_HOST`, `UNSTALL_LAB_PORT` and what
    /// the scenario sets.
    #[must_use]
    pub fn equip(&self, program: Program) -> Program {
        let program = program
            .variable("UNSTALL_LAB_URL", self.url())
            .variable("UNSTALL_LAB_HOST", self.scenario.host)
            .variable("UNSTALL_LAB_PORT", self.scenario.port.to_string());
        self.scenario.network.iter().fold(program, |program, effect| match effect {
            Effect::Variable(name, value) => program.variable(name, value),
            _ => program,
        })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.clock.end();
    }
}

impl Server {
    fn at(&self) -> SocketAddr {
        SocketAddr::new(address(self.address), self.port)
    }

    /// A socket that is bound and, unless it does so later, listens; and what it takes to fill its queue.
    fn open(&self) -> io::Result<(Socket, Vec<Socket>)> {
        let at = self.at();
        let socket = Socket::new(Domain::for_address(at), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        if at.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&SockAddr::from(at))?;
        let backlog = match self.does {
            Does::AnswersFrom(_) => return Ok((socket, Vec::new())),
            Does::Full(_) => 1,
            Does::Slow(backlog, _) => i32::try_from(backlog).unwrap_or(i32::MAX),
            _ => BACKLOG,
        };
        listen(&socket, backlog)?;
        let held = if let Does::Full(_) = self.does { fill_queue(at)? } else { Vec::new() };
        Ok((socket, held))
    }
}

/// What of an effect is done before the lab starts.
fn prepared(lab: Builder, effect: &Effect) -> Builder {
    match *effect {
        Effect::Silent(silent) => {
            let (address, family) = (address(silent), family(silent));
            lab.address(address).rules(&input_rule(&format!("{family} daddr {silent} {SYN} drop")))
        }
        Effect::Filtered(port) => lab.rules(&input_rule(&format!("tcp dport {port} {SYN} drop"))),
        Effect::Localhost(addresses) => lab.localhost(&all(addresses)),
        Effect::Name(name, addresses) => lab.name(name, &all(addresses)),
        Effect::MuteNameServer | Effect::SlowNameServer(_) => lab.name_servers(&[NAME_SERVER.into()]),
        Effect::Setting(path, value) => lab.setting(path, value),
        Effect::Unreachable(_)
        | Effect::Forbidden(_)
        | Effect::Variable(..)
        | Effect::NoPortLeft
        | Effect::Distance(_) => lab,
    }
}

/// A SYN and nothing else.
const SYN: &str = "tcp flags & (syn|ack) == syn";

/// The text for `nft -f` of one rule where packets come in. (A drop where they go out would be told to the sender.)
fn input_rule(rule: &str) -> String {
    format!(
        "table inet scenario {{\n  chain input {{\n    type filter hook input priority 0;\n    {rule}\n  }}\n}}\n"
    )
}

fn family(address: &str) -> &'static str {
    if address.contains(':') { "ip6" } else { "ip" }
}

/// An address of the table, which a test checks.
fn address(text: &str) -> IpAddr {
    text.parse().unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED))
}

fn all(addresses: &[&str]) -> Vec<IpAddr> {
    addresses.iter().map(|text| address(text)).collect()
}

fn refused_route(effect: &Effect) -> Option<(&'static str, RouteError)> {
    match *effect {
        Effect::Unreachable(to) => Some((to, RouteError::Unreachable)),
        Effect::Forbidden(to) => Some((to, RouteError::Prohibited)),
        _ => None,
    }
}

fn distance(effect: &Effect) -> Option<Duration> {
    if let Effect::Distance(delay) = effect { Some(*delay) } else { None }
}

/// How long a name server takes; `Some(None)`: it never answers.
#[expect(clippy::option_option, reason = "whether there is one, and whether it answers")]
fn name_server(effect: &Effect) -> Option<Option<Duration>> {
    match effect {
        Effect::MuteNameServer => Some(None),
        Effect::SlowNameServer(delay) => Some(Some(*delay)),
        _ => None,
    }
}

fn start_names(lab: &Lab, delay: Option<Duration>) -> Result<NameServer, Error> {
    let step = "start the scenario's name server";
    let socket = lab.within(|| UdpSocket::bind((NAME_SERVER, 53))).step(step)?;
    NameServer::start(socket, delay).step(step)
}

fn far_host(lab: &Lab, delay: Duration) -> Result<Relay, Error> {
    let step = "make a TUN device for the far host";
    let device = lab
        .within(|| {
            let device = Tun::new("far")?;
            Links::open()?.link_to(device.index, NEAR, FAR)?;
            io::Result::Ok(device)
        })
        .step(step)?;
    Relay::start(device.packets, delay).step(step)
}

/// Connections that nobody accepts, until no more fits.
fn fill_queue(at: SocketAddr) -> io::Result<Vec<Socket>> {
    let mut held = Vec::new();
    // A queue holds one more than its backlog, and a connect whose SYN is dropped shows that it is full.
    while held.len() < 8 {
        let socket = Socket::new(Domain::for_address(at), Type::STREAM, None)?;
        let result = socket.connect_timeout(&at.into(), PATIENCE);
        if result.is_err() {
            return Ok(held);
        }
        held.push(socket);
    }
    Err(io::Error::other("the accept queue does not fill"))
}

fn take_all_ports(to: SocketAddr) -> io::Result<Vec<Socket>> {
    let mut held = Vec::new();
    loop {
        match TcpStream::connect_timeout(&to, PATIENCE) {
            Ok(stream) => held.push(stream.into()),
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => return Ok(held),
            Err(error) => return Err(error),
        }
    }
}

/// A connection that the server has accepted, or is about to.
fn connected(to: SocketAddr) -> io::Result<Socket> {
    let start = Instant::now();
    let stream = TcpStream::connect_timeout(&to, PATIENCE);
    stream.map(Socket::from).map_err(|e| io::Error::new(e.kind(), format!("{e} after {:?}", start.elapsed())))
}

fn replace(word: &[u8], name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut filled = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.windows(name.len()).position(|window| window == name) {
        filled.extend_from_slice(&rest[..at]);
        filled.extend_from_slice(value);
        rest = &rest[at + name.len()..];
    }
    filled.extend_from_slice(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    #[test]
    fn every_address_of_the_table_is_one() {
        for scenario in scenario::all() {
            for server in scenario.servers {
                assert!(server.address.parse::<IpAddr>().is_ok(), "{}: {}", scenario.id, server.address);
            }
            for effect in scenario.network {
                let addresses = match effect {
                    Effect::Silent(one) | Effect::Unreachable(one) | Effect::Forbidden(one) => {
                        std::slice::from_ref(one)
                    }
                    Effect::Name(_, many) | Effect::Localhost(many) => many,
                    _ => &[],
                };
                for address in addresses {
                    assert!(address.parse::<IpAddr>().is_ok(), "{}: {address}", scenario.id);
                }
            }
        }
    }

    #[test]
    fn names_are_unique_and_kebab_case() {
        let ids: std::collections::BTreeSet<_> = scenario::all().iter().map(|scenario| scenario.id).collect();
        assert_eq!(ids.len(), scenario::all().len());
        assert!(
            ids.iter()
                .all(|id| id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'))
        );
        assert!(scenario::find("v4-only").is_ok());
        let error = scenario::find("v4only").expect_err("there is none").to_string();
        assert!(error.contains("v4-only"), "{error}");
    }

    #[test]
    fn placeholders_are_replaced_wherever_they_stand() {
        assert_eq!(replace(b"a{x}b{x}", b"{x}", b"1"), b"a1b1");
        assert_eq!(replace(b"{y}", b"{x}", b"1"), b"{y}");
        assert_eq!(replace(b"", b"{x}", b"1"), b"");
    }
}
