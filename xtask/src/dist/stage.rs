//! What an archive contains.

use super::archive::{Contents, Entry};
use super::build::{Built, names_no_folder};
use super::platforms::Platform;
use crate::workspace::Workspace;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What every archive has, and how it is called there.
const TEXTS: &[(&str, &str)] = &[
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
];

/// Completions: the shell, and the name that it looks for.
pub(crate) const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "completions/unstall.bash"),
    ("zsh", "completions/_unstall"),
    ("fish", "completions/unstall.fish"),
    ("powershell", "completions/unstall.ps1"),
];

/// What `unstall run` needs beside the program: what the compiler calls it, and its name without and with the bitness.
const RUN: &[(&str, &str, &str)] = &[
    ("unstall_hook.dll", "unstall_hook32.dll", "unstall_hook64.dll"),
    ("unstall-load.exe", "unstall-load32.exe", "unstall-load64.exe"),
];

/// The program with all that belongs to it.
pub(crate) fn program(
    workspace: &Workspace,
    platform: &Platform,
    built: &Built,
    version: &str,
    completions: &[(String, Vec<u8>)],
) -> Result<Contents, String> {
    let mut contents = texts(workspace)?;
    let name = platform.program();
    contents.insert(name.to_owned(), Entry::program(built_file(workspace, &built.folder.join(name))?));
    for (path, bytes) in completions {
        contents.insert(path.clone(), Entry::text(bytes.as_slice()));
    }
    if platform.is_windows() {
        contents.insert("docs/RUN.md".to_owned(), Entry::text(read(&workspace.root.join("docs/RUN.md"))?));
        for (file, name32, name64) in RUN {
            let mut add = |folder: &Path, name: &str| {
                let bytes = built_file(workspace, &folder.join(file))?;
                contents.insert(name.to_owned(), Entry::program(bytes));
                Ok::<_, String>(())
            };
            add(&built.folder, name64)?;
            built.other_bitness.as_deref().map_or(Ok(()), |folder| add(folder, name32))?;
        }
    } else {
        let folder = workspace.root.join("docs/man");
        for page in list(&folder)? {
            contents.insert(format!("man/man1/{page}"), Entry::text(read(&folder.join(&page))?));
        }
    }
    Ok(below(contents, &platform.folder(version)))
}

/// The C interface: header, libraries, pkg-config file. It may lie anywhere, for its paths are relative.
pub(crate) fn c_interface(
    workspace: &Workspace,
    platform: &Platform,
    built: &Built,
    version: &str,
) -> Result<Contents, String> {
    let mut contents = texts(workspace)?;
    let source = workspace.root.join("crates/unstall-ffi");
    contents.insert("include/unstall.h".to_owned(), Entry::text(read(&source.join("include/unstall.h"))?));
    for (file, path) in platform.c_libraries {
        let path = path.replace("{version}", version);
        let bytes = built_file(workspace, &built.folder.join(file))?;
        // A library is linked by its plain name, and found by the name with the major version.
        if let Some((plain, _)) = path.split_once(".so.") {
            let name = path.rsplit('/').next().unwrap_or(&path);
            let major = version.split('.').next().unwrap_or(version);
            contents.insert(format!("{plain}.so"), Entry::Link(name.to_owned()));
            contents.insert(format!("{plain}.so.{major}"), Entry::Link(name.to_owned()));
        }
        contents.insert(path, Entry::program(bytes));
    }
    if !platform.is_windows() {
        let template = read(&source.join("unstall.pc.in"))?;
        let template = String::from_utf8_lossy(&template);
        let text = template.replace("@prefix@", "${pcfiledir}/../..").replace("@version@", version);
        contents.insert("lib/pkgconfig/unstall.pc".to_owned(), Entry::text(text));
    }
    Ok(below(contents, &c_folder(platform, version)))
}

/// The folder in the archive of the C interface.
pub(crate) fn c_folder(platform: &Platform, version: &str) -> String {
    format!("unstall-c-{version}-{}", platform.triple)
}

/// The completions, printed by a program of this machine.
pub(crate) fn completions(program: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let print = |&(shell, path): &(&str, &str)| {
        let output = Command::new(program).args(["completions", shell]).output();
        let output = output.map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        if !output.status.success() || output.stdout.is_empty() {
            return Err(format!("{} prints no completions for {shell}", program.display()));
        }
        Ok((path.to_owned(), output.stdout))
    };
    COMPLETIONS.iter().map(print).collect()
}

fn texts(workspace: &Workspace) -> Result<Contents, String> {
    let text =
        |&(from, to): &(&str, &str)| Ok((to.to_owned(), Entry::text(read(&workspace.root.join(from))?)));
    TEXTS.iter().map(text).collect()
}

fn below(contents: Contents, folder: &str) -> Contents {
    contents.into_iter().map(|(path, entry)| (format!("{folder}/{path}"), entry)).collect()
}

fn built_file(workspace: &Workspace, path: &Path) -> Result<Vec<u8>, String> {
    names_no_folder(workspace, path)?;
    read(path)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn list(folder: &Path) -> Result<Vec<String>, String> {
    let entries =
        fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}
