//! The JSON of a timeline. What is written is read back to an equal value (durations of 584 years and more
//! excepted).

use super::{Attempt, Attempts, FamilyAnswer, Reason, Resolution, Timeline};
use crate::outcome::{Operation, OsError, Outcome};
use crate::syn::Prepared;
use crate::target::Target;
use crate::text::ns;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::net::SocketAddr;
use std::time::Duration;

/// An error as an attempt or a resolution shows it: the code, the call, and the code in words.
#[derive(Serialize, Deserialize)]
struct Failure {
    /// errno, WSA or EAI code; null: there was none.
    os_error: Option<i32>,
    /// The call that gave it.
    #[serde(default)]
    operation: Option<Operation>,
    /// Name and meaning on the platform that wrote the report; not read back.
    #[serde(default, skip_deserializing)]
    error: Option<String>,
}

impl Failure {
    fn new(error: Option<OsError>) -> Self {
        Self {
            os_error: error.map(|error| error.code),
            operation: error.map(|error| error.operation),
            error: error.map(|error| match error.meaning() {
                Some(meaning) => format!("{error}: {meaning}"),
                None => error.to_string(),
            }),
        }
    }

    /// `usual`: the call, where the report does not name it.
    fn os_error(&self, usual: Operation) -> Option<OsError> {
        self.os_error.map(|code| OsError { operation: self.operation.unwrap_or(usual), code })
    }
}

#[derive(Serialize, Deserialize)]
struct AttemptJson {
    address: SocketAddr,
    reason: Reason,
    #[serde(with = "ns")]
    start_ns: Duration,
    #[serde(with = "ns")]
    end_ns: Duration,
    outcome: Outcome,
    #[serde(flatten)]
    failure: Failure,
    #[serde(default)]
    prepared: Option<Prepared>,
}

#[derive(Serialize, Deserialize)]
struct ResolutionJson {
    #[serde(with = "ns")]
    start_ns: Duration,
    #[serde(with = "ns")]
    end_ns: Duration,
    addresses: Vec<SocketAddr>,
    failure: Option<Outcome>,
    #[serde(flatten)]
    os: Failure,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<FamilyAnswer>,
}

#[derive(Serialize, Deserialize)]
struct TimelineJson {
    target: Target,
    outcome: Outcome,
    #[serde(with = "ns")]
    elapsed_ns: Duration,
    /// How long the resolution took, for readers who need no more; null: there was nothing to resolve.
    #[serde(default, skip_deserializing)]
    resolve_ns: Option<u64>,
    #[serde(default)]
    resolution: Option<Resolution>,
    attempts: Attempts,
}

impl Serialize for Attempt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        AttemptJson {
            address: self.address,
            reason: self.reason,
            start_ns: self.start,
            end_ns: self.end,
            outcome: self.outcome,
            failure: Failure::new(self.os_error),
            prepared: self.prepared,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Attempt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = AttemptJson::deserialize(deserializer)?;
        Ok(Self {
            address: json.address,
            reason: json.reason,
            start: json.start_ns,
            end: json.end_ns,
            outcome: json.outcome,
            os_error: json.failure.os_error(Operation::Connect),
            prepared: json.prepared,
        })
    }
}

impl Serialize for Resolution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ResolutionJson {
            start_ns: self.start,
            end_ns: self.end,
            addresses: self.addresses.clone(),
            failure: self.failure,
            os: Failure::new(self.os_error),
            answers: self.answers.clone(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Resolution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = ResolutionJson::deserialize(deserializer)?;
        Ok(Self {
            start: json.start_ns,
            end: json.end_ns,
            addresses: json.addresses,
            failure: json.failure,
            os_error: json.os.os_error(Operation::Resolve),
            answers: json.answers,
        })
    }
}

impl Serialize for Timeline {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TimelineJson {
            target: self.target.clone(),
            outcome: self.outcome,
            elapsed_ns: self.elapsed,
            resolve_ns: self.resolution.as_ref().map(|resolution| ns::of(resolution.took())),
            resolution: self.resolution.clone(),
            attempts: self.attempts.clone(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Timeline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = TimelineJson::deserialize(deserializer)?;
        Ok(Self {
            target: json.target,
            resolution: json.resolution,
            attempts: json.attempts,
            outcome: json.outcome,
            elapsed: json.elapsed_ns,
        })
    }
}
