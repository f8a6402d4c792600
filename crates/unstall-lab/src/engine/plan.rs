//! What an engine is going to do, as data: it can be shown, tested and then done.

use super::{Resolved, kernel, load_rules, set};
use crate::bpf::asm::Asm;
use crate::error::Error;
use crate::profile::Profile;
use crate::schedule::{Schedule, Settings};
use std::fmt::Write as _;
use std::fs;
use unstall_sys::lab::bpf::Hook;

/// Kernel settings, then programs, then rules.
#[derive(Debug, Default)]
pub(super) struct Plan {
    settings: Vec<Setting>,
    /// BPF programs and where they are attached.
    pub(super) programs: Vec<(Hook, Asm)>,
    /// For `nft -f`; may be empty.
    pub(super) rules: String,
    /// In what the lab will differ from the profile, one sentence each.
    pub(super) notes: Vec<String>,
}

/// A kernel setting of the network namespace.
#[derive(Debug)]
struct Setting {
    /// Below `/proc/sys/net`.
    path: &'static str,
    value: String,
    /// What to tell when the kernel does not let it be set here. `None`: it is an error.
    otherwise: Option<String>,
}

impl Plan {
    pub(super) fn set(&mut self, path: &'static str, value: u32) {
        self.settings.push(Setting { path, value: value.to_string(), otherwise: None });
    }

    /// As [`Self::set`]; if it cannot be set, this is told and the lab goes on.
    pub(super) fn try_set(&mut self, path: &'static str, value: u32, otherwise: String) {
        self.settings.push(Setting { path, value: value.to_string(), otherwise: Some(otherwise) });
    }

    /// How often SYNs are sent again, and what the schedule has to say.
    pub(super) fn retransmit(&mut self, schedule: &Schedule) {
        let Settings { linear, retries } = schedule.settings;
        self.set("ipv4/tcp_syn_linear_timeouts", linear);
        self.set("ipv4/tcp_syn_retries", retries);
        self.notes.extend(schedule.notes.iter().cloned());
    }

    /// Has the RST that answers a SYN carry the SYN's mark.
    pub(super) fn reflect_marks(&mut self, ipv6: bool) {
        self.set("ipv4/fwmark_reflect", 1);
        if ipv6 {
            self.set("ipv6/fwmark_reflect", 1);
        }
    }

    /// Writes the settings in the calling thread's network namespace.
    pub(super) fn write_settings(&mut self) -> Result<(), Error> {
        for Setting { path, value, otherwise } in &self.settings {
            match (set(path, value), otherwise) {
                (Err(_), Some(note)) => self.notes.push(note.clone()),
                (written, _) => written?,
            }
        }
        Ok(())
    }

    /// Loads the rules, if there are any.
    pub(super) fn load_rules(&self) -> Result<(), Error> {
        if self.rules.is_empty() { Ok(()) } else { load_rules(&self.rules) }
    }

    /// All of it, for people.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for Setting { path, value, .. } in &self.settings {
            let _ = writeln!(text, "net.{} = {value}", path.replace('/', "."));
        }
        for (hook, asm) in &self.programs {
            let _ = write!(text, "\n# {}: {}\n{}", asm.name(), place(*hook), asm.listing());
        }
        if !self.rules.is_empty() {
            let _ = write!(text, "\n# nft -f -\n{}", self.rules);
        }
        for note in &self.notes {
            let _ = write!(text, "\n# {note}");
        }
        text.trim_end().to_owned() + "\n"
    }
}

fn place(hook: Hook) -> &'static str {
    match hook {
        Hook::SockOps => "sock_ops on the lab's cgroup",
        Hook::CgroupIngress => "cgroup_skb ingress on the lab's cgroup",
        Hook::CgroupEgress => "cgroup_skb egress on the lab's cgroup",
        Hook::Classifier => "sched_cls at the entrance of lo",
    }
}

/// What a plan is made from, besides the profile: facts of this kernel and host.
pub(super) struct Facts {
    pub(super) destinations: Resolved,
    /// Whether the kernel has IPv6 at all.
    pub(super) ipv6: bool,
}

impl Facts {
    pub(super) fn read(profile: &Profile, own: &[std::net::IpAddr]) -> Self {
        let ipv6 = fs::exists("/proc/sys/net/ipv6").unwrap_or(false);
        Self { destinations: Resolved::new(profile, own), ipv6 }
    }
}

/// The timers, if the profile has to do with them.
pub(super) fn timers_for(profile: &Profile) -> Result<Option<crate::schedule::Timers>, Error> {
    if profile.refused.is_some() || profile.unanswered.is_some() {
        kernel::timers().map(Some)
    } else {
        Ok(None)
    }
}
