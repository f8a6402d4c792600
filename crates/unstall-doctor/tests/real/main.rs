//! The doctor on real sockets, and on faults that private namespaces make.

#[cfg(all(target_os = "linux", not(unstall_portable)))]
mod faults;
mod host;
mod support;
#[cfg(all(target_os = "linux", not(unstall_portable)))]
mod targets;
#[path = "../../src/testing.rs"]
mod testing;
