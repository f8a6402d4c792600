//! Linux: /proc/sys, and the traces of containers and of WSL.

use super::{Container, Facts, Ipv6Disabled, Wsl};
use crate::linux::proc_file;
use std::path::Path;
use unstall_core::resend::Schedule;

pub(super) fn facts() -> Facts {
    let facts = super::unix::facts();
    Facts {
        container: container(),
        wsl: facts.kernel.as_deref().and_then(wsl),
        somaxconn: number("/proc/sys/net/core/somaxconn"),
        tcp_abort_on_overflow: switch("/proc/sys/net/ipv4/tcp_abort_on_overflow"),
        tcp_syn_retries: number("/proc/sys/net/ipv4/tcp_syn_retries"),
        tcp_syn_linear_timeouts: number("/proc/sys/net/ipv4/tcp_syn_linear_timeouts"),
        tcp_tw_reuse: number("/proc/sys/net/ipv4/tcp_tw_reuse"),
        ip_nonlocal_bind: switch("/proc/sys/net/ipv4/ip_nonlocal_bind"),
        ipv6_disabled: Ipv6Disabled {
            lo: switch("/proc/sys/net/ipv6/conf/lo/disable_ipv6"),
            all: switch("/proc/sys/net/ipv6/conf/all/disable_ipv6"),
            default: switch("/proc/sys/net/ipv6/conf/default/disable_ipv6"),
        },
        ..facts
    }
}

pub(super) fn syn_schedule() -> Schedule {
    // A kernel before 6.5 has no straight time-outs; 6 is the kernel's default.
    let linear = number("/proc/sys/net/ipv4/tcp_syn_linear_timeouts").unwrap_or(0);
    Schedule::linux(linear, number("/proc/sys/net/ipv4/tcp_syn_retries").unwrap_or(6))
}

fn number(path: &str) -> Option<u32> {
    proc_file::read_into(path, &mut [0; 32]).ok()?.parse().ok()
}

fn switch(path: &str) -> Option<bool> {
    number(path).map(|value| value != 0)
}

fn container() -> Option<Container> {
    let cgroup = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let exists = |path| Path::new(path).exists();
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() || cgroup.contains("kubepods") {
        Some(Container::Kubernetes)
    } else if exists("/run/.containerenv") {
        Some(Container::Podman)
    } else if exists("/.dockerenv") || cgroup.contains("/docker") {
        Some(Container::Docker)
    } else if exists("/run/systemd/container") || cgroup.contains("/lxc") {
        Some(Container::Other)
    } else {
        None
    }
}

/// WSL 1 says `4.4.0-19041-Microsoft`, WSL 2 `5.15.90.1-microsoft-standard-WSL2`.
fn wsl(release: &str) -> Option<Wsl> {
    if release.contains("Microsoft") {
        Some(Wsl::One)
    } else if release.contains("microsoft") {
        Some(Wsl::Two)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_tells_the_generation_of_wsl() {
        assert_eq!(wsl("4.4.0-19041-Microsoft"), Some(Wsl::One));
        assert_eq!(wsl("6.6.87.2-microsoft-standard-WSL2"), Some(Wsl::Two));
        assert_eq!(wsl("6.12.0-amd64"), None);
    }
}
