//! `unstall doctor --compare`.

use crate::document;
use crate::exit::Exit;
use crate::output;
use crate::usage;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;
use std::path::Path;
use unstall_doctor::Report;
use unstall_doctor::report::{Comparison, Header};

/// What `unstall doctor --compare --json` prints. Durations are integers in nanoseconds whose name ends in `_ns`; `null` is "not known".
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompareReport {
    #[serde(flatten)]
    header: Header,
    #[serde(flatten)]
    comparison: Comparison,
}

pub(crate) fn run(paths: [&Path; 2], json: bool, line: &[String]) -> Exit {
    let compared = read(paths[0]).and_then(|before| {
        let after = read(paths[1])?;
        Comparison::of(&before, &after).map_err(|unlike| format!("cannot compare the reports: {unlike}"))
    });
    let comparison = match compared {
        Ok(comparison) => comparison,
        Err(sentence) => return usage::refuse(&sentence, json, line),
    };
    let exit = if comparison.is_worse() { Exit::Found } else { Exit::Ok };
    if json {
        let report = CompareReport { header: Header::now(line.to_vec()), comparison };
        return output::result(&document::to_json(&report), exit);
    }
    let names = paths.map(|path| path.to_string_lossy());
    output::result(&comparison.text([&names[0], &names[1]]), exit)
}

fn read(path: &Path) -> Result<Report, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| {
        format!("cannot read {shown}: {error}; name a file that unstall doctor --json wrote")
    })?;
    serde_json::from_str(&text)
        .map_err(|error| format!("{shown} is no report of unstall doctor --json: {error}"))
}
