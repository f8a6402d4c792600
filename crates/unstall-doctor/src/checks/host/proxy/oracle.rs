//! The rules of [`super::clients`] against the programs themselves: each is started with a proxy variable, and it is seen
//! whether it connects to the proxy or to the server. Programs that are not installed are left out.

use super::HOSTS;
use super::clients::{CLIENTS, Environment};
use crate::testing::left_out;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
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

const URLLIB: &str = "import sys,urllib.request\ntry: urllib.request.urlopen(sys.argv[1], timeout=5).read()\nexcept OSError: pass";
const REQUESTS: &str = "import sys,requests\ntry: requests.get(sys.argv[1], timeout=5)\nexcept OSError: pass";

/// A program as it is started; the URL comes last.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("curl", &["curl", "-s", "-m", "5"]),
    ("wget", &["wget", "-q", "-T", "5", "-t", "1", "-O", "/dev/null"]),
    ("Python urllib", &["python3", "-c", URLLIB]),
    ("Python requests", &["python3", "-c", REQUESTS]),
];

/// A web server that tells when it is asked, until the process ends.
fn server(address: SocketAddr, name: &'static str, asked: Sender<&'static str>) -> Option<SocketAddr> {
    let listener = TcpListener::bind(address).ok()?;
    let address = listener.local_addr().ok()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = asked.send(name);
            answer(stream);
        }
    });
    Some(address)
}

fn answer(mut stream: TcpStream) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
}

struct Stage {
    proxy: SocketAddr,
    target: SocketAddr,
    asked: Receiver<&'static str>,
}

fn stage() -> Stage {
    let (sender, asked) = mpsc::channel();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let proxy = server(any, "proxy", sender.clone()).expect("no proxy");
    let target = server(any, "server", sender.clone()).expect("no server");
    // Where there is no ::1 the rows for it cannot be told apart, and are left out below.
    server(SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), target.port()), "server", sender);
    Stage { proxy, target, asked }
}

/// Who is asked; `None`: nobody.
fn run(stage: &Stage, program: &[&str], host: &str, variables: &[(&str, &str)]) -> Option<&'static str> {
    while stage.asked.try_recv().is_ok() {}
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).arg(format!("http://{host}:{}/", stage.target.port()));
    command.env_clear().env("HOME", "/nonexistent").envs(variables.iter().copied());
    for kept in ["PATH", "PYENV_ROOT", "LD_LIBRARY_PATH"] {
        command.envs(std::env::var_os(kept).map(|value| (kept, value)));
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    stage.asked.try_recv().ok()
}

#[test]
fn programs_do_as_their_rules_say() {
    let stage = stage();
    let proxy = format!("http://{}", stage.proxy);
    for (name, program) in PROGRAMS {
        let rules = CLIENTS.iter().find(|client| client.name == *name).expect("a row");
        let ask = |host: &str, variables: &[(&str, &str)]| run(&stage, program, host, variables);
        if ask("127.0.0.1", &[]) != Some("server") {
            left_out("programs_do_as_their_rules_say", &format!("{name} is not installed"));
            continue;
        }
        let hosts: Vec<_> = HOSTS.iter().filter(|host| ask(host, &[]) == Some("server")).collect();
        for variable in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
            let variables = [(variable, proxy.as_str())];
            let environment = Environment::from_pairs(&variables, false);
            let expected = rules.proxy_for(&environment, "http", "127.0.0.1").map_or("server", |_| "proxy");
            assert_eq!(ask("127.0.0.1", &variables), Some(expected), "{name} with {variable}");
        }
        for list in LISTS {
            for exception in ["no_proxy", "NO_PROXY"] {
                // The second spelling needs no more than one list.
                if exception == "NO_PROXY" && *list != "127.0.0.1" {
                    continue;
                }
                let variables = [("http_proxy", proxy.as_str()), (exception, *list)];
                let environment = Environment::from_pairs(&variables, false);
                for host in &hosts {
                    let expected = rules.proxy_for(&environment, "http", host).map_or("server", |_| "proxy");
                    assert_eq!(ask(host, &variables), Some(expected), "{name}, {host}, {exception}={list}");
                }
            }
        }
    }
}
