//! What a new process does between fork and exec: join a cgroup, keep the capabilities of the network namespace.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What lets a program use the lab's network as root would: marks, packet sockets, ports below 1024, rules.
const NETWORK: [CapabilitySet; 3] =
    [CapabilitySet::NET_ADMIN, CapabilitySet::NET_RAW, CapabilitySet::NET_BIND_SERVICE];

/// Has the program start in the cgroup whose `cgroup.procs` this is.
pub fn join_cgroup(command: &mut Command, procs: OwnedFd) {
    let join = move || match rustix::io::write(&procs, b"0") {
        Ok(_) => Ok(()),
        Err(errno) => Err(io::Error::from(errno)),
    };
    // SAFETY: one write(2) to a descriptor that the closure owns; no allocation, no lock.
    unsafe { command.pre_exec(join) };
}

/// Has the program keep the capabilities over its network namespace, which exec takes from everybody but root.
pub fn keep_network_capabilities(command: &mut Command) {
    // SAFETY: the closure makes prctl(2), capget(2) and capset(2) calls; no allocation, no lock.
    unsafe { command.pre_exec(|| raise().map_err(io::Error::from)) };
}

fn raise() -> Result<(), Errno> {
    let mut sets = capabilities(None)?;
    for capability in NETWORK {
        sets.inheritable |= capability;
    }
    set_capabilities(None, sets)?;
    for capability in NETWORK {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}
