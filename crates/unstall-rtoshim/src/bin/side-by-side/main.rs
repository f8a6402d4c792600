//! `side-by-side CASE:ROUNDS:LIMIT_MS=ADDRESS...`: the same connects by std, socket2, tokio and unstall, in turn, in one run.
//!
//! One line for each case and client: case, client, rounds, outcome of the last, median and greatest time in µs, separated by
//! tabs. A limit of 0 is none.
#![forbid(unsafe_code)]

#[cfg(windows)]
mod windows;

#[cfg(windows)]
fn main() -> std::process::ExitCode {
    windows::run()
}

#[cfg(not(windows))]
fn main() -> std::process::ExitCode {
    eprintln!(
        "side-by-side: this is a program for Windows; build it for x86_64-pc-windows-gnu and run it under Wine"
    );
    std::process::ExitCode::from(125)
}
