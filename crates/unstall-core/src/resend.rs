//! Lost SYNs that we send again ourselves, where the OS has been told not to ([`NoneAnywhere`]).
//!
//! Windows repeats a SYN after a reset as after silence, and can be told to do neither or both. With neither, a refusal is known
//! in one round trip, and a SYN that is lost is lost for good, unless a fresh socket sends another. It does so here at the
//! moments at which the OS would have: RFC 6298's initial time-out of 1 s, doubled each time.
//!
//! Each attempt is closed before the next is made. An answer that takes longer than an attempt lasts (1 s for the first) finds its
//! socket gone, and the next attempt lasts longer.
//!
//! [`NoneAnywhere`]: crate::syn::SynRetransmissions::NoneAnywhere

use std::time::Duration;

/// RFC 6298 section 2: the retransmission time-out is 1 s until a round trip has been measured.
const INITIAL: Duration = Duration::from_secs(1);

/// By how much an attempt is closed before the next moment, so that an OS that cannot be told to stay silent (Linux: TCP_SYNCNT is
/// at least 1) does not send its own SYN. Less than the 10 % by which a connect may be off.
pub const EARLY: Duration = Duration::from_millis(20);

/// When an OS sends a SYN that gets no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How many repetitions come 1 s apart before the time-outs double (Linux 6.5 and later: `tcp_syn_linear_timeouts`, 4).
    pub linear: u32,
    /// How many SYNs are sent again in all.
    pub repetitions: u32,
    /// How long the whole takes at most.
    pub patience: Duration,
}

impl Schedule {
    /// Windows' by default: 4 repetitions (Set-NetTCPSetting), and the end after 21 s (published, SciQLop/speasy PR#344).
    pub const WINDOWS: Self = Self { linear: 0, repetitions: 4, patience: Duration::from_secs(21) };

    /// Linux', of a host whose `tcp_syn_linear_timeouts` and `tcp_syn_retries` are these (0 and 6 are the classic figures).
    pub fn linux(linear: u32, retries: u32) -> Self {
        let repetitions = linear.saturating_add(retries);
        let mut schedule = Self { linear, repetitions, patience: Duration::MAX };
        schedule.patience = schedule.time(repetitions.saturating_add(1));
        schedule
    }

    /// When the SYN is sent for the n-th time, counted from 0, which is at the start. `None`: it is not sent so often.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use unstall_core::resend::Schedule;
    /// let seconds = |schedule: Schedule| -> Vec<u64> {
    ///     (0..).map_while(|n| schedule.moment(n)).map(|at| at.as_secs()).collect()
    /// };
    /// assert_eq!(seconds(Schedule::linux(0, 6)), [0, 1, 3, 7, 15, 31, 63]);
    /// assert_eq!(seconds(Schedule::linux(4, 6)), [0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67]);
    /// assert_eq!(seconds(Schedule::WINDOWS), [0, 1, 3, 7, 15]);
    /// ```
    pub fn moment(&self, n: u32) -> Option<Duration> {
        Some(self.time(n)).filter(|at| n <= self.repetitions && *at < self.patience)
    }

    /// How long the n-th attempt is waited for, counted from 0: until the next moment, or until the end. To the OS it is the
    /// longest that a single SYN of this attempt may wait for its answer.
    pub fn lasts(&self, n: u32) -> Duration {
        let end = self.moment(n + 1).unwrap_or(self.patience);
        end.saturating_sub(self.moment(n).unwrap_or(end))
    }

    fn time(&self, n: u32) -> Duration {
        // The first time-outs are 1 s each, and one more, with which the doubling begins.
        let straight = n.min(self.linear.saturating_add(1));
        let doubled = (n - straight).min(30);
        INITIAL * straight + INITIAL * 2 * ((1_u32 << doubled) - 1).min(u32::MAX / 4)
    }

    /// What is to be done about an attempt without an answer: the `n`-th of its address, counted from 0, `elapsed` after the
    /// first one started.
    pub fn next(&self, n: u32, elapsed: Duration) -> Next {
        match self.moment(n + 1) {
            Some(at) => match at.saturating_sub(EARLY).checked_sub(elapsed) {
                Some(after) if !after.is_zero() => Next::In(after),
                _ => Next::Now,
            },
            None => match self.patience.checked_sub(elapsed) {
                Some(after) if !after.is_zero() => Next::GiveUpIn(after),
                _ => Next::GiveUp,
            },
        }
    }
}

/// What comes next for an attempt without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A fresh attempt, so long from now.
    In(Duration),
    /// A fresh attempt, now.
    Now,
    /// No other attempt; the end, so long from now.
    GiveUpIn(Duration),
    /// The end: it has timed out.
    GiveUp,
}
