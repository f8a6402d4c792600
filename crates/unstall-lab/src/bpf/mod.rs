//! The BPF programs of the exact engine, and the small assembler that writes them. No clang, no ELF, no build step.
//!
//! | program | where | what |
//! |---|---|---|
//! | [`timer`] | `sock_ops` on the cgroup | how long the first SYN waits for an answer |
//! | [`hold`] | `cgroup_skb` ingress | keeps a RST from a connecting socket until it has retried often enough |
//! | [`opt_out`] | `cgroup_skb` egress | turns a TTL or hop limit that stands for a number of retries into a mark |
//! | [`full_queue`] | `sched_cls` at the entrance of `lo` | answers a SYN for a full accept queue with a RST |

pub(crate) mod asm;
pub(crate) mod btf;
pub(crate) mod context;
pub(crate) mod full_queue;
pub(crate) mod hold;
pub(crate) mod opt_out;
pub(crate) mod timer;

#[cfg(test)]
mod tests;
