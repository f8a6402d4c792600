//! A program in the lab is as it is outside: streams, exit code, signals, terminal. And it sees what the lab made for it.

mod common;

use common::{is_installed, is_root, lab, lab_program};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::IpAddr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use unstall_lab::{Ended, Lab, Profile, Program};

/// For a shell, without a process more.
const COUNT_PROCESSES: &str = "set -- /proc/[0-9]*; echo $#";

fn output(words: &[&str]) -> Output {
    lab(words).output().expect("a process")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

#[test]
fn exit_codes_are_the_program_s_or_tell_why_there_is_none() {
    if !is_root("exit_codes_are_the_program_s_or_tell_why_there_is_none") {
        return;
    }
    let cases: [(&[&str], i32, &str); 9] = [
        (&["--", "true"], 0, ""),
        (&["--", "sh", "-c", "exit 7"], 7, ""),
        (&["--", "sh", "-c", "kill -KILL $$"], 137, ""),
        (&["--", "sh", "-c", "kill -TERM $$"], 143, ""),
        (&["--", "no-such-program"], 127, "lab: no-such-program: command not found"),
        (&["--", "/no/such/program"], 127, "lab: /no/such/program: command not found"),
        (&["--", "/etc/passwd"], 126, "lab: cannot run /etc/passwd: it is not executable"),
        (&["no-such-profile", "--", "true"], 2, "lab: there is no profile `no-such-profile`"),
        (&["linux"], 2, "lab: which program?"),
    ];
    for (words, code, complaint) in cases {
        let output = output(words);
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        let stderr = text(&output.stderr);
        assert!(stderr.starts_with(complaint), "{words:?}: {stderr}");
        assert!(stderr.lines().count() <= 1, "one sentence: {stderr}");
    }
}

/// As a daemon that ignores SIGCHLD would start it.
#[test]
fn an_exit_code_is_read_even_if_ends_of_children_are_ignored() {
    if !is_root("an_exit_code_is_read_even_if_ends_of_children_are_ignored") {
        return;
    }
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' CHLD; exec \"$0\" \"$@\""])
        .arg(lab_program())
        .args(["linux", "--", "sh", "-c", "exit 9"]);
    assert_eq!(command.status().expect("a process").code(), Some(9));
}

#[test]
fn a_lab_within_a_lab_is_one_more() {
    if !is_root("a_lab_within_a_lab_is_one_more") {
        return;
    }
    let inner = lab_program();
    let inner = inner.to_str().expect("a plain path");
    let status = lab(&["--", inner, "windows-11", "--", "sh", "-c", "exit 9"]).status().expect("a process");
    assert_eq!(status.code(), Some(9));
}

#[test]
fn streams_pass_through_untouched() {
    if !is_root("streams_pass_through_untouched") {
        return;
    }
    let mut command = lab(&["--", "sh", "-c", "cat; echo to stderr >&2"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let sent: Vec<u8> = (0..=255).cycle().take(200_000).collect();
    let mut stdin = child.stdin.take().expect("piped");
    let writer = thread::spawn({
        let sent = sent.clone();
        move || stdin.write_all(&sent).expect("the program reads")
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic");
    assert!(output.stdout == sent, "{} bytes came back", output.stdout.len());
    assert_eq!(output.stderr, b"to stderr\n");
}

#[test]
fn a_signal_for_the_lab_is_the_program_s() {
    if !is_root("a_signal_for_the_lab_is_the_program_s") {
        return;
    }
    let script = "trap 'echo got it; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = lab(&["--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().expect("a process");
    let mut stdout = child.stdout.take().expect("piped");
    let mut ready = [0; 6];
    stdout.read_exact(&mut ready).expect("it starts");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("it writes");
    assert_eq!((child.wait().expect("it ends").code(), &rest[..]), (Some(3), "got it\n"));
}

#[test]
fn a_program_sees_its_own_namespaces_and_files() {
    if !is_root("a_program_sees_its_own_namespaces_and_files") {
        return;
    }
    let address = |text: &str| text.parse::<IpAddr>().expect("an address");
    let several = [address("198.18.0.254"), address("2001:2::254"), address("127.0.0.1")];
    let lab = Lab::builder(Profile::find("windows-11").expect("built in"))
        .name("many.test", &several)
        .name_servers(&[address("127.0.0.53")])
        .setting("ipv4/ip_default_ttl", "77")
        .hide("/etc/default")
        .start()
        .expect("a lab");
    let show = |script: &str| {
        let finished = lab.output(&Program::new("sh").arguments(["-c", script]), None).expect("sh runs");
        assert_eq!(finished.ended, Ended::Exited(0), "{script}: {}", text(&finished.stderr));
        text(&finished.stdout)
    };
    assert_eq!(show("cat /proc/sys/net/ipv4/ip_default_ttl"), "77");
    assert_eq!(show("cat /etc/resolv.conf"), "nameserver 127.0.0.53");
    assert_eq!(show("ls -A /etc/default"), "");
    let hosts = show("cat /etc/hosts");
    assert!(hosts.starts_with("::1 localhost\n127.0.0.1 localhost\n198.18.0.254 many.test\n"), "{hosts}");
    let looked_up = show("getent ahosts many.test | grep STREAM | cut -d' ' -f1 | sort");
    assert_eq!(looked_up, "127.0.0.1\n198.18.0.254\n2001:2::254");
    // Its own processes, and nothing else of this machine's.
    assert_eq!(show("cat /proc/1/comm"), "unstall-lab");
    assert_eq!(show(COUNT_PROCESSES), "2", "init and sh");
    // Neither shows outside.
    assert!(!fs::read_to_string("/etc/hosts").expect("hosts").contains("many.test"));
    assert_ne!(fs::read_to_string("/proc/sys/net/ipv4/ip_default_ttl").expect("a setting").trim(), "77");
}

#[test]
fn a_program_that_does_not_end_is_ended_with_what_it_started() {
    if !is_root("a_program_that_does_not_end_is_ended_with_what_it_started") {
        return;
    }
    let lab = Lab::builder(Profile::find("linux").expect("built in")).start().expect("a lab");
    let program = Program::new("sh").arguments(["-c", "echo before; sleep 1000 & sleep 1000; echo after"]);
    let finished = lab.output(&program, Some(Duration::from_millis(300))).expect("sh runs");
    assert_eq!((finished.ended.code(), text(&finished.stdout)), (124, "before".to_owned()));
    assert!(
        (Duration::from_millis(300)..Duration::from_secs(3)).contains(&finished.elapsed),
        "{:?}",
        finished.elapsed
    );
    // Being killed takes a moment.
    let deadline = Instant::now() + Duration::from_secs(5);
    let left = || lab.output(&Program::new("sh").arguments(["-c", COUNT_PROCESSES]), None).expect("sh runs");
    while text(&left().stdout) != "2" {
        assert!(Instant::now() < deadline, "more than init and sh are left");
    }
}

/// A lab on a terminal of its own, as a shell starts it: leader of the foreground process group.
struct OnTerminal {
    terminal: File,
    child: Child,
}

impl OnTerminal {
    /// `sh -c script` in a lab.
    fn start(script: &str) -> Self {
        let lab = lab_program();
        Self::start_command(&[lab.to_str().expect("a plain path"), "linux", "--", "sh", "-c", script])
    }

    fn start_command(words: &[&str]) -> Self {
        let terminal: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a pseudo-terminal");
        grantpt(&terminal).expect("its other end");
        unlockpt(&terminal).expect("its other end");
        let path = ptsname(&terminal, Vec::new()).expect("a path").into_string().expect("a path");
        let other = || File::options().read(true).write(true).open(&path).expect("the other end");
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).args(words);
        let child = command.stdin(other()).stdout(other()).stderr(other()).spawn().expect("setsid");
        Self { terminal: terminal.into(), child }
    }

    /// Reads until this has been written.
    fn wait_for(&mut self, wanted: &str) {
        let mut seen = String::new();
        let mut buffer = [0; 256];
        while !seen.contains(wanted) {
            let length = self.terminal.read(&mut buffer).expect("the program writes");
            seen += &String::from_utf8_lossy(&buffer[..length]);
        }
    }

    fn press(&mut self, control: u8) {
        self.terminal.write_all(&[control]).expect("a key");
    }
}

/// Processes whose command line contains `marker`, with their states, but for the shell that started the lab.
fn processes(marker: &str) -> Vec<(String, char)> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten().filter_map(|entry| {
        let command = fs::read(entry.path().join("cmdline")).ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let state = stat.rsplit(')').next()?.trim_start().chars().next()?;
        Some((String::from_utf8_lossy(&command).replace('\0', " "), state))
    });
    processes.filter(|(command, _)| command.contains(marker) && !command.contains("set -m")).collect()
}

/// Waits until those processes are so.
fn wait_until(marker: &str, are_so: impl Fn(&[(String, char)]) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let processes = processes(marker);
        if are_so(&processes) {
            return;
        }
        assert!(Instant::now() < deadline, "{processes:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn ctrl_c_is_for_the_program() {
    const TEST: &str = "ctrl_c_is_for_the_program";
    if !is_root(TEST) || !is_installed(TEST, "setsid") {
        return;
    }
    let mut handled =
        OnTerminal::start("trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done");
    handled.wait_for("ready");
    handled.press(3);
    handled.wait_for("caught");
    assert_eq!(handled.child.wait().expect("it ends").code(), Some(9));
    let mut killed = OnTerminal::start("echo ready; exec sleep 1000");
    killed.wait_for("ready");
    killed.press(3);
    let status = killed.child.wait().expect("it ends");
    assert_eq!((status.code(), status.signal()), (Some(130), None));
}

#[test]
fn ctrl_z_stops_the_lab_with_its_program_and_both_go_on() {
    const TEST: &str = "ctrl_z_stops_the_lab_with_its_program_and_both_go_on";
    if !is_root(TEST) || !is_installed(TEST, "setsid") {
        return;
    }
    // Another run of this test must not be taken for this one.
    let marker = &format!("14142135.{}", std::process::id());
    // The kernel does not stop a process group without a shell above it, so a shell starts the lab.
    let script = format!(
        "set -m; {} linux -- sh -c 'echo ready; sleep {marker}; exit 4'; echo stopped; read key; fg; echo code $?",
        lab_program().display()
    );
    let mut terminal = OnTerminal::start_command(&["sh", "-c", &script]);
    // A shell that is between fork and exec takes what is typed for itself.
    wait_until(marker, |all| all.iter().any(|(command, _)| command.starts_with("sleep")));
    terminal.press(26);
    terminal.wait_for("stopped");
    // The lab, the shell in it and what that runs; not init, which is in a group of its own.
    wait_until(marker, |all| all.iter().filter(|(_, state)| *state == 'T').count() == 3);
    terminal.press(b'\n');
    wait_until(marker, |all| all.iter().all(|(_, state)| *state != 'T'));
    terminal.press(3);
    terminal.wait_for("code 130");
    terminal.child.wait().expect("it ends");
}
