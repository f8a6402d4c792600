//! `cargo xtask dist`: what a release consists of, in `target/dist`.
//!
//! [`platforms`] is the table of systems, [`build`] builds for one, [`stage`] says what an archive contains, [`archive`] packs it.
//! [`deb`] and [`manifests`] are for package managers, [`figures`] measures what was built, [`metadata`] is a lint.

mod archive;
mod build;
mod deb;
mod figures;
mod manifests;
pub(crate) mod metadata;
mod platforms;
mod stage;

use crate::run::Run;
use crate::workspace::{Workspace, cargo};
use build::Built;
use platforms::{PLATFORMS, Platform};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Build for this target alone; may be given several times. Without it: for Linux (glibc and musl) and Windows, or on macOS for it.
    #[arg(long = "target", value_name = "TRIPLE")]
    targets: Vec<String>,
    /// Where the archives of the release are going to be, for the manifests of winget and scoop:
    /// `https://github.com/OWNER/NAME/releases/download/vVERSION`.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Make SHA256SUMS and manifests of the archives that target/dist has already, and build nothing.
    #[arg(long, conflicts_with_all = ["targets", "figures"])]
    gather: bool,
    /// Measure size and start-up of what was built, and write them into docs/PACKAGES.md.
    #[arg(long)]
    figures: bool,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode, String> {
    let dist = workspace.target.join("dist");
    let platforms = wanted(options)?;
    let version = version(workspace)?;
    let mut run = Run::new(&workspace.target)?;
    let mut release = Release { workspace, dist, version, seconds: seconds()?, sums: BTreeMap::new() };
    if options.gather {
        run.step("SHA256SUMS", || release.gather());
    } else {
        release.make(&mut run, &platforms, options.figures)?;
    }
    if options.url.is_none() {
        run.leave_out("manifests of winget and scoop", "they say where the archives are, which --url tells");
    }
    run.step("SHA256SUMS and manifests", || release.finish(options.url.as_deref()));
    println!("\n{}", release.dist.display());
    for (name, sum) in &release.sums {
        println!("{sum}  {name}");
    }
    Ok(run.finish())
}

/// The platforms that were asked for.
fn wanted(options: &Options) -> Result<Vec<&'static Platform>, String> {
    if options.targets.is_empty() {
        let system = env::consts::OS;
        let is_made_here = |platform: &&Platform| platform.triple.contains("apple") == (system == "macos");
        return Ok(PLATFORMS.iter().filter(is_made_here).collect());
    }
    let known = || PLATFORMS.iter().map(|platform| platform.triple).collect::<Vec<_>>().join(", ");
    let find = |triple: &String| {
        Platform::of(triple)
            .ok_or_else(|| format!("there are no archives for {triple}; there are for {}", known()))
    };
    options.targets.iter().map(find).collect()
}

fn version(workspace: &Workspace) -> Result<String, String> {
    let members = workspace.members();
    let program = members.iter().find(|package| package.name == "unstall-cli");
    program
        .map(|package| package.version.to_string())
        .ok_or_else(|| "there is no package unstall-cli".to_owned())
}

/// The time of every file: what SOURCE_DATE_EPOCH says, else that of the last commit. In seconds since 1970.
fn seconds() -> Result<u64, String> {
    let said = env::var("SOURCE_DATE_EPOCH").ok();
    let of_commit = || {
        let output = Command::new("git").args(["log", "-1", "--format=%ct"]).output();
        output.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let text = said.or_else(of_commit).unwrap_or_default();
    text.trim().parse().map_err(|_| {
        format!("the time of the release is unknown ({text:?}); set SOURCE_DATE_EPOCH to seconds since 1970")
    })
}

/// A release that is being made.
struct Release<'a> {
    workspace: &'a Workspace,
    dist: PathBuf,
    version: String,
    seconds: u64,
    /// The SHA-256 of each file, by name.
    sums: BTreeMap<String, String>,
}

impl Release<'_> {
    /// Builds and packs.
    fn make(&mut self, run: &mut Run, platforms: &[&Platform], figures: bool) -> Result<(), String> {
        let _ = fs::remove_dir_all(&self.dist);
        fs::create_dir_all(&self.dist)
            .map_err(|error| format!("cannot create {}: {error}", self.dist.display()))?;
        run.command(
            "the program that prints the completions",
            &mut cargo(["build", "--release", "--package", "unstall-cli"]),
        );
        let program = format!("unstall{}", env::consts::EXE_SUFFIX);
        let completions = stage::completions(&self.workspace.target.join("release").join(program))?;
        let mut all = Vec::new();
        for platform in platforms {
            let mut made = None;
            run.step(platform.triple, || {
                let built = build::build(self.workspace, platform)?;
                self.pack(platform, &built, &completions)?;
                made = Some(built);
                Ok(())
            });
            let Some(built) = made else { continue };
            if platform.triple == "x86_64-unknown-linux-gnu" {
                self.deb(run, platform, &built, &completions);
            }
            all.push((*platform, built));
        }
        if figures {
            run.step(figures::FILE, || figures::write(self.workspace, &all));
        }
        Ok(())
    }

    /// The archives of a platform.
    fn pack(
        &mut self,
        platform: &Platform,
        built: &Built,
        completions: &[(String, Vec<u8>)],
    ) -> Result<(), String> {
        let contents = stage::program(self.workspace, platform, built, &self.version, completions)?;
        self.write(platform, &platform.archive(&self.version), &contents)?;
        if platform.c_libraries.is_empty() {
            return Ok(());
        }
        let contents = stage::c_interface(self.workspace, platform, built, &self.version)?;
        let name = format!("{}{}", stage::c_folder(platform, &self.version), platform.format.suffix());
        self.write(platform, &name, &contents)
    }

    fn write(&mut self, platform: &Platform, name: &str, contents: &archive::Contents) -> Result<(), String> {
        let sum = archive::write(&self.dist.join(name), platform.format, contents, self.seconds)?;
        self.sums.insert(name.to_owned(), sum);
        Ok(())
    }

    fn deb(&mut self, run: &mut Run, platform: &Platform, built: &Built, completions: &[(String, Vec<u8>)]) {
        let mut left_out = None;
        run.step("the Debian package", || {
            let place = (self.dist.as_path(), self.seconds);
            left_out = deb::pack(
                self.workspace,
                platform.triple,
                &built.folder,
                completions,
                place,
                &mut self.sums,
            )?;
            Ok(())
        });
        if let Some(why) = left_out {
            run.leave_out("the Debian package", why);
        }
    }

    /// The sums of what others have packed.
    fn gather(&mut self) -> Result<(), String> {
        let cannot = |error| format!("cannot read {}: {error}", self.dist.display());
        for entry in fs::read_dir(&self.dist).map_err(cannot)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_released(&name) {
                self.sums.insert(name, archive::sha256_of(&entry.path())?);
            }
        }
        Ok(())
    }

    fn finish(&self, url: Option<&str>) -> Result<(), String> {
        archive::write_sums(&self.dist, &self.sums)?;
        let Some(url) = url.map(|url| url.trim_end_matches('/')) else { return Ok(()) };
        let (homepage, _) = url
            .split_once("/releases/")
            .ok_or_else(|| format!("{url} is no address of a release: it has no /releases/ in it"))?;
        let windows = PLATFORMS.iter().find(|platform| platform.is_windows());
        let archive = windows.and_then(|it| Some((it, self.sums.get(&it.archive(&self.version))?)));
        let (platform, sha256) =
            archive.ok_or("there is no archive for Windows, which the manifests are about")?;
        let version = &self.version;
        manifests::write(&self.dist, &manifests::Release { version, platform, sha256, url, homepage })
    }
}

/// Whether a file of the folder is one that people download.
fn is_released(name: &str) -> bool {
    [".tar.gz", ".zip", ".deb"].iter().any(|suffix| name.ends_with(suffix))
}

/// A path that is known to be there, or a sentence.
fn existing(path: &Path) -> Result<&Path, String> {
    if path.exists() { Ok(path) } else { Err(format!("there is no {}", path.display())) }
}
