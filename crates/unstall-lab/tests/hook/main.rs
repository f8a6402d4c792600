//! `unstall run` under Wine in the lab: programs of many kinds, with and without it, where a refused connect costs what it costs on Windows.
//!
//! `cargo xtask windows hook` gathers the programs (`UNSTALL_RUN_PROGRAMS`) and a Wine prefix for both bitnesses (`UNSTALL_RUN_PREFIX`). Nothing
//! here was measured on Windows: the lab emulates its refusals, and `unstall_rtoshim.dll` the ioctl that Wine lacks.

mod clients;
#[path = "../common/mod.rs"]
mod common;
mod safety;
mod table;

use common::{is_root, left_out};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use unstall_lab::{Builder, Ended, Finished, Lab, Profile, Program};

/// Starting a wineserver, and ending with it, takes seconds; the longest mode of the client makes 10,000 connects.
const LIMIT: Duration = Duration::from_secs(240);

/// Where nobody listens.
const CLOSED: &str = "9";

/// Four retries, 505 ms apart, are 2.02 s; the lab's timer may be a tick early.
const STALL_MS: f64 = 1980.0;

/// What the product promises: a hundredth of the stall.
const FAST_MS: f64 = 20.0;

/// The shim within the prefix. Windows shows a 32-bit program its own folder by the same name.
const SHIM: &str = r"C:\windows\system32\unstall_rtoshim.dll";

/// The programs and the prefix; one test at a time, for a prefix has one wineserver, and that must be of one lab.
struct Wine {
    programs: PathBuf,
    prefix: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

/// How a program is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Plain,
    Hooked,
}

impl Wine {
    /// `None`: something is not at hand, which is noted. `needed`: files in the folder of programs.
    fn new(test: &str, needed: &[&str]) -> Option<Self> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let (programs, prefix) = (variable("UNSTALL_RUN_PROGRAMS"), variable("UNSTALL_RUN_PREFIX"));
        let (Some(programs), Some(prefix)) = (programs, prefix) else {
            left_out(test, "no Windows programs (cargo xtask windows hook)");
            return None;
        };
        if let Some(missing) = needed.iter().find(|name| !programs.join(name).exists()) {
            left_out(test, &format!("no {missing} (cargo xtask windows hook says why)"));
            return None;
        }
        is_root(test).then_some(Self { programs, prefix, _turn: turn })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    fn bare(&self) -> Program {
        Program::new("wine")
            .variable("WINEPREFIX", &self.prefix)
            .variable("WINEDEBUG", "-all")
            .variable("WINEDLLOVERRIDES", "winemenubuilder.exe,mscoree,mshtml=")
    }

    /// `unstall run` with these options, and the shim below the DLL in each program that it follows.
    fn run(&self, options: &[&str]) -> Program {
        self.bare()
            .argument(self.path("unstall.exe"))
            .arguments(["run", "--test-load", SHIM])
            .arguments(options)
            .argument("--")
    }

    fn program(&self, how: How, name: &str) -> Program {
        let program = match how {
            How::Plain => self.bare(),
            How::Hooked => self.run(&[]),
        };
        program.argument(self.path(name))
    }
}

/// A path as Wine's programs see it.
fn windows_path(path: &Path) -> String {
    format!("Z:{}", path.display().to_string().replace('/', "\\"))
}

fn windows_11() -> Lab {
    builder().start().expect("a lab")
}

fn builder() -> Builder {
    Lab::builder(Profile::find("windows-11").expect("built in"))
}

/// A server of the lab that sends back what it gets, as long as the program runs.
fn serve(lab: &Lab, address: &'static str) -> String {
    let listener = lab.within(move || TcpListener::bind(address)).expect("a free port");
    let port = listener.local_addr().expect("a bound socket").port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || echo(stream));
        }
    });
    port.to_string()
}

fn echo(mut stream: std::net::TcpStream) {
    let mut bytes = [0; 64];
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        if stream.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

/// Both families at one port.
fn serve_both(lab: &Lab) -> String {
    // On Linux an IPv6 socket takes IPv4 as well.
    serve(lab, "[::]:0")
}

/// What Wine says now and then, on a busy machine, of a program that it starts the next time: ERROR_INTERNAL_ERROR.
const WINE_FAILED: &str = "Internal error. (os error 1359)";

fn output(lab: &Lab, program: &Program) -> Finished {
    let run = || lab.output(program, Some(LIMIT)).expect("Wine runs");
    let finished = run();
    // Once more, and then it counts.
    if String::from_utf8_lossy(&finished.stderr).contains(WINE_FAILED) { run() } else { finished }
}

/// What a program printed; it must have ended with 0.
fn printed(lab: &Lab, program: &Program) -> String {
    let finished = output(lab, program);
    let text = String::from_utf8_lossy(&finished.stdout).replace('\r', "");
    let complaint = String::from_utf8_lossy(&finished.stderr);
    assert_eq!(finished.ended, Ended::Exited(0), "{program:?}\n{text}\n{complaint}");
    text
}

/// The number behind a word at the head of a line.
fn number(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.split('\t').next() == Some(name));
    let word = line.and_then(|line| line.split('\t').nth(1)).unwrap_or_else(|| panic!("no {name} in {text}"));
    word.parse().unwrap_or_else(|_| panic!("{name} is no number in {text}"))
}
