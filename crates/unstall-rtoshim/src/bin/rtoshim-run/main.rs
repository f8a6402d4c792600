//! `rtoshim-run PROGRAM [ARGUMENT...]`: runs a Windows program with `unstall_rtoshim.dll`, which lies beside this program, loaded
//! into it, and passes on its exit code. Its own failure is 125.
#![allow(unsafe_code, reason = "a DLL is put into another process")]

use std::process::ExitCode;

#[cfg(windows)]
mod windows;

#[cfg(windows)]
fn main() -> ExitCode {
    windows::run().unwrap_or_else(|error| {
        eprintln!("rtoshim-run: {error}");
        ExitCode::from(125)
    })
}

#[cfg(not(windows))]
fn main() -> ExitCode {
    eprintln!(
        "rtoshim-run: this is a program for Windows; build it for x86_64-pc-windows-gnu and run it under Wine"
    );
    ExitCode::from(125)
}
