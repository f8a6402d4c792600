//! The options of a connect, as Python hands them over: checked there, in seconds.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::time::Duration;
use unstall::{Connector, Family, SynRetransmissions, Target};

/// What and how to connect; the fields of `unstall._options.Request`.
#[derive(FromPyObject)]
pub(crate) struct Request {
    host: String,
    port: u16,
    timeout: Option<f64>,
    attempt_delay: Option<f64>,
    local_attempt_delay: Option<f64>,
    backlog_retry: Option<f64>,
    nodelay: bool,
    /// 0, 4 or 6.
    family: u8,
    /// -2: the OS's default, -1: none anywhere, 0: none on this host, 1 to 8: so many.
    syn_retransmissions: i8,
    /// Resolved already.
    addresses: Option<Vec<Address>>,
}

/// An address as Python's sockets have it: host, port, and for IPv6 flow information and scope.
#[derive(FromPyObject)]
pub(crate) enum Address {
    V6(String, u16, u32, u32),
    V4(String, u16),
}

impl Address {
    pub(crate) fn read(&self) -> PyResult<SocketAddr> {
        let (Self::V4(host, port) | Self::V6(host, port, _, _)) = self;
        let literal = host.split('%').next().unwrap_or_default();
        let ip: IpAddr = literal.parse().map_err(|_| {
            PyValueError::new_err(format!("{host:?} is no IP address; a name has to be resolved first"))
        })?;
        Ok(match (ip, self) {
            (IpAddr::V6(ip), Self::V6(_, port, flow, scope)) => {
                SocketAddrV6::new(ip, *port, *flow, *scope).into()
            }
            (ip, _) => SocketAddr::new(ip, *port),
        })
    }
}

impl Request {
    /// What to connect to, and with what.
    pub(crate) fn read(&self) -> PyResult<(Connector, Target)> {
        let target = Target::try_from((self.host.as_str(), self.port))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut connector = Connector::new()
            .nodelay(self.nodelay)
            .family(match self.family {
                4 => Family::V4,
                6 => Family::V6,
                _ => Family::Any,
            })
            .syn_retransmissions(match self.syn_retransmissions {
                0 => SynRetransmissions::NoneIfLocal,
                -1 => SynRetransmissions::NoneAnywhere,
                number => {
                    u8::try_from(number).map_or(SynRetransmissions::OsDefault, SynRetransmissions::Exactly)
                }
            });
        let set = [
            (self.timeout, Connector::connect_timeout as fn(Connector, Duration) -> Connector),
            (self.attempt_delay, Connector::attempt_delay),
            (self.local_attempt_delay, Connector::local_attempt_delay),
            (self.backlog_retry, Connector::backlog_retry),
        ];
        for (seconds, set) in set {
            if let Some(seconds) = seconds {
                connector = set(connector, duration(seconds));
            }
        }
        if let Some(addresses) = &self.addresses {
            let addresses: Vec<SocketAddr> = addresses.iter().map(Address::read).collect::<PyResult<_>>()?;
            connector = connector.addresses(addresses);
        }
        Ok((connector, target))
    }
}

/// Python has checked that it is neither negative nor NaN; what is too long for ever is for ever long.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(u64::from(u32::MAX)))
}
