//! From a profile's times to what the kernel's timers can give. Pure: the kernel's facts are arguments.
//!
//! # The timer wheel
//!
//! Linux' timers count jiffies (1/HZ s) and are kept in a wheel (`kernel/time/timer.c`): the further away a timer is, the
//! coarser the slots, and a timer always fires at the end of its slot. From 63 jiffies on a slot has 8 jiffies, from 504 on
//! 64. At HZ=250 half a second is 126 jiffies, so timers fire every 32 ms, and whoever asks for 500 ms gets 512. So the
//! first interval varies by a slot, depending on when the connect began; the others are always the same, since each is
//! started when a slot ends.
//!
//! # Retransmissions
//!
//! A SYN is sent again after the first interval, `tcp_syn_linear_timeouts` times more at the same distance, then at
//! distances that double, until `tcp_syn_retries` more have been sent (`net/ipv4/tcp_timer.c`).

use crate::profile::{Refused, Retries, Unanswered};
use std::time::Duration;

/// An interval may be this much shorter than asked for: a limit of 500 ms must not seem enough for one of 505.
const SHORTEST: f64 = 0.98;

/// `TCP_RTO_MAX`: no interval is longer.
const LONGEST: Duration = Duration::from_secs(120);

/// The most that `net.ipv4.tcp_syn_linear_timeouts` can be.
const MOST_LINEAR: u32 = 127;

/// More than this makes no difference: `net.ipv4.tcp_syn_retries` could be 127, but intervals end at [`LONGEST`].
const MOST_DOUBLINGS: u32 = 12;

/// When a timer that asks for `ask` jiffies at the jiffy `now` fires.
pub(crate) const fn fires_at(now: u64, ask: u64) -> u64 {
    let mut level = 0;
    // Level n begins at 63 * 8^(n-1); there are 8 levels at least.
    while level < 7 && ask >= 63 << (3 * level) {
        level += 1;
    }
    let shift = 3 * level;
    ((now + ask + (1 << shift)) >> shift) << shift
}

/// The interval between SYNs that a kernel can give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// What is asked for, in jiffies.
    pub(crate) jiffies: u32,
    /// The first one lies between these.
    pub(crate) first: (Duration, Duration),
    /// Every other one.
    pub(crate) next: Duration,
}

impl Interval {
    /// What a kernel with this HZ gives to whoever asks for so many jiffies.
    pub(crate) fn asked(jiffies: u32, hz: u32) -> Self {
        let ask = u64::from(jiffies);
        // Wherever within a slot a connect begins, and just before the next jiffy.
        let firsts = (0..64).map(|now| fires_at(now, ask) - now);
        let (shortest, longest) =
            firsts.fold((u64::MAX, 0), |(least, most), first| (least.min(first), most.max(first)));
        // A later one is started when a slot has ended; every slot's end is a multiple of 64 at some time.
        let next = fires_at(64, ask) - 64;
        let time = |jiffies: u64| Duration::from_secs(jiffies) / hz;
        Self { jiffies, first: (time(shortest - 1), time(longest)), next: time(next) }
    }

    /// The best approximation of an interval, for a profile with so many retries.
    ///
    /// None is shorter than 98 % of it, and all together come nearest to what is wanted.
    pub(crate) fn nearest(wanted: Duration, retries: u32, hz: u32) -> Self {
        let jiffies = wanted.as_secs_f64() * f64::from(hz);
        let range = (jiffies * 0.8) as u32..=(jiffies * 1.2) as u32 + 1;
        let target = wanted * retries.max(1);
        range
            .map(|jiffies| Self::asked(jiffies.max(1), hz))
            .filter(|interval| {
                interval.first.0 >= wanted.mul_f64(SHORTEST) && interval.next >= wanted.mul_f64(SHORTEST)
            })
            .min_by_key(|interval| interval.mean(retries.max(1)).abs_diff(target))
            .unwrap_or_else(|| Self::asked(jiffies as u32 + 1, hz))
    }

    /// How long so many of them take on average.
    pub(crate) fn mean(&self, count: u32) -> Duration {
        (self.first.0 + self.first.1) / 2 + self.next * (count - 1)
    }
}

/// The settings that make SYNs go out again at an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `net.ipv4.tcp_syn_linear_timeouts`.
    pub(crate) linear: u32,
    /// `net.ipv4.tcp_syn_retries`.
    pub(crate) retries: u32,
}

impl Settings {
    /// With at least `even` SYNs at an even distance, at least `least` in all, and giving up on silence as near to
    /// `give_up` as can be; of several that are alike the one that doubles most, as TCP stacks do.
    pub(crate) fn nearest(interval: Duration, even: u32, least: u32, give_up: Duration) -> Self {
        (1..=MOST_DOUBLINGS)
            .rev()
            .flat_map(|retries| {
                (even.min(MOST_LINEAR)..=MOST_LINEAR).map(move |linear| Self { linear, retries })
            })
            .filter(|settings| settings.linear + settings.retries >= least)
            .min_by_key(|settings| settings.gives_up_after(interval).abs_diff(give_up))
            .unwrap_or(Self { linear: MOST_LINEAR, retries: MOST_DOUBLINGS })
    }

    /// When the SYN has been sent so many times more.
    pub(crate) fn time_of(self, interval: Duration, count: u32) -> Duration {
        let even = count.min(self.linear + 1);
        let doublings = (1..=count - even).map(|number| (interval * (1 << number.min(16))).min(LONGEST));
        interval * even + doublings.sum::<Duration>()
    }

    /// When a connect that nobody answers fails.
    pub(crate) fn gives_up_after(self, interval: Duration) -> Duration {
        self.time_of(interval, self.linear + self.retries + 1)
    }

    /// How many times more the SYN is sent until about this time.
    fn nearest_count(self, interval: Duration, time: Duration) -> u32 {
        (0..=self.linear + self.retries)
            .min_by_key(|count| self.time_of(interval, *count).abs_diff(time))
            .unwrap_or(0)
    }
}

/// What there is to know about a kernel's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timers {
    /// Jiffies in a second.
    pub(crate) hz: u32,
    /// How the kernel itself sends SYNs again.
    pub(crate) settings: Settings,
}

/// How a profile's refusals are played.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule {
    /// The timer. `None`: the kernel's own second.
    pub(crate) interval: Option<Interval>,
    /// The settings that go with it.
    pub(crate) settings: Settings,
    /// How many RSTs a socket does not get to see. `None`: all.
    pub(crate) retries: Option<Limits>,
    /// In what this differs from the profile, one sentence each.
    pub(crate) notes: Vec<String>,
}

/// How many RSTs a socket does not get to see, by what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// If it asks for nothing.
    pub(crate) default: u32,
    /// If it asks for no retry.
    pub(crate) none: u32,
    /// If it asks for 1, 2, ... 8.
    pub(crate) asked: [u32; 8],
}

impl Limits {
    fn of(refused: &Refused, default: u32, count: impl Fn(u32) -> u32) -> Self {
        let asked = [1, 2, 3, 4, 5, 6, 7, 8].map(&count);
        Self { default: count(default), none: count(refused.none_means), asked }
    }

    fn most(&self) -> u32 {
        self.asked.iter().copied().fold(self.default.max(self.none), u32::max)
    }
}

impl Schedule {
    /// With a timer for the profile's interval.
    pub(crate) fn exact(refused: Option<&Refused>, unanswered: Option<&Unanswered>, timers: Timers) -> Self {
        let Some((refused, retries)) = counted(refused) else { return Self::uncounted(unanswered, timers) };
        let interval = Interval::nearest(refused.interval(), retries, timers.hz);
        let count = |retries: u32| {
            // The kernel sends 127 at an even distance; beyond, the time tells how many there are.
            let most = Settings { linear: MOST_LINEAR, retries: MOST_DOUBLINGS };
            if retries <= MOST_LINEAR {
                retries
            } else {
                most.nearest_count(interval.next, refused.interval() * retries)
            }
        };
        let limits = Limits::of(refused, retries, count);
        let (even, least) = (limits.most().min(MOST_LINEAR), limits.most());
        let settings = Settings::nearest(interval.next, even, least, give_up(unanswered, timers));
        let mut notes = silence_note(settings, interval.next, unanswered);
        if least > MOST_LINEAR {
            let time = settings.time_of(interval.next, least).as_secs_f64();
            notes.push(format!(
                "{} retries end after {time:.1} s, but the SYNs beyond the {MOST_LINEAR}th are ever further apart",
                retries.max(refused.none_means)
            ));
        }
        Self { interval: Some(interval), settings, retries: Some(limits), notes }
    }

    /// With the kernel's own timer of a second.
    pub(crate) fn coarse(refused: Option<&Refused>, unanswered: Option<&Unanswered>, timers: Timers) -> Self {
        let Some((refused, retries)) = counted(refused) else { return Self::uncounted(unanswered, timers) };
        let second = Interval::asked(timers.hz, timers.hz).next;
        let most = Settings { linear: MOST_LINEAR, retries: MOST_DOUBLINGS };
        let count = |retries: u32| match most.nearest_count(second, refused.interval() * retries) {
            // However short: one that is asked for is there.
            0 if retries > 0 => 1,
            count => count,
        };
        let limits = Limits::of(refused, retries, count);
        let (even, least) = (limits.most().min(MOST_LINEAR), limits.most());
        let settings = Settings::nearest(second, even, least, give_up(unanswered, timers));
        let wanted = (refused.interval() * retries).as_secs_f64();
        let time = settings.time_of(second, limits.default).as_secs_f64();
        let mut notes = silence_note(settings, second, unanswered);
        notes.push(format!(
            "the coarse engine retries in steps of a second: a refusal takes about {time:.1} s instead of {wanted:.2} s, \
             with {} more SYNs instead of {retries}",
            limits.default
        ));
        Self { interval: None, settings, retries: Some(limits), notes }
    }

    /// No RST is ever seen, or every one.
    fn uncounted(unanswered: Option<&Unanswered>, timers: Timers) -> Self {
        let second = Interval::asked(timers.hz, timers.hz).next;
        let settings = match unanswered {
            Some(unanswered) => Settings::nearest(second, 0, 1, unanswered.gives_up_after()),
            None => timers.settings,
        };
        Self { interval: None, settings, retries: None, notes: silence_note(settings, second, unanswered) }
    }
}

/// The profile's refusals and their number, if there is one.
fn counted(refused: Option<&Refused>) -> Option<(&Refused, u32)> {
    match refused {
        Some(refused @ Refused { retries: Retries::Count(count), .. }) => Some((refused, *count)),
        _ => None,
    }
}

/// When silence is given up: as the profile says, else as this kernel does.
fn give_up(unanswered: Option<&Unanswered>, timers: Timers) -> Duration {
    let own = || timers.settings.gives_up_after(Interval::asked(timers.hz, timers.hz).next);
    unanswered.map_or_else(own, Unanswered::gives_up_after)
}

/// A tenth more or less is worth a word.
fn silence_note(settings: Settings, interval: Duration, unanswered: Option<&Unanswered>) -> Vec<String> {
    let Some(wanted) = unanswered.map(Unanswered::gives_up_after) else { return Vec::new() };
    let given = settings.gives_up_after(interval);
    if given.abs_diff(wanted) <= wanted / 10 {
        return Vec::new();
    }
    let (given, wanted) = (given.as_secs_f64(), wanted.as_secs_f64());
    vec![format!("a connect that nobody answers fails after {given:.0} s instead of {wanted:.0} s")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    const LINUX: Settings = Settings { linear: 4, retries: 6 };

    fn ms(interval: Interval) -> (u128, u128, u128) {
        (interval.first.0.as_millis(), interval.first.1.as_millis(), interval.next.as_millis())
    }

    fn profile(name: &str) -> Profile {
        Profile::find(name).expect("built in")
    }

    fn exact(name: &str, hz: u32) -> Schedule {
        let profile = profile(name);
        Schedule::exact(profile.refused.as_ref(), profile.unanswered.as_ref(), Timers { hz, settings: LINUX })
    }

    fn coarse(name: &str, hz: u32) -> Schedule {
        let profile = profile(name);
        Schedule::coarse(
            profile.refused.as_ref(),
            profile.unanswered.as_ref(),
            Timers { hz, settings: LINUX },
        )
    }

    #[test]
    fn the_wheel_rounds_up_to_the_end_of_a_slot() {
        // Up to 62 jiffies: the next one. Up to 503: slots of 8. Then: slots of 64.
        assert_eq!([fires_at(0, 1), fires_at(5, 62)], [2, 68]);
        assert_eq!([fires_at(0, 63), fires_at(0, 64), fires_at(7, 64)], [64, 72, 72]);
        assert_eq!([fires_at(0, 503), fires_at(0, 504)], [504, 512]);
        assert_eq!([fires_at(8, 120), fires_at(8, 119)], [136, 128]);
    }

    /// The published figures are 505 ms for an interval, 506 for one retry and 2015 to 2047 for four.
    #[test]
    fn half_a_second_at_every_hz() {
        let intervals = [100, 250, 300, 1000].map(|hz| exact("windows-11", hz).interval.expect("a timer"));
        assert_eq!(intervals.map(|interval| interval.jiffies), [50, 124, 149, 503]);
        let expected = [(500, 510, 510), (496, 528, 512), (496, 523, 506), (503, 511, 504)];
        assert_eq!(intervals.map(ms), expected);
        for interval in intervals {
            assert!(
                interval.first.0 >= Duration::from_millis(495)
                    && interval.first.1 <= Duration::from_millis(530)
            );
            let four = (interval.first.0 + interval.next * 3, interval.first.1 + interval.next * 3);
            assert!(four.0 > Duration::from_secs(2) && four.1 < Duration::from_millis(2100), "{four:?}");
        }
    }

    #[test]
    fn silence_lasts_as_long_as_the_profile_says() {
        let schedule = exact("windows-11", 250);
        assert_eq!(schedule.settings, Settings { linear: 10, retries: 4 });
        assert_eq!(schedule.settings.gives_up_after(Duration::from_millis(512)).as_millis(), 20_992);
        assert_eq!(schedule.notes, Vec::<String>::new());
        let tuned = exact("windows-tuned", 250);
        assert_eq!(tuned.settings.gives_up_after(Duration::from_millis(512)).as_millis(), 7_168);
        // Linux' own: 4 linear and 6 doubling ones, 131 s.
        let second = Duration::from_secs(1);
        assert_eq!(LINUX.gives_up_after(second), Duration::from_secs(131));
        assert_eq!([1, 5, 6, 7].map(|count| LINUX.time_of(second, count).as_secs()), [1, 5, 7, 11]);
    }

    #[test]
    fn a_profile_without_a_number_leaves_the_timer_alone() {
        for (name, settings) in [("linux", LINUX), ("rst-lost", LINUX)] {
            let schedule = exact(name, 250);
            assert_eq!((schedule.interval, schedule.settings, schedule.retries), (None, settings, None));
        }
        let stealth = exact("stealth", 250).settings.gives_up_after(Duration::from_millis(1024));
        assert!(stealth.abs_diff(Duration::from_secs(21)) < Duration::from_secs(1), "{stealth:?}");
    }

    #[test]
    fn retries_are_counted_and_255_of_them_are_timed() {
        let limits = exact("windows-11", 250).retries.expect("counted");
        assert_eq!((limits.default, limits.none, limits.asked), (4, 0, [1, 2, 3, 4, 5, 6, 7, 8]));
        let old = exact("windows-server-2016", 250);
        let limits = old.retries.expect("counted");
        assert_eq!((limits.default, limits.none), (4, 134));
        let end = old.settings.time_of(Duration::from_millis(512), 134);
        assert!(end.abs_diff(Duration::from_millis(255 * 505)) < Duration::from_secs(3), "{end:?}");
        assert!(old.settings.linear + old.settings.retries >= 134);
        assert!(
            old.notes.iter().any(|note| note.starts_with("255 retries end after 130.0 s")),
            "{:?}",
            old.notes
        );
    }

    #[test]
    fn the_coarse_engine_rounds_to_seconds_and_says_so() {
        let schedule = coarse("windows-11", 250);
        let limits = schedule.retries.expect("counted");
        assert_eq!((limits.default, limits.none, limits.asked), (2, 0, [1, 1, 1, 2, 2, 3, 3, 4]));
        assert_eq!(
            schedule.notes,
            [
                "the coarse engine retries in steps of a second: a refusal takes about 2.0 s instead of 2.02 s, \
              with 2 more SYNs instead of 4"
            ]
        );
        assert_eq!(coarse("windows-tuned", 250).retries.map(|limits| limits.default), Some(1));
    }
}
