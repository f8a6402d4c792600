//! What the tests share: private namespaces, tests that are left out visibly, what this process holds open.
#![allow(dead_code, reason = "each test program uses its part")]

pub(crate) mod dns;
pub(crate) mod drivers;
pub(crate) mod namespace;
pub(crate) mod strace;
pub(crate) mod table;

use std::io::Write;
use std::time::Duration;

/// Says on stderr, past the capture of the test harness, that a test was not run, and notes it for `cargo xtask test`.
pub(crate) fn left_out(test: &str, why: &str) {
    let line = format!("LEFT OUT: {test}: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("UNSTALL_LEFT_OUT") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// Open descriptors and threads of this process. `None` where the OS has no /proc.
pub(crate) fn held() -> Option<(usize, usize)> {
    let count = |path| std::fs::read_dir(path).ok().map(Iterator::count);
    Some((count("/proc/self/fd")?, count("/proc/self/task")?))
}

/// The middle one.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A listener on 127.0.0.1 whose port the kernel does not choose for connects, so that no self-connect has to be kept away.
pub(crate) fn listener_below_the_ephemeral_ports() -> std::net::TcpListener {
    let range = unstall_sys::ports::ephemeral_range();
    let lowest = range.map_or(32768, |range| *range.start());
    (1024..lowest)
        .rev()
        .find_map(|port| std::net::TcpListener::bind(("127.0.0.1", port)).ok())
        .expect("a free port")
}
