//! The doctor on real sockets, and on faults that private namespaces make.

#[cfg(all(target_os = "linux", not(unstall_portable)))]
mod faults;
mod host;
mod schema;
#[cfg(all(target_os = "linux", not(unstall_portable)))]
mod support;
#[cfg(all(target_os = "linux", not(unstall_portable)))]
mod targets;
#[cfg(all(target_os = "linux", not(unstall_portable)))]
#[path = "../../src/testing.rs"]
mod testing;
