//! C programs for Windows, compiled by MinGW, run under Wine on this machine's own loopback.
//!
//! `cargo xtask windows c` builds the libraries, says where they are (`UNSTALL_WINDOWS_LIBRARIES`), and tells Wine its prefix.
//! Nothing here was run on Windows.
#![cfg(target_os = "linux")]

mod common;

use common::{STRICT, file, folder, is_installed, left_out, said, succeed};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;
use unstall::testing;

const COMPILER: &str = "x86_64-w64-mingw32-gcc";

/// What a program with the static library in it needs besides (`rustc --print native-static-libs`).
const SYSTEM: [&str; 5] = ["-lws2_32", "-liphlpapi", "-luserenv", "-lntdll", "-lkernel32"];

/// Where the libraries are. `None`: nobody says so, or MinGW or Wine is missing, which is noted.
fn libraries(test: &str) -> Option<PathBuf> {
    let Some(libraries) = std::env::var_os("UNSTALL_WINDOWS_LIBRARIES") else {
        left_out(test, "no libraries for Windows (cargo xtask windows c)");
        return None;
    };
    (is_installed(test, COMPILER) && is_installed(test, "wine")).then(|| PathBuf::from(libraries))
}

/// Compiles a C file of this package with these ways to link.
fn compile(folder: &TempDir, source: &str, linking: &[PathBuf]) -> PathBuf {
    let source = file(source);
    let program = folder.path().join(source.file_stem().expect("a file")).with_extension("exe");
    let mut command = Command::new(COMPILER);
    command.arg("-std=gnu99").arg(&source).arg("-o").arg(&program).arg("-I").arg(file("include"));
    succeed(command.args(STRICT).args(linking).args(SYSTEM));
    program
}

/// A program under Wine with these arguments.
fn wine(program: &PathBuf, arguments: &[&str]) -> Command {
    let mut command = Command::new("wine");
    command.arg(program).args(arguments);
    command
}

#[test]
fn the_contract_holds_with_the_dll() {
    let Some(libraries) = libraries("the_contract_holds_with_the_dll") else { return };
    let (open, closed) = (testing::v4_only().expect("a server"), testing::refused().expect("a closed port"));
    let folder = folder();
    fs::copy(libraries.join("unstall_ffi.dll"), folder.path().join("unstall_ffi.dll")).expect("a DLL");
    let program = compile(&folder, "tests/c/contract.c", &[libraries.join("libunstall_ffi.dll.a")]);
    succeed(&mut wine(&program, &[&open.port().to_string(), &closed.port().to_string()]));
}

#[test]
fn an_older_program_keeps_working_with_the_dll() {
    let Some(libraries) = libraries("an_older_program_keeps_working_with_the_dll") else { return };
    let (open, silent) = (testing::v4_only().expect("a server"), testing::silent().expect("a silent port"));
    let folder = folder();
    fs::copy(libraries.join("unstall_ffi.dll"), folder.path().join("unstall_ffi.dll")).expect("a DLL");
    let program = compile(&folder, "tests/c/old_caller.c", &[libraries.join("libunstall_ffi.dll.a")]);
    let said = succeed(&mut wine(&program, &[&open.port().to_string(), &silent.port().to_string()]));
    assert_eq!(said.trim_end(), "0 3");
}

#[test]
fn the_examples_say_what_happened() {
    let Some(libraries) = libraries("the_examples_say_what_happened") else { return };
    let (open, closed) = (testing::v4_only().expect("a server"), testing::refused().expect("a closed port"));
    let folder = folder();
    let connect = compile(&folder, "examples/connect.c", &[libraries.join("libunstall_ffi.a")]);
    let text = succeed(&mut wine(&connect, &["127.0.0.1", &open.port().to_string()]));
    assert!(text.starts_with("connected\r\n{\"target\":\"127.0.0.1:"), "{text}");
    let refused = wine(&connect, &["127.0.0.1", &closed.port().to_string(), "5000"]).output().expect("Wine");
    let text = said(&refused);
    assert_eq!(refused.status.code(), Some(1), "{text}");
    assert!(text.starts_with("refused (OS code 10061): cannot connect to 127.0.0.1:"), "{text}");

    let prepare = compile(&folder, "examples/prepare.c", &[libraries.join("libunstall_ffi.a")]);
    // It looks first: 7 is UNSTALL_PREPARED_LISTENING.
    for (server, done, result) in [(&open, 7, "connected"), (&closed, 4, "refused")] {
        let text = said(&wine(&prepare, &["127.0.0.1", &server.port().to_string()]).output().expect("Wine"));
        // Wine does not have the option; unstall_prepare says so, and the socket works all the same.
        assert_eq!(text.trim_end(), format!("prepared: {done}, {result}"));
    }
}
