//! What a connect may be told, and the two ways it goes: straight to one address, or a race.

use crate::drive::{self, One};
use crate::heat::{self, FIRST, Why};
use crate::resolver::{Chosen, Resolver};
use crate::retry::Retries;
use crate::trace::Trace;
use crate::{ConnectError, Family, Prepared, Reason, SynRetransmissions, Target, Timeline};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use unstall_core::race::Candidate;
use unstall_core::{backlog, locality, race};
use unstall_sys::addresses;
use unstall_sys::connect::{Options, connect_blocking};

/// Connects; made once and used for any number of connects. Cheap to clone.
///
/// ```
/// use std::time::Duration;
/// use unstall::{Connector, Family};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = unstall::testing::v4_only()?;
/// # let target = server.target();
/// let connector = Connector::new().connect_timeout(Duration::from_secs(5)).family(Family::V4);
/// let stream = connector.connect(target)?;
/// # drop(stream);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Connector {
    connect_timeout: Option<Duration>,
    attempt_delay: Duration,
    local_attempt_delay: Duration,
    syn_retransmissions: SynRetransmissions,
    backlog_retry: Duration,
    nodelay: bool,
    family: Family,
    /// The answer of whoever has resolved the name.
    addresses: Option<Arc<[SocketAddr]>>,
    /// Who is asked in place of the OS.
    resolver: Option<Chosen>,
}

impl Default for Connector {
    fn default() -> Self {
        let race::Config { attempt_delay, local_attempt_delay, .. } = race::Config::default();
        Self {
            connect_timeout: None,
            attempt_delay,
            local_attempt_delay,
            syn_retransmissions: SynRetransmissions::default(),
            backlog_retry: backlog::PATIENCE,
            nodelay: true,
            family: Family::default(),
            addresses: None,
            resolver: None,
        }
    }
}

impl Connector {
    /// A connector with every default.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long a connect may take as a whole, the resolution of its name included.
    ///
    /// Default: no limit, as in std; the OS gives up by itself, on Linux after about 2 min of silence. A refusal
    /// within the limit is reported as a refusal, however short the limit.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = Some(limit);
        self
    }

    /// How long the newest attempt may be pending before the next address is tried too: RFC 8305's Connection Attempt
    /// Delay. A failure starts the next attempt at once, whatever the delay.
    ///
    /// Default 250 ms (RFC 8305 section 8); clamped to 10 ms ..= 2 s, its bounds.
    pub fn attempt_delay(mut self, delay: Duration) -> Self {
        self.attempt_delay = delay;
        self
    }

    /// The attempt delay while all pending attempts are to addresses of this host, which answer in microseconds or
    /// not at all.
    ///
    /// Default 10 ms, RFC 8305's minimum; clamped to 10 ms ..= 2 s.
    pub fn local_attempt_delay(mut self, delay: Duration) -> Self {
        self.local_attempt_delay = delay;
        self
    }

    /// How often the SYN may be sent again, which on Windows is also how often a refused connect is repeated.
    ///
    /// Default [`SynRetransmissions::NoneIfLocal`]. On Linux and other Unix, which refuse at once by themselves,
    /// [`Attempt::prepared`](crate::Attempt::prepared) says [`Prepared::NotNeeded`].
    ///
    /// [`SynRetransmissions::NoneAnywhere`] is for probes, scanners and programs that wait for a server: a host of the local
    /// network that refuses is known in one round trip, which takes Windows 2 s. A SYN that is lost is sent again by this
    /// library then, with a fresh socket each time, at the OS's own moments (1, 3, 7, 15 s; on Linux those of its settings), and
    /// [`Reason::SynRetry`](crate::Reason::SynRetry) says so in the timeline. The price: an answer that takes more than 1 s finds
    /// its socket closed, and only the second try, at 1 s, waits longer; and a remote server whose accept queue is full refuses
    /// on Windows, for its queue cannot be seen from here. So it is not the default. It holds on every OS alike.
    pub fn syn_retransmissions(mut self, retransmissions: SynRetransmissions) -> Self {
        self.syn_retransmissions = retransmissions;
        self
    }

    /// How long a listener of this host is tried that does not take the connect, because its accept queue is full or the SYN was
    /// lost.
    ///
    /// Default 2.06 s ([`backlog::PATIENCE`](unstall_core::backlog::PATIENCE)), which is how long Windows itself repeats a SYN; zero
    /// turns it off. Within that time
    /// - a refusal by a port on which somebody listens (Windows answers so when the queue is full) is tried again with a fresh
    ///   socket, after 1 ms at first, 11 times at most; where nobody listens, it is final at once;
    /// - an attempt that is not answered (Linux drops the SYN, and sends the next a second later) is made afresh as soon as the
    ///   listener table shows room in the queue, 8 times at most. While the queue is full the first socket waits with the OS's own
    ///   repetitions, so nothing is later than with the OS alone. After the time it is left to the OS.
    ///
    /// Every try is in the timeline, with [`Reason::BacklogRetry`](crate::Reason::BacklogRetry). A connection made by such a try is
    /// looked at once more on Linux: if the server's side has not taken it (a ghost: the queue was full again when the last ACK
    /// came) it is reset and made again. A first try that connects is not looked at, for that would cost every connect.
    pub fn backlog_retry(mut self, patience: Duration) -> Self {
        self.backlog_retry = patience;
        self
    }

    /// Whether the stream sends small writes at once (`TCP_NODELAY`).
    ///
    /// Default true. With false, a write that follows another can wait for the peer's delayed ACK, 40 ms or more.
    pub fn nodelay(mut self, nodelay: bool) -> Self {
        self.nodelay = nodelay;
        self
    }

    /// Which address families may be tried. Default [`Family::Any`].
    pub fn family(mut self, family: Family) -> Self {
        self.family = family;
        self
    }

    /// The addresses of the target, for whoever has resolved it already: the OS is not asked, and the name is only what the
    /// timeline and errors call them. They are raced in this order, families interleaved after the first.
    ///
    /// Default: none; the OS is asked.
    ///
    /// ```
    /// use std::net::SocketAddr;
    /// use unstall::Connector;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = unstall::testing::v4_only()?;
    /// # let port = server.port();
    /// let addresses = [SocketAddr::from(([127, 0, 0, 1], port))];
    /// let stream = Connector::new().addresses(addresses).connect(("db.example", port))?;
    /// assert_eq!(stream.peer_addr()?, addresses[0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn addresses(mut self, addresses: impl Into<Vec<SocketAddr>>) -> Self {
        self.addresses = Some(addresses.into().into());
        self
    }

    /// The defaults, for futures that need not have a connector of their own.
    #[cfg(any(feature = "tokio", feature = "async-io"))]
    pub(crate) fn standard() -> &'static Self {
        static STANDARD: std::sync::LazyLock<Connector> = std::sync::LazyLock::new(Connector::new);
        &STANDARD
    }

    /// Who is asked for the addresses of names, in place of the OS; see [`resolver`](crate::resolver). The names of this host,
    /// `localhost` and those below it, are never asked for.
    ///
    /// Default: the OS.
    ///
    /// ```
    /// use std::net::Ipv4Addr;
    /// use unstall::Connector;
    /// use unstall::resolver::FixedResolver;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = unstall::testing::v4_only()?;
    /// # let port = server.port();
    /// let names = FixedResolver::new().with("db.example", [Ipv4Addr::LOCALHOST.into()])?;
    /// let stream = Connector::new().resolver(names).connect(("db.example", port))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.resolver = Some(Chosen(Arc::new(resolver)));
        self
    }

    /// The resolver, if it is not the OS and there is anything to ask.
    pub(crate) fn own_resolver(&self) -> Option<&dyn Resolver> {
        let chosen = self.resolver.as_ref().filter(|_| self.addresses.is_none());
        chosen.map(|Chosen(resolver)| &**resolver)
    }

    /// What the OS need not be asked for.
    pub(crate) fn known_addresses(&self) -> Option<Vec<SocketAddr>> {
        self.addresses.as_deref().map(Vec::from)
    }

    /// Connects to `target` and blocks until the connect is over. See [`connect`](crate::connect) for what a target is.
    ///
    /// The stream is blocking and closed in programs that this one starts.
    ///
    /// # Errors
    /// [`ConnectError`], which names every address that was tried. [`ConnectError::is_invalid_target`] when `target` is
    /// none.
    pub fn connect<T>(&self, target: T) -> Result<TcpStream, ConnectError>
    where
        T: TryInto<Target>,
        T::Error: Into<ConnectError>,
    {
        let target = target.try_into().map_err(Into::into)?;
        let Some(address) = self.only_address(&target) else {
            let (result, timeline) = drive::race(self, target);
            return result.map_err(|why| ConnectError::new(timeline, why));
        };
        let start = Instant::now();
        match self.connect_address(&target, address, start) {
            One::AtOnce((prepared, result)) => result.map_err(|error| {
                let timeline = heat::one_attempt(target, address, prepared, Some(&error), start.elapsed());
                ConnectError::new(timeline, Why::of(error, address))
            }),
            One::Raced((result, timeline)) => result.map_err(|why| ConnectError::new(timeline, why)),
        }
    }

    /// Like [`connect`](Self::connect), and says what happened when, whether or not it connected.
    ///
    /// ```
    /// use unstall::{Connector, Outcome, Target};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = unstall::testing::v4_only()?;
    /// # let port = server.port();
    /// let target = Target::try_from(("localhost", port))?;
    /// let (result, timeline) = Connector::new().connect_timeline(&target);
    /// assert_eq!(timeline.outcome, Outcome::Connected);
    /// for attempt in &timeline.attempts {
    ///     println!("{} {} after {:?}", attempt.address, attempt.outcome, attempt.end - attempt.start);
    /// }
    /// # result?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect_timeline(&self, target: &Target) -> (Result<TcpStream, ConnectError>, Timeline) {
        let (result, timeline) = match self.only_address(target) {
            None => drive::race(self, target.clone()),
            Some(address) => {
                let start = Instant::now();
                match self.connect_address(target, address, start) {
                    One::AtOnce((prepared, result)) => {
                        let (error, elapsed) = (result.as_ref().err(), start.elapsed());
                        let timeline = heat::one_attempt(target.clone(), address, prepared, error, elapsed);
                        (result.map_err(|error| Why::of(error, address)), timeline)
                    }
                    One::Raced(ended) => ended,
                }
            }
        };
        (result.map_err(|why| ConnectError::new(timeline.clone(), why)), timeline)
    }

    /// A timeline as qlog: one JSON document (`application/qlog+json`) with the events of draft-kuehlewind-happy-qlog, for qvis and
    /// other viewers. See [`unstall_core::timeline::qlog`] for what stands where; the policy is this connector's, so ask the one that
    /// connected. Each document is a session of its own (`he_session_id`).
    ///
    /// ```
    /// use unstall::Connector;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = unstall::testing::v4_only()?;
    /// # let target = server.target();
    /// let connector = Connector::new();
    /// let (_, timeline) = connector.connect_timeline(&target);
    /// assert!(connector.qlog(&timeline).contains("hev3:connection_selected"));
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "qlog")]
    pub fn qlog(&self, timeline: &Timeline) -> String {
        use std::hash::{BuildHasher, Hasher, RandomState};
        use unstall_core::timeline::qlog;

        // Two keys of its own make each hasher differ.
        let session = format!("{:016x}", RandomState::new().build_hasher().finish());
        let is_own = |ip| locality::is_local_by(ip, addresses::is_own);
        qlog::document(timeline, &self.race_config(), &session, &is_own)
    }

    /// The address, if the target is one and may be tried, so that there is nothing to race.
    pub(crate) fn only_address(&self, target: &Target) -> Option<SocketAddr> {
        if self.addresses.is_some() {
            return None;
        }
        target.address().filter(|&address| self.family.allows(address))
    }

    /// The shortest way to one address.
    fn connect_address(
        &self,
        target: &Target,
        address: SocketAddr,
        start: Instant,
    ) -> One<(Prepared, Result<TcpStream, unstall_sys::Error>), drive::Raced> {
        let candidate = Candidate { address, local: is_local(address) };
        let mut trace = Trace::connect(target);
        trace.attempt(FIRST, address, Reason::DnsCompleted);
        if self.repeats(candidate) {
            return drive::one(self, target, candidate, start, trace);
        }
        let (prepared, result) =
            connect_blocking(address, &self.options(candidate.local), self.connect_timeout);
        trace.over(FIRST, result.as_ref().err());
        One::AtOnce((prepared, result))
    }

    /// Whether a try of this address may be followed by another. With no time at all there is none.
    pub(crate) fn repeats(&self, candidate: Candidate) -> bool {
        self.retries().apply(candidate.local) && self.connect_timeout != Some(Duration::ZERO)
    }

    pub(crate) fn retries(&self) -> Retries {
        Retries::new(self.backlog_retry, self.syn_retransmissions)
    }

    pub(crate) fn options(&self, local: bool) -> Options {
        Options {
            nodelay: self.nodelay,
            syn_retransmissions: self.syn_retransmissions,
            local,
            ..Options::default()
        }
    }

    pub(crate) fn race_config(&self) -> race::Config {
        let mut config = race::Config::default();
        config.attempt_delay = self.attempt_delay;
        config.local_attempt_delay = self.local_attempt_delay;
        config.family = self.family;
        config.deadline = self.connect_timeout;
        config
    }
}

/// Whether the packets stay on this host. The list of its addresses is read once a second at most, and not for loopback.
pub(crate) fn is_local(address: SocketAddr) -> bool {
    locality::is_local_by(address.ip(), addresses::is_own)
}
