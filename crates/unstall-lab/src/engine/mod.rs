//! Engines: what plays a profile on Linux' own TCP.

use crate::error::{Error, Step};
use crate::isolation::cgroup::Cgroup;
use crate::isolation::privilege::Privilege;
use crate::profile::Profile;
use std::fs;
use std::net::IpAddr;

/// What plays the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// BPF programs on a cgroup and on `lo`: half-second steps, resets from full accept queues. Needs root.
    Bpf,
    /// nft rules: steps of a second, no resets from full accept queues. Needs a user namespace.
    Coarse,
    /// The profile changes nothing that needs one.
    Nothing,
}

/// Which engine is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// BPF if the process may, else coarse.
    #[default]
    Auto,
    /// BPF or nothing.
    Bpf,
    /// Coarse, also as root.
    Coarse,
}

impl EngineChoice {
    pub(crate) fn resolve(self, profile: &Profile, privilege: Privilege) -> Result<Engine, Error> {
        let _ = profile;
        Ok(match (self, privilege) {
            (Self::Coarse, _) | (Self::Auto, Privilege::Namespaces) => Engine::Coarse,
            _ => Engine::Bpf,
        })
    }
}

/// What the profile's programs have counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// RSTs that were kept from a connecting socket, so that it would send its SYN again.
    pub resets_held: u64,
    /// RSTs that a connecting socket got.
    pub resets_passed: u64,
    /// SYNs that a full accept queue answered with a RST.
    pub full_queue_resets: u64,
}

/// What is attached for the profile, until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Attached {
    pub(crate) notes: Vec<String>,
}

impl Attached {
    pub(crate) fn counts(&self) -> Option<Counts> {
        None
    }
}

pub(crate) fn attach(
    engine: Engine,
    profile: &Profile,
    cgroup: Option<&Cgroup>,
    own: &[IpAddr],
) -> Result<Attached, Error> {
    let _ = (engine, profile, cgroup.map(Cgroup::directory), own);
    Ok(Attached::default())
}

pub(crate) fn pace() -> Result<(), Error> {
    Ok(())
}

pub(crate) fn set(path: &str, value: &str) -> Result<(), Error> {
    fs::write(format!("/proc/sys/net/{path}"), value).step(&format!("set net.{}", path.replace('/', ".")))
}

pub(crate) fn load_rules(text: &str) -> Result<(), Error> {
    let _ = text;
    Ok(())
}
