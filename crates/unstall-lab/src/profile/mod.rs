//! Profiles: how the lab's TCP behaves, as data.
//!
//! A profile is a TOML file; the built-in ones are in `builtin/` and show every key. A section that a profile leaves out
//! changes nothing. `base = "windows-11"` takes that profile and replaces the keys that the file gives.

mod destination;

pub use destination::{Destination, Prefix};

use crate::Error;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// The built-in profiles, most asked for first: name and text.
const BUILTIN: &[(&str, &str)] = &[
    ("windows-11", include_str!("builtin/windows-11.toml")),
    ("windows-server-2016", include_str!("builtin/windows-server-2016.toml")),
    ("windows-tuned", include_str!("builtin/windows-tuned.toml")),
    ("windows-no-retry", include_str!("builtin/windows-no-retry.toml")),
    ("windows-nt4", include_str!("builtin/windows-nt4.toml")),
    ("rst-lost", include_str!("builtin/rst-lost.toml")),
    ("stealth", include_str!("builtin/stealth.toml")),
    ("linux", include_str!("builtin/linux.toml")),
];

/// The most SYN retransmissions that the ioctl's byte can ask for.
const MOST_RETRIES: u32 = 255;

/// Intervals that the kernel's timer can give at least roughly.
const INTERVALS_MS: std::ops::RangeInclusive<u64> = 100..=10_000;

/// How the lab's TCP behaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What it is called.
    pub name: String,
    /// One line: what a program sees.
    pub summary: String,
    /// Where its figures come from, each labelled published, documented or measured.
    pub sources: Vec<String>,
    /// What becomes of a RST that answers a SYN. null: the connect is refused, as always on Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// A SYN for a listener whose accept queue is full. null: Linux drops it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_queue: Option<FullQueue>,
    /// A SYN that nobody answers. null: Linux gives up after 127 to 135 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Unanswered>,
    /// Names. null: those of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Names>,
}

/// What becomes of a RST that answers a SYN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// How many more SYNs are sent before the RST counts.
    pub retries: Retries,
    /// The time between them, in milliseconds. Default 505.
    #[serde(default = "default_interval")]
    pub interval_ms: u64,
    /// How many retries a socket gets that asks for none: 0, but 255 before Windows 10 1709. Default 0.
    #[serde(default)]
    pub none_means: u32,
    /// For which destinations all this holds. Default any.
    #[serde(default = "anywhere")]
    pub destinations: Vec<Destination>,
}

fn default_interval() -> u64 {
    505
}

fn anywhere() -> Vec<Destination> {
    vec![Destination::Any]
}

impl Refused {
    /// The time between two SYNs.
    pub const fn interval(&self) -> Duration {
        Duration::from_millis(self.interval_ms)
    }
}

/// How many more SYNs are sent before a RST counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retries {
    /// So many.
    Count(u32),
    /// The RST is lost on its way, however often it is sent.
    Lost,
}

impl JsonSchema for Retries {
    fn schema_name() -> Cow<'static, str> {
        "Retries".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How many more SYNs are sent before a RST counts; \"lost\": the RST never arrives.",
            "anyOf": [{ "type": "integer", "minimum": 0, "maximum": MOST_RETRIES }, { "const": "lost" }]
        })
    }
}

impl Serialize for Retries {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u32(*count),
            Self::Lost => serializer.serialize_str("lost"),
        }
    }
}

impl<'de> Deserialize<'de> for Retries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Retries;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "a number of 0 to {MOST_RETRIES} or \"lost\"")
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Retries, E> {
                match u32::try_from(value) {
                    Ok(count) if count <= MOST_RETRIES => Ok(Retries::Count(count)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Signed(value), &self)),
                }
            }

            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Retries, E> {
                self.visit_i64(i64::try_from(value).unwrap_or(i64::MAX))
            }

            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Retries, E> {
                if value == "lost" {
                    Ok(Retries::Lost)
                } else {
                    Err(E::invalid_value(serde::de::Unexpected::Str(value), &self))
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A SYN for a listener whose accept queue is full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FullQueue {
    /// What comes back.
    pub answer: QueueAnswer,
    /// The longest queue that a program gets, whatever it asks listen(2) for (net.core.somaxconn).
    pub longest: u32,
}

/// What a full accept queue answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QueueAnswer {
    /// RST, as on Windows.
    Reset,
    /// Nothing, as on Linux.
    Silence,
}

/// A SYN that nobody answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unanswered {
    /// When connect fails with a time-out, in milliseconds.
    pub gives_up_after_ms: u64,
}

impl Unanswered {
    /// When connect fails with a time-out.
    pub const fn gives_up_after(&self) -> Duration {
        Duration::from_millis(self.gives_up_after_ms)
    }
}

/// Names that the profile fixes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// The addresses of `localhost`.
    pub localhost: Vec<IpAddr>,
}

impl Profile {
    /// The names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// Every built-in profile.
    ///
    /// # Panics
    ///
    /// If one of the texts that were compiled in does not read; a test reads them all.
    pub fn all() -> Vec<Self> {
        BUILTIN
            .iter()
            .map(|(name, text)| Self::parse(text).unwrap_or_else(|why| panic!("{name}: {why}")))
            .collect()
    }

    /// A built-in profile by its name, or the file at this path if it has a `/` or ends in `.toml`.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`]: no such profile or file, or what is wrong in it and in which line.
    pub fn find(name: &str) -> Result<Self, Error> {
        if let Some((_, text)) = BUILTIN.iter().find(|(builtin, _)| *builtin == name) {
            return Self::parse(text).map_err(|why| Error::Usage(format!("the profile `{name}`: {why}")));
        }
        if name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "toml") {
            return Self::read(Path::new(name));
        }
        let known = Self::names().collect::<Vec<_>>().join(", ");
        Err(Error::Usage(format!(
            "there is no profile `{name}`; there are {known}, or give a file (./{name}.toml)"
        )))
    }

    /// A profile file.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`]: what is wrong, and in which line.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Error::Usage(format!("cannot read the profile {}: {e}", path.display())))?;
        Self::parse(&text).map_err(|why| Error::Usage(format!("the profile {}: {why}", path.display())))
    }

    /// A profile's text.
    ///
    /// # Errors
    ///
    /// What is wrong, and in which line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut table: toml::Table = text.parse().map_err(|e: toml::de::Error| located(&e, text))?;
        let profile: Self = if let Some(base) = table.remove("base") {
            let base = base.as_str().ok_or("`base` is the name of a built-in profile")?.to_owned();
            let (_, parent) = BUILTIN
                .iter()
                .find(|(name, _)| *name == base)
                .ok_or_else(|| format!("`base`: there is no built-in profile `{base}`"))?;
            let mut merged: toml::Table = parent.parse().map_err(|e: toml::de::Error| located(&e, parent))?;
            merge(&mut merged, table);
            // Lines are lost in the merge; the message names the key.
            merged.try_into().map_err(|e: toml::de::Error| e.message().to_owned())?
        } else {
            toml::from_str(text).map_err(|e| located(&e, text))?
        };
        profile.check()?;
        Ok(profile)
    }

    /// The same with another number of retries.
    #[must_use]
    pub fn with_retries(mut self, retries: Retries) -> Self {
        match &mut self.refused {
            Some(refused) => refused.retries = retries,
            None => {
                self.refused = Some(Refused {
                    retries,
                    interval_ms: default_interval(),
                    none_means: 0,
                    destinations: anywhere(),
                });
            }
        }
        self
    }

    /// The same with another limit for accept queues.
    #[must_use]
    pub fn with_longest_queue(mut self, longest: u32) -> Self {
        match &mut self.full_queue {
            Some(full_queue) => full_queue.longest = longest,
            None => self.full_queue = Some(FullQueue { answer: QueueAnswer::Silence, longest }),
        }
        self
    }

    fn check(&self) -> Result<(), String> {
        if self.name.is_empty() {
            return Err("`name` is empty".into());
        }
        if let Some(refused) = &self.refused {
            if !INTERVALS_MS.contains(&refused.interval_ms) {
                let (least, most) = (INTERVALS_MS.start(), INTERVALS_MS.end());
                return Err(format!(
                    "`refused.interval_ms` is {}; it can be {least} to {most}",
                    refused.interval_ms
                ));
            }
            if refused.none_means > MOST_RETRIES {
                return Err(format!(
                    "`refused.none_means` is {}; it can be 0 to {MOST_RETRIES}",
                    refused.none_means
                ));
            }
            if refused.destinations.is_empty() {
                return Err("`refused.destinations` is empty; leave the section out to change nothing".into());
            }
        }
        if self.full_queue.as_ref().is_some_and(|queue| queue.longest == 0) {
            return Err("`full_queue.longest` is 0; it is 1 at least".into());
        }
        if self.unanswered.as_ref().is_some_and(|unanswered| unanswered.gives_up_after_ms == 0) {
            return Err("`unanswered.gives_up_after_ms` is 0".into());
        }
        Ok(())
    }
}

/// A table's keys replace the base's; tables within are merged alike.
fn merge(base: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => merge(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

fn located(error: &toml::de::Error, text: &str) -> String {
    let message = error.message();
    match error.span() {
        Some(span) => {
            let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
            format!("line {line}: {message}")
        }
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
