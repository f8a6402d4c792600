//! The system calls of a connect, as strace sees them. The list in the documentation of `connect` is this one.

#![cfg(all(target_os = "linux", not(unstall_portable), not(unstall_no_port_range)))]

mod common;

use common::{LOCAL, PATIENCE, V4, left_out};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use unstall_sys::connect::{AttemptSet, Options, Started, connect_blocking};

/// Below every ephemeral range, and free in the child's own network namespace or taken by nobody as a rule.
const OUTSIDE: u16 = 1023;

/// A path whose look-up marks a place in the trace.
fn mark(place: &str) {
    assert!(std::fs::metadata(format!("/unstall-mark-{place}")).is_err());
}

/// What is traced, by name.
fn scenario(name: &str) {
    let port = if name.ends_with("ephemeral") { 40_001 } else { OUTSIDE };
    common::namespace::set("ipv4/ip_local_port_range", "40000 40007");
    let address = SocketAddr::new(V4, port);
    let server = (!name.starts_with("refused")).then(|| TcpListener::bind(address).unwrap());
    // What is read once in a second, or once in a process, has been read.
    let warm_up = connect_blocking(address, &LOCAL, None);
    mark("begin");
    let result = match name {
        "without limit" | "without limit, ephemeral" | "refused" => {
            connect_blocking(address, &LOCAL, None).1.ok()
        }
        "with a limit" | "refused with a limit" => connect_blocking(address, &LOCAL, Some(PATIENCE)).1.ok(),
        "without NODELAY" => connect_blocking(address, &Options { nodelay: false, ..LOCAL }, None).1.ok(),
        "attempt" => match AttemptSet::new().start(0, address, &LOCAL).1.unwrap() {
            Started::Connected(stream) => Some(stream),
            Started::Pending => None,
        },
        _ => panic!("no such scenario: {name}"),
    };
    mark("end");
    assert_eq!(result.is_some(), server.is_some());
    drop((result, warm_up));
}

#[test]
#[ignore = "traced by the other test, in a process of its own"]
fn traced() {
    let Ok(name) = std::env::var("UNSTALL_TEST_SCENARIO") else { return };
    common::namespace::with_network("traced", || scenario(&name));
}

/// The names of the calls between the marks, in order, with their options where there are several. `None`: strace cannot run.
fn calls(scenario: &str) -> Option<Vec<String>> {
    // The ephemeral range is read again when a second has begun, which is none of the connect's calls.
    std::iter::repeat_with(|| trace(scenario)).find(|calls| {
        calls.as_ref().is_none_or(|calls| !calls.iter().any(|call| call.contains("ip_local_port_range")))
    })?
}

fn trace(scenario: &str) -> Option<Vec<String>> {
    let trace = tempfile::NamedTempFile::new().unwrap();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o"]).arg(trace.path()).arg(std::env::current_exe().unwrap());
    strace.args(["--exact", "traced", "--include-ignored", "--test-threads=1"]);
    let output = strace.env("UNSTALL_TEST_SCENARIO", scenario).output().ok()?;
    let text = std::fs::read_to_string(trace.path()).unwrap();
    let begin = text.lines().position(|line| line.contains("/unstall-mark-begin"))?;
    assert!(output.status.success(), "{scenario}: {}", String::from_utf8_lossy(&output.stdout));
    let thread = text.lines().nth(begin)?.split(' ').next()?;
    let own = text.lines().skip(begin + 1).filter(|line| line.starts_with(thread));
    let until_end = own.take_while(|line| !line.contains("/unstall-mark-end"));
    Some(until_end.map(call).collect())
}

/// `setsockopt TCP_NODELAY` of `4242  setsockopt(5, SOL_TCP, TCP_NODELAY, [1], 4) = 0`.
fn call(line: &str) -> String {
    let call = line.split_once(' ').map_or(line, |(_, call)| call.trim_start());
    let call = call.rsplit_once(" = ").map_or(call, |(call, _)| call.trim_end().trim_end_matches(')'));
    let (name, arguments) = call.split_once('(').unwrap_or((call, ""));
    let argument = |n: usize| arguments.split(", ").nth(n).unwrap_or_default();
    match name {
        "setsockopt" | "getsockopt" => format!("{name} {}", argument(2)),
        "ioctl" | "fcntl" | "socket" | "openat" => format!("{name} {}", argument(1)),
        _ => name.to_owned(),
    }
}

#[test]
fn a_connect_costs_what_is_written_and_no_more() {
    let name = "a_connect_costs_what_is_written_and_no_more";
    let blocking = "socket SOCK_STREAM|SOCK_CLOEXEC";
    let non_blocking = "socket SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK";
    let nodelay = "setsockopt TCP_NODELAY";
    let expected: [(&str, &[&str]); 7] = [
        ("without limit", &[blocking, "connect", nodelay]),
        ("without limit, ephemeral", &[blocking, "setsockopt IP_LOCAL_PORT_RANGE", "connect", nodelay]),
        ("without NODELAY", &[blocking, "connect"]),
        ("with a limit", &[non_blocking, "connect", "sendto", nodelay, "ioctl FIONBIO"]),
        ("attempt", &[non_blocking, "connect", "sendto", nodelay, "ioctl FIONBIO"]),
        ("refused", &[blocking, "connect", "close"]),
        ("refused with a limit", &[non_blocking, "connect", "sendto", "close"]),
    ];
    for (scenario, expected) in expected {
        let Some(calls) = calls(scenario) else {
            left_out(name, "strace is missing, or may not trace, or there is no private network namespace");
            return;
        };
        // strace writes an option that it does not know yet by its number, and poll as the kernel has it.
        let named =
            |call: String| call.replace("0x33 /* IP_??? */", "IP_LOCAL_PORT_RANGE").replace("ppoll", "poll");
        // std's debug build looks at a descriptor before it closes it.
        let debug = |call: &String| cfg!(debug_assertions) && call == "fcntl F_GETFD";
        let calls: Vec<String> = calls.into_iter().map(named).filter(|call| !debug(call)).collect();
        assert_eq!(calls, expected, "{scenario}");
    }
}
