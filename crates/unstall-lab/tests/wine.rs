//! Windows programs under Wine in the lab: what Windows' refusals cost them, and what unstall does about it.
//!
//! `cargo xtask windows lab` builds the programs and says where they are (`UNSTALL_WINDOWS_PROGRAMS`) and which Wine prefixes to
//! use (`UNSTALL_WINE_PREFIXES`). Nothing here was measured on Windows: the lab emulates its refusals, and `unstall_rtoshim.dll` the
//! ioctl that Wine lacks.

mod common;

use common::{is_root, left_out};
use std::collections::HashMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use unstall_lab::{Builder, Ended, Lab, Profile, Program};

/// Starting a wineserver, and ending with it, takes seconds.
const LIMIT: Duration = Duration::from_secs(120);

/// Where nobody listens.
const CLOSED: &str = "127.0.0.1:9";

/// A port whose SYNs the lab drops.
const SILENT: &str = "127.0.0.1:4300";
const SILENCE: &str = "table inet silence {\n chain input {\n  type filter hook input priority 0; policy accept;\n  tcp dport 4300 tcp flags syn drop\n }\n}\n";

/// The programs and a prefix; one test at a time, for a prefix has one wineserver, and that must be of one lab.
struct Wine {
    programs: PathBuf,
    prefix: PathBuf,
    log: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Wine {
    /// `None`: they are not at hand, which is noted.
    fn new(test: &str, windows: &str) -> Option<Self> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let (programs, prefixes) = (variable("UNSTALL_WINDOWS_PROGRAMS"), variable("UNSTALL_WINE_PREFIXES"));
        let (Some(programs), Some(prefixes)) = (programs, prefixes) else {
            left_out(test, "no Windows programs (cargo xtask windows lab)");
            return None;
        };
        let log = std::env::temp_dir().join(format!("unstall-wine-{}-{test}.log", std::process::id()));
        let _ = fs::remove_file(&log);
        is_root(test).then_some(Self { programs, prefix: prefixes.join(windows), log, _turn: turn })
    }

    /// One of our programs; with the shim in it if `shim`.
    fn program(&self, name: &str, shim: bool) -> Program {
        let path = |name: &str| self.programs.join(name).with_extension("exe");
        let mut program = Program::new("wine")
            .variable("WINEPREFIX", &self.prefix)
            .variable("WINEDEBUG", "-all")
            .variable("WINEDLLOVERRIDES", "winemenubuilder.exe,mscoree,mshtml=")
            .variable("UNSTALL_RTOSHIM_LOG", windows_path(&self.log));
        if shim {
            program = program.argument(path("rtoshim-run"));
        }
        program.argument(path(name))
    }

    /// What the shim has seen.
    fn seen(&self) -> Vec<String> {
        fs::read_to_string(&self.log).unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

impl Drop for Wine {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.log);
    }
}

/// A path as Wine's programs see it.
fn windows_path(path: &Path) -> String {
    format!("Z:{}", path.display().to_string().replace('/', "\\"))
}

fn windows_11() -> Builder {
    Lab::builder(Profile::find("windows-11").expect("built in"))
}

/// A server of the lab on `address` that accepts and closes, as long as the program runs.
fn serve(lab: &Lab, address: &'static str) -> SocketAddr {
    let listener = lab.within(move || TcpListener::bind(address)).expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    thread::spawn(move || listener.incoming().for_each(drop));
    address
}

/// The result of `unstall connect --json` to a target.
fn connect(lab: &Lab, wine: &Wine, shim: bool, target: &str) -> serde_json::Value {
    let program = wine.program("unstall", shim).arguments(["connect", "--json", target]);
    let finished = lab.output(&program, Some(LIMIT)).expect("Wine runs");
    let report: serde_json::Value = serde_json::from_slice(&finished.stdout).expect("a report in JSON");
    report["results"][0].clone()
}

fn elapsed(result: &serde_json::Value) -> Duration {
    Duration::from_nanos(result["elapsed_ns"].as_u64().expect("a time"))
}

/// The fastest of three: a fresh wineserver makes the first connects of a program slow.
fn best_of_three(mut once: impl FnMut() -> serde_json::Value) -> serde_json::Value {
    let results: Vec<_> = (0..3).map(|_| once()).collect();
    results.into_iter().min_by_key(elapsed).expect("three results")
}

#[test]
fn a_refusal_is_at_once_with_the_ioctl() {
    let Some(wine) = Wine::new("a_refusal_is_at_once_with_the_ioctl", "win10") else { return };
    let lab = windows_11().start().expect("a lab");
    let result = best_of_three(|| connect(&lab, &wine, true, CLOSED));
    assert_eq!(result["outcome"], "refused");
    assert_eq!(result["attempts"][0]["prepared"], "no_retransmission");
    assert!(elapsed(&result) < Duration::from_millis(5), "{result}");
    // The bytes, and the place: on the same socket, before its connect, never after a listen.
    let seen = wine.seen();
    let ioctls = seen.windows(2).filter(|lines| lines[0].starts_with("ioctl"));
    let mut count = 0;
    for lines in ioctls {
        let words: Vec<&str> = lines[0].split(' ').collect();
        assert_eq!(words[2..], ["bytes=FFFFFE00", "code=0"], "{seen:?}");
        assert_eq!(lines[1], format!("ConnectEx {}", words[1]), "{seen:?}");
        count += 1;
    }
    assert_eq!(count, 3, "{seen:?}");
    assert!(!seen.iter().any(|line| line.starts_with("listen")), "{seen:?}");
}

#[test]
fn without_the_ioctl_it_is_slow_and_says_so() {
    let Some(wine) = Wine::new("without_the_ioctl_it_is_slow_and_says_so", "win10") else { return };
    let lab = windows_11().start().expect("a lab");
    let result = connect(&lab, &wine, false, CLOSED);
    assert_eq!(result["outcome"], "refused");
    assert_eq!(result["attempts"][0]["prepared"]["not_supported"], 10045);
    let took = elapsed(&result);
    assert!((Duration::from_millis(1980)..Duration::from_millis(2200)).contains(&took), "{result}");
}

#[test]
fn an_old_windows_gets_the_least_it_can_do() {
    let Some(wine) = Wine::new("an_old_windows_gets_the_least_it_can_do", "win7") else { return };
    let lab = windows_11().start().expect("a lab");
    let result = connect(&lab, &wine, true, CLOSED);
    assert_eq!(result["attempts"][0]["prepared"], "one_retransmission");
    let took = elapsed(&result);
    assert!((Duration::from_millis(470)..Duration::from_millis(650)).contains(&took), "{result}");
    assert!(wine.seen().iter().any(|line| line.ends_with("bytes=FFFF0100 code=0")), "{:?}", wine.seen());
}

#[test]
fn localhost_costs_little_more_than_the_address() {
    let Some(wine) = Wine::new("localhost_costs_little_more_than_the_address", "win10") else { return };
    let lab = windows_11().start().expect("a lab");
    let server = serve(&lab, "127.0.0.1:4200");
    let direct = best_of_three(|| connect(&lab, &wine, true, &server.to_string()));
    let named = best_of_three(|| connect(&lab, &wine, true, "localhost:4200"));
    assert_eq!((&direct["outcome"], &named["outcome"]), (&"connected".into(), &"connected".into()));
    let more = elapsed(&named).saturating_sub(elapsed(&direct));
    assert!(more < Duration::from_millis(5), "{more:?}: {direct} {named}");
}

#[test]
fn with_ipv6_off_localhost_is_the_other_family() {
    let Some(wine) = Wine::new("with_ipv6_off_localhost_is_the_other_family", "win10") else { return };
    let off = ["all", "default", "lo"].map(|interface| format!("ipv6/conf/{interface}/disable_ipv6"));
    let lab = off.iter().fold(windows_11(), |lab, setting| lab.setting(setting, "1")).start().expect("a lab");
    serve(&lab, "127.0.0.1:4200");
    let result = best_of_three(|| connect(&lab, &wine, true, "localhost:4200"));
    assert_eq!(result["outcome"], "connected", "{result}");
    assert!(elapsed(&result) < Duration::from_millis(50), "{result}");
    assert_eq!(connect(&lab, &wine, true, "[::1]:4200")["outcome"], "not_available");
}

/// Median times in µs by case and client, each outcome checked.
fn side_by_side(lab: &Lab, wine: &Wine, shim: bool, cases: &[String]) -> HashMap<(String, String), f64> {
    let finished =
        lab.output(&wine.program("side-by-side", shim).arguments(cases), Some(LIMIT)).expect("Wine runs");
    let text = String::from_utf8_lossy(&finished.stdout).into_owned();
    println!("{text}");
    assert_eq!(finished.ended, Ended::Exited(0), "{text}");
    let mut medians = HashMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let expected = match words[0] {
            "closed" => "refused",
            "silent" => "timed out",
            _ => "connected",
        };
        assert_eq!(words[3], expected, "{line}");
        medians.insert((words[0].to_owned(), words[1].to_owned()), words[4].parse().expect("a number"));
    }
    medians
}

#[test]
fn side_by_side_with_std_socket2_and_tokio() {
    let Some(wine) = Wine::new("side_by_side_with_std_socket2_and_tokio", "win10") else { return };
    let lab = windows_11().rules(SILENCE).start().expect("a lab");
    let server = serve(&lab, "127.0.0.1:80");
    let cases = [
        format!("closed:3:0={CLOSED}"),
        format!("v4-only:2000:0={server}"),
        format!("silent:3:300={SILENT}"),
    ];
    let medians = side_by_side(&lab, &wine, true, &cases);
    let median = |case: &str, client: &str| medians[&(case.to_owned(), client.to_owned())];
    assert!(median("closed", "std") >= 400.0 * median("closed", "unstall"), "{medians:?}");
    for client in ["std", "socket2", "tokio", "unstall"] {
        // socket2's select may end a little early.
        assert!((295e3..400e3).contains(&median("silent", client)), "{client}: {medians:?}");
    }
    // The shim makes three system calls of the ioctl's one; without it, success is compared on equal terms.
    let medians = side_by_side(&lab, &wine, false, &cases[1..2]);
    let median = |case: &str, client: &str| medians[&(case.to_owned(), client.to_owned())];
    // On equal terms: both as they come but for Nagle's algorithm, and both without it. What unstall costs more than plain std is one
    // setsockopt(TCP_NODELAY).
    let ratio = |client, std| median("v4-only", client) / median("v4-only", std);
    let ratios = [ratio("unstall-nodelay", "std"), ratio("unstall", "std+nodelay"), ratio("unstall", "std")];
    println!(
        "success over std, both with Nagle {:.3}, both without {:.3}, as they come {:.3}",
        ratios[0], ratios[1], ratios[2]
    );
    // The aim is 1.05. It was met in three runs of four (two printed 1.01 to 1.03), missed on a machine that others used (1.07); so this only
    // notices what is plainly worse, and the ratios are printed.
    assert!(ratios[0] <= 1.15 && ratios[1] <= 1.15, "{ratios:?}: {medians:?}");
}
