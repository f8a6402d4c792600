//! What is known about the host. Each fact that the OS does not tell is `None`.

#[cfg(all(target_os = "linux", not(unstall_portable)))]
mod linux;
#[cfg(all(target_os = "linux", not(unstall_portable)))]
use linux as imp;
#[cfg(unix)]
mod unix;
#[cfg(all(unix, not(all(target_os = "linux", not(unstall_portable)))))]
use unix as imp;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as imp;

use unstall_core::resend::Schedule;

/// What is known about the host, in this network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// The operating system: `linux`, `macos`, `windows`, ...
    pub os: String,
    /// The kernel's release, `6.18.4-...`; on Windows the version with its build, `10.0.26200`.
    pub kernel: Option<String>,
    /// The machine's architecture, `x86_64`.
    pub arch: String,
    /// The container that this runs in.
    pub container: Option<Container>,
    /// The Windows Subsystem for Linux that this runs in.
    pub wsl: Option<Wsl>,
    /// The version of the Wine that this runs in, `8.0`.
    pub wine: Option<String>,
    /// The upper bound of every backlog, `net.core.somaxconn`.
    pub somaxconn: Option<u32>,
    /// Whether a full accept queue answers with a reset, `net.ipv4.tcp_abort_on_overflow`.
    pub tcp_abort_on_overflow: Option<bool>,
    /// How often a SYN is sent again, `net.ipv4.tcp_syn_retries`.
    pub tcp_syn_retries: Option<u32>,
    /// How many of those come evenly spaced before the spacing doubles, `net.ipv4.tcp_syn_linear_timeouts` (kernel 6.5).
    pub tcp_syn_linear_timeouts: Option<u32>,
    /// Whether ports in TIME_WAIT are used again for new connections, `net.ipv4.tcp_tw_reuse`: 0 no, 1 yes, 2 loopback only.
    pub tcp_tw_reuse: Option<u32>,
    /// Whether an address that the host does not have can be bound, `net.ipv4.ip_nonlocal_bind`.
    pub ip_nonlocal_bind: Option<bool>,
    /// Where IPv6 is switched off.
    pub ipv6_disabled: Ipv6Disabled,
}

/// `net.ipv6.conf.*.disable_ipv6`; all `None`: the kernel has no IPv6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ipv6Disabled {
    /// On the loopback interface: whether `::1` is unusable.
    pub lo: Option<bool>,
    /// The last order given to all interfaces.
    pub all: Option<bool>,
    /// On interfaces that are yet to come.
    pub default: Option<bool>,
}

/// The kind of container, by the traces that it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Container {
    /// `/.dockerenv`.
    Docker,
    /// `/run/.containerenv`.
    Podman,
    /// `KUBERNETES_SERVICE_HOST`, or `kubepods` in the control group.
    Kubernetes,
    /// Another, named by `/run/systemd/container` or by the control group.
    Other,
}

/// The generation of the Windows Subsystem for Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wsl {
    /// Windows' own TCP behind Linux' system calls.
    One,
    /// A Linux kernel in a virtual machine.
    Two,
}

/// What is known about the host.
pub fn facts() -> Facts {
    imp::facts()
}

/// When this OS sends a SYN that gets no answer, as far as it tells: on Linux by its settings, on Windows and elsewhere by
/// default.
pub fn syn_schedule() -> Schedule {
    imp::syn_schedule()
}

/// The programs that run, by the names of their files: `wslservice.exe`. Empty where the OS does not tell. Windows only.
#[cfg(windows)]
pub fn programs() -> Vec<String> {
    imp::programs()
}
