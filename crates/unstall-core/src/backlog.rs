//! Connects that the listener did not take: when an attempt is made again, and when its outcome is final.
//!
//! A full accept queue is no answer about the server. Windows resets the SYN then (KB113576), Linux drops it and sends the
//! next one a second later, and both look like something else: a closed port, a lost packet. [`decide`] tells them apart by what
//! the listener table says, and names the time of the next try. It is a table; the time, the table's answer and the jitter are
//! passed in.
//!
//! # Why these times
//!
//! An attempt that is **unanswered** stays as it is while the queue is seen to be full: its socket keeps the OS's own schedule
//! (Linux: 1, 2, 3, 4, 5, 7 ... s, or 1, 3, 7 ... s before 6.5), so nothing is later than the OS default as long as
//! it stays full, and a server that never drains sees the default's SYNs and no other. What is repeated is the look at the queue, after a quarter of the time that
//! has passed, at least [`FIRST_LOOK`] and at most [`LONGEST_LOOK`]: a queue drained after t is seen by 1.4 t. Once there is
//! room the attempt is closed and made afresh, at most [`MAX_FRESH`] times. Since the pause grows with the time that has passed,
//! a crowd spreads itself out: 2,000 connects that wait for a second come at 20 per ms. Those that miss the room pause for longer
//! each time.
//!
//! Where the table does not tell (`Unknown`, or a listener whose queue is not shown) the fresh tries come blindly at the moments of
//! [`BLIND`], and the last of them, at the OS default's own first repetition, is left to the OS.
//!
//! A **refused** attempt has no socket that could wait, and the queue is not shown where a full one refuses (Windows). So it is
//! made again within the windows of [`REFUSED`]: close together at first, since most queues are full for a moment, and from 505 ms
//! on also where the OS default would have sent its own SYNs, so that nothing it connects is missed.

use std::time::Duration;

/// How long a listener that does not take a connect is tried, by default: Windows sends a refused SYN again four times, about 505 ms
/// apart, the last time after 2.02 s (see `docs/PLATFORM.md`), and a queue that is drained just before is to be found so here too.
pub const PATIENCE: Duration = Duration::from_millis(2060);

/// When an unanswered local attempt is looked at for the first time. What does not leave the host answers in microseconds.
pub const FIRST_LOOK: Duration = Duration::from_millis(2);

/// The longest time between two looks at a full queue.
pub const LONGEST_LOOK: Duration = Duration::from_millis(100);

/// While the first socket is left to the OS, which sends its SYN again for the first time: 1.00 to 1.03 s after the first one (measured),
/// up to 1.07 s where 2,000 do so at once. It begins early because a crowd that finds room just before would miss its turn then. Where
/// the OS tells whether it has sent it, that counts instead of the end.
const REPETITION: Window = window(920, 1080);

/// The time between two looks from then on until a crowd has passed: what the OS default connects by its own SYN must not be
/// found much later.
const CLOSE_LOOK: Duration = Duration::from_millis(12);

/// How long after the start of [`REPETITION`] the looks are that close.
const CROWD: Duration = Duration::from_millis(250);

/// When the OS sends the SYN of the first socket again, at the earliest.
const REPEATED: Duration = Duration::from_secs(1);

/// How often an unanswered attempt is made afresh because there is room; after that its socket is the OS's.
pub const MAX_FRESH: u32 = 8;

/// A span of time since the first try; within it the jitter chooses.
pub type Window = (Duration, Duration);

/// When a try that was refused although somebody listens is made again. With the first one a listener sees 12 SYNs.
///
/// Four of the windows lie where Windows sends its own SYNs (published: about 505 ms apart, see `docs/PLATFORM.md`) and are short,
/// so that a queue that the OS default finds drained is found so at the same time, and the last of them no earlier. The others are as long as a crowd needs: 2,000
/// connects within 420 ms are 5 per ms.
pub const REFUSED: [Window; 11] = [
    window(1, 2),
    window(5, 12),
    window(30, 55),
    window(80, 130),
    window(200, 440),
    window(505, 535),
    window(1010, 1040),
    window(1060, 1480),
    window(1515, 1545),
    window(1600, 2000),
    window(2025, 2060),
];

/// When an unanswered attempt is made afresh where nobody tells whether there is room. The last one is at Linux's own first
/// repetition of a SYN.
pub const BLIND: [Window; 5] =
    [window(2, 3), window(9, 15), window(36, 60), window(180, 300), window(1000, 1000)];

const fn window(from_ms: u64, to_ms: u64) -> Window {
    (Duration::from_millis(from_ms), Duration::from_millis(to_ms))
}

/// How long a refusal is doubted where nobody tells whether somebody listens, so that a closed port is still refused within a
/// few ms.
pub const DOUBT: Duration = Duration::from_millis(4);

/// What has become of the newest try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seen {
    /// Nothing has answered so far. Its socket is still there.
    Silence,
    /// A reset answered the SYN.
    Refused,
    /// A connection stood and was reset at once: somebody took it, and did not want it.
    Reset,
    /// The OS gave the try up without an answer: its only SYN, or the answer, was lost.
    GivenUp,
    /// It is connected on this side alone: the server's side has dropped the last ACK, for its queue was full.
    Ghost,
}

/// What the listener table says about the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Listening {
    /// Nobody listens.
    No,
    /// Somebody listens, and another connection fits into the queue.
    Room,
    /// Somebody listens, and the queue is full.
    Full,
    /// Somebody listens; the queue is not told.
    Yes,
    /// Not told at all.
    Unknown,
}

/// One try of a connect, when there is something to decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation {
    /// What has become of it.
    pub seen: Seen,
    /// Whether the destination is this host. A remote queue cannot be seen from here.
    pub local: bool,
    /// What the listener table says.
    pub listening: Listening,
    /// Since the first try of this address.
    pub elapsed: Duration,
    /// How many tries of this address were made, this one included.
    pub tries: u32,
    /// Whether the OS has sent the SYN of this socket again. `None`: it does not tell, or was not asked.
    pub repeated: Option<bool>,
    /// If the queue is full but being drained: when it is this connect's turn among those of its process.
    pub turn: Option<Duration>,
    /// How long a listener is tried, since the first try. Zero: never again.
    pub budget: Duration,
    /// How much time is left to the caller's limit. `None`: there is none.
    pub left: Option<Duration>,
    /// A random number, from 0 to below 1.
    pub jitter: f64,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    /// What was seen stands: an outcome is the outcome, and an attempt that is unanswered is left to the OS. A ghost is left
    /// as it is, for the OS repeats its part too.
    Final,
    /// Close the socket, if there is one, and then, so long from now, make the attempt again with a fresh one.
    Again {
        /// How long from now.
        after: Duration,
    },
    /// Leave the attempt as it is, and look again so long from now.
    Look {
        /// How long from now.
        after: Duration,
    },
}

/// What is to be done about a try. The rows, first that fits:
///
/// | seen | local | listening | within budget | decision |
/// |---|---|---|---|---|
/// | any | no | any | any | final |
/// | any | yes | any | no | final |
/// | reset | yes | any | yes | final |
/// | refused | yes | no | yes | final |
/// | refused | yes | unknown | yes | again for [`DOUBT`] |
/// | refused | yes | yes, room, full | yes | again as [`REFUSED`] says |
/// | given up | yes | any | yes | again as [`REFUSED`] says |
/// | ghost | yes | any | yes | again after a pause, [`MAX_FRESH`] + 1 tries |
/// | silence | yes | no, full | yes | look again |
/// | silence | yes | room | yes | again at once, [`MAX_FRESH`] + 1 tries; look again while the OS's own SYN is about to come |
/// | silence | yes | yes, unknown | yes | look or again, as [`BLIND`] says |
///
/// A try that would come at the caller's limit or later does not come: the row's decision is final then. A look comes earlier.
pub fn decide(situation: &Situation) -> Decision {
    let Situation { seen, local, listening, elapsed, tries, budget, .. } = *situation;
    if !local || elapsed >= budget {
        return Decision::Final;
    }
    let decision = match (seen, listening) {
        (Seen::Reset, _) | (Seen::Refused, Listening::No) => Decision::Final,
        (Seen::Refused, Listening::Unknown) if elapsed >= DOUBT => Decision::Final,
        (Seen::Ghost, _) | (Seen::Silence, Listening::Room) if tries > MAX_FRESH => Decision::Final,
        (Seen::Ghost, _) => Decision::Again { after: next_look(situation) },
        (Seen::Refused | Seen::GivenUp, _) => match moment(&REFUSED, situation) {
            Some(at) if at <= budget => Decision::Again { after: at.saturating_sub(elapsed) },
            _ => Decision::Final,
        },
        (Seen::Silence, Listening::No | Listening::Full) => {
            Decision::Look { after: situation.turn.unwrap_or_else(|| next_look(situation)) }
        }
        (Seen::Silence, Listening::Room) => match until_repeated(situation) {
            // The OS's own SYN is no reason to wait where it would come too late.
            Some(after) if !is_too_late(after, situation) => Decision::Look { after },
            _ => Decision::Again { after: Duration::ZERO },
        },
        (Seen::Silence, Listening::Yes | Listening::Unknown) => blindly(situation),
    };
    match decision {
        Decision::Look { after } if is_too_late(after, situation) => last_looks(situation),
        Decision::Again { after } if is_too_late(after, situation) => Decision::Final,
        decision => decision,
    }
}

fn is_too_late(after: Duration, situation: &Situation) -> bool {
    situation.left.is_some_and(|left| after >= left)
}

/// The next look would come at the limit or later: about halfway to it instead, so that a queue drained just before is found so.
fn last_looks(situation: &Situation) -> Decision {
    match situation.left.map(|left| left.mul_f64(0.25 + situation.jitter.clamp(0.0, 1.0) / 2.0)) {
        Some(after) if after >= FIRST_LOOK => Decision::Look { after },
        _ => Decision::Final,
    }
}

/// How long after its start a local attempt that is unanswered is looked at for the first time.
pub fn first_look(tries: u32, elapsed: Duration, jitter: f64) -> Duration {
    if tries <= 1 { FIRST_LOOK } else { pause(tries, elapsed, jitter) }
}

fn next_look(situation: &Situation) -> Duration {
    pause(situation.tries, situation.elapsed, situation.jitter)
}

/// Whether [`Situation::repeated`] makes a difference, so that a caller need not ask the OS for nothing.
pub fn wants_repeated(tries: u32, elapsed: Duration) -> bool {
    tries <= 1 && (REPETITION.0..REPETITION.1).contains(&elapsed)
}

/// A quarter of the time that has passed, within its bounds; for a fresh try that missed the room that was there 4, 8, 16 ... ms, since
/// the queue is being drained and the crowd is to thin out. Times 0.5 to 1.5.
fn pause(tries: u32, elapsed: Duration, jitter: f64) -> Duration {
    let since = elapsed.checked_sub(REPETITION.0);
    let pause = if tries <= 1 && since.is_some_and(|since| since < CROWD) {
        CLOSE_LOOK
    } else if tries <= 1 {
        (elapsed / 4).clamp(FIRST_LOOK, LONGEST_LOOK)
    } else {
        (FIRST_LOOK * (1 << (tries - 1).min(7))).min(LONGEST_LOOK * 2)
    };
    pause.mul_f64(0.5 + jitter.clamp(0.0, 1.0))
}

/// The time until the first socket's own repetition of its SYN has been answered, if that is about to come or under way.
fn until_repeated(situation: &Situation) -> Option<Duration> {
    let Situation { elapsed, jitter, .. } = *situation;
    let comes = wants_repeated(situation.tries, elapsed) && situation.repeated != Some(true);
    // Not all at once, or a crowd whose SYNs were dropped would fill the queue in one moment.
    let pause = pause(1, elapsed, jitter);
    let end = if situation.repeated.is_some() { REPEATED } else { REPETITION.1 };
    comes.then(|| pause + end.saturating_sub(elapsed))
}

/// The next moment of [`BLIND`].
fn blindly(situation: &Situation) -> Decision {
    match moment(&BLIND, situation).map(|at| at.saturating_sub(situation.elapsed)) {
        None => Decision::Final,
        Some(Duration::ZERO) => Decision::Again { after: Duration::ZERO },
        Some(after) => Decision::Look { after },
    }
}

/// The time of the next try, since the first one. `None`: there is none.
fn moment(table: &[Window], situation: &Situation) -> Option<Duration> {
    let (from, to) = *table.get(situation.tries.max(1) as usize - 1)?;
    Some(from + to.saturating_sub(from).mul_f64(situation.jitter.clamp(0.0, 1.0)))
}
