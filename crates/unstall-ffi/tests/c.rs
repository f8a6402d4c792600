//! The header and the libraries, as C and C++ programs use them.
#![cfg(target_os = "linux")]

mod common;

use common::{STRICT, compile, file, folder, is_installed, libraries, said, succeed};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use unstall::testing::{self, Server};

/// A server on 127.0.0.1, and a port there on which nobody listens.
fn servers() -> (Server, Server) {
    (testing::v4_only().expect("a server"), testing::refused().expect("a closed port"))
}

/// A program with the ports of two servers as its arguments.
fn with_ports(program: impl AsRef<std::ffi::OsStr>, first: &Server, second: &Server) -> Command {
    let mut command = Command::new(program);
    command.args([first.port().to_string(), second.port().to_string()]);
    command
}

#[test]
fn the_header_compiles_without_warnings() {
    let folder = folder();
    let source = folder.path().join("alone.c");
    let text = "#include <unstall.h>\nint main(void) { unstall_options o = UNSTALL_OPTIONS_INIT; return (int)(o.size - sizeof o); }\n";
    std::fs::write(&source, text).expect("a temporary folder can be written");
    let languages = [("cc", "c", &["c99", "c11", "c17", "c2x"][..]), ("c++", "c++", &["c++17", "c++20"])];
    for (compiler, language, standards) in languages {
        if !is_installed("the_header_compiles_without_warnings", compiler) {
            continue;
        }
        for standard in standards {
            let mut command = Command::new(compiler);
            command.args(["-x", language, &format!("-std={standard}"), "-fsyntax-only"]).args(STRICT);
            succeed(command.arg("-I").arg(file("include")).arg(&source));
        }
    }
}

#[test]
fn the_contract_holds_in_c_and_in_c_plus_plus() {
    let (open, closed) = servers();
    let folder = folder();
    let languages = [("cc", "-std=c99"), ("c++", "-std=c++17")];
    for (compiler, standard) in languages {
        if is_installed("the_contract_holds_in_c_and_in_c_plus_plus", compiler) {
            let program = compile(&folder, compiler, "tests/c/contract.c", &[standard, "-D_DEFAULT_SOURCE"]);
            succeed(&mut with_ports(program, &open, &closed));
        }
    }
}

/// Reads and writes beyond the caller's memory, and what was never given back.
#[test]
fn the_contract_holds_under_address_sanitizer() {
    let (open, closed) = servers();
    let folder = folder();
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let program = compile(&folder, "cc", "tests/c/contract.c", &flags);
    succeed(with_ports(program, &open, &closed).env("ASAN_OPTIONS", "detect_leaks=1"));
    let silent = testing::silent().expect("a silent port");
    let program = compile(&folder, "cc", "tests/c/old_caller.c", &flags);
    succeed(&mut with_ports(program, &open, &silent));
}

#[test]
fn the_contract_holds_under_valgrind() {
    if !is_installed("the_contract_holds_under_valgrind", "valgrind") {
        return;
    }
    let (open, closed) = servers();
    let folder = folder();
    let program = compile(&folder, "cc", "tests/c/contract.c", &[]);
    let mut valgrind = Command::new("valgrind");
    valgrind.args([
        "--quiet",
        "--error-exitcode=99",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite",
    ]);
    valgrind.args(["--track-fds=yes", "--show-leak-kinds=definite"]).arg(program);
    valgrind.args([open.port().to_string(), closed.port().to_string()]);
    succeed(&mut valgrind);
}

/// The limit of 50 ms in what the older program knows is heeded, and nothing beyond it is read.
#[test]
fn an_older_program_with_a_shorter_struct_keeps_working() {
    let open = testing::v4_only().expect("a server");
    let silent = testing::silent().expect("a silent port");
    let folder = folder();
    let program = compile(&folder, "cc", "tests/c/old_caller.c", &[]);
    let since = Instant::now();
    // Connected, timed out.
    assert_eq!(succeed(&mut with_ports(program, &open, &silent)), "0 3\n");
    assert!(since.elapsed() >= Duration::from_millis(50));
}

#[test]
fn threads_have_their_own_results_and_nothing_is_left() {
    let (brief, closed) = (testing::closes().expect("a server"), testing::refused().expect("a closed port"));
    let folder = folder();
    let program = compile(&folder, "cc", "tests/c/threads.c", &["-D_DEFAULT_SOURCE"]);
    println!("{}", succeed(with_ports(program, &brief, &closed).arg(CONNECTS)));
}

/// How many connects: enough that a descriptor, or a few bytes of memory, for each could not be missed.
const CONNECTS: &str = "100000";

#[test]
fn the_examples_say_what_happened() {
    let (open, closed) = servers();
    let folder = folder();
    let connect = compile(&folder, "cc", "examples/connect.c", &["-std=c99"]);
    let run = |host: &str, server: &Server| {
        let mut command = Command::new(&connect);
        let output = command.args([host, &server.port().to_string(), "5000"]).output().expect("it starts");
        (output.status.code(), said(&output))
    };
    let (code, said) = run("localhost", &open);
    assert!(code == Some(0) && said.starts_with("connected\n{\"target\":\"localhost:"), "{code:?}: {said}");
    let (code, said) = run("localhost", &closed);
    let begins = "refused (OS code 111): cannot connect to localhost:";
    assert!(code == Some(1) && said.starts_with(begins), "{code:?}: {said}");

    let prepare = compile(&folder, "cc", "examples/prepare.c", &["-D_DEFAULT_SOURCE", "-std=c99"]);
    let run = |server: &Server| {
        let mut command = Command::new(&prepare);
        let output = command.args(["127.0.0.1", &server.port().to_string()]).output().expect("it starts");
        common::said(&output)
    };
    assert_eq!(run(&open), "prepared: 0, connected\n");
    assert_eq!(run(&closed), "prepared: 0, refused\n");
}

/// The ten lines of README.md are a program, which says what its last line returns.
#[test]
fn the_example_in_the_readme_compiles_and_runs() {
    let readme = std::fs::read_to_string(file("../../README.md")).expect("README.md");
    let (_, from) = readme.split_once("```c\n").expect("an example in C");
    let (program, _) = from.split_once("```").expect("its end");
    assert!(program.contains("\"localhost\", 3000"), "{program}");
    // A port of the test's own, on which nobody listens.
    let closed = testing::refused().expect("a closed port");
    let folder = folder();
    let source = folder.path().join("readme.c");
    std::fs::write(&source, program.replace("3000", &closed.port().to_string()))
        .expect("a temporary folder can be written");
    let program = compile(&folder, "cc", source.to_str().expect("a plain path"), &["-std=c99"]);
    let output = Command::new(program).output().expect("it starts");
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(2), "refused\n"));
}

/// As a distribution would: headers, libraries and pkg-config file in their places, programs linked to the shared library
/// and to the static one.
#[test]
fn installed_it_is_found_by_pkg_config() {
    if !is_installed("installed_it_is_found_by_pkg_config", "pkg-config") {
        return;
    }
    let open = testing::v4_only().expect("a server");
    let folder = folder();
    let prefix = folder.path().join("usr");
    succeed(Command::new(file("install.sh")).arg(&prefix).arg(libraries()));
    let program = folder.path().join("connect");
    for (linking, needs_library) in [(&["--libs"][..], true), (&["--libs", "--static"], false)] {
        let mut flags = Command::new("pkg-config");
        flags
            .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
            .args(["--cflags", "unstall"])
            .args(linking);
        let flags = succeed(&mut flags);
        if !needs_library {
            std::fs::remove_file(prefix.join("lib/libunstall.so")).expect("it was installed");
        }
        let mut compiler = Command::new("cc");
        compiler.arg(file("examples/connect.c")).arg("-o").arg(&program).args(flags.split_whitespace());
        succeed(&mut compiler);
        let mut run = Command::new(&program);
        run.args(["localhost", &open.port().to_string()]);
        let recorded = needed(&program);
        assert_eq!(recorded.contains("[libunstall.so.0]"), needs_library, "{recorded}");
        succeed(run.env("LD_LIBRARY_PATH", prefix.join("lib")));
    }
}

/// The libraries that a program asks for when it starts.
fn needed(program: &Path) -> String {
    succeed(Command::new("readelf").arg("-d").arg(program))
}
