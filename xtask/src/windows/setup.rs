//! The cross compiler: Debian's Rust 1.85 (which is also the minimum supported version) in a folder of its own, the
//! standard library's source of the next Debian release beside it, MinGW as linker, Wine as runner.

use super::apt::{self, Apt, Package};
use super::{TARGET, TARGET32};
use crate::workspace::works;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Counts changes to what `prepare` makes, so that an older folder is not taken for a new one.
const LAYOUT: u32 = 1;
/// The release that the compiler is of, and the next one, which has the standard library's source for it.
pub(crate) const CODENAME: &str = "bookworm";
pub(crate) const NEXT: &str = "trixie";

/// The compiler with what it needs. rustc-web is the Rust that Debian keeps for its browsers: the main archive has
/// 1.85, the security archive a newer one, which is not asked.
const COMPILER: [Package; 7] = [
    Package { name: "rustc-web", version: "1.85.0+dfsg3-1~deb12u3" },
    Package { name: "libstd-rust-web-1.85", version: "1.85.0+dfsg3-1~deb12u3" },
    Package { name: "libstd-rust-web-dev", version: "1.85.0+dfsg3-1~deb12u3" },
    Package { name: "rust-web-clippy", version: "1.85.0+dfsg3-1~deb12u3" },
    Package { name: "libllvm19", version: "1:19.1.7-3~deb12u1" },
    Package { name: "libz3-4", version: "4.8.12-3.1" },
    Package { name: "rust-src", version: "1.85.1+dfsg1-1+deb13u1" },
];

/// The linkers of both bitnesses.
const MINGW: [Package; 2] = [
    Package { name: "gcc-mingw-w64-x86-64-win32", version: "12.2.0-14+deb12u1+25.2+b1" },
    Package { name: "gcc-mingw-w64-i686-win32", version: "12.2.0-14+deb12u1+25.2+b1" },
];

/// The runner.
const WINE: [Package; 2] =
    [Package { name: "wine", version: "8.0~repack-4" }, Package { name: "wine64", version: "8.0~repack-4" }];

/// A function that Wine 8 lacks and that every Rust program asks for when it starts.
const PROCESS_PRNG: &str = include_str!("bcryptprimitives.c");

/// The prepared compiler.
pub(crate) struct Toolchain {
    /// The folder that everything of it is in.
    pub(crate) root: PathBuf,
}

impl Toolchain {
    /// The toolchain, prepared first where it is not.
    pub(crate) fn ready() -> Result<Self, String> {
        let linkers = ["x86_64-w64-mingw32-gcc", "i686-w64-mingw32-gcc"];
        if !linkers.iter().all(|linker| works(linker, &["--version"])) {
            step("install MinGW", || apt::install(&MINGW))?;
        }
        if !works("wine", &["--version"]) {
            step("install Wine", || apt::install(&WINE))?;
        }
        let cache = cache()?;
        let toolchain = Self::place(&cache);
        if !toolchain.root.exists() {
            step("prepare the compiler", || toolchain.prepare(&cache))?;
        }
        // One that was prepared for 64-bit programs alone lacks it.
        if !toolchain.startup(TARGET32).exists() {
            step("prepare the compiler for 32-bit programs", || toolchain.compile_startup(TARGET32))?;
        }
        Ok(toolchain)
    }

    /// The toolchain, if it was prepared before.
    pub(crate) fn at_hand() -> Option<Self> {
        cache().ok().map(|cache| Self::place(&cache)).filter(|toolchain| toolchain.root.exists())
    }

    fn place(cache: &Path) -> Self {
        Self { root: cache.join(format!("windows-{}-{LAYOUT}", COMPILER[0].version)) }
    }

    /// Its compiler, which is also the oldest that is supported.
    pub(crate) fn rustc(&self) -> PathBuf {
        self.root.join("bin/rustc")
    }

    /// The DLL that a Wine prefix gets.
    pub(crate) fn process_prng(&self) -> PathBuf {
        self.root.join("bcryptprimitives.dll")
    }

    /// What cargo needs to know.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let bin = self.root.join("bin");
        let path = env::var_os("PATH").unwrap_or_default();
        let mut with_clippy = bin.clone().into_os_string();
        with_clippy.push(":");
        with_clippy.push(path);
        vec![
            ("RUSTC", self.rustc().into()),
            ("RUSTDOC", bin.join("rustdoc").into()),
            // For -Zbuild-std.
            ("RUSTC_BOOTSTRAP", "1".into()),
            // cargo looks for cargo-clippy there.
            ("PATH", with_clippy),
        ]
    }

    /// Makes everything beside its final place and moves it there at the end, so that a half-made one is never used.
    fn prepare(&self, cache: &Path) -> Result<(), String> {
        check_release()?;
        let draft = cache.join(format!("windows-draft-{}", std::process::id()));
        let made = Self { root: draft.clone() }.fill(&self.root).and_then(|()| {
            fs::rename(&draft, &self.root)
                .map_err(|error| format!("cannot move {}: {error}", draft.display()))
        });
        // Gone already where the move succeeded.
        let _ = fs::remove_dir_all(&draft);
        made
    }

    fn fill(&self, destination: &Path) -> Result<(), String> {
        let apt_folder = self.root.join("apt");
        Apt::new(&apt_folder, CODENAME, NEXT)?.unpack(&COMPILER, &self.root)?;
        fs::remove_dir_all(&apt_folder)
            .map_err(|error| format!("cannot remove {}: {error}", apt_folder.display()))?;
        self.write_wrappers(destination)?;
        self.compile_startup(TARGET)?;
        self.compile_process_prng()
    }

    /// The compiler's libraries are not where the loader looks for them.
    fn write_wrappers(&self, destination: &Path) -> Result<(), String> {
        let folder = self.root.join("bin");
        fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        for program in ["rustc", "rustdoc", "cargo-clippy", "clippy-driver"] {
            let path = folder.join(program);
            fs::write(&path, wrapper(program, &destination.join("usr")))
                .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// The folder of the objects that [`Self::compile_startup`] makes for a target.
    fn startup(&self, target: &str) -> PathBuf {
        self.root.join("usr/lib/rustlib").join(target).join("lib")
    }

    /// rsbegin.o and rsend.o, which the linker puts around every program and -Zbuild-std does not make.
    fn compile_startup(&self, target: &str) -> Result<(), String> {
        let rustlib = self.root.join("usr/lib/rustlib");
        let objects = self.startup(target);
        fs::create_dir_all(&objects)
            .map_err(|error| format!("cannot create {}: {error}", objects.display()))?;
        for name in ["rsbegin", "rsend"] {
            let source = rustlib.join("src/rust/library/rtstartup").join(name).with_extension("rs");
            let object = objects.join(name).with_extension("o");
            let mut rustc = Command::new(self.root.join("usr/bin/rustc"));
            rustc
                .env("LD_LIBRARY_PATH", self.root.join("usr/lib/x86_64-linux-gnu"))
                .env("RUSTC_BOOTSTRAP", "1");
            rustc.args(["--target", target, "--emit=obj", "-O", "-o"]).args([object, source]);
            apt::run(&mut rustc)?;
        }
        Ok(())
    }

    fn compile_process_prng(&self) -> Result<(), String> {
        let source = self.root.join("bcryptprimitives.c");
        fs::write(&source, PROCESS_PRNG)
            .map_err(|error| format!("cannot write {}: {error}", source.display()))?;
        let mut gcc = Command::new("x86_64-w64-mingw32-gcc");
        gcc.args(["-shared", "-O2", "-s", "-o"]).args([&self.process_prng(), &source]).arg("-ladvapi32");
        apt::run(&mut gcc)
    }
}

/// A shell script that runs a program of the compiler. A newer cargo calls rustdoc's `--runtool` by a newer name.
fn wrapper(program: &str, usr: &Path) -> String {
    let rename = if program == "rustdoc" {
        "for argument; do\n  shift\n  case $argument in --test-runtool*) argument=--${argument#--test-} ;; esac\n  \
         set -- \"$@\" \"$argument\"\ndone\n"
    } else {
        ""
    };
    let usr = usr.display();
    format!(
        "#!/bin/sh\n{rename}LD_LIBRARY_PATH={usr}/lib/x86_64-linux-gnu${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}} \
         exec {usr}/bin/{program} \"$@\"\n"
    )
}

/// Where toolchains are kept between runs and checkouts.
pub(crate) fn cache() -> Result<PathBuf, String> {
    let base = env::var_os("XDG_CACHE_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache")))
        .ok_or("neither XDG_CACHE_HOME nor HOME says where to keep the cross compiler")?;
    let folder = base.join("unstall");
    fs::create_dir_all(&folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    Ok(folder)
}

/// The pinned versions are those of one release.
fn check_release() -> Result<(), String> {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    if text.lines().any(|line| line == format!("VERSION_CODENAME={CODENAME}")) {
        return Ok(());
    }
    Err(format!(
        "the cross compiler is prepared on Debian 12 ({CODENAME}) alone; elsewhere add the target {TARGET} to your own \
         compiler and call cargo"
    ))
}

fn step(name: &str, work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    eprintln!("cargo xtask windows: {name} ...");
    work()
}
