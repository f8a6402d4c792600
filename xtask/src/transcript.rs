//! The transcripts of README.md: real runs in a network namespace of their own, so that they show the same on every
//! machine and touch nothing.

use crate::docs;
use crate::workspace::{Workspace, works};
use std::env;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

/// A run that README.md shows.
struct Transcript {
    name: &'static str,
    /// A server that is up meanwhile, and the address that shows that it is; `None`: the lab is its own network, and
    /// its exact engine needs root.
    server: Option<(&'static [&'static str], &'static str)>,
    /// The arguments of `unstall`.
    arguments: &'static [&'static str],
}

const PYTHON_ON_V4: &[&str] = &["python3", "-m", "http.server", "3000", "--bind", "127.0.0.1"];

/// curl's own sentence differs from version to version.
const CURL_SAYS: &str = r"exit code %{exitcode} after %{time_total} s\n";

const TRANSCRIPTS: &[Transcript] = &[
    Transcript {
        name: "doctor",
        server: Some((PYTHON_ON_V4, "127.0.0.1:3000")),
        arguments: &["doctor", "localhost:3000"],
    },
    Transcript {
        name: "connect",
        server: Some((PYTHON_ON_V4, "127.0.0.1:3000")),
        arguments: &["connect", "localhost:3000"],
    },
    Transcript {
        name: "lab",
        server: None,
        arguments: &["lab", "--", "curl", "-sw", CURL_SAYS, "http://127.0.0.1:9/"],
    },
    Transcript {
        name: "clients",
        server: None,
        arguments: &["lab", "--", "unstall", "clients", "--client", "curl -qsSv -m {limit} {url}"],
    },
];

/// The transcripts that can be made with or without the lab, by name.
pub(crate) fn names(with_lab: bool) -> impl Iterator<Item = &'static str> {
    let made = move |transcript: &&Transcript| transcript.server.is_some() || with_lab;
    TRANSCRIPTS.iter().filter(made).map(|transcript| transcript.name)
}

/// Whether the lab's exact engine works here, with curl in it.
pub(crate) fn has_lab(program: &Path) -> bool {
    works(&program.to_string_lossy(), &["lab", "--engine", "bpf", "--", "curl", "--version"])
}

/// Why transcripts cannot be made here; `None`: they can.
pub(crate) fn why_not() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("they are made on Linux".to_owned());
    }
    if !works("unshare", &["--map-root-user", "--net", "--mount", "ip", "link", "set", "lo", "up"]) {
        return Some(
            "no private network namespace here (unshare, ip, and user namespaces are needed)".to_owned(),
        );
    }
    (!works("python3", &["--version"])).then(|| "python3, whose server they show, is not here".to_owned())
}

/// Sets the namespace up and hands over to [`inside`]: loopback is up, and the hosts file is a plain one.
const SET_UP: &str = r#"ip link set lo up && mount --bind "$1" /etc/hosts && exec "$2" transcript "$3""#;

/// Makes the transcript: the command line and what it prints.
pub(crate) fn run(workspace: &Workspace, name: &str) -> Result<String, String> {
    let this = env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let hosts = workspace.target.join("transcript-hosts");
    fs::write(&hosts, "127.0.0.1 localhost\n::1 localhost\n")
        .map_err(|error| format!("cannot write {}: {error}", hosts.display()))?;
    let mut command = if find(name)?.server.is_some() {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", "--mount", "sh", "-c", SET_UP, "sh"]).arg(hosts).arg(this);
        command.arg(name);
        command
    } else {
        let mut command = Command::new(this);
        command.args(["transcript", name]);
        command
    };
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start transcript {name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("transcript {name}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("transcript {name}: {error}"))
}

/// Runs inside the namespace: starts the server, runs the program, prints the transcript.
pub(crate) fn inside(workspace: &Workspace, name: &str) -> Result<ExitCode, String> {
    let transcript = find(name)?;
    let server = transcript.server.map(|(command, address)| Server::start(command, address)).transpose()?;
    let unstall = docs::program(workspace);
    // A transcript may run the program within the lab, by its name.
    let path = env::var_os("PATH").unwrap_or_default();
    let folder = unstall.parent().map(Path::to_owned);
    let path = env::join_paths(folder.into_iter().chain(env::split_paths(&path)))
        .map_err(|error| format!("PATH cannot be extended: {error}"))?;
    let mut program = Command::new(unstall);
    program.args(transcript.arguments).stdin(Stdio::null());
    program.env_clear().env("PATH", path).env("LC_ALL", "C.UTF-8");
    let output = program.output().map_err(|error| format!("cannot run unstall: {error}"))?;
    drop(server);
    if output.stdout.is_empty() {
        return Err(format!("unstall printed nothing: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let typed: Vec<String> = transcript.arguments.iter().map(|argument| quoted(argument)).collect();
    print!("$ unstall {}\n{}", typed.join(" "), String::from_utf8_lossy(&output.stdout));
    Ok(ExitCode::SUCCESS)
}

/// An argument as a person types it.
fn quoted(argument: &str) -> String {
    if argument.contains([' ', '{', '\\']) { format!("'{argument}'") } else { argument.to_owned() }
}

fn find(name: &str) -> Result<&'static Transcript, String> {
    let transcript = TRANSCRIPTS.iter().find(|transcript| transcript.name == name);
    transcript.ok_or_else(|| format!("there is no transcript {name}"))
}

/// A server that ends when this is dropped.
struct Server(Child);

impl Server {
    fn start(command: &[&str], address: &str) -> Result<Self, String> {
        let mut process = Command::new(command[0]);
        process.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = process.spawn().map_err(|error| format!("cannot start {}: {error}", command[0]))?;
        let server = Self(child);
        let address: SocketAddr = address.parse().map_err(|error| format!("{address}: {error}"))?;
        for _ in 0..200 {
            if TcpStream::connect(address).is_ok() {
                return Ok(server);
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(format!("{} did not listen on {address} within 10 s", command.join(" ")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
