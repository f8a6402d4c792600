//! A client as it is run: found on this machine with its version, or given by a person.

use crate::Error;
use crate::process::{self, Ended};
use crate::situation::By;
use crate::table::{self, Cure, PROGRAMS, Program, SOURCES};
use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use unstall::testing::Server;

/// How long a program may take to tell its version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// How long a compiler may take. Go builds its own packages first.
const PREPARE_LIMIT: Duration = Duration::from_secs(120);

/// A client, ready to be run.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    pub(crate) cure: Option<String>,
    /// Whether it takes SYN retransmissions away for loopback on Windows.
    pub(crate) asks_for_none: bool,
    words: Vec<String>,
    limit: Limit,
    /// Why it cannot be run although it is there.
    pub(crate) why_not: Option<String>,
}

/// How its own time limit is set.
#[derive(Clone, Debug)]
enum Limit {
    /// By these words in the place of the word `{limit}`.
    Words(Vec<String>),
    /// By a number of seconds in the place of `{limit}`, which it always gets.
    Seconds,
    /// Not at all.
    None,
}

/// The seconds that a client with a limit gets where none is asked for.
const LONG: &str = "60";

impl Client {
    /// A client from a command line, quoted as for a shell, with `{url}`, `{host}`, `{port}` or `{target}`; `{limit}` stands for the
    /// seconds of its own time limit.
    ///
    /// # Errors
    ///
    /// For an empty command, one whose quotes do not match, or one without a placeholder.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let words = shlex::split(text).ok_or(Error::Client("a quote is not closed"))?;
        if words.is_empty() {
            return Err(Error::Client("there is no command"));
        }
        let has = |place: &str| words.iter().any(|word| word.contains(place));
        if !["{url}", "{host}", "{target}"].into_iter().any(has) {
            return Err(Error::Client("it has no {url}, {host} or {target}"));
        }
        let limit = if has("{limit}") { Limit::Seconds } else { Limit::None };
        // Braces mean something in the texts of findings.
        let name = text.trim().replace(['{', '}'], "");
        Ok(Self { name, version: None, cure: None, asks_for_none: false, words, limit, why_not: None })
    }

    pub(crate) fn has_limit(&self) -> bool {
        !matches!(self.limit, Limit::None)
    }

    /// The program's name, without its path and ending.
    pub(crate) fn program(&self) -> &str {
        self.words.first().and_then(|word| Path::new(word).file_stem()?.to_str()).unwrap_or_default()
    }

    /// The command that goes to a server.
    pub(crate) fn command(&self, server: &Server, by: By, limited: bool) -> Command {
        let host = match by {
            By::Address => server.addr().ip().to_string(),
            By::Localhost => "localhost".to_owned(),
        };
        let (port, target) = (server.port().to_string(), format!("{host}:{}", server.port()));
        let seconds = if limited { "1" } else { LONG };
        let fill = |word: &String| {
            word.replace("{url}", &format!("http://{target}/"))
                .replace("{host}", &host)
                .replace("{port}", &port)
                .replace("{target}", &target)
                .replace("{limit}", seconds)
        };
        let words = self.words.iter().flat_map(|word| match &self.limit {
            Limit::Words(words) if word == "{limit}" => {
                if limited {
                    words.clone()
                } else {
                    Vec::new()
                }
            }
            _ => vec![fill(word)],
        });
        command(words)
    }
}

/// A command without the proxies of whoever runs it: the figures are those of direct connects.
fn command(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut words = words.into_iter();
    let program = words.next().map_or_else(OsString::new, |word| word.as_ref().to_owned());
    // What the system starts by its bare name is less than a shell does: on Windows no .cmd, which is what npm makes.
    let found = if cfg!(windows) { which::which(&program).ok() } else { None };
    let mut command = Command::new(found.map_or(program, OsString::from));
    command.args(words);
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(name);
    }
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("NODE_NO_WARNINGS", "1");
    command
}

/// The programs of the table that are on this machine, and this program itself. `folder`: where their sources are put.
///
/// # Errors
///
/// When a source cannot be written.
pub(crate) fn installed(folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<Vec<Client>, Error> {
    for (name, text) in SOURCES {
        fs::write(folder.join(name), text).map_err(Error::Folder)?;
    }
    let mut prepared = BTreeMap::new();
    let mut clients = Vec::new();
    for program in PROGRAMS.iter().filter(|program| which::which(program.file).is_ok()) {
        progress(program.name);
        clients.extend(found(program, folder, &mut prepared));
    }
    clients.extend(this_program());
    Ok(clients)
}

/// The client of a row; `None`: its program or its library does not run.
fn found(
    program: &Program,
    folder: &Path,
    prepared: &mut BTreeMap<&'static [&'static str], Option<String>>,
) -> Option<Client> {
    let version = if program.version.is_empty() {
        None
    } else {
        let words = [program.file].into_iter().chain(program.version.iter().copied());
        let told = process::run(command(words), VERSION_LIMIT).ok().filter(|told| told.code == Some(0))?;
        version_in(&told.text)
    };
    let in_folder = |word: &&str| word.replace("{dir}", &folder.to_string_lossy());
    let why_not = (!program.prepare.is_empty()).then(|| {
        let prepare = || prepare(program.prepare.iter().map(in_folder).collect(), folder);
        prepared.entry(program.prepare).or_insert_with(prepare).clone()
    });
    let is_built = program.prepare.contains(&table::GO_PROGRAM);
    let first = if is_built { table::GO_PROGRAM } else { program.file };
    let limit = program.limit.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    Some(Client {
        name: program.name.to_owned(),
        cure: program.cure.for_version(version.as_deref()),
        asks_for_none: program.cure.for_version(version.as_deref()).is_none(),
        version,
        words: [first].iter().chain(program.arguments).map(in_folder).collect(),
        limit: if limit.is_empty() { Limit::None } else { Limit::Words(limit) },
        why_not: why_not.flatten(),
    })
}

/// Compiles. Why that failed; `None`: it did not.
fn prepare(words: Vec<String>, folder: &Path) -> Option<String> {
    let compiler = words.first().cloned().unwrap_or_default();
    let mut command = command(words);
    // Nothing of it stays.
    command.env("GOCACHE", folder.join("go-cache")).env("CGO_ENABLED", "0").env("GOFLAGS", "");
    match process::run(command, PREPARE_LIMIT) {
        Ok(Ended { code: Some(0), .. }) => None,
        Ok(Ended { in_time: false, .. }) => {
            Some(format!("{compiler} did not end within {} s", PREPARE_LIMIT.as_secs()))
        }
        Ok(ended) => Some(format!("{compiler} failed: {}", crate::judge::last_line(&ended.text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(format!("{compiler} is not here")),
        Err(error) => Some(format!("cannot run {compiler}: {error}")),
    }
}

/// `unstall connect`, where this process is `unstall`.
fn this_program() -> Option<Client> {
    let program = env::current_exe().ok()?;
    (program.file_stem()? == "unstall").then(|| Client {
        name: "unstall".to_owned(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        cure: None,
        asks_for_none: true,
        words: [&*program.to_string_lossy(), "connect", "{limit}", "{target}"].map(str::to_owned).into(),
        limit: Limit::Words(["--timeout", "1s"].map(str::to_owned).into()),
        why_not: None,
    })
}

/// The first thing that looks like a version: digits, a dot, digits.
fn version_in(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '"' | '(' | ')' | '/'));
    let words =
        words.map(|word| word.trim_start_matches("go").trim_start_matches(['v', 'V']).trim_end_matches('.'));
    words.filter(|word| parts(word).is_some()).map(str::to_owned).next()
}

/// The first two numbers of a version.
fn parts(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.splitn(3, '.');
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?;
    let digits = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
    Some((major, minor[..digits].parse().ok()?))
}

impl Cure {
    /// What to tell somebody who has this version; `None`: nothing is to be cured.
    fn for_version(self, version: Option<&str>) -> Option<String> {
        match self {
            Self::NotNeeded => None,
            Self::None(text) => Some(text.to_owned()),
            Self::From(major, minor, text) => {
                let has_it = version.and_then(parts).is_some_and(|version| version >= (major, minor));
                (!has_it).then(|| text.to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let said = [
            ("curl 7.88.1 (x86_64-pc-linux-gnu) libcurl/7.88.1", Some("7.88.1")),
            ("GNU Wget 1.21.3 built on linux-gnu.", Some("1.21.3")),
            ("v20.20.2", Some("20.20.2")),
            ("go version go1.19.8 linux/amd64", Some("1.19.8")),
            ("openjdk version \"17.0.15\" 2025-04-15", Some("17.0.15")),
            ("ruby 3.1.2p20 (2022-04-12)", Some("3.1.2p20")),
            ("no version", None),
        ];
        for (text, version) in said {
            assert_eq!(version_in(text).as_deref(), version, "{text}");
        }
    }

    #[test]
    fn a_cure_is_told_to_whoever_needs_it() {
        let curl = Cure::From(8, 22, "curl 8.22");
        assert_eq!(curl.for_version(Some("8.19.0")).as_deref(), Some("curl 8.22"));
        assert_eq!(curl.for_version(Some("8.22.0")), None);
        assert_eq!(curl.for_version(Some("10.1")), None);
        assert_eq!(curl.for_version(None).as_deref(), Some("curl 8.22"), "unknown is not new");
        assert_eq!(Cure::NotNeeded.for_version(None), None);
    }

    #[test]
    fn what_is_no_client_is_told() {
        for (text, words) in
            [("", "no command"), ("curl 'x {url}", "quote"), ("curl http://localhost/", "no {url}")]
        {
            let error = Client::parse(text).expect_err("no client");
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn places_are_filled_and_a_limit_comes_where_it_is_asked_for() {
        let server = unstall::testing::refused().expect("a port");
        assert_eq!(Client::parse(" nc {host} {port}").expect("a client").name, "nc host port");
        let shown = |client: &Client, by, limited| {
            let command = client.command(&server, by, limited);
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let port = server.port().to_string();
        let own = Client::parse("curl -m {limit} 'http://{host}:{port}/a b'").expect("a client");
        assert_eq!(shown(&own, By::Localhost, false), ["-m", LONG, &format!("http://localhost:{port}/a b")]);
        assert_eq!(shown(&own, By::Address, true), ["-m", "1", &format!("http://127.0.0.1:{port}/a b")]);
        let words = ["nc", "{limit}", "{host}", "{port}"].map(str::to_owned).into();
        let known = Client { words, limit: Limit::Words(vec!["-w".to_owned(), "1".to_owned()]), ..own };
        assert_eq!(shown(&known, By::Address, false), ["127.0.0.1", &port]);
        assert_eq!(shown(&known, By::Address, true), ["-w", "1", "127.0.0.1", &port]);
    }
}
