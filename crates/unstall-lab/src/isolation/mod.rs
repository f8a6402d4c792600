//! What keeps the lab apart from the host, and what ends with it: namespaces, cgroup, private files.
//!
//! Nothing outlives the lab, however it ends:
//!
//! | what | ends with |
//! |---|---|
//! | programs and whatever they started | the PID namespace's init |
//! | init | the lab: a pipe that the lab alone holds open |
//! | network, mounts, rules, device programs | the last process within |
//! | BPF programs on the cgroup | their descriptors, held by the lab |
//! | the cgroup's directory | init removes it; else the next lab |
//! | private files | their mounts: they are in memory |

pub(crate) mod cgroup;
pub(crate) mod files;
pub(crate) mod links;
pub(crate) mod privilege;
pub(crate) mod worker;
