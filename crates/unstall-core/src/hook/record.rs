//! What was done about one local connect, and what the default would have cost.

use crate::outcome::Outcome;
use std::time::Duration;

/// The time between two SYNs to a port that resets (published, Windows 11: about 505 ms).
pub const STEP: Duration = Duration::from_millis(505);

/// How often Windows sends the SYN again by default (published: 4).
pub const REPETITIONS: u32 = 4;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Done {
    /// The SYN is not sent again: nobody listened.
    NoRetransmission,
    /// Nothing: somebody listens, or that is not known, or the fix is off, or Windows is too old.
    Nothing,
    /// Nothing, for the OS did not take the option.
    NotSupported,
    /// The program was not followed.
    NotFollowed,
}

/// One local connect of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Record {
    /// The program's file, without its folder.
    pub program: String,
    /// Its process.
    pub process_id: u32,
    /// The function that was called: `connect`, `ConnectEx`.
    pub api: String,
    /// The destination. `None`: the record is not of a connect.
    pub address: Option<String>,
    /// What was done.
    pub done: Done,
    /// What it came to. `None`: not known.
    pub outcome: Option<Outcome>,
    /// The call's error code. `None`: none, or not known.
    pub os_error: Option<i32>,
    /// How long it took. `None`: not known.
    pub elapsed_ns: Option<u64>,
    /// What the default would have cost more, estimated. `None`: not known.
    pub estimated_saved_ns: Option<u64>,
    /// What else is to be said. `None`: nothing.
    pub note: Option<String>,
}

/// What Windows' default would have cost more than this connect took: a refusal that was at once would have come after
/// [`REPETITIONS`] times [`STEP`]. An estimate: nothing was sent to find out.
pub fn estimated_saved(done: Done, outcome: Option<Outcome>, elapsed: Duration) -> Duration {
    match (done, outcome) {
        (Done::NoRetransmission, Some(Outcome::Refused)) => (STEP * REPETITIONS).saturating_sub(elapsed),
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::{Done, estimated_saved};
    use crate::outcome::Outcome;
    use std::time::Duration;

    #[test]
    fn only_a_refusal_that_was_made_faster_saves_time() {
        let elapsed = Duration::from_millis(20);
        let saved = |done, outcome| estimated_saved(done, outcome, elapsed);
        assert_eq!(saved(Done::NoRetransmission, Some(Outcome::Refused)), Duration::from_secs(2));
        assert_eq!(saved(Done::NoRetransmission, Some(Outcome::Connected)), Duration::ZERO);
        assert_eq!(saved(Done::Nothing, Some(Outcome::Refused)), Duration::ZERO);
        assert_eq!(saved(Done::NoRetransmission, None), Duration::ZERO);
        let late = Duration::from_secs(3);
        assert_eq!(estimated_saved(Done::NoRetransmission, Some(Outcome::Refused), late), Duration::ZERO);
    }
}
