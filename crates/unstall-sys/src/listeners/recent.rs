//! Look-ups that a burst of connects shares: what was read a moment ago is read again by nobody, the room that it showed is promised to
//! no more connects than fit, and those who find it taken come back one after another.

use super::{BELIEVED, DRAINING, LONGEST_TURN, PACE, Place, Queue, REREAD};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use unstall_core::backlog::Listening;
use unstall_core::listener::{self, Listener};

/// How many ports are remembered. A program that waits for more full queues at once looks more often, and its crowds take no turns.
const PORTS: usize = 64;

/// The listeners of one port, as they were read at a time.
#[derive(Debug)]
pub(super) struct Answer {
    port: u16,
    read: Instant,
    /// `None`: the OS does not tell.
    table: Option<Vec<Listener>>,
    /// Those that connects were waiting for.
    awaited: Vec<Awaited>,
}

/// A listener that connects wait for, by whichever of its addresses: they share its queue, and those of another listener on the same
/// port do not.
#[derive(Debug)]
struct Awaited {
    listener: SocketAddr,
    /// To how many connects its room has been promised since it was read.
    promised: u64,
    line: Line,
}

/// The connects to a listener that find no room while others do.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// When there was room last.
    room: Option<Instant>,
    /// The turn of the last one.
    end: Option<Instant>,
}

impl Line {
    /// Whether there was room a moment ago, so that there will be some again in a moment.
    fn moves(&self, now: Instant) -> bool {
        self.room.is_some_and(|room| now.saturating_duration_since(room) < DRAINING)
    }

    /// The next one's turn, from `now` on. A line that is too long begins anew beside itself.
    fn join(&mut self, now: Instant) -> Duration {
        let next = self.end.map_or(now, |end| end.max(now)) + PACE;
        let end = if next - now > LONGEST_TURN { now + PACE } else { next };
        self.end = Some(end);
        end - now
    }
}

impl Answer {
    pub(super) fn queue(&self, destination: SocketAddr) -> Queue {
        self.table().map_or(Queue::UNKNOWN, |table| Queue::of(table, destination))
    }

    pub(super) fn table(&self) -> Option<&[Listener]> {
        self.table.as_deref()
    }

    fn listener(&self, destination: SocketAddr) -> Option<SocketAddr> {
        listener::reaches(self.table.as_ref()?, destination).map(|listener| listener.address)
    }

    /// Whether those who wait for the listener of `destination` take turns.
    fn moves(&self, destination: SocketAddr, now: Instant) -> bool {
        let listener = self.listener(destination);
        let mut awaited = self.awaited.iter();
        awaited.any(|awaited| Some(awaited.listener) == listener && awaited.line.moves(now))
    }

    fn awaited(&mut self, listener: SocketAddr) -> &mut Awaited {
        let known = self.awaited.iter().position(|awaited| awaited.listener == listener);
        let index = known.unwrap_or_else(|| {
            self.awaited.push(Awaited { listener, promised: 0, line: Line::default() });
            self.awaited.len() - 1
        });
        &mut self.awaited[index]
    }

    /// The same lines before a table that was read anew, so that all its room is there to be promised.
    fn carried_on(mut self, table: Option<&[Listener]>) -> Vec<Awaited> {
        self.awaited.retain_mut(|awaited| {
            awaited.promised = 0;
            table.is_some_and(|table| table.iter().any(|listener| listener.address == awaited.listener))
        });
        self.awaited
    }
}

/// The latest answers.
#[derive(Debug)]
pub(super) struct Recent<R = fn(u16) -> Option<Vec<Listener>>> {
    answers: Vec<Answer>,
    read: R,
}

impl<R: FnMut(u16) -> Option<Vec<Listener>>> Recent<R> {
    pub(super) const fn new(read: R) -> Self {
        Self { answers: Vec::new(), read }
    }

    /// The answer about `port`, less than `believed` old at `now`; else what is read.
    pub(super) fn get(&mut self, port: u16, now: Instant, believed: Duration) -> &mut Answer {
        let known = self.answers.iter().position(|answer| answer.port == port);
        let fresh = known.filter(|&index| now.saturating_duration_since(self.answers[index].read) < believed);
        if let Some(index) = fresh {
            return &mut self.answers[index];
        }
        let old = known.map(|old| self.answers.remove(old));
        if self.answers.len() == PORTS {
            self.answers.remove(0);
        }
        let table = (self.read)(port);
        let awaited = old.map(|old| old.carried_on(table.as_deref())).unwrap_or_default();
        self.answers.push(Answer { port, read: now, table, awaited });
        let last = self.answers.len() - 1;
        &mut self.answers[last]
    }

    /// See [`place`](super::place).
    pub(super) fn place(&mut self, destination: SocketAddr, now: Instant) -> Place {
        let port = destination.port();
        let known = self.answers.iter().find(|answer| answer.port == port);
        let moves = known.is_some_and(|answer| answer.moves(destination, now));
        let answer = self.get(port, now, if moves { REREAD } else { BELIEVED });
        let queue = answer.queue(destination);
        let at_once = Place { queue, turn: None };
        let (Some(table), Some(listener)) = (&answer.table, answer.listener(destination)) else {
            return at_once;
        };
        let places = Queue::places(table, destination);
        let awaited = answer.awaited(listener);
        match queue.listening {
            Listening::Room => {
                awaited.line.room = Some(now);
                if awaited.promised < places {
                    awaited.promised += 1;
                    return at_once;
                }
            }
            Listening::Full if moves => {}
            _ => return at_once,
        }
        let queue = Queue { listening: Listening::Full, ..queue };
        Place { queue, turn: Some(awaited.line.join(now)) }
    }
}

/// How many fit into a queue is a rule of the OS that this is compiled for, and known for Linux alone.
#[cfg(test)]
mod tests {
    use super::{BELIEVED, DRAINING, LONGEST_TURN, PACE, PORTS, REREAD, Recent};
    use std::cell::{Cell, RefCell};
    use std::net::{Ipv6Addr, SocketAddr};
    use std::time::{Duration, Instant};
    use unstall_core::backlog::Listening;
    use unstall_core::listener::Listener;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    /// A listener with a queue of 3, as Linux counts.
    fn listener(port: u16, waiting: u32) -> Listener {
        let address = address(port);
        Listener { address, v6_only: None, waiting: Some(waiting), backlog: Some(2), owner: None }
    }

    #[test]
    fn a_burst_shares_one_look_up_for_as_long_as_it_is_believed() {
        let start = Instant::now();
        let reads = Cell::new(0);
        let mut recent = Recent::new(|port| {
            reads.set(reads.get() + 1);
            Some(vec![listener(port, reads.get())])
        });
        let mut at = |port, us| {
            let answer = recent.get(port, start + Duration::from_micros(us), BELIEVED);
            answer.queue(address(port)).waiting.expect("a number")
        };
        assert_eq!([at(80, 0), at(80, 1), at(80, 1999)], [1, 1, 1]);
        assert_eq!(at(80, 2000), 2);
        assert_eq!([at(81, 2000), at(80, 2001)], [3, 2], "each port has its own");
        // As many others as are remembered push it out; no more memory is taken.
        for port in 100..100 + PORTS as u16 {
            at(port, 2002);
        }
        assert_eq!(at(80, 2003), 4 + PORTS as u32);
        assert!(recent.answers.len() <= PORTS);
    }

    /// Clocks of different threads may be read in another order than the lock is taken.
    #[test]
    fn a_time_before_the_answer_s_is_no_reason_to_read_again() {
        let before = Instant::now();
        let reads = Cell::new(0);
        let mut recent = Recent::new(|_| {
            reads.set(reads.get() + 1);
            None
        });
        recent.get(80, before + Duration::from_micros(5), BELIEVED);
        recent.get(80, before, BELIEVED);
        assert_eq!(reads.get(), 1);
    }

    #[cfg_attr(not(target_os = "linux"), ignore = "how many fit is known for Linux alone")]
    #[test]
    fn room_is_promised_to_as_many_as_fit_and_the_others_take_turns() {
        let start = Instant::now();
        let waiting = RefCell::new(vec![3, 1, 2, 3]);
        let mut recent = Recent::new(|port| Some(vec![listener(port, waiting.borrow_mut().remove(0))]));
        let mut place = |us| {
            let place = recent.place(address(80), start + Duration::from_micros(us));
            (place.queue.listening, place.turn)
        };
        // Full, and nothing says that this will change soon.
        assert_eq!([place(0), place(500)], [(Listening::Full, None); 2]);
        // It holds 3 and one waits: there is room for two, and the third is told to come back.
        assert_eq!([place(2000), place(2001)], [(Listening::Room, None); 2]);
        assert_eq!(place(2002), (Listening::Full, Some(PACE)));
        assert_eq!(place(2002), (Listening::Full, Some(PACE * 2)), "one after the other");
        // The line moves, so it is read again sooner: there is room for one more.
        let reread = 2000 + REREAD.as_micros() as u64;
        assert_eq!(place(reread), (Listening::Room, None));
        assert_eq!(place(reread).0, Listening::Full);
        // Full again, but a moment ago there was room.
        let (listening, turn) = place(reread * 2);
        assert_eq!((listening, turn.is_some()), (Listening::Full, true));
        assert!(waiting.borrow().is_empty(), "every look-up was needed");
    }

    #[cfg_attr(not(target_os = "linux"), ignore = "how many fit is known for Linux alone")]
    #[test]
    fn a_queue_that_has_been_full_for_a_while_has_no_line() {
        let start = Instant::now();
        let full = Cell::new(false);
        let mut recent = Recent::new(|port| Some(vec![listener(port, if full.get() { 3 } else { 2 })]));
        assert_eq!(recent.place(address(80), start).queue.listening, Listening::Room);
        full.set(true);
        assert_eq!(recent.place(address(80), start + DRAINING).turn, None);
    }

    /// Each socket of a SO_REUSEPORT group has a queue of its own.
    #[cfg_attr(not(target_os = "linux"), ignore = "how many fit is known for Linux alone")]
    #[test]
    fn a_group_has_room_for_the_sum_of_its_queues() {
        let start = Instant::now();
        let mut recent =
            Recent::new(|port| Some(vec![listener(port, 2), listener(port, 1), listener(port, 3)]));
        let rooms = (0..5).filter(|_| recent.place(address(80), start).turn.is_none()).count();
        assert_eq!(rooms, 3);
    }

    /// However many wait, nobody is sent away for longer than a look would take without any line.
    #[cfg_attr(not(target_os = "linux"), ignore = "how many fit is known for Linux alone")]
    #[test]
    fn a_turn_is_never_far_away() {
        let start = Instant::now();
        let mut recent = Recent::new(|port| Some(vec![listener(port, 2)]));
        assert_eq!(recent.place(address(80), start).turn, None);
        let turns: Vec<Duration> =
            (0..100_000).map(|_| recent.place(address(80), start).turn.expect("a turn")).collect();
        assert_eq!(turns.iter().max(), Some(&LONGEST_TURN));
        // Nor do they all come at once then.
        let crowded = turns.iter().filter(|turn| **turn == LONGEST_TURN).count();
        assert_eq!(crowded as u32, 100_000 / (LONGEST_TURN.as_micros() / PACE.as_micros()) as u32);
    }

    /// A queue that stays full is looked at rarely, whatever happens to another listener's on the same port.
    #[cfg_attr(not(target_os = "linux"), ignore = "how many fit is known for Linux alone")]
    #[test]
    fn a_listener_s_line_is_its_own() {
        let start = Instant::now();
        let elsewhere: SocketAddr = "127.0.0.2:80".parse().unwrap();
        let full = Listener { address: elsewhere, ..listener(80, 3) };
        let mut recent = Recent::new(|port| Some(vec![listener(port, 2), full.clone()]));
        assert_eq!(recent.place(address(80), start).queue.listening, Listening::Room);
        assert!(recent.place(address(80), start).turn.is_some());
        let place = recent.place(elsewhere, start);
        assert_eq!((place.queue.listening, place.turn), (Listening::Full, None));
    }

    /// A wildcard's queue holds as many as it holds, by however many addresses they come.
    #[cfg_attr(not(target_os = "linux"), ignore = "how many fit is known for Linux alone")]
    #[test]
    fn addresses_of_one_listener_share_its_room_and_its_line() {
        let start = Instant::now();
        let wildcard =
            Listener { address: (Ipv6Addr::UNSPECIFIED, 80).into(), v6_only: Some(false), ..listener(80, 2) };
        let mut recent = Recent::new(|_| Some(vec![wildcard.clone()]));
        let addresses = ["127.0.0.1:80", "127.0.0.2:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "0.0.0.0:80"];
        let turns = addresses.map(|address| recent.place(address.parse().unwrap(), start).turn);
        assert_eq!(turns, [None, Some(PACE), Some(PACE * 2), Some(PACE * 3), Some(PACE * 4)]);
    }

    /// A line ends with its listener.
    #[cfg_attr(not(target_os = "linux"), ignore = "how many fit is known for Linux alone")]
    #[test]
    fn who_has_gone_has_no_line() {
        let start = Instant::now();
        let tables =
            RefCell::new(vec![vec![listener(80, 2)], vec![], vec![listener(80, 3)], vec![listener(80, 3)]]);
        let mut recent = Recent::new(|_| Some(tables.borrow_mut().remove(0)));
        assert_eq!(recent.place(address(80), start).queue.listening, Listening::Room);
        assert_eq!(recent.place(address(80), start + REREAD).queue.listening, Listening::No);
        for looks in 1..=2 {
            let another = recent.place(address(80), start + REREAD + BELIEVED * looks);
            assert_eq!((another.queue.listening, another.turn), (Listening::Full, None));
        }
    }

    #[test]
    fn nobody_and_unknown_have_no_turn() {
        let start = Instant::now();
        let mut nobody = Recent::new(|_| Some(Vec::new()));
        assert_eq!(nobody.place(address(80), start).queue.listening, Listening::No);
        let mut unknown = Recent::new(|_| None);
        let place = unknown.place(address(80), start);
        assert_eq!((place.queue.listening, place.turn), (Listening::Unknown, None));
    }
}
