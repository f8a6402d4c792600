//! What the lab needs from the Linux kernel and no safe library offers: namespaces for one thread, the first process of a
//! PID namespace, bpf(2), signals as a file, packets with the kernel's time stamps.
//!
//! Feature `lab`. Nothing here decides anything: which programs are loaded, what is mounted and when is up to the caller.

pub mod bpf;
pub mod file;
pub mod init;
pub mod namespace;
pub mod packet;
pub mod process;
pub mod signals;
pub mod tun;
