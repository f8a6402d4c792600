//! On Windows before build 16299: programs that ask for no SYN retransmission without looking at the build, and get 255 of them.

use super::{build, only_on_windows};
use crate::checks::{Check, Measured, NotRun};
use crate::context::Context;
use crate::findings::{Evidence, Finding, Os, refusal};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use unstall_core::syn::FIRST_BUILD_WITHOUT_RETRANSMISSION;

pub(in crate::checks) struct CountTrap;

/// The programs that are known to do it, and which of them are here.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "CountTrapData")]
pub(in crate::checks) struct Data {
    /// Windows' build.
    build: u32,
    programs: Vec<Program>,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CountTrapProgram")]
pub(in crate::checks) struct Program {
    name: String,
    /// Where it was found; empty: nowhere.
    found: Vec<Found>,
    /// Where it was read that it does so.
    source: String,
}

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CountTrapFound")]
pub(in crate::checks) struct Found {
    /// Its file.
    path: String,
    /// What it says of its version; null: nothing, or it was not asked.
    version: Option<String>,
    /// Whether it is a version that does so; null: the version is not known.
    affected: Option<bool>,
}

/// A row of the table.
struct Known {
    name: &'static str,
    file: &'static str,
    /// Where it is installed when it is not in PATH: an environment variable and what comes below.
    places: &'static [(&'static str, &'static str)],
    /// The first version that does so; `None`: every one that is known.
    since: Option<[u32; 2]>,
    source: &'static str,
}

/// Programs that set MaxSynRetransmissions to 254 and do not look at the build. libuv (Node), Go and Java look at it.
const KNOWN: &[Known] = &[
    Known {
        name: "curl",
        file: "curl.exe",
        places: &[("SystemRoot", r"System32\curl.exe"), ("ProgramFiles", r"Git\mingw64\bin\curl.exe")],
        since: Some([8, 22]),
        source: "curl/curl#22494, lib/cf-socket.c: from 8.22 on, for localhost, 127.0.0.1 and ::1",
    },
    Known {
        name: "Bun",
        file: "bun.exe",
        places: &[("USERPROFILE", r".bun\bin\bun.exe")],
        since: None,
        source: "oven-sh/bun, packages/bun-usockets/src/bsd.c, bsd_create_connect_socket: for 127.0.0.1 and ::1",
    },
    Known {
        name: "nmap",
        file: "nmap.exe",
        places: &[("ProgramFiles(x86)", r"Nmap\nmap.exe"), ("ProgramFiles", r"Nmap\nmap.exe")],
        since: Some([7, 96]),
        source: NMAP,
    },
    Known {
        name: "OpenVMM",
        file: "openvmm.exe",
        places: &[],
        since: None,
        source: "microsoft/openvmm, net_consomme/consomme/src/windows.rs, disable_connection_retries: for its guests' connects",
    },
    Known {
        name: "netscli",
        file: "netscli.exe",
        places: &[("USERPROFILE", r".cargo\bin\netscli.exe")],
        since: None,
        source: "netscli-core 0.3.4: for every target",
    },
];

const NMAP: &str = "nmap/nmap#2113, scan_engine_connect.cc, init_socket: connect scans, which have a limit of their own, so a closed port \
                    looks filtered";

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(3);

impl Check for CountTrap {
    type Subject = ();
    type Data = Data;
    const ID: &'static str = "count-trap";
    const TITLE: &'static str = "programs that wait 128 s";
    const ABOUT: &'static str = "Windows before build 16299: programs here that ask for no SYN retransmission in a way that this build takes \
                                 for 255 of them: 128 s for a refused connect";
    const BUDGET: Duration = Duration::from_secs(10);
    const OS: Os = Os::Windows;

    fn measure(_: &Context, (): &()) -> Measured<Data> {
        only_on_windows("such a trap")?;
        let build = build().ok_or_else(|| NotRun::CouldNot("Windows does not tell its build".to_owned()))?;
        if build >= FIRST_BUILD_WITHOUT_RETRANSMISSION {
            let why = format!("this build, {build}, knows the value: only those before 16299 do not");
            return Err(NotRun::NotApplicable(why));
        }
        Ok(Data { build, programs: KNOWN.iter().map(search).collect() })
    }

    fn judge(data: &Data) -> Vec<Finding> {
        let affected = |program: &&Program| program.found.iter().any(|found| found.affected != Some(false));
        let here: Vec<&Program> = data.programs.iter().filter(affected).collect();
        if here.is_empty() {
            return Vec::new();
        }
        let names: Vec<&str> = here.iter().map(|program| program.name.as_str()).collect();
        let values: &[(&str, &dyn Display)] = &[("build", &data.build), ("programs", &names.join(", "))];
        let evidence = here.iter().flat_map(|program| program.evidence());
        vec![refusal::COUNT_TRAP.found(values).with_all(evidence)]
    }

    fn describe(data: &Data) -> Vec<String> {
        let line = |program: &Program| {
            if program.found.is_empty() {
                return format!("{}: not found", program.name);
            }
            let found: Vec<String> = program.found.iter().map(Found::words).collect();
            format!("{}: {}", program.name, found.join(", "))
        };
        vec![data.programs.iter().map(line).collect::<Vec<_>>().join("; ")]
    }
}

impl Program {
    fn evidence(&self) -> Vec<Evidence> {
        let found = self.found.iter().filter(|found| found.affected != Some(false));
        let seen = found.map(|found| Evidence::seen(found.words()));
        let published = Evidence::published(
            format!("{} sets 254 without looking at the build", self.name),
            self.source.clone(),
        );
        seen.chain([published]).collect()
    }
}

impl Found {
    fn words(&self) -> String {
        let version = self.version.as_deref().unwrap_or("version not known");
        let affected = if self.affected == Some(false) { ", which does not do it" } else { "" };
        format!("{} ({version}){affected}", self.path)
    }
}

/// Looks a program up in PATH and in its usual places, and asks it for its version where that matters.
fn search(known: &Known) -> Program {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join(known.file));
    let usual = known
        .places
        .iter()
        .filter_map(|(root, below)| Some(PathBuf::from(std::env::var_os(root)?).join(below)));
    let mut files: Vec<PathBuf> = Vec::new();
    for file in in_path.chain(usual) {
        let known = files.iter().any(|known| known.as_os_str().eq_ignore_ascii_case(file.as_os_str()));
        if !known && file.is_file() {
            files.push(file);
        }
    }
    let found = files.iter().map(|file| {
        let version = version_line(file);
        let affected = match known.since {
            None => Some(true),
            Some(since) => version.as_deref().and_then(number).map(|version| version >= since),
        };
        Found { path: file.display().to_string(), version, affected }
    });
    Program { name: known.name.to_owned(), found: found.collect(), source: known.source.to_owned() }
}

/// The first line that a program writes for `--version`. It is ended when it takes longer than [`PATIENCE`].
fn version_line(file: &Path) -> Option<String> {
    let mut command = Command::new(file);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let start = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if start.elapsed() >= PATIENCE {
            // It may have ended meanwhile.
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(|line| line.chars().take(100).collect())
}

/// The first two numbers of the first version in a line: `curl 8.22.0 (x86_64...)` is 8.22.
fn number(line: &str) -> Option<[u32; 2]> {
    line.split_whitespace().find_map(|word| {
        let mut numbers = word.trim_start_matches(['v', '(']).split('.').map(|part| part.parse().ok());
        Some([numbers.next()??, numbers.next()??])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(version: &str, since: Option<[u32; 2]>) -> Program {
        let affected = match since {
            None => Some(true),
            Some(since) => number(version).map(|version| version >= since),
        };
        let found = Found { path: "curl.exe".to_owned(), version: Some(version.to_owned()), affected };
        Program { name: "curl".to_owned(), found: vec![found], source: "a source".to_owned() }
    }

    fn found(program: Program) -> Vec<String> {
        let data = Data { build: 14393, programs: vec![program] };
        CountTrap::judge(&data).into_iter().map(|finding| finding.title).collect()
    }

    #[test]
    fn only_versions_that_set_the_value_are_found() {
        let since = Some([8, 22]);
        assert_eq!(found(program("curl 8.21.9 (Windows) libcurl/8.21.9", since)), [""; 0]);
        let titles = found(program("curl 8.22.0 (Windows) libcurl/8.22.0", since));
        assert!(titles[0].contains("curl") && titles[0].contains("14393"), "{titles:?}");
        assert_eq!(found(program("no version", since)).len(), 1);
        assert_eq!(found(Program { found: Vec::new(), ..program("8.22", since) }), [""; 0]);
        assert_eq!(found(program("1.3", None)).len(), 1);
    }

    #[test]
    fn a_version_is_the_first_that_looks_like_one() {
        assert_eq!(number("curl 8.22.0 (x86_64-w64-mingw32) libcurl/8.23"), Some([8, 22]));
        assert_eq!(number("Nmap version 7.98 ( https://nmap.org )"), Some([7, 98]));
        assert_eq!(number("1.3.9"), Some([1, 3]));
        assert_eq!(number("bun"), None);
    }

    #[test]
    fn a_program_that_is_nowhere_is_not_found() {
        let known = Known { name: "x", file: "no-such-program.exe", places: &[], since: None, source: "" };
        assert!(search(&known).found.is_empty());
        assert_eq!(version_line(Path::new("/no/such/program")), None);
    }

    #[test]
    #[cfg(unix)]
    fn a_program_says_its_version() {
        assert!(version_line(Path::new("/bin/sh")).is_none_or(|line| !line.is_empty()));
        let cargo = PathBuf::from(env!("CARGO"));
        let line = version_line(&cargo).expect("cargo says its version");
        assert!(number(&line).is_some(), "{line}");
    }
}
