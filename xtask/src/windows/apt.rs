//! Debian packages without touching the machine's own package lists: where this machine gets its packages from, and
//! the same source asked for packages of this release and of the next one, in folders of our own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package and the one version of it that is used.
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

/// One source of the machine's apt, reduced to what is needed to ask it for another release.
#[derive(Debug, PartialEq, Eq)]
struct Source {
    address: String,
    suites: Vec<String>,
    components: Vec<String>,
    signed_by: Option<String>,
}

/// apt with lists and caches in a folder of its own, asking this machine's source.
pub(crate) struct Apt {
    folder: PathBuf,
    architecture: &'static str,
}

impl Apt {
    /// Reads the lists of this release and of `next` from where this machine gets the former.
    pub(crate) fn new(folder: &Path, codename: &str, next: &str) -> Result<Self, String> {
        Self::for_architecture("amd64", folder, codename, &[next])
    }

    /// The same for another architecture than this machine's, whose packages can be unpacked here though not installed.
    pub(crate) fn for_architecture(
        architecture: &'static str,
        folder: &Path,
        codename: &str,
        more: &[&str],
    ) -> Result<Self, String> {
        let sources = machine_sources()?;
        let serves = |source: &&Source| {
            source.suites.iter().any(|suite| suite == codename)
                && source.components.iter().any(|part| part == "main")
        };
        let source = sources
            .iter()
            .find(serves)
            .ok_or_else(|| format!("no source of this machine's apt (/etc/apt) serves {codename} main"))?;
        for part in ["lists/partial", "cache/archives/partial", "packages"] {
            let path = folder.join(part);
            fs::create_dir_all(&path)
                .map_err(|error| format!("cannot create {}: {error}", path.display()))?;
        }
        let list: String = [codename].iter().chain(more).map(|suite| source.line(suite)).collect();
        let path = folder.join("sources.list");
        fs::write(&path, list).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        let apt = Self { folder: folder.to_owned(), architecture };
        run(apt.command("apt-get").args(["--quiet", "update"]))?;
        Ok(apt)
    }

    /// Fetches packages and unpacks them below `root`; no package of the machine changes.
    pub(crate) fn unpack(&self, packages: &[Package], root: &Path) -> Result<(), String> {
        let folder = self.folder.join("packages");
        let names = packages.iter().map(|package| format!("{}={}", package.name, package.version));
        let mut download = self.command("apt-get");
        download.current_dir(&folder).args(["--quiet", "download"]).args(names);
        run(&mut download)
            .map_err(|error| format!("{error}\nThe versions are pinned in xtask/src/windows/setup.rs."))?;
        let archives =
            fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
        for archive in archives.filter_map(Result::ok) {
            run(Command::new("dpkg").arg("--extract").arg(archive.path()).arg(root))?;
        }
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let folder = self.folder.display();
        let mut command = Command::new(program);
        for option in [
            format!("Dir::Etc::SourceList={folder}/sources.list"),
            "Dir::Etc::SourceParts=-".to_owned(),
            format!("Dir::State::Lists={folder}/lists"),
            format!("Dir::Cache={folder}/cache"),
            format!("APT::Architecture={}", self.architecture),
            format!("APT::Architectures::={}", self.architecture),
            // The user that apt changes to may not be able to write here.
            "APT::Sandbox::User=root".to_owned(),
            "Debug::NoLocking=1".to_owned(),
        ] {
            command.args(["-o", &option]);
        }
        command
    }
}

/// Installs packages of this machine's release the ordinary way.
pub(crate) fn install(packages: &[Package]) -> Result<(), String> {
    let names: Vec<_> =
        packages.iter().map(|package| format!("{}={}", package.name, package.version)).collect();
    let by_hand = format!("apt-get install --no-install-recommends {}", names.join(" "));
    let install = || {
        run(Command::new("apt-get")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(["--quiet", "install", "--yes", "--no-install-recommends"])
            .args(&names))
    };
    // On a new machine there are no lists yet, or old ones.
    install()
        .or_else(|_| run(Command::new("apt-get").args(["--quiet", "update"])).and_then(|()| install()))
        .map_err(|error| format!("{error}\nInstall them as root: {by_hand}"))
}

/// Runs a command; its output only where it failed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(format!("{command:?} failed ({}):\n{}", output.status, String::from_utf8_lossy(&said)))
}

/// Every source in /etc/apt.
fn machine_sources() -> Result<Vec<Source>, String> {
    let parts = Path::new("/etc/apt/sources.list.d");
    let mut paths = vec![PathBuf::from("/etc/apt/sources.list")];
    paths.extend(fs::read_dir(parts).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())));
    let mut sources = Vec::new();
    for path in paths {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if path.extension().is_some_and(|extension| extension == "sources") {
            sources.extend(stanzas(&text));
        } else {
            sources.extend(text.lines().filter_map(one_line));
        }
    }
    if sources.is_empty() {
        Err("/etc/apt names no package source; this needs Debian 12".to_owned())
    } else {
        Ok(sources)
    }
}

impl Source {
    fn line(&self, suite: &str) -> String {
        let signed_by =
            self.signed_by.as_ref().map(|path| format!("[signed-by={path}] ")).unwrap_or_default();
        format!("deb {signed_by}{} {suite} main\n", self.address)
    }
}

/// The sources of a file in the deb822 form.
fn stanzas(text: &str) -> Vec<Source> {
    text.split("\n\n").filter_map(stanza).collect()
}

fn stanza(text: &str) -> Option<Source> {
    let field = |name: &str| {
        text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let words =
        |name| field(name).map(|value| value.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    if !words("Types")?.iter().any(|kind| kind == "deb")
        || field("Enabled").is_some_and(|value| value == "no")
    {
        return None;
    }
    Some(Source {
        address: words("URIs")?.into_iter().next()?,
        suites: words("Suites")?,
        components: words("Components")?,
        signed_by: field("Signed-By").filter(|value| !value.is_empty()),
    })
}

/// A source in the one-line form: `deb [signed-by=/path] address suite component...`.
fn one_line(line: &str) -> Option<Source> {
    let rest = line.trim().strip_prefix("deb ")?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    let mut words = rest.split_whitespace().map(str::to_owned);
    Some(Source {
        address: words.next()?,
        suites: vec![words.next()?],
        components: words.collect(),
        signed_by: signed_by.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::{Source, one_line, stanzas};

    fn source(signed_by: Option<&str>, suites: &[&str]) -> Source {
        Source {
            address: "http://mirror.test/debian".to_owned(),
            suites: suites.iter().map(ToString::to_string).collect(),
            components: vec!["main".to_owned()],
            signed_by: signed_by.map(str::to_owned),
        }
    }

    #[test]
    fn reads_both_forms_of_a_source() {
        let text = "Types: deb\n# a comment\nURIs: http://mirror.test/debian\nSuites: bookworm bookworm-updates\n\
                    Components: main\nSigned-By: /keys/debian.gpg\n\nTypes: deb-src\nURIs: http://mirror.test/debian\n\
                    Suites: bookworm\nComponents: main\n";
        assert_eq!(stanzas(text), [source(Some("/keys/debian.gpg"), &["bookworm", "bookworm-updates"])]);
        assert_eq!(
            one_line("deb [arch=amd64 signed-by=/keys/debian.gpg] http://mirror.test/debian bookworm main"),
            Some(source(Some("/keys/debian.gpg"), &["bookworm"]))
        );
        assert_eq!(
            one_line("deb http://mirror.test/debian bookworm main"),
            Some(source(None, &["bookworm"]))
        );
        assert_eq!(one_line("# deb http://mirror.test/debian bookworm main"), None);
        assert_eq!(one_line("deb-src http://mirror.test/debian bookworm main"), None);
    }

    #[test]
    fn asks_the_same_address_for_another_release() {
        assert_eq!(
            source(Some("/keys/debian.gpg"), &["bookworm"]).line("trixie"),
            "deb [signed-by=/keys/debian.gpg] http://mirror.test/debian trixie main\n"
        );
    }
}
