//! The checks: what each measures and how it judges what it measured.
//!
//! A check is a type that implements [`Check`]: `measure` does the I/O and decides nothing, `judge` decides and does
//! no I/O, so every threshold is tested with made-up measurements. The checks of this machine are listed in
//! [`host::CHECKS`], those of a target in [`target::CHECKS`]; everything else (the runner, `--list-checks`, the JSON
//! schema) reads these tables. Those that only Windows has are in [`windows`]; elsewhere they run when they are asked for, and
//! say that there is nothing to measure.

pub(crate) mod host;
mod run;
pub(crate) mod target;
mod windows;

use crate::context::Context;
use crate::findings::{Finding, Os};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use std::time::Duration;

pub(crate) use run::{Ran, run};

/// Why a check has no measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotRun {
    /// It should have been possible, and was not.
    CouldNot(String),
    /// There is nothing to measure here: another OS, a family that is off.
    NotApplicable(String),
}

/// What `measure` gives.
pub(crate) type Measured<D> = Result<D, NotRun>;

/// Whether the doctor itself lacked descriptors, ports or memory, which says nothing about what it was to measure.
pub(crate) fn not_exhausted(
    outcomes: impl IntoIterator<Item = unstall_core::outcome::Outcome>,
) -> Measured<()> {
    if outcomes.into_iter().any(|outcome| outcome == unstall_core::outcome::Outcome::Exhausted) {
        let why = "this process has no descriptor, port or memory left to measure with (ulimit -n)";
        return Err(NotRun::CouldNot(why.to_owned()));
    }
    Ok(())
}

/// One check.
pub(crate) trait Check {
    /// What it looks at: `()` for this machine, or a target.
    type Subject: ?Sized + Send + Sync + 'static;
    /// What it measures. `null` in its JSON is "not measured".
    type Data: Serialize + JsonSchema + 'static;

    /// Stable name, kebab case.
    const ID: &'static str;
    /// What people read while it runs.
    const TITLE: &'static str;
    /// What it measures and what it can find, for `--list-checks`.
    const ABOUT: &'static str;
    /// How long it may go on taking samples, at the default number of samples. A single sample may take as long as
    /// [`Context::timeout`], so a check can end that much later.
    const BUDGET: Duration;
    /// Where it runs when nobody asks for it by name. Default anywhere.
    const OS: Os = Os::Any;
    /// Whether it runs only when it is asked for by name, since it takes long. Default false.
    const ON_REQUEST: bool = false;

    /// Measures. Everything that touches the system is here.
    fn measure(context: &Context, subject: &Self::Subject) -> Measured<Self::Data>;

    /// Judges. Pure: the same measurement always gives the same findings.
    fn judge(data: &Self::Data) -> Vec<Finding>;

    /// What was measured, in lines for people. Pure. Default: nothing beyond the findings.
    fn describe(_data: &Self::Data) -> Vec<String> {
        Vec::new()
    }
}

/// What a check that ran gives.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The measurement as JSON.
    pub(crate) data: serde_json::Value,
    /// The measurement for people.
    pub(crate) lines: Vec<String>,
    /// What was found.
    pub(crate) findings: Vec<Finding>,
}

/// A row of a table of checks.
pub(crate) struct Row<S: ?Sized> {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) budget: Duration,
    os: Os,
    on_request: bool,
    /// Measures and judges.
    perform: fn(&Context, &S) -> Measured<Outcome>,
    /// The JSON schema of its data.
    pub(crate) schema: fn(&mut SchemaGenerator) -> Schema,
}

impl<S: ?Sized + Send + Sync + 'static> Row<S> {
    /// The row of a check.
    pub(crate) const fn of<C: Check<Subject = S>>() -> Self {
        Self {
            id: C::ID,
            title: C::TITLE,
            about: C::ABOUT,
            budget: C::BUDGET,
            os: C::OS,
            on_request: C::ON_REQUEST,
            perform: perform::<C>,
            schema: SchemaGenerator::subschema_for::<C::Data>,
        }
    }

    /// Whether it runs on this system when nobody asks for it by name.
    pub(crate) fn is_by_default(&self) -> bool {
        !self.on_request && self.os.is(std::env::consts::OS)
    }
}

fn perform<C: Check>(context: &Context, subject: &C::Subject) -> Measured<Outcome> {
    let measured = C::measure(context, subject)?;
    let data = serde_json::to_value(&measured)
        .map_err(|error| NotRun::CouldNot(format!("the measurement cannot be written as JSON: {error}")))?;
    Ok(Outcome { data, lines: C::describe(&measured), findings: C::judge(&measured) })
}

/// A check as `--list-checks` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckInfo {
    /// Stable name, for `--check`.
    pub id: &'static str,
    /// What it is called while it runs.
    pub title: &'static str,
    /// What it measures and what it can find.
    pub about: &'static str,
    /// Whether it is about a target rather than this machine.
    pub of_target: bool,
    /// Whether it runs on this system without being asked for by name.
    pub by_default: bool,
}

/// Every check, those of this machine first, in the order in which they run.
pub fn list_checks() -> Vec<CheckInfo> {
    let host = host::CHECKS.iter().map(|row| info(row, false));
    host.chain(target::CHECKS.iter().map(|row| info(row, true))).collect()
}

fn info<S: ?Sized + Send + Sync + 'static>(row: &Row<S>, of_target: bool) -> CheckInfo {
    CheckInfo { id: row.id, title: row.title, about: row.about, of_target, by_default: row.is_by_default() }
}
