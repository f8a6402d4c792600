//! Look-ups that a burst of connects shares: what was read a moment ago is read again by nobody.

use std::time::{Duration, Instant};

/// How many ports are remembered. A program that connects to more at once looks more often, and is no worse off.
const PORTS: usize = 8;

/// The latest answers, by port.
#[derive(Debug)]
pub(super) struct Recent<T> {
    answers: Vec<(u16, Instant, T)>,
}

impl<T> Recent<T> {
    pub(super) const fn new() -> Self {
        Self { answers: Vec::new() }
    }

    /// The answer about `port`, at most `believed` old at `now`; else what `read` says.
    pub(super) fn get(
        &mut self,
        port: u16,
        now: Instant,
        believed: Duration,
        read: impl FnOnce() -> T,
    ) -> &T {
        let known = self.answers.iter().position(|(of, _, _)| *of == port);
        let fresh = known.filter(|&index| now.saturating_duration_since(self.answers[index].1) < believed);
        if fresh.is_none() {
            if let Some(old) = known {
                self.answers.remove(old);
            } else if self.answers.len() == PORTS {
                self.answers.remove(0);
            }
            self.answers.push((port, now, read()));
        }
        let index = fresh.unwrap_or(self.answers.len() - 1);
        &self.answers[index].2
    }
}

#[cfg(test)]
mod tests {
    use super::{PORTS, Recent};
    use std::cell::Cell;
    use std::time::{Duration, Instant};

    #[test]
    fn a_burst_shares_one_look_up_for_as_long_as_it_is_believed() {
        let (start, believed) = (Instant::now(), Duration::from_millis(2));
        let reads = Cell::new(0);
        let mut recent = Recent::new();
        let mut at = |port, us| {
            *recent.get(port, start + Duration::from_micros(us), believed, || {
                reads.set(reads.get() + 1);
                reads.get()
            })
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
        let (before, believed) = (Instant::now(), Duration::from_millis(2));
        let mut recent = Recent::new();
        assert_eq!(*recent.get(80, before + Duration::from_micros(5), believed, || 1), 1);
        assert_eq!(*recent.get(80, before, believed, || 2), 1);
    }
}
