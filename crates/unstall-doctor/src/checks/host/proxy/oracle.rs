//! The rules of [`super::clients`] against the programs themselves: each is started with a proxy variable, and its answer
//! tells whether it asked the proxy or the server. Programs that are not installed are left out.

use super::HOSTS;
use super::clients::{CLIENTS, Environment};
use crate::testing::left_out;
use std::io::{Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

const LISTS: &[&str] = &[
    "",
    "*",
    "*,x",
    "localhost",
    "LOCALHOST",
    ".localhost",
    "*.localhost",
    "localhost.",
    "ocalhost",
    "127.0.0.1",
    "127.0.0.0/8",
    "127.0.0.0/8,localhost",
    "126.0.0.0/8",
    ".0.0.1",
    "0.0.1",
    "::1",
    "[::1]",
    "localhost, 127.0.0.1",
    "localhost,127.0.0.1,::1,[::1]",
];

/// Answers requests from standard input, one per line: the URL, then variables; all separated by tabs. For each it prints
/// the body of the answer, or nothing.
const PYTHON: &str = r#"
import os, sys
library = sys.argv[1]
if library == "requests":
    import requests
    fetch = lambda url: requests.get(url, timeout=5).text
else:
    import urllib.request
    fetch = lambda url: urllib.request.build_opener().open(url, timeout=5).read().decode()
for line in sys.stdin:
    url, *variables = line.rstrip("\n").split("\t")
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    os.environ.update(variable.split("=", 1) for variable in variables)
    try:
        print(fetch(url))
    except OSError:
        print()
"#;

/// How a program is asked.
enum Program {
    /// Once for each URL, which comes last.
    Each(&'static [&'static str]),
    /// Once for all.
    Python(&'static str),
}

const PROGRAMS: &[(&str, Program)] = &[
    ("curl", Program::Each(&["curl", "-s", "-m", "5"])),
    ("wget", Program::Each(&["wget", "-q", "-T", "5", "-t", "1", "-O", "-"])),
    ("Python urllib", Program::Python("urllib")),
    ("Python requests", Program::Python("requests")),
];

/// A request: how the host is named, and the proxy variables.
struct Case<'a> {
    host: &'static str,
    variables: Vec<(&'static str, &'a str)>,
}

/// A web server whose every answer is its name, until the process ends.
fn server(address: SocketAddr, name: &'static str) -> Option<SocketAddr> {
    let listener = TcpListener::bind(address).ok()?;
    let address = listener.local_addr().ok()?;
    thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, name)));
    Some(address)
}

fn answer(mut stream: TcpStream, name: &str) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let _ = stream.read(&mut [0; 4096]);
    let _ = write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{name}", name.len());
}

/// A command in an environment without proxy variables.
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", "/nonexistent").stderr(Stdio::null());
    for kept in ["PATH", "PYENV_ROOT"] {
        command.envs(std::env::var_os(kept).map(|value| (kept, value)));
    }
    command
}

/// Who answers each request: `proxy`, `server`, or an empty string for nobody. `None`: the program is not installed.
fn ask(program: &Program, port: u16, cases: &[Case<'_>]) -> Option<Vec<String>> {
    let url = |case: &Case<'_>| format!("http://{}:{port}/", case.host);
    let text = |output: Vec<u8>| String::from_utf8_lossy(&output).into_owned();
    match program {
        Program::Each(words) => {
            let one = |case: &Case<'_>| {
                let mut command = command(words[0]);
                command.args(&words[1..]).arg(url(case)).envs(case.variables.iter().copied());
                command.stdin(Stdio::null()).output().ok().map(|output| text(output.stdout))
            };
            cases.iter().map(one).collect()
        }
        Program::Python(library) => {
            let mut child = command("python3")
                .args(["-c", PYTHON, library])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .ok()?;
            let mut lines = String::new();
            for case in cases {
                lines += &url(case);
                lines.extend(case.variables.iter().map(|(name, value)| format!("\t{name}={value}")));
                lines.push('\n');
            }
            // A broken pipe means that the library is missing.
            let _ = child.stdin.take()?.write_all(lines.as_bytes());
            let output = child.wait_with_output().ok().filter(|output| output.status.success())?;
            Some(text(output.stdout).lines().map(str::to_owned).collect())
        }
    }
}

/// Each variable, and each list under `no_proxy`; `NO_PROXY` with one list tells whether it is looked at.
fn cases(proxy: &str) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for variable in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        cases.push(Case { host: "127.0.0.1", variables: vec![(variable, proxy)] });
    }
    cases.push(Case { host: "127.0.0.1", variables: vec![("http_proxy", proxy), ("NO_PROXY", "127.0.0.1")] });
    for list in LISTS {
        cases.extend(
            HOSTS.map(|host| Case { host, variables: vec![("http_proxy", proxy), ("no_proxy", *list)] }),
        );
    }
    cases
}

#[test]
fn programs_do_as_their_rules_say() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let proxy = format!("http://{}", server(any, "proxy").expect("no proxy"));
    let port = server(any, "server").expect("no server").port();
    // Where there is no ::1, or `localhost` has no address, nobody answers and the rows are left out.
    server(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port), "server");
    let plain = HOSTS.map(|host| Case { host, variables: Vec::new() });
    for (name, program) in PROGRAMS {
        let rules = CLIENTS.iter().find(|client| client.name == *name).expect("a row");
        let Some(reachable) =
            ask(program, port, &plain).filter(|answers| answers.contains(&"server".to_owned()))
        else {
            left_out("programs_do_as_their_rules_say", &format!("{name} is not installed"));
            continue;
        };
        let mut cases = cases(&proxy);
        cases.retain(|case| {
            HOSTS.iter().zip(&reachable).any(|(host, by)| *host == case.host && by == "server")
        });
        let answers = ask(program, port, &cases).expect("it was there before");
        assert_eq!(answers.len(), cases.len(), "{name}");
        for (case, answer) in cases.iter().zip(&answers) {
            let environment = Environment::from_pairs(&case.variables, false);
            let expected = rules.proxy_for(&environment, "http", case.host).map_or("server", |_| "proxy");
            assert_eq!(answer, expected, "{name}, {}, {:?}", case.host, case.variables);
        }
    }
}
