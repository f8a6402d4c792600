//! Waits until servers listen, or until nobody does: the engine of `unstall wait`.
//!
//! Each try races every address of a target as the library does, and believes what it sees only when it is proven: a connection
//! that is closed at once (a proxy whose backend is down), reset, or that leads back to itself is not a server. A name that does not
//! resolve yet is waited for like a port that is closed.
//!
//! `plan` decides what to do when, without a clock or a socket; `pace` how often; `probe` is one try; `watch` looks at the OS's
//! table of listeners, which is quicker and cheaper than a connect; `drive` puts them together.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod drive;
mod pace;
mod plan;
mod probe;
mod watch;

pub use drive::run;
pub use probe::{Answer, Seen};

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;
use unstall::{Family, Target};

/// What is waited for, and how.
#[derive(Clone, Debug)]
pub struct Wait {
    /// Servers, or their absence. Default: servers.
    pub goal: Goal,
    /// How many of the targets must come to it. Default: all.
    pub need: Need,
    /// How long to wait as a whole. Default 30 s.
    pub timeout: Duration,
    /// How many tries in a row must show it. Default 1.
    pub stable: NonZeroU32,
    /// What makes a connection a server. Default: that it is held.
    pub proof: Proof,
    /// How long a connection must be held; `None`: 100 ms, and on this host, where the OS tells that the server has accepted,
    /// 1 ms from then on. Default: `None`.
    pub hold: Option<Duration>,
    /// The longest pause between two tries of one target. Default 500 ms.
    pub interval: Duration,
    /// Which addresses count. Default: any.
    pub family: Family,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// Until a server listens.
    #[default]
    Listening,
    /// Until nobody listens: every address refuses.
    Free,
}

/// How many of the targets must reach the goal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Need {
    /// Every one.
    #[default]
    All,
    /// One.
    Any,
}

/// What a server must do beside accepting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Keep the connection.
    #[default]
    Held,
    /// Send a byte of its own accord (SSH, SMTP, MySQL, ...).
    FirstByte,
    /// Answer `GET` of this path with a status from 200 to 399.
    Http(String),
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The goal was reached.
    Reached,
    /// It was not, in the time allowed.
    TimedOut,
    /// It was not, and the last try of a target could not be made for lack of descriptors, ports or permission: nobody knows.
    CouldNot,
}

/// What a wait came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// As a whole.
    pub end: End,
    /// How long it took.
    pub elapsed: Duration,
    /// Each target, in the order given.
    pub targets: Vec<TargetReport>,
}

/// What the wait for one target came to.
#[derive(Clone, Debug)]
pub struct TargetReport {
    /// Which.
    pub target: Target,
    /// When it reached the goal, since the start; `None`: it did not.
    pub reached: Option<Duration>,
    /// How many tries were made.
    pub tries: u32,
    /// What the last try saw; `None`: no try ended.
    pub last: Option<Seen>,
}

impl TargetReport {
    /// The address that proved to be a server in the last try.
    pub fn answered(&self) -> Option<SocketAddr> {
        self.last.as_ref().and_then(Seen::answered)
    }
}

impl Default for Wait {
    fn default() -> Self {
        Self {
            goal: Goal::default(),
            need: Need::default(),
            timeout: Duration::from_secs(30),
            stable: NonZeroU32::MIN,
            proof: Proof::default(),
            hold: None,
            interval: Duration::from_millis(500),
            family: Family::Any,
        }
    }
}
