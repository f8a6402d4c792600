//! The timer: how long a wait of a millisecond takes.

use super::only_on_windows;
use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Os, system};
use crate::stats::{Figures, ns, show};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use unstall_sys::clock;

pub(in crate::checks) struct Timer;

/// The timer that ends waits.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TimerData")]
pub(in crate::checks) struct Data {
    /// Its interval as NtQueryTimerResolution tells it; null: it does not.
    interval_ns: Option<u64>,
    /// How long waits of one millisecond took.
    waits: Figures,
}

/// What is waited for.
const ONE: Duration = Duration::from_millis(1);
/// The timer's usual interval is 15.6 ms, the finest 0.5 or 1 ms.
const COARSE: Duration = Duration::from_millis(5);

impl Check for Timer {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "timer";
    const TITLE: &'static str = "timer resolution";
    const ABOUT: &'static str =
        "Windows: the interval of the timer that ends waits, and how long a wait of 1 ms really takes";
    const BUDGET: Duration = Duration::from_secs(1);
    const OS: Os = Os::Windows;

    fn measure(context: &Context, (): &()) -> Measured<Data> {
        only_on_windows("a timer whose interval programs set")?;
        waits(context)
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let time = data.waits.median();
        if time < COARSE {
            return Vec::new();
        }
        let found = system::COARSE_TIMER.found(&[("time", &show(time))]);
        let interval = data.interval_ns.map(Duration::from_nanos).map(|interval| {
            Evidence::measured(format!("the timer's interval is {}", show(interval)), interval, 1)
        });
        vec![found.with_evidence(data.waits.evidence("waits of 1 ms")).with_all(interval)]
    }

    fn describe(data: &Data) -> Vec<String> {
        let interval = data.interval_ns.map_or("not known".to_owned(), |ns| show(Duration::from_nanos(ns)));
        vec![format!("interval {interval}, a wait of 1 ms takes {}", show(data.waits.median()))]
    }
}

fn waits(context: &Context) -> Measured<Data> {
    // A channel that nobody writes to: unlike a sleep of the standard library, which asks for a finer timer of its own.
    let (_sender, receiver) = mpsc::channel::<()>();
    let waits = context.series(context.samples(5), || {
        let start = Instant::now();
        // It can only time out.
        let _ = receiver.recv_timeout(ONE);
        Ok::<_, NotRun>(start.elapsed())
    })?;
    let waits = Figures::of(&waits).ok_or_else(|| NotRun::CouldNot("no sample was taken".to_owned()))?;
    Ok(Data { interval_ns: clock::tick().map(ns), waits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;
    use crate::stats::tests::figures;

    fn found(ms: f64) -> Vec<String> {
        let data = Data { interval_ns: Some(15_625_000), waits: figures(&[ms; 20]) };
        Timer::judge(&data).into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn waits_that_take_a_tick_are_coarse() {
        assert_eq!(found(4.9), [""; 0]);
        assert_eq!(found(15.6), ["coarse-timer"]);
    }

    #[test]
    fn a_wait_takes_at_least_what_was_asked_for() {
        let context = Context::new(&Options::default()).for_budget(Timer::BUDGET);
        let data = waits(&context).expect("measured");
        assert!(data.waits.n() >= 1);
        assert!(cfg!(windows) || data.waits.values().iter().all(|wait| *wait >= ONE));
    }
}
