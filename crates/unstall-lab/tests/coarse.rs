//! The coarse engine: in steps of a second, for an ordinary user, who is told so.

mod common;

use common::{client, is_installed, is_root, lab_program};
use std::net::SocketAddr;
use std::process::Command;
use std::thread;
use std::time::Duration;
use unstall_lab::client::{self as own, By, End, Request};
use unstall_lab::{Engine, EngineChoice, Lab, Profile};

/// A slot of the timer wheel at the coarsest common HZ (100: 80 ms from half a second on), and as much for the machine.
const SLACK: Duration = Duration::from_millis(160);

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// A timer of so many seconds, which never fires early but for a jiffy.
fn assert_steps(steps: u32, took: Duration, what: &str) {
    let step = Duration::from_secs(1);
    let (least, most) = (step.mul_f64(0.99) * steps, step.mul_f64(1.03) * steps + SLACK);
    assert!((least..=most).contains(&took), "{what}: {steps} steps took {took:?}");
}

#[test]
fn retries_come_in_steps_of_a_second() {
    const TEST: &str = "retries_come_in_steps_of_a_second";
    if !is_root(TEST) || !is_installed(TEST, "nft") {
        return;
    }
    let profile = Profile::find("windows-11").expect("built in");
    let lab = Lab::builder(profile).engine(EngineChoice::Coarse).start().expect("a lab");
    assert_eq!((lab.engine(), lab.counts()), (Engine::Coarse, None));
    let notes = lab.notes().join("\n");
    assert!(notes.contains("in steps of a second") && notes.contains("full accept queue"), "{notes}");
    thread::scope(|scope| {
        for to in ["127.0.0.1:9", "[::1]:9", "[::ffff:127.0.0.1]:9"] {
            for (ask, by, steps) in [
                (None, By::Ttl, 2),
                (Some(0), By::Ttl, 0),
                (Some(0), By::Mark, 0),
                (Some(1), By::Ttl, 1),
                (Some(4), By::Mark, 2),
                (Some(8), By::Ttl, 4),
            ] {
                let (lab, request) = (&lab, Request { count: 20, ask, by, ..Request::new(address(to)) });
                scope.spawn(move || {
                    let answer = own::run(lab, &client(), &request).expect("the client runs");
                    assert_eq!(answer.indices(End::Refused).len(), 20, "{request:?}: {answer:?}");
                    assert_steps(steps, answer.longest(), &format!("{request:?}"));
                });
            }
        }
    });
}

#[test]
fn resets_of_connections_pass() {
    const TEST: &str = "resets_of_connections_pass";
    if !is_root(TEST) || !is_installed(TEST, "nft") {
        return;
    }
    let profile = Profile::find("stealth").expect("built in");
    let lab = Lab::builder(profile).engine(EngineChoice::Coarse).start().expect("a lab");
    let error = lab.within(|| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = std::net::TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (accepted, _) = listener.accept().expect("connected");
        socket2::SockRef::from(&accepted).set_linger(Some(Duration::ZERO)).expect("an option");
        drop(accepted);
        stream.set_read_timeout(Some(Duration::from_secs(2))).expect("an option");
        std::io::Read::read(&mut &stream, &mut [0]).expect_err("it was reset").kind()
    });
    assert_eq!(error, std::io::ErrorKind::ConnectionReset);
}

/// `nobody`, who may do nothing on the host.
#[test]
fn an_ordinary_user_has_a_lab() {
    const TEST: &str = "an_ordinary_user_has_a_lab";
    if !is_root(TEST) || !is_installed(TEST, "setpriv") || !is_installed(TEST, "nft") {
        return;
    }
    let as_nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(words);
        command.output().expect("a process")
    };
    let program = lab_program();
    let program = program.to_str().expect("a plain path");
    if !as_nobody(&["test", "-x", program]).status.success() {
        return common::left_out(TEST, "the ordinary user cannot reach the target directory");
    }
    if !as_nobody(&["unshare", "--user", "--map-root-user", "true"]).status.success() {
        return common::left_out(TEST, "this system gives ordinary users no user namespace");
    }
    let request = |ask: Option<u8>, by: By| {
        let request = Request { ask, by, ..Request::new(address("127.0.0.1:9")) };
        serde_json::to_string(&request).expect("plain data")
    };
    for (ask, by, steps) in [(None, By::Ttl, 2), (Some(0), By::Ttl, 0), (Some(0), By::Mark, 0)] {
        let output = as_nobody(&[program, "windows-11", "--", program, "client", &request(ask, by)]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("in steps of a second"), "{stderr}");
        let answer: own::Answer = serde_json::from_slice(&output.stdout).expect(&stderr);
        assert_eq!(answer.indices(End::Refused), [0]);
        assert_steps(steps, answer.longest(), &format!("{ask:?} by {by:?}"));
    }
    let who = as_nobody(&[program, "windows-11", "--", "id", "-u"]);
    assert_eq!(who.stdout, b"65534\n", "a program keeps its user");
    let exact = as_nobody(&[program, "windows-11", "--", "sh", "-c", "exit 9"]);
    assert_eq!(exact.status.code(), Some(9));
}

/// What is missing is named, with what to do; nothing else happens.
#[test]
fn what_is_missing_is_named() {
    const TEST: &str = "what_is_missing_is_named";
    if !is_root(TEST) || !is_installed(TEST, "setpriv") || !is_installed(TEST, "unshare") {
        return;
    }
    let program = lab_program();
    let program = program.to_str().expect("a plain path");
    let run = |command: &mut Command| {
        let output = command.output().expect("a process");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let as_nobody =
        ["--reuid=65534", "--regid=65534", "--clear-groups", program, "windows-11", "--", "/bin/true"];
    // The search path of `setpriv` is this test's, that of the lab is empty.
    let setpriv = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .map(|directory| directory.join("setpriv"))
        .find(|path| path.is_file())
        .expect("it is installed");
    let (code, stderr) = run(Command::new(setpriv).args(as_nobody).env("PATH", "/nowhere"));
    assert_eq!((code, &*stderr), (Some(125), "lab: nft is not installed; install nftables\n"));
    // A user who may have no user namespace: the limit is that of a namespace around him.
    let none = "echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-all \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", none, "sh", program, "windows-11", "--", "true"]);
    let (code, stderr) = run(&mut command);
    assert_eq!(code, Some(125));
    assert!(stderr.starts_with("lab: this user may not have a user namespace ("), "{stderr}");
    assert!(stderr.contains("run it as root, or set user.max_user_namespaces above 0"), "{stderr}");
}
