//! Who listens: the OS's table of listening TCP sockets.
//!
//! # Contract
//!
//! `table(port, owners) -> Result<Table, Error>` and `peers(port) -> Result<Peers, Error>`; an error where the OS does not tell.
//! `server_side(client, server) -> ServerSide`; unknown where the OS does not tell. `anybody(destination) -> Option<bool>`; `None`
//! where there is nothing quicker than the table.

#[cfg(unix)]
mod probe;
mod recent;

use crate::error::Error;
use recent::Recent;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use unstall_core::backlog::{self, Listening};
use unstall_core::listener::{self, Listener};
use unstall_core::outcome::Platform;

#[cfg(all(target_os = "linux", not(unstall_portable), not(unstall_no_listener_table)))]
mod linux;
#[cfg(all(target_os = "linux", not(unstall_portable), not(unstall_no_listener_table)))]
use linux as imp;
#[cfg(all(unix, any(not(target_os = "linux"), unstall_portable, unstall_no_listener_table)))]
mod unix;
#[cfg(all(unix, any(not(target_os = "linux"), unstall_portable, unstall_no_listener_table)))]
use unix as imp;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as imp;

/// Where a table came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// Linux sock_diag.
    SockDiag,
    /// Linux /proc/net/tcp and tcp6: no backlog, no V6ONLY.
    ProcNet,
    /// Windows GetExtendedTcpTable.
    ExtendedTcpTable,
}

/// The listening sockets of this host (its network namespace).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Where it came from.
    pub source: Source,
    /// One per socket.
    pub listeners: Vec<Listener>,
}

/// The established connections that came in on a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    /// All of them.
    pub established: u32,
    /// Those that no program has accepted. `None`: the OS does not tell.
    pub waiting: Option<u32>,
    /// Those whose two ends are the same address and port: connected to themselves. `None`: not counted on this OS.
    pub to_themselves: Option<u32>,
}

/// The listening sockets, of one port or of all, with their owners as far as this user may see them. Looking for the owners
/// reads every visible process's descriptors, which takes milliseconds; [`without_owners`] does not.
///
/// # Errors
///
/// Outcome `not_available` where the OS has no such table.
pub fn table(port: Option<u16>) -> Result<Table, Error> {
    imp::table(port, true)
}

/// The same without looking for the owners: tens of microseconds.
///
/// # Errors
///
/// As [`table`].
pub fn without_owners(port: Option<u16>) -> Result<Table, Error> {
    imp::table(port, false)
}

/// The established connections whose local port is `port`.
///
/// # Errors
///
/// As [`table`].
pub fn peers(port: u16) -> Result<Peers, Error> {
    imp::peers(port)
}

/// For how long a look-up is shared by the connects of this process. Short against every pause of `unstall_core::backlog`.
const BELIEVED: Duration = Duration::from_millis(2);

/// How old a look-up must be before it is made again because all places in the queue have been given away: a server takes a
/// connection in tens of microseconds, and that is also what a look-up takes.
const REREAD: Duration = Duration::from_micros(100);

/// How long after a look-up that showed room a full queue is still thought to be on its way to be drained.
const DRAINING: Duration = Duration::from_millis(20);

/// The time between the turns of two connects that found no room in a queue that is being drained: about what a local connect and its
/// accept take together (measured: 30 to 60 us on two processors).
const PACE: Duration = Duration::from_micros(50);

/// The furthest turn: nobody is to wait longer for it than for a look of its own. 2,000 connects fit into it one after another.
const LONGEST_TURN: Duration = backlog::LONGEST_LOOK;

/// What a connect to one address would find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Whether somebody listens, and whether another connection fits.
    pub listening: Listening,
    /// How many connections wait to be accepted. `None`: nobody listens, or the OS does not tell.
    pub waiting: Option<u32>,
    /// How many may wait. `None`: nobody listens, or the OS does not tell.
    pub backlog: Option<u32>,
}

/// What [`place`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// As [`queue`] has it; full also if all places in it have been promised to others.
    pub queue: Queue,
    /// If it is full but being drained: when it is this connect's turn to look again.
    pub turn: Option<Duration>,
}

impl Queue {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { listening: Listening::Unknown, waiting: None, backlog: None };

    /// Of the listeners that a connect to `destination` may reach; of several that share an address (SO_REUSEPORT) any may take it,
    /// so one with room is enough.
    fn of(table: &[Listener], destination: SocketAddr) -> Self {
        Self::shown(table, destination, |full| full != Some(true))
    }

    /// Of the listeners that a connect to `destination` may have reached in vain; of several that share an address a full one.
    fn of_the_silent(table: &[Listener], destination: SocketAddr) -> Self {
        Self::shown(table, destination, |full| full == Some(true))
    }

    /// Of several that share an address, the first of which `full` is as `wanted`.
    fn shown(table: &[Listener], destination: SocketAddr, wanted: fn(Option<bool>) -> bool) -> Self {
        let Some(best) = listener::reaches(table, destination) else {
            return Self { listening: Listening::No, ..Self::UNKNOWN };
        };
        let full = |listener: &Listener| listener.queue_full(Platform::CURRENT);
        let mut same = table.iter().filter(|listener| listener.address == best.address);
        let shown = same.find(|listener| wanted(full(listener))).unwrap_or(best);
        let listening = match (best.accepts(destination), full(shown)) {
            (None, _) => Listening::Unknown,
            (_, None) => Listening::Yes,
            (_, Some(true)) => Listening::Full,
            (_, Some(false)) => Listening::Room,
        };
        Self { listening, waiting: shown.waiting, backlog: shown.backlog }
    }

    /// How many more connections fit. 0 where that is not known.
    fn places(table: &[Listener], destination: SocketAddr) -> u64 {
        let Some(best) = listener::reaches(table, destination) else { return 0 };
        let same = table.iter().filter(|listener| listener.address == best.address);
        same.filter_map(|listener| {
            Some(listener.room(Platform::CURRENT)?.saturating_sub(u64::from(listener.waiting?)))
        })
        .sum()
    }
}

/// What a connect to `destination`, an address of this host, would find now. At most 2 ms old: connects that look at the same time
/// share one look-up of the table, which takes some tens of microseconds. Where it takes longer (Linux without sock_diag, whose
/// /proc/net/tcp lists all connections, and no backlog) nothing is known.
pub fn queue(destination: SocketAddr) -> Queue {
    with_recent(|recent| recent.get(destination.port(), Instant::now(), BELIEVED).queue(destination))
}

/// [`queue`] for a connect that nobody has answered: of several listeners that share an address (SO_REUSEPORT) it was one that is full.
pub fn queue_of_the_silent(destination: SocketAddr) -> Queue {
    with_recent(|recent| {
        let answer = recent.get(destination.port(), Instant::now(), BELIEVED);
        answer.table().map_or(Queue::UNKNOWN, |table| Queue::of_the_silent(table, destination))
    })
}

/// [`queue`] for a connect that will take the room if there is some. What was read is given to as many connects as there were places;
/// to the others the queue is full, and after 100 us it is read again. So a crowd does not send more SYNs than the queue can hold.
pub fn place(destination: SocketAddr) -> Place {
    with_recent(|recent| recent.place(destination, Instant::now()))
}

fn with_recent<T>(look: impl FnOnce(&mut Recent) -> T) -> T {
    static RECENT: Mutex<Recent> = Mutex::new(Recent::new(|port| imp::quickly(port).ok()));
    // The lock is held while the table is read: whoever waits for it wants the same answer.
    look(&mut RECENT.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether a look at the table takes no longer than a connect. Not under Wine: it looks through every process for the owners of
/// sockets, whoever asks for them, which takes 40 ms and more.
pub fn is_quick() -> bool {
    #[cfg(windows)]
    return imp::is_quick();
    #[cfg(unix)]
    true
}

/// [`queue`] after a refusal. Where the table does not tell whether somebody listens, the port itself is asked: one that can be
/// bound belongs to nobody. It is bound for some microseconds, to this very address and for nothing else. Where the table is not
/// quick, the port is asked first.
pub fn queue_after_refusal(destination: SocketAddr) -> Queue {
    if !is_quick() && imp::is_taken(destination) == Some(false) {
        return Queue { listening: Listening::No, ..Queue::UNKNOWN };
    }
    let queue = queue(destination);
    if queue.listening != Listening::Unknown {
        return queue;
    }
    let listening = match imp::is_taken(destination) {
        Some(true) => Listening::Yes,
        Some(false) => Listening::No,
        None => Listening::Unknown,
    };
    Queue { listening, ..Queue::UNKNOWN }
}

/// Whether a connect to `destination`, an address of this host, would find somebody who listens now; `None`: the OS does not tell.
///
/// On Linux one question of some microseconds about this address alone, whatever else listens; elsewhere [`queue`].
pub fn anybody(destination: SocketAddr) -> Option<bool> {
    imp::anybody(destination).or_else(|| match queue(destination).listening {
        Listening::No => Some(false),
        Listening::Unknown => None,
        Listening::Yes | Listening::Room | Listening::Full => Some(true),
    })
}

/// Whether a connect to `destination` would find somebody who listens, for somebody who asks before each connect: at most 2 ms old, and
/// `None` where it cannot be told. Where the table is not quick (Wine) the port itself is asked, by one connect at a time, for
/// two that ask at once would find each other there.
#[cfg(windows)]
pub fn look_first(destination: SocketAddr) -> Option<bool> {
    /// Some destinations, when each was asked, and what the answer was; the oldest goes first.
    static ASKED: Mutex<Vec<(SocketAddr, Instant, Option<bool>)>> = Mutex::new(Vec::new());
    const ROOM: usize = 16;
    if is_quick() {
        return anybody(destination);
    }
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    if let Some((_, _, answer)) =
        asked.iter().find(|(address, at, _)| *address == destination && now - *at < BELIEVED)
    {
        return *answer;
    }
    let answer = imp::is_taken(destination);
    asked.retain(|(address, _, _)| *address != destination);
    if asked.len() == ROOM {
        asked.remove(0);
    }
    asked.push((destination, Instant::now(), answer));
    answer
}

/// What has become of the server's end of a connection within this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerSide {
    /// It is there: accepted, or waiting for that.
    Whole,
    /// It has answered the SYN and not taken the ACK, for its queue was full. It will answer again after a second.
    Half,
    /// There is none (any more).
    Missing,
    /// The OS does not tell.
    Unknown,
}

/// The server's end of the connection from `client` to `server`.
pub fn server_side(client: SocketAddr, server: SocketAddr) -> ServerSide {
    imp::server_side(client, server)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Whoever connects needs one of a group that has room; whoever was not answered has met one that has none.
    #[test]
    fn of_a_group_the_member_that_matters_is_shown() {
        let address: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let listener = |waiting| Listener {
            address,
            v6_only: None,
            waiting: Some(waiting),
            backlog: Some(1),
            owner: None,
        };
        for group in [[2, 0], [0, 2]] {
            let group = group.map(listener);
            let shown = |queue: Queue| (queue.listening, queue.waiting);
            assert_eq!(shown(Queue::of(&group, address)), (Listening::Room, Some(0)));
            assert_eq!(shown(Queue::of_the_silent(&group, address)), (Listening::Full, Some(2)));
        }
        let alone = [listener(1)];
        assert_eq!(Queue::of_the_silent(&alone, address), Queue::of(&alone, address));
    }
}
