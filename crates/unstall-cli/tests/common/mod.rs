//! Runs the program as a person would, in an environment of which nothing but the search path is known.
#![allow(dead_code, reason = "each test file uses its share of it")]

use std::env;
use std::process::{Command, Stdio};

/// What a run came to.
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// `None`: a signal ended it.
    pub(crate) code: Option<i32>,
}

/// The program, without terminal, in an English UTF-8 locale.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unstall"));
    command.args(arguments).stdin(Stdio::null()).env_clear().env("LC_ALL", "C.UTF-8");
    // What Windows needs to find its own libraries, and what coverage tools need to write their files.
    for kept in ["PATH", "SystemRoot", "LLVM_PROFILE_FILE"] {
        if let Some(value) = env::var_os(kept) {
            command.env(kept, value);
        }
    }
    command
}

pub(crate) fn finish(mut command: Command) -> Run {
    let output = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("what it prints is UTF-8");
    Run { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
}

pub(crate) fn unstall(arguments: &[&str]) -> Run {
    finish(command(arguments))
}

/// The same, with the environment variables of `settings`.
pub(crate) fn unstall_with(settings: &[(&str, &str)], arguments: &[&str]) -> Run {
    let mut command = command(arguments);
    command.envs(settings.iter().copied());
    finish(command)
}

/// The one document of a run with `--json`, valid by the schema of that name in `schema/`.
pub(crate) fn document(run: &Run, schema: &str) -> serde_json::Value {
    let document = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("stdout is not one JSON document: {error}\n{}", run.stdout));
    let file = format!("{}/../../schema/{schema}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let schema = serde_json::from_str(&text).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema is a schema");
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "not valid by {file}:\n{}\n{}", errors.join("\n"), run.stdout);
    document
}
