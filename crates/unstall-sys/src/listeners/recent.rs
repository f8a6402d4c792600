//! Look-ups that a burst of connects shares: what was read a moment ago is read again by nobody, the room that it showed is promised to
//! no more connects than fit, and those who find it taken come back one after another.

use super::{BELIEVED, DRAINING, PACE, Place, Queue, REREAD};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use unstall_core::backlog::Listening;
use unstall_core::listener::Listener;

/// How many ports are remembered. A program that connects to more at once looks more often, and is no worse off.
const PORTS: usize = 8;

/// The listeners of one port, as they were read at a time.
#[derive(Debug)]
pub(super) struct Answer {
    port: u16,
    read: Instant,
    /// `None`: the OS does not tell.
    table: Option<Vec<Listener>>,
    /// To how many connects each destination's room has been promised since.
    promised: Vec<(SocketAddr, u64)>,
    line: Line,
}

/// The connects to a port that find no room while others do.
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

    /// The next one's turn, from `now` on.
    fn join(&mut self, now: Instant) -> Duration {
        let end = self.end.map_or(now, |end| end.max(now)) + PACE;
        self.end = Some(end);
        end - now
    }
}

impl Answer {
    pub(super) fn queue(&self, destination: SocketAddr) -> Queue {
        self.table.as_ref().map_or(Queue::UNKNOWN, |table| Queue::of(table, destination))
    }

    /// Promises a place, if there is one left.
    fn promise(&mut self, destination: SocketAddr) -> bool {
        let places = self.table.as_ref().map_or(0, |table| Queue::places(table, destination));
        let known = self.promised.iter().position(|(to, _)| *to == destination);
        let index = known.unwrap_or_else(|| {
            self.promised.push((destination, 0));
            self.promised.len() - 1
        });
        let promised = &mut self.promised[index].1;
        let left = *promised < places;
        *promised += u64::from(left);
        left
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
        let line = known.map(|old| self.answers.remove(old).line).unwrap_or_default();
        if self.answers.len() == PORTS {
            self.answers.remove(0);
        }
        let table = (self.read)(port);
        self.answers.push(Answer { port, read: now, table, promised: Vec::new(), line });
        let last = self.answers.len() - 1;
        &mut self.answers[last]
    }

    /// See [`place`](super::place).
    pub(super) fn place(&mut self, destination: SocketAddr, now: Instant) -> Place {
        let port = destination.port();
        let known = self.answers.iter().find(|answer| answer.port == port);
        let moves = known.is_some_and(|answer| answer.line.moves(now));
        let answer = self.get(port, now, if moves { REREAD } else { BELIEVED });
        let queue = answer.queue(destination);
        if queue.listening == Listening::Room {
            answer.line.room = Some(now);
            if answer.promise(destination) {
                return Place { queue, turn: None };
            }
        } else if queue.listening != Listening::Full || !moves {
            return Place { queue, turn: None };
        }
        let queue = Queue { listening: Listening::Full, ..queue };
        Place { queue, turn: Some(answer.line.join(now)) }
    }
}

#[cfg(test)]
mod tests {
    use super::{BELIEVED, DRAINING, PACE, PORTS, REREAD, Recent};
    use std::cell::{Cell, RefCell};
    use std::net::SocketAddr;
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
        assert_eq!(at(80, 2003), 12);
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

    #[test]
    fn a_queue_that_has_been_full_for_a_while_has_no_line() {
        let start = Instant::now();
        let full = Cell::new(false);
        let mut recent = Recent::new(|port| Some(vec![listener(port, if full.get() { 3 } else { 2 })]));
        assert_eq!(recent.place(address(80), start).queue.listening, Listening::Room);
        full.set(true);
        assert_eq!(recent.place(address(80), start + DRAINING * 2).turn, None);
    }

    /// Each socket of a SO_REUSEPORT group has a queue of its own.
    #[test]
    fn a_group_has_room_for_the_sum_of_its_queues() {
        let start = Instant::now();
        let mut recent =
            Recent::new(|port| Some(vec![listener(port, 2), listener(port, 1), listener(port, 3)]));
        let rooms = (0..5).filter(|_| recent.place(address(80), start).turn.is_none()).count();
        assert_eq!(rooms, 3);
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
