//! The programs that are looked for, each with how it is run and what cures it: one table.
//!
//! In a command line `{url}`, `{host}`, `{port}` and `{target}` stand for where to go, `{dir}` for the folder with our sources, and
//! the word `{limit}` for the words of the program's own time limit, which are left out where it is to have none.

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// The program that must be in `PATH`.
    pub(crate) file: &'static str,
    pub(crate) arguments: &'static [&'static str],
    /// The words that set its own time limit to 1 s; empty: it has none for a connect.
    pub(crate) limit: &'static [&'static str],
    /// What prints its version, and fails where a library that it needs is missing; empty: it tells none.
    pub(crate) version: &'static [&'static str],
    /// What has to be run once before; empty: nothing.
    pub(crate) prepare: &'static [&'static str],
    pub(crate) cure: Cure,
}

/// What is known to help.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cure {
    /// Nothing is to be cured: it takes the retransmission away.
    NotNeeded,
    /// From this version on a refusal on loopback is prompt on Windows; before it, this helps.
    From(u32, u32, &'static str),
    /// No version is known to.
    None(&'static str),
}

/// The files that programs need, by name.
pub(crate) static SOURCES: &[(&str, &str)] = &[
    ("client.py", include_str!("../programs/client.py")),
    ("net.mjs", include_str!("../programs/net.mjs")),
    ("fetch.mjs", include_str!("../programs/fetch.mjs")),
    ("client.php", include_str!("../programs/client.php")),
    ("client.rb", include_str!("../programs/client.rb")),
    ("client.pl", include_str!("../programs/client.pl")),
    ("Client.java", include_str!("../programs/Client.java")),
    ("client.go", include_str!("../programs/client.go")),
    ("client.ps1", include_str!("../programs/client.ps1")),
];

const PYTHON: Cure =
    Cure::None("with unstall.patched(): from the unstall package; or the address in place of localhost");
const LIBUV: Cure = Cure::From(12, 19, "Node 12.19 or later");
const JAVA: Cure = Cure::From(17, 0, "Java 17 or later");
const DOTNET: Cure = Cure::None(
    "SIO_TCP_INITIAL_RTO by Socket.IOControl in a ConnectCallback; or the address in place of localhost",
);
const OTHER: Cure =
    Cure::None("the address in place of localhost; ask unstall connect or unstall wait first");

const fn python(
    name: &'static str,
    arguments: &'static [&'static str],
    version: &'static [&'static str],
) -> Program {
    Program { name, file: PYTHON_NAME, arguments, limit: &["1"], version, prepare: &[], cure: PYTHON }
}

const PYTHON_NAME: &str = if cfg!(windows) { "python" } else { "python3" };

const fn java(
    name: &'static str,
    arguments: &'static [&'static str],
    limit: &'static [&'static str],
) -> Program {
    let prepare = &["javac", "-d", "{dir}", "{dir}/Client.java"];
    Program { name, file: "java", arguments, limit, version: &["-version"], prepare, cure: JAVA }
}

const fn dotnet(name: &'static str, file: &'static str, arguments: &'static [&'static str]) -> Program {
    let version = &["-NoProfile", "-Command", "$PSVersionTable.PSVersion.ToString()"];
    Program { name, file, arguments, limit: &["1"], version, prepare: &[], cure: DOTNET }
}

/// The programs, the most common first. curl's and wget's own settings files are left out, so that the figures are the program's.
pub(crate) static PROGRAMS: &[Program] = &[
    Program {
        name: "curl",
        file: "curl",
        // Without -v, curl 7 does not tell a refusal from an unreachable host.
        arguments: &["-q", "-sSv", "-o", NULL, "{limit}", "{url}"],
        limit: &["-m", "1"],
        version: &["--version"],
        prepare: &[],
        cure: Cure::From(
            8,
            22,
            "curl 8.22 or later; or -4 or the address in place of localhost, and no -m below 2.1 s",
        ),
    },
    Program {
        name: "wget",
        file: "wget",
        arguments: &["--no-config", "-nv", "-t1", "-O", NULL, "{limit}", "{url}"],
        limit: &["--connect-timeout=1"],
        version: &["--version"],
        prepare: &[],
        cure: OTHER,
    },
    python(
        "Python socket",
        &["{dir}/client.py", "socket", "{url}", "{host}", "{port}", "{limit}"],
        &["--version"],
    ),
    python(
        "Python urllib",
        &["{dir}/client.py", "urllib", "{url}", "{host}", "{port}", "{limit}"],
        &["--version"],
    ),
    python(
        "Python requests",
        &["{dir}/client.py", "requests", "{url}", "{host}", "{port}", "{limit}"],
        &["-c", "import requests; print(requests.__version__)"],
    ),
    python(
        "Python httpx",
        &["{dir}/client.py", "httpx", "{url}", "{host}", "{port}", "{limit}"],
        &["-c", "import httpx; print(httpx.__version__)"],
    ),
    python(
        "Python aiohttp",
        &["{dir}/client.py", "aiohttp", "{url}", "{host}", "{port}", "{limit}"],
        &["-c", "import aiohttp; print(aiohttp.__version__)"],
    ),
    Program {
        name: "Node net",
        file: "node",
        arguments: &["{dir}/net.mjs", "{host}", "{port}", "{limit}"],
        limit: &["1"],
        version: &["--version"],
        prepare: &[],
        cure: LIBUV,
    },
    Program {
        name: "Node fetch",
        file: "node",
        arguments: &["{dir}/fetch.mjs", "{url}", "{limit}"],
        limit: &["1"],
        version: &["--version"],
        prepare: &[],
        cure: LIBUV,
    },
    Program {
        name: "Deno fetch",
        file: "deno",
        arguments: &[
            "run",
            "--no-config",
            "--no-prompt",
            "--allow-net",
            "{dir}/fetch.mjs",
            "{url}",
            "{limit}",
        ],
        limit: &["1"],
        version: &["--version"],
        prepare: &[],
        cure: OTHER,
    },
    Program {
        name: "Bun fetch",
        file: "bun",
        arguments: &["{dir}/fetch.mjs", "{url}", "{limit}"],
        limit: &["1"],
        version: &["--version"],
        prepare: &[],
        cure: OTHER,
    },
    Program {
        name: "PHP stream",
        file: "php",
        arguments: &["{dir}/client.php", "stream", "{url}", "{host}", "{port}", "{limit}"],
        limit: &["1"],
        version: &["--version"],
        prepare: &[],
        cure: OTHER,
    },
    Program {
        name: "PHP curl",
        file: "php",
        arguments: &["{dir}/client.php", "curl", "{url}", "{host}", "{port}", "{limit}"],
        limit: &["1"],
        version: &["-r", "extension_loaded('curl') ? print(curl_version()['version']) : exit(1);"],
        prepare: &[],
        cure: Cure::From(8, 22, "libcurl 8.22 or later; or the address in place of localhost"),
    },
    Program {
        name: "Ruby",
        file: "ruby",
        arguments: &["{dir}/client.rb", "{host}", "{port}", "{limit}"],
        limit: &["1"],
        version: &["--version"],
        prepare: &[],
        cure: OTHER,
    },
    Program {
        name: "Perl",
        file: "perl",
        arguments: &["{dir}/client.pl", "{host}", "{port}", "{limit}"],
        limit: &["1"],
        version: &["-MIO::Socket::IP", "-e", "printf '%vd', $^V"],
        prepare: &[],
        cure: OTHER,
    },
    java(
        "Java Socket",
        &["-cp", "{dir}", "Client", "socket", "{url}", "{host}", "{port}", "{limit}"],
        &["1"],
    ),
    java("Java SocketChannel", &["-cp", "{dir}", "Client", "channel", "{url}", "{host}", "{port}"], &[]),
    java(
        "Java HttpClient",
        &["-cp", "{dir}", "Client", "http", "{url}", "{host}", "{port}", "{limit}"],
        &["1"],
    ),
    Program {
        name: "Go",
        file: "go",
        arguments: &["{host}", "{port}", "{limit}"],
        limit: &["1"],
        version: &["version"],
        prepare: &["go", "build", "-o", GO_PROGRAM, "{dir}/client.go"],
        cure: Cure::NotNeeded,
    },
    dotnet(
        ".NET TcpClient",
        "pwsh",
        &["-NoProfile", "-File", "{dir}/client.ps1", "tcp", "{url}", "{host}", "{port}", "{limit}"],
    ),
    dotnet(
        ".NET HttpClient",
        "pwsh",
        &["-NoProfile", "-File", "{dir}/client.ps1", "http", "{url}", "{host}", "{port}", "{limit}"],
    ),
    dotnet(
        ".NET Fx TcpClient",
        "powershell",
        &[
            "-NoProfile",
            "-ExecutionPolicy",
            "Bypass",
            "-File",
            "{dir}/client.ps1",
            "tcp",
            "{url}",
            "{host}",
            "{port}",
            "{limit}",
        ],
    ),
    Program {
        name: "nc",
        file: "nc",
        arguments: &["-z", "-v", "{limit}", "{host}", "{port}"],
        limit: &["-w", "1"],
        version: &[],
        prepare: &[],
        cure: OTHER,
    },
];

const NULL: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// What a Go source is built to. It is run in place of `go`, which is not there when the program is.
pub(crate) const GO_PROGRAM: &str = if cfg!(windows) { "{dir}/go-client.exe" } else { "{dir}/go-client" };

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_program_is_told_where_to_go_and_its_files_exist() {
        for program in PROGRAMS {
            assert!(
                program.arguments.iter().any(|word| word.contains("{host}") || word.contains("{url}")),
                "{}",
                program.name
            );
            assert_eq!(program.arguments.contains(&"{limit}"), !program.limit.is_empty(), "{}", program.name);
            for word in program.arguments.iter().chain(program.prepare) {
                let Some(file) = word.strip_prefix("{dir}/").filter(|file| !file.starts_with("go-client"))
                else {
                    continue;
                };
                assert!(SOURCES.iter().any(|(name, _)| *name == file), "{}: {file}", program.name);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        assert_eq!(names.len(), PROGRAMS.len());
    }
}
