//! `unstall run`: an unchanged Windows program with the fixes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unstall_doctor::report::Header;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::run;

/// On Linux and macOS a refusal comes at once by itself, so there is nothing to do.
#[cfg(not(windows))]
pub(crate) fn run(_options: &crate::args::Run, _line: &[String]) -> crate::exit::Exit {
    crate::output::note(
        "run is for Windows programs on Windows: this OS reports a refused connect at once, so start the program itself; \
         to see it under Windows' refusals, use unstall lab",
    );
    crate::exit::Exit::Program(125)
}

/// What `unstall run --report` writes. Durations are integers in nanoseconds whose name ends in `_ns`; `null` is "not known".
/// What starts with `estimated` was not measured.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunReport {
    #[serde(flatten)]
    header: Header,
    /// The program, one element.
    results: [RunResult; 1],
    /// Empty: nothing is diagnosed.
    findings: [(); 0],
}

/// One program with its children.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunResult {
    /// As it was typed, with its arguments.
    command: Vec<String>,
    /// How it ended.
    exit_code: i32,
    /// What was to be done.
    fixes: Vec<String>,
    /// All connects together.
    summary: Summary,
    /// Each local connect, in the order in which they ended, and each child that was not followed.
    connects: Vec<Connect>,
}

/// All connects together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Summary {
    /// Local connects whose end is known or not.
    local_connects: usize,
    /// Those that were refused.
    refusals: usize,
    /// Those without a retransmission.
    without_retransmission: usize,
    /// Children that run without the fixes.
    not_followed: usize,
    /// How much longer the default would have taken, all connects together. An estimate, from published figures.
    estimated_saved_ns: u64,
}

/// One local connect. A line of the file that the program and its children append to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Connect {
    /// The program's file, without its folder.
    program: String,
    /// Its process.
    process_id: u32,
    /// The function that was called.
    api: String,
    /// The destination. Null: this is about a child.
    address: Option<String>,
    /// What was done: no_retransmission, nothing, not_supported or not_followed.
    done: String,
    /// What it came to. Null: not known.
    outcome: Option<String>,
    /// The error code of Winsock. Null: none, or not known.
    os_error: Option<i32>,
    /// How long it took. Null: not known.
    elapsed_ns: Option<u64>,
    /// How much longer the default would have taken, estimated. Null: not known.
    estimated_saved_ns: Option<u64>,
    /// What else is to be said. Null: nothing.
    note: Option<String>,
}

impl Summary {
    /// Of the records.
    #[cfg_attr(not(windows), allow(dead_code, reason = "only Windows has records"))]
    pub(crate) fn of(connects: &[Connect]) -> Self {
        let count = |is: fn(&&Connect) -> bool| connects.iter().filter(is).count();
        Self {
            local_connects: count(|connect| connect.address.is_some()),
            refusals: count(|connect| connect.outcome.as_deref() == Some("refused")),
            without_retransmission: count(|connect| connect.done == "no_retransmission"),
            not_followed: count(|connect| connect.done == "not_followed"),
            estimated_saved_ns: connects.iter().filter_map(|connect| connect.estimated_saved_ns).sum(),
        }
    }
}

/// One sentence.
impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural =
            |count: usize, one: &'static str, more: &'static str| if count == 1 { one } else { more };
        write!(f, "{} local {}, ", self.local_connects, plural(self.local_connects, "connect", "connects"))?;
        write!(f, "{} {}, ", self.refusals, plural(self.refusals, "refusal", "refusals"))?;
        write!(f, "about {:.1} s saved (estimated)", self.estimated_saved_ns as f64 / 1e9)?;
        if self.not_followed > 0 {
            let children = plural(self.not_followed, "child", "children");
            write!(f, "; {} {children} without the fixes", self.not_followed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Connect, Summary};

    fn connect(done: &str, outcome: Option<&str>, saved: Option<u64>) -> Connect {
        Connect {
            program: "a.exe".to_owned(),
            process_id: 1,
            api: "connect".to_owned(),
            address: (done != "not_followed").then(|| "127.0.0.1:9".to_owned()),
            done: done.to_owned(),
            outcome: outcome.map(str::to_owned),
            os_error: None,
            elapsed_ns: None,
            estimated_saved_ns: saved,
            note: None,
        }
    }

    #[test]
    fn the_summary_counts_and_says_that_it_estimates() {
        let connects = [
            connect("no_retransmission", Some("refused"), Some(2_020_000_000)),
            connect("no_retransmission", None, None),
            connect("nothing", Some("connected"), Some(0)),
            connect("not_followed", None, None),
        ];
        assert_eq!(
            Summary::of(&connects).to_string(),
            "3 local connects, 1 refusal, about 2.0 s saved (estimated); 1 child without the fixes"
        );
        let none = "0 local connects, 0 refusals, about 0.0 s saved (estimated)";
        assert_eq!(Summary::of(&[]).to_string(), none);
    }

    #[test]
    fn the_records_of_the_dll_are_read() {
        use unstall_core::hook::record::{Done, Record};
        use unstall_core::outcome::Outcome;
        let record = Record {
            program: "a.exe".to_owned(),
            process_id: 1,
            api: "connect".to_owned(),
            address: Some("127.0.0.1:9".to_owned()),
            done: Done::NoRetransmission,
            outcome: Some(Outcome::Refused),
            os_error: Some(10061),
            elapsed_ns: Some(300_000),
            estimated_saved_ns: Some(2_019_700_000),
            note: None,
        };
        let line = serde_json::to_string(&record).unwrap();
        let read: Connect = serde_json::from_str(&line).unwrap();
        let expected = Connect {
            os_error: Some(10061),
            elapsed_ns: Some(300_000),
            ..connect("no_retransmission", Some("refused"), Some(2_019_700_000))
        };
        assert_eq!(read, expected);
    }
}
