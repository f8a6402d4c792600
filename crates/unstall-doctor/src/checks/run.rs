//! Runs one check: on a thread of its own, so that one that panics or hangs does not stop the others.

use super::{Measured, NotRun, Outcome, Row};
use crate::context::Context;
use crate::findings::Finding;
use crate::report::{CheckResult, Status};
use std::any::Any;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Instant;

/// What a check came to.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    /// For the report.
    pub(crate) result: CheckResult,
    /// Empty when it did not run.
    pub(crate) findings: Vec<Finding>,
}

/// Runs a check. `target` is what the person typed, for checks of a target.
///
/// A check that does not come back in its budget and the grace for its last sample is left behind: its thread cannot be
/// stopped (it may wait in the OS's resolver), and ends with the process.
pub(crate) fn run<S: Send + Sync + 'static>(
    row: &'static Row<S>,
    context: &Context,
    subject: &Arc<S>,
    target: Option<&str>,
) -> Ran {
    let context = context.for_budget(row.budget);
    let limit = context.hard_limit();
    let start = Instant::now();
    let measured = on_thread(row, context, Arc::clone(subject), limit);
    let elapsed_ns = crate::stats::ns(start.elapsed());
    let (status, why) = match &measured {
        Ok(_) => (Status::Ran, None),
        Err(NotRun::CouldNot(why)) => (Status::CouldNotRun, Some(why.clone())),
        Err(NotRun::NotApplicable(why)) => (Status::NotApplicable, Some(why.clone())),
    };
    let nothing = |_| Outcome { data: serde_json::Value::Null, lines: Vec::new(), findings: Vec::new() };
    let Outcome { data, lines, findings } = measured.unwrap_or_else(nothing);
    let findings = findings.into_iter().map(|finding| Finding {
        check: row.id.to_owned(),
        target: target.map(str::to_owned),
        ..finding
    });
    let result = CheckResult {
        id: row.id.to_owned(),
        title: row.title.to_owned(),
        target: target.map(str::to_owned),
        status,
        why,
        elapsed_ns,
        lines,
        data,
    };
    Ran { result, findings: findings.collect() }
}

fn on_thread<S: Send + Sync + 'static>(
    row: &'static Row<S>,
    context: Context,
    subject: Arc<S>,
    limit: std::time::Duration,
) -> Measured<Outcome> {
    let (sender, receiver) = mpsc::channel();
    let worker = thread::Builder::new().name(row.id.to_owned()).spawn(move || {
        // The receiver is gone only when this came too late.
        let _ = sender.send((row.perform)(&context, &subject));
    });
    let worker =
        worker.map_err(|error| NotRun::CouldNot(format!("no thread could be started for it: {error}")))?;
    match receiver.recv_timeout(limit) {
        Ok(measured) => measured,
        Err(RecvTimeoutError::Timeout) => {
            Err(NotRun::CouldNot(format!("it did not finish within {:.1} s", limit.as_secs_f64())))
        }
        Err(RecvTimeoutError::Disconnected) => {
            let panic = worker.join().err();
            let what = panic.as_deref().map_or("no reason given", message);
            Err(NotRun::CouldNot(format!("the check itself failed ({what}): please report this")))
        }
    }
}

/// The text of a panic.
fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Check;
    use crate::context::Options;
    use crate::findings::system::ABORT_ON_OVERFLOW;
    use std::time::Duration;

    /// A check that does as its subject says.
    struct Puppet;

    enum Deed {
        Give(u32),
        Panic,
        Hang,
        Fail,
        NotHere,
    }

    impl Check for Puppet {
        type Subject = Deed;
        type Data = u32;
        const ID: &'static str = "puppet";
        const TITLE: &'static str = "a puppet";
        const ABOUT: &'static str = "";
        const BUDGET: Duration = Duration::ZERO;

        fn measure(_: &Context, deed: &Deed) -> Measured<u32> {
            match deed {
                Deed::Give(number) => Ok(*number),
                Deed::Panic => panic!("out of cheese"),
                Deed::Hang => loop {
                    thread::park();
                },
                Deed::Fail => Err(NotRun::CouldNot("no luck".to_owned())),
                Deed::NotHere => Err(NotRun::NotApplicable("another system".to_owned())),
            }
        }

        fn judge(data: &u32) -> Vec<Finding> {
            (0..*data).map(|_| ABORT_ON_OVERFLOW.found(&[])).collect()
        }
    }

    static PUPPET: Row<Deed> = Row::of::<Puppet>();

    fn outcome(deed: Deed) -> Ran {
        let mut context = Context::new(&Options::default());
        context.grace = Duration::from_millis(if matches!(deed, Deed::Hang) { 10 } else { 10_000 });
        run(&PUPPET, &context, &Arc::new(deed), Some("a:1"))
    }

    #[test]
    fn a_check_that_runs_gives_data_and_findings_of_its_target() {
        let ran = outcome(Deed::Give(2));
        assert_eq!((ran.result.status, &ran.result.data), (Status::Ran, &serde_json::json!(2)));
        assert_eq!(ran.findings.len(), 2);
        assert!(ran.findings.iter().all(|finding| finding.target.as_deref() == Some("a:1")));
    }

    #[test]
    fn what_keeps_a_check_from_running_is_told() {
        let cases = [
            (Deed::Panic, Status::CouldNotRun, "out of cheese"),
            (Deed::Hang, Status::CouldNotRun, "did not finish within"),
            (Deed::Fail, Status::CouldNotRun, "no luck"),
            (Deed::NotHere, Status::NotApplicable, "another system"),
        ];
        for (deed, status, words) in cases {
            let ran = outcome(deed);
            let why = ran.result.why.expect("a reason");
            assert_eq!(ran.result.status, status, "{why}");
            assert!(why.contains(words), "{why}");
            assert!(ran.result.data.is_null() && ran.findings.is_empty(), "{why}");
        }
    }
}
