//! What to do next: pure decisions over all targets, with the time passed in.

use crate::{End, Goal, Need, Wait, pace};
use std::time::Duration;

/// Tries that may be under way at once: each has a descriptor or two, of which a process often has 1024.
const AT_ONCE: usize = 256;

/// What the driver is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Start a try of the target with this number.
    Try(usize),
    /// Look at the table of listeners for the targets that [`Plan::watched`] names.
    Look,
    /// Nothing, until then or until a try ends.
    Wait(Duration),
    /// It is over.
    Done(End),
}

/// What a try showed, as far as the plan needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// What the target is.
    pub(crate) state: State,
    /// Whether all its addresses are of this host, so that the table of listeners tells when to try again.
    pub(crate) local: bool,
    /// How long the try took.
    pub(crate) cost: Duration,
}

/// What a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// A server listens, and that is proven.
    Up,
    /// Nobody listens on any address.
    Free,
    /// Neither: silent, not resolved, closed at once.
    Neither,
    /// The try could not be made.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// To be tried at this time.
    Due(Duration),
    Trying,
    /// Tried as soon as the table shows a change, and at this time in any case.
    Watched(Duration),
    Reached,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    phase: Phase,
    successes: u32,
    failures: u32,
    unknown: bool,
}

/// The state of every target.
#[derive(Debug)]
pub(crate) struct Plan {
    wait: Wait,
    rows: Vec<Row>,
    look_at: Duration,
    /// Whether the OS has a table of listeners. Assumed until a look says otherwise.
    has_table: bool,
}

impl Plan {
    pub(crate) fn new(wait: &Wait, targets: usize) -> Self {
        let row = Row { phase: Phase::Due(Duration::ZERO), successes: 0, failures: 0, unknown: false };
        Self { wait: wait.clone(), rows: vec![row; targets], look_at: Duration::ZERO, has_table: true }
    }

    /// What to do now.
    pub(crate) fn next(&mut self, now: Duration) -> Action {
        let reached = self.rows.iter().filter(|row| row.phase == Phase::Reached).count();
        if reached == self.rows.len() || (self.wait.need == Need::Any && reached > 0) {
            return Action::Done(End::Reached);
        }
        if now >= self.wait.timeout {
            return Action::Done(self.failed());
        }
        let trying = self.rows.iter().filter(|row| row.phase == Phase::Trying).count();
        if trying < AT_ONCE {
            let due = |row: &Row| matches!(row.phase, Phase::Due(at) | Phase::Watched(at) if at <= now);
            if let Some(id) = self.rows.iter().position(due) {
                self.rows[id].phase = Phase::Trying;
                return Action::Try(id);
            }
        }
        if self.watched().next().is_some() && self.look_at <= now {
            return Action::Look;
        }
        Action::Wait(self.next_time(trying < AT_ONCE).min(self.wait.timeout))
    }

    fn next_time(&self, may_try: bool) -> Duration {
        let times = self.rows.iter().filter_map(|row| match row.phase {
            Phase::Due(at) if may_try => Some(at),
            Phase::Watched(at) if may_try => Some(at.min(self.look_at)),
            Phase::Watched(_) => Some(self.look_at),
            _ => None,
        });
        times.min().unwrap_or(Duration::MAX)
    }

    /// Which targets a look is about.
    pub(crate) fn watched(&self) -> impl Iterator<Item = usize> + '_ {
        let rows = self.rows.iter().enumerate();
        rows.filter(|(_, row)| matches!(row.phase, Phase::Watched(_))).map(|(id, _)| id)
    }

    /// A look ended at `now` and took `cost`. `listening` says of a watched target whether anybody listens there; `None`: there
    /// is no table.
    pub(crate) fn looked(
        &mut self,
        now: Duration,
        cost: Duration,
        mut listening: Option<impl FnMut(usize) -> bool>,
    ) {
        self.look_at = now + pace::local(cost, 1, self.wait.interval);
        self.has_table = listening.is_some();
        let goal = self.wait.goal;
        let watched: Vec<usize> = self.watched().collect();
        for id in watched {
            let worth_it = listening.as_mut().is_none_or(|listening| match goal {
                Goal::Listening => listening(id),
                Goal::Free => !listening(id),
            });
            if worth_it {
                self.rows[id].phase = Phase::Due(now);
            }
        }
    }

    /// The try of a target ended at `now`. Returns whether the target has reached the goal with it.
    pub(crate) fn tried(&mut self, now: Duration, id: usize, shown: Shown) -> bool {
        let success = match self.wait.goal {
            Goal::Listening => shown.state == State::Up,
            Goal::Free => shown.state == State::Free,
        };
        let sharing = self.rows.iter().filter(|row| row.phase != Phase::Reached).count();
        let row = &mut self.rows[id];
        row.unknown = shown.state == State::Unknown;
        (row.successes, row.failures) =
            if success { (row.successes + 1, 0) } else { (0, row.failures.saturating_add(1)) };
        row.phase = if row.successes >= self.wait.stable.get() {
            Phase::Reached
        } else if success {
            Phase::Due(now + self.wait.interval)
        } else if shown.local && self.has_table && Self::table_would_show(self.wait.goal, shown.state) {
            Phase::Watched(now + pace::DOUBT)
        } else if shown.local {
            Phase::Due(now + pace::local(shown.cost, sharing, self.wait.interval))
        } else {
            Phase::Due(now + pace::remote(row.failures, self.wait.interval))
        };
        row.phase == Phase::Reached
    }

    /// Whether what is waited for begins with a change of the table: a server that closes at once listens already.
    fn table_would_show(goal: Goal, state: State) -> bool {
        match goal {
            Goal::Listening => state == State::Free,
            Goal::Free => state != State::Free,
        }
    }

    fn failed(&self) -> End {
        let unknown = |row: &Row| row.phase != Phase::Reached && row.unknown;
        if self.rows.iter().any(unknown) { End::CouldNot } else { End::TimedOut }
    }
}

#[cfg(test)]
mod tests;
