//! What several capabilities need on Linux: small files of /proc, and the kernel's TCP table.

#[cfg(not(unstall_no_listener_table))]
pub(crate) mod owners;
pub(crate) mod proc_file;
pub(crate) mod tcp_table;
