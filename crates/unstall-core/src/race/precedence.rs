//! Which failure speaks for a whole race.

use crate::outcome::Outcome;

/// From the outcome that tells most to the one that tells least; the reasons are in the documentation of
/// [`Race`](super::Race). [`Outcome::Connected`] is no failure and [`Outcome::SelfConnected`] is a refusal.
const PRECEDENCE: [Outcome; 9] = [
    Outcome::TimedOut,
    Outcome::NotPermitted,
    Outcome::Exhausted,
    Outcome::Refused,
    Outcome::Unknown,
    Outcome::Unreachable,
    Outcome::NotAvailable,
    Outcome::NoName,
    Outcome::Cancelled,
];

/// Of two failures the one that tells more.
pub(super) fn more_telling(so_far: Option<Outcome>, outcome: Outcome) -> Outcome {
    let outcome = if outcome == Outcome::SelfConnected { Outcome::Refused } else { outcome };
    so_far.into_iter().chain([outcome]).min_by_key(|&failure| rank(failure)).unwrap_or(outcome)
}

fn rank(outcome: Outcome) -> usize {
    PRECEDENCE.iter().position(|&listed| listed == outcome).unwrap_or(PRECEDENCE.len())
}
