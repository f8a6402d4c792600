//! Builds, tests and documents unstall.
//!
//! One file per command; [`run`] is what they share: steps that are run one after another, whatever the earlier ones
//! came to, and a summary that says what ran, what failed and what was left out.
#![forbid(unsafe_code)]

mod api;
mod bench;
mod dist;
mod docs;
mod features;
mod forced;
mod header;
mod licences;
mod lint;
mod marks;
mod msrv;
mod python;
mod run;
mod test;
mod transcript;
mod windows;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Builds, tests and documents unstall.",
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every test this machine can run, and say which ones were left out and why.
    Test(test::Options),
    /// Check format, lints, documentation, licences and the promises that no compiler checks.
    Lint,
    /// Write the generated documents: findings, schema, man pages, the README's transcripts.
    Docs(docs::Options),
    /// Compare the public API with docs/api, and see that no other library's type is part of it.
    Api(api::Options),
    /// Check that the libraries compile with any of their features, and that none changes what is done by default.
    Features(features::Options),
    /// Run the benchmarks and print the ratios to std.
    Bench(bench::Options),
    /// Build what a release consists of, into target/dist: archives, the Debian package, checksums, manifests.
    Dist(dist::Options),
    /// Check that the workspace compiles with the minimum supported Rust version, where that compiler is at hand.
    Msrv,
    /// Build and test for Windows: cross compiler, Wine.
    Windows {
        #[command(subcommand)]
        command: windows::Command,
    },
    /// Build the Python package's wheel, install it into a fresh environment and run its tests there.
    Python(python::Options),
    /// Run one of the README's transcripts in a network namespace of its own (called by `docs`).
    #[command(hide = true)]
    Transcript { name: String },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = workspace::enter().and_then(|workspace| match arguments.command {
        Command::Test(options) => test::run(&workspace, &options),
        Command::Lint => lint::run(&workspace),
        Command::Docs(options) => docs::run(&workspace, &options),
        Command::Bench(options) => bench::run(&workspace, &options),
        Command::Api(options) => api::run(&workspace, &options),
        Command::Features(options) => features::run(&workspace, &options),
        Command::Dist(options) => dist::run(&workspace, &options),
        Command::Msrv => msrv::run(&workspace),
        Command::Python(options) => python::run(&workspace, &options),
        Command::Windows { command } => windows::run(&workspace, command),
        Command::Transcript { name } => transcript::inside(&workspace, &name),
    });
    result.unwrap_or_else(|sentence| {
        eprintln!("cargo xtask: {sentence}");
        ExitCode::FAILURE
    })
}
