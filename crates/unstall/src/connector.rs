//! What a connect may be told, and the two ways it goes: straight to one address, or a race.

use crate::{ConnectError, Family, Prepared, SynRetransmissions, Target, Timeline};
use crate::{drive, heat};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use unstall_core::{locality, race};
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
    nodelay: bool,
    family: Family,
}

impl Default for Connector {
    fn default() -> Self {
        let race::Config { attempt_delay, local_attempt_delay, .. } = race::Config::default();
        Self {
            connect_timeout: None,
            attempt_delay,
            local_attempt_delay,
            syn_retransmissions: SynRetransmissions::default(),
            nodelay: true,
            family: Family::default(),
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
    /// Default [`SynRetransmissions::NoneIfLocal`]. Without effect on Linux and other Unix, which refuse at once; there
    /// [`Attempt::prepared`](crate::Attempt::prepared) says [`Prepared::NotNeeded`].
    pub fn syn_retransmissions(mut self, retransmissions: SynRetransmissions) -> Self {
        self.syn_retransmissions = retransmissions;
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
            return result.map_err(|source| ConnectError::new(timeline, source));
        };
        let start = Instant::now();
        let (prepared, result) = self.connect_address(address);
        result.map_err(|error| {
            let timeline = heat::one_attempt(target, address, prepared, Some(&error), start.elapsed());
            ConnectError::new(timeline, Some(error))
        })
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
                let (prepared, result) = self.connect_address(address);
                let error = result.as_ref().err();
                let timeline = heat::one_attempt(target.clone(), address, prepared, error, start.elapsed());
                (result.map_err(Some), timeline)
            }
        };
        (result.map_err(|source| ConnectError::new(timeline.clone(), source)), timeline)
    }

    /// The address, if the target is one and may be tried, so that there is nothing to race.
    pub(crate) fn only_address(&self, target: &Target) -> Option<SocketAddr> {
        target.address().filter(|&address| self.family.allows(address))
    }

    /// The shortest way to one address.
    pub(crate) fn connect_address(
        &self,
        address: SocketAddr,
    ) -> (Prepared, Result<TcpStream, unstall_sys::Error>) {
        connect_blocking(address, &self.options_for_one(address), self.connect_timeout)
    }

    /// The options for the only address of a target.
    pub(crate) fn options_for_one(&self, address: SocketAddr) -> Options {
        // The list of the host's addresses costs several calls; for one address it decides about Windows' refusals alone.
        self.options(locality::is_local_by(address.ip(), |ip| cfg!(windows) && addresses::is_own(ip)))
    }

    pub(crate) fn options(&self, local: bool) -> Options {
        Options { nodelay: self.nodelay, syn_retransmissions: self.syn_retransmissions, local }
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
