//! The exact engine: BPF on a cgroup for the refusals, on `lo` for full accept queues.

use super::kernel::{self, release};
use super::{Counts, Resolved};
use crate::bpf::asm::Asm;
use crate::bpf::btf::Offsets;
use crate::bpf::context::counter;
use crate::bpf::{full_queue, hold, opt_out, timer};
use crate::error::{Error, Step};
use crate::isolation::cgroup::Cgroup;
use crate::isolation::links::LOOPBACK;
use crate::profile::{Profile, QueueAnswer};
use crate::schedule::Schedule;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::path::Path;
use unstall_sys::lab::bpf::{self, Counters, Hook, LoadError};
use unstall_sys::lab::file::Bytes;

const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Programs that are attached until this is dropped.
#[derive(Debug)]
pub(super) struct Attached {
    counters: Counters,
    _links: Vec<OwnedFd>,
}

impl Attached {
    /// Attaches what the profile needs, in the calling thread's network namespace. With what is to be told about it.
    pub(super) fn new(
        profile: &Profile,
        cgroup: &Cgroup,
        destinations: &Resolved,
    ) -> Result<(Self, Vec<String>), Error> {
        if cfg!(target_endian = "big") {
            return Err(Error::Missing {
                what: "the BPF programs are written for little-endian processors".to_owned(),
                remedy: "use --engine coarse".to_owned(),
            });
        }
        let counters = Counters::new(counter::LENGTH).map_err(|errno| no_bpf(&errno.to_string(), errno))?;
        let (mut links, mut notes) = (Vec::new(), Vec::new());
        if profile.refused.is_some() || profile.unanswered.is_some() {
            let schedule =
                Schedule::exact(profile.refused.as_ref(), profile.unanswered.as_ref(), kernel::timers()?);
            links = refusals(profile, &schedule, cgroup, destinations, counters.number())?;
            notes = schedule.notes;
        }
        if let Some(queue) = &profile.full_queue {
            super::limit_queues(queue.longest)?;
            if queue.answer == QueueAnswer::Reset {
                links.push(full_queues(counters.number())?);
            }
        }
        Ok((Self { counters, _links: links }, notes))
    }

    pub(super) fn counts(&self) -> Option<Counts> {
        let values = self.counters.read().ok()?;
        let value = |index: i32| values.get(index as usize).copied().unwrap_or_default();
        Some(Counts {
            resets_held: value(counter::RESETS_HELD),
            resets_passed: value(counter::RESETS_PASSED),
            full_queue_resets: value(counter::FULL_QUEUE_RESETS),
        })
    }
}

fn refusals(
    profile: &Profile,
    schedule: &Schedule,
    cgroup: &Cgroup,
    destinations: &Resolved,
    counters: i32,
) -> Result<Vec<OwnedFd>, Error> {
    super::retransmit(schedule.settings)?;
    let mut links = Vec::new();
    let mut attach = |hook: Hook, asm: &Asm| -> Result<(), Error> {
        let program = load(hook, asm)?;
        let link = bpf::attach_to_cgroup(hook, program.as_fd(), cgroup.directory());
        links.push(link.map_err(|errno| not_attached(asm.name(), "a cgroup", errno, "5.7"))?);
        Ok(())
    };
    if profile.refused.is_none() {
        return Ok(links);
    }
    let prefixes = destinations.prefixes();
    if let Some(interval) = schedule.interval {
        attach(Hook::SockOps, &timer::program(interval.jiffies, prefixes))?;
    }
    let limits = schedule.retries.as_ref();
    attach(Hook::CgroupIngress, &hold::program(&hold::Parts { limits, destinations: prefixes, counters }))?;
    if limits.is_some() {
        super::reflect_marks()?;
        attach(Hook::CgroupEgress, &opt_out::program())?;
    }
    Ok(links)
}

/// The program on `lo` for full accept queues.
fn full_queues(counters: i32) -> Result<OwnedFd, Error> {
    let offsets = Bytes::of_kernel_file(Path::new(BTF)).and_then(|btf| Offsets::find(&btf)).map_err(|e| {
        Error::Missing {
        what: format!(
            "cannot read the kernel's type information ({BTF}: {e}), which resets from full queues need"
        ),
        remedy:
            "use a kernel with CONFIG_DEBUG_INFO_BTF, or a profile without `full_queue.answer = \"reset\"`"
                .to_owned(),
    }
    })?;
    let asm = full_queue::program(&offsets, counters);
    let program = load(Hook::TcxIngress, &asm)?;
    let link = bpf::attach_to_device(Hook::TcxIngress, program.as_fd(), LOOPBACK);
    link.map_err(|errno| not_attached(asm.name(), "lo", errno, "6.6"))
}

fn load(hook: Hook, asm: &Asm) -> Result<OwnedFd, Error> {
    let code = asm.encode().map_err(io::Error::other).step("assemble a BPF program")?;
    bpf::load(hook, asm.name(), &code).map_err(|e: LoadError| no_bpf(&e.to_string(), e.errno))
}

fn no_bpf(why: &str, errno: Errno) -> Error {
    let remedy = match errno {
        Errno::PERM => "run it as root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN), or with --engine coarse",
        _ => "use a kernel of 6.6 or newer with CONFIG_BPF_SYSCALL and CONFIG_CGROUP_BPF, or --engine coarse",
    };
    Error::Missing {
        what: format!("this kernel ({}) does not take the lab's BPF programs ({why})", release()),
        remedy: remedy.to_owned(),
    }
}

fn not_attached(program: &str, to: &str, errno: Errno, since: &str) -> Error {
    Error::Missing {
        what: format!("this kernel ({}) does not attach {program} to {to} ({errno})", release()),
        remedy: format!("use a kernel of {since} or newer, or --engine coarse"),
    }
}
