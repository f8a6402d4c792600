//! The addresses of a race and the order in which they are tried.

use super::Candidate;
use smallvec::SmallVec;
use std::time::Duration;

/// Every address that was learnt, in the order in which they are tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    known: SmallVec<[Known; 8]>,
    /// The first address that was not started.
    next: usize,
    /// Whether IPv6 leads; decided by the first answer that brings an address.
    v6_leads: Option<bool>,
    /// Since when there is an address that was not started.
    waiting_since: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    candidate: Candidate,
    started: bool,
}

impl Order {
    /// Adds what is new. In the OS's order the family of the first address leads, else IPv6.
    pub(super) fn learn<'a>(
        &mut self,
        now: Duration,
        os_order: bool,
        candidates: impl Iterator<Item = &'a Candidate>,
    ) {
        if !self.waiting() {
            self.waiting_since = now;
        }
        for &candidate in candidates {
            if self.iter().all(|known| known.address != candidate.address) {
                self.v6_leads.get_or_insert(!os_order || candidate.address.is_ipv6());
                self.known.push(Known { candidate, started: false });
            }
        }
        self.interleave();
        self.find_next(0);
    }

    /// RFC 8305 section 4: the families alternate, each in its own order, until one has no more.
    fn interleave(&mut self) {
        let v6_leads = self.v6_leads == Some(true);
        let all = std::mem::take(&mut self.known);
        let leads = |known: &&Known| known.candidate.address.is_ipv6() == v6_leads;
        let mut leading = all.iter().filter(leads);
        let mut other = all.iter().filter(|known| !leads(known));
        while self.known.len() < all.len() {
            self.known.extend(leading.next().copied());
            self.known.extend(other.next().copied());
        }
    }

    fn find_next(&mut self, from: usize) {
        let waits = self.known[from..].iter().position(|known| !known.started);
        self.next = waits.map_or(self.known.len(), |index| from + index);
    }

    /// Whether there is an address that was not started.
    pub(super) fn waiting(&self) -> bool {
        self.next < self.known.len()
    }

    /// Since when; of no meaning if there is none.
    pub(super) const fn waiting_since(&self) -> Duration {
        self.waiting_since
    }

    /// The next address to start.
    pub(super) fn take(&mut self) -> Option<Candidate> {
        let known = self.known.get_mut(self.next)?;
        known.started = true;
        let candidate = known.candidate;
        self.find_next(self.next);
        Some(candidate)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Candidate> + '_ {
        self.known.iter().map(|known| known.candidate)
    }
}
