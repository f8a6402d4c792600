//! The clock, and what reading it costs: the error of every other figure.

use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, system};
use crate::stats::{Figures, ns, show};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::{Duration, Instant};

pub(super) struct Clock;

/// The clock.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ClockData")]
pub(super) struct Data {
    /// The clock's step, as the OS states it; null: it does not.
    resolution_ns: Option<u64>,
    /// The smallest step that was seen; null: the clock stood still.
    step_ns: Option<u64>,
    /// How long measuring nothing takes: two readings of the clock.
    overhead: Figures,
}

/// A connect over loopback takes tens of microseconds: a step of this size hides it.
const COARSE: Duration = Duration::from_millis(1);

/// How long a step of the clock is waited for. Windows' coarsest tick is 15.6 ms.
const STEP_LIMIT: Duration = Duration::from_millis(50);

impl Check for Clock {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "clock";
    const TITLE: &'static str = "clock and measuring overhead";
    const ABOUT: &'static str = "the clock's step, stated and seen, and what measuring nothing costs";
    const BUDGET: Duration = Duration::from_millis(200);

    fn measure(context: &Context, (): &()) -> Measured<Data> {
        let nothing = context.series(context.samples(1), || Ok::<_, NotRun>(Instant::now().elapsed()))?;
        let overhead =
            Figures::of(&nothing).ok_or_else(|| NotRun::CouldNot("no sample was taken".to_owned()))?;
        Ok(Data {
            resolution_ns: unstall_sys::clock::resolution().map(ns),
            step_ns: step(10).map(ns),
            overhead,
        })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let steps = [data.resolution_ns, data.step_ns].into_iter().flatten().map(Duration::from_nanos);
        let Some(step) = steps.max().filter(|step| *step >= COARSE) else { return Vec::new() };
        let evidence = Evidence::measured(format!("the clock moves in steps of {}", show(step)), step, 1);
        vec![system::COARSE_CLOCK.found(&[("step", &show(step))]).with_evidence(evidence)]
    }

    fn describe(data: &Data) -> Vec<String> {
        let ns = |step: Option<u64>| step.map_or("unknown".to_owned(), |step| format!("{step} ns"));
        let [stated, seen] = [data.resolution_ns, data.step_ns].map(ns);
        let overhead = ns(Some(crate::stats::ns(data.overhead.median())));
        vec![format!("steps of {stated} as stated, {seen} as seen; measuring nothing takes {overhead}")]
    }
}

/// The smallest of `count` steps that the clock makes while it is watched.
fn step(count: usize) -> Option<Duration> {
    (0..count).filter_map(|_| next_step()).min()
}

fn next_step() -> Option<Duration> {
    let start = Instant::now();
    // Bounded, for a clock that stands still: reading it takes 10 ns at least.
    let readings = STEP_LIMIT.as_nanos() / 10;
    (0..readings).map(|_| start.elapsed()).find(|step| !step.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Options;
    use crate::stats::tests::figures;

    fn found(resolution: Option<u64>, step: Option<u64>) -> usize {
        Clock::judge(&Data { resolution_ns: resolution, step_ns: step, overhead: figures(&[0.0]) }).len()
    }

    #[test]
    fn a_step_of_a_millisecond_is_coarse() {
        assert_eq!(found(Some(1), Some(999_999)), 0);
        assert_eq!(found(Some(1), Some(1_000_000)), 1);
        assert_eq!(found(Some(15_600_000), Some(15_600_000)), 1);
        assert_eq!(found(None, None), 0);
    }

    #[test]
    fn the_clock_of_this_machine_moves() {
        let data = Clock::measure(&Context::new(&Options::default()), &()).expect("not measured");
        assert!(data.step_ns.expect("stands still") > 0);
    }
}
