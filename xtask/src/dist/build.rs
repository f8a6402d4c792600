//! Building for a platform: by the target that rustup installed, else by the compiler of `cargo xtask windows`, which brings the
//! source of the standard library.

use super::platforms::Platform;
use crate::windows::Toolchain;
use crate::workspace::{Workspace, cargo, works};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Links the unwinder of GCC in place of LLVM's, which no package of Debian has for musl.
const UNWINDER: &str = "INPUT(dl_find_object.o -lgcc_eh -lgcc)\n";
const DL_FIND_OBJECT: &str = include_str!("musl/dl_find_object.c");

/// What was built for a platform.
pub(crate) struct Built {
    /// Where the program and its libraries are.
    pub(crate) folder: PathBuf,
    /// The same for programs of the other bitness.
    pub(crate) other_bitness: Option<PathBuf>,
}

/// Builds everything that a platform's archives contain.
pub(crate) fn build(workspace: &Workspace, platform: &Platform) -> Result<Built, String> {
    let mut packages = vec!["unstall-cli"];
    if !platform.c_libraries.is_empty() {
        packages.push("unstall-ffi");
    }
    if platform.is_windows() {
        packages.push("unstall-hook");
    }
    let folder = build_for(workspace, platform.triple, &packages)?;
    let other = platform.other_bitness.map(|triple| build_for(workspace, triple, &["unstall-hook"]));
    Ok(Built { folder, other_bitness: other.transpose()? })
}

/// Builds packages for a target, and returns the folder that they are in.
fn build_for(workspace: &Workspace, triple: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let target = workspace.target.join("dist-build");
    let mut command = cargo(["build", "--locked", "--profile", "dist", "--target", triple]);
    command.arg("--target-dir").arg(&target);
    for package in packages {
        command.args(["--package", package]);
    }
    let mut flags = remapped(workspace)?;
    if !has_standard_library(triple) {
        let toolchain = Toolchain::ready()?;
        command.arg("-Zbuild-std=std,panic_abort,panic_unwind").envs(toolchain.variables());
        flags.push(remap(&toolchain.root, "/rust"));
        if triple.ends_with("-musl") {
            flags.extend(by_musl_gcc(&target.join("musl"), &mut command, triple)?);
        }
    }
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join(&OsString::from("\x1f")));
    command.env("CARGO_INCREMENTAL", "0");
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !status.success() {
        return Err(format!("{triple} was not built: {status}"));
    }
    Ok(target.join(triple).join("dist"))
}

/// Whether the compiler can build for a target as it is.
fn has_standard_library(triple: &str) -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", triple]).output();
    let folder = output.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    folder.is_some_and(|folder| Path::new(String::from_utf8_lossy(&folder).trim()).is_dir())
}

/// Flags that keep the folders of this machine out of what is built.
fn remapped(workspace: &Workspace) -> Result<Vec<OsString>, String> {
    let home = env::home_dir().ok_or("there is no home folder")?;
    let cargo_home = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    Ok(vec![remap(&workspace.root, "/unstall"), remap(&cargo_home, "/cargo")])
}

fn remap(from: &Path, to: &str) -> OsString {
    let mut flag = OsString::from("--remap-path-prefix=");
    flag.push(from);
    flag.push("=");
    flag.push(to);
    flag
}

/// What links with Debian's musl-gcc; not position-independent, for that compiler starts such programs by the dynamic loader.
fn by_musl_gcc(folder: &Path, command: &mut Command, triple: &str) -> Result<Vec<OsString>, String> {
    if !works("musl-gcc", &["--version"]) {
        return Err(format!(
            "cannot link for {triple}: there is no musl-gcc; install musl-tools, or the target with rustup"
        ));
    }
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    write("libunwind.a", UNWINDER)?;
    write("dl_find_object.c", DL_FIND_OBJECT)?;
    let compile = ["-O2", "-c", "dl_find_object.c", "-o", "dl_find_object.o"];
    let status = Command::new("musl-gcc").args(compile).current_dir(folder).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(format!("musl-gcc cannot compile {}", folder.join("dl_find_object.c").display()));
    }
    let linker = format!("CARGO_TARGET_{}_LINKER", triple.to_uppercase().replace('-', "_"));
    command.env(linker, "musl-gcc");
    let mut native = OsString::from("-Lnative=");
    native.push(folder);
    let fixed = ["-Clink-self-contained=no", "-Ctarget-feature=+crt-static", "-Crelocation-model=static"];
    Ok(fixed.into_iter().map(OsString::from).chain([native]).collect())
}

/// Sees to it that a file names no folder of this machine.
pub(crate) fn names_no_folder(workspace: &Workspace, file: &Path) -> Result<(), String> {
    let bytes = fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let folders = [Some(workspace.root.clone()), env::home_dir().filter(|home| home.parent().is_some())];
    for folder in folders.into_iter().flatten() {
        let name = format!("{}/", folder.display());
        if bytes.windows(name.len()).any(|window| window == name.as_bytes()) {
            return Err(format!("{} contains the path {name}", file.display()));
        }
    }
    Ok(())
}
