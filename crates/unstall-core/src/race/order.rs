//! The addresses of a race and the order in which they are tried.

use super::Candidate;
use smallvec::SmallVec;
use std::time::Duration;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    known: SmallVec<[Known; 8]>,
    /// Whether an IPv6 address comes first; `None` as long as nothing is known.
    v6_first: Option<bool>,
    /// Since when there was always a candidate left.
    waiting_since: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    candidate: Candidate,
    started: bool,
}

impl Order {
    pub(super) fn learn<'a>(
        &mut self,
        now: Duration,
        os_order: bool,
        candidates: impl Iterator<Item = &'a Candidate>,
    ) {
        let was_waiting = self.waiting();
        for &candidate in candidates {
            if self.known.iter().all(|known| known.candidate.address != candidate.address) {
                self.v6_first.get_or_insert(!os_order || candidate.address.is_ipv6());
                self.known.push(Known { candidate, started: false });
            }
        }
        if !was_waiting && self.waiting() {
            self.waiting_since = now;
        }
        self.interleave();
    }

    fn interleave(&mut self) {
        let first = self.v6_first.unwrap_or(true);
        let old = std::mem::take(&mut self.known);
        let mut leading = old.iter().copied().filter(|known| known.candidate.address.is_ipv6() == first);
        let mut other = old.iter().copied().filter(|known| known.candidate.address.is_ipv6() != first);
        loop {
            let pair = (leading.next(), other.next());
            self.known.extend(pair.0);
            self.known.extend(pair.1);
            if pair == (None, None) {
                break;
            }
        }
    }

    pub(super) fn waiting(&self) -> bool {
        self.known.iter().any(|known| !known.started)
    }

    pub(super) fn waiting_since(&self) -> Duration {
        self.waiting_since
    }

    pub(super) fn take(&mut self) -> Option<Candidate> {
        let known = self.known.iter_mut().find(|known| !known.started)?;
        known.started = true;
        Some(known.candidate)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Candidate> + '_ {
        self.known.iter().map(|known| known.candidate)
    }
}
