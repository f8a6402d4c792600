//! The exact engine: BPF on a cgroup for the refusals, on `lo` for full accept queues.

use super::Counts;
use super::kernel::release;
use super::plan::{Facts, Plan, timers_for};
use crate::bpf::asm::Asm;
use crate::bpf::btf::Offsets;
use crate::bpf::context::counter;
use crate::bpf::{full_queue, hold, opt_out, timer};
use crate::error::{Error, Step};
use crate::isolation::cgroup::Cgroup;
use crate::isolation::links::Links;
use crate::profile::{Profile, QueueAnswer};
use crate::schedule::Schedule;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::path::Path;
use unstall_sys::lab::bpf::{self, Counters, Hook, LoadError};
use unstall_sys::lab::file::Bytes;

const BTF: &str = "/sys/kernel/btf/vmlinux";

/// `counters`: the number of the counters' map.
pub(super) fn plan(profile: &Profile, facts: &Facts, counters: i32) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    if let Some(timers) = timers_for(profile)? {
        let schedule = Schedule::exact(profile.refused.as_ref(), profile.unanswered.as_ref(), timers);
        plan.retransmit(&schedule);
        if profile.refused.is_some() {
            refusals(&mut plan, &schedule, facts, counters);
        }
    }
    if let Some(queue) = &profile.full_queue {
        plan.set("core/somaxconn", queue.longest);
        if queue.answer == QueueAnswer::Reset {
            plan.programs.push((Hook::Classifier, full_queue::program(offsets()?, counters)));
        }
    }
    Ok(plan)
}

fn refusals(plan: &mut Plan, schedule: &Schedule, facts: &Facts, counters: i32) {
    let destinations = facts.destinations.prefixes();
    if let Some(interval) = schedule.interval {
        plan.programs.push((Hook::SockOps, timer::program(interval.jiffies, destinations)));
    }
    let limits = schedule.retries.as_ref();
    let parts = hold::Parts { limits, destinations, counters };
    plan.programs.push((Hook::CgroupIngress, hold::program(&parts)));
    if limits.is_some() {
        plan.reflect_marks(facts.ipv6);
        plan.programs.push((Hook::CgroupEgress, opt_out::program()));
    }
}

/// From the running kernel's type information.
fn offsets() -> Result<Offsets, Error> {
    let found = Bytes::of_kernel_file(Path::new(BTF)).and_then(|btf| Offsets::find(&btf));
    found.map_err(|e| Error::Missing {
        what: format!("cannot read the kernel's type information ({BTF}: {e}), which resets from full accept queues need"),
        remedy: "use a kernel with CONFIG_DEBUG_INFO_BTF, or a profile without `full_queue.answer = \"reset\"`"
            .to_owned(),
    })
}

/// Programs that are attached until this is dropped.
#[derive(Debug)]
pub(super) struct Attached {
    counters: Counters,
    _links: Vec<OwnedFd>,
}

impl Attached {
    /// Does what the profile needs, in the calling thread's network namespace. With what is to be told about it.
    pub(super) fn new(
        profile: &Profile,
        cgroup: &Cgroup,
        facts: &Facts,
    ) -> Result<(Self, Vec<String>), Error> {
        if cfg!(target_endian = "big") {
            return Err(Error::Missing {
                what: "the BPF programs are written for little-endian processors".to_owned(),
                remedy: "use --engine coarse".to_owned(),
            });
        }
        let counters = Counters::new(counter::LENGTH).map_err(|errno| no_bpf(&errno.to_string(), errno))?;
        let mut plan = plan(profile, facts, counters.number())?;
        plan.write_settings()?;
        let attach = |(hook, asm): &(Hook, Asm)| attach(*hook, asm, cgroup).transpose();
        let links: Result<Vec<OwnedFd>, Error> = plan.programs.iter().filter_map(attach).collect();
        Ok((Self { counters, _links: links? }, plan.notes))
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

/// What keeps it attached; `None` for the program on `lo`, which stays as long as the network namespace.
fn attach(hook: Hook, asm: &Asm, cgroup: &Cgroup) -> Result<Option<OwnedFd>, Error> {
    let code = asm.encode().map_err(io::Error::other).step("assemble a BPF program")?;
    let program =
        bpf::load(hook, asm.name(), &code).map_err(|e: LoadError| no_bpf(&e.to_string(), e.errno))?;
    let (attached, place, need) = if hook == Hook::Classifier {
        let links = Links::open().step("open rtnetlink")?;
        let attached = links.classify_on_loopback(program.as_fd(), asm.name());
        (attached.map(|()| None), "lo", "with CONFIG_NET_SCH_INGRESS and CONFIG_NET_CLS_BPF")
    } else {
        let link = bpf::attach_to_cgroup(hook, program.as_fd(), cgroup.directory());
        (link.map(Some), "a cgroup", "of 5.7 or newer with CONFIG_CGROUP_BPF")
    };
    attached.map_err(|errno| Error::Missing {
        what: format!("this kernel ({}) does not attach {} to {place} ({errno})", release(), asm.name()),
        remedy: format!("use a kernel {need}, or --engine coarse"),
    })
}

fn no_bpf(why: &str, errno: Errno) -> Error {
    let remedy = match errno {
        Errno::PERM => "run it as root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN), or with --engine coarse",
        _ => "use a kernel of 6.5 or newer with CONFIG_BPF_SYSCALL and CONFIG_CGROUP_BPF, or --engine coarse",
    };
    Error::Missing {
        what: format!("this kernel ({}) does not take the lab's BPF programs ({why})", release()),
        remedy: remedy.to_owned(),
    }
}
