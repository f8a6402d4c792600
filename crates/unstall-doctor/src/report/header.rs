//! Who made a report, where and when.

use crate::stats::ns;
use jiff::{Timestamp, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the JSON report. It changes when a field changes its meaning or goes; new fields do not change it.
pub const SCHEMA_VERSION: u32 = 1;

/// The head of every JSON document of unstall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Who made it.
    pub tool: Tool,
    /// Where.
    pub host: Host,
    /// When it started, RFC 3339, UTC.
    pub started_at: String,
    /// The command line; empty when a program made it.
    pub command: Vec<String>,
}

/// The program that made a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `unstall`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The machine that a report is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// `linux`, `windows`, `macos`, ...
    pub os: String,
    /// The kernel's release, or Windows' version and build; null: not known.
    pub kernel: Option<String>,
    /// The processor's architecture: `x86_64`, `aarch64`, ...
    pub arch: String,
    /// The step of the clock behind every duration; null: not known.
    pub clock_resolution_ns: Option<u64>,
}

impl Header {
    /// The header of a document that begins now.
    pub fn now(command: Vec<String>) -> Self {
        let now = Timestamp::now();
        Self {
            schema_version: SCHEMA_VERSION,
            tool: Tool { name: "unstall".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
            host: Host::this(),
            started_at: now.round(Unit::Millisecond).unwrap_or(now).to_string(),
            command,
        }
    }
}

impl Host {
    /// This machine.
    pub fn this() -> Self {
        let facts = unstall_sys::host::facts();
        Self {
            os: facts.os,
            kernel: facts.kernel,
            arch: facts.arch,
            clock_resolution_ns: unstall_sys::clock::resolution().map(ns),
        }
    }
}
