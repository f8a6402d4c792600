//! `unstall-load PROCESS-ID DLL`: has a DLL loaded by a process of this program's bitness. Its exit code is Windows' error code; 0:
//! loaded. The process is suspended, and waits for whoever started it.
#![forbid(unsafe_code)]

#[cfg(windows)]
fn main() {
    std::process::exit(match run() {
        Ok(()) => 0,
        // Never 0, which would mean that it is loaded.
        Err(error) => error.raw_os_error().unwrap_or(1),
    });
}

#[cfg(windows)]
fn run() -> std::io::Result<()> {
    use std::io::ErrorKind;
    use std::os::windows::io::AsHandle;
    let mut arguments = std::env::args_os().skip(1);
    let id = arguments.next().and_then(|id| id.to_str()?.parse().ok()).ok_or(ErrorKind::InvalidInput)?;
    let dll = arguments.next().ok_or(ErrorKind::InvalidInput)?;
    unstall_sys::run::load(unstall_sys::run::open(id)?.as_handle(), dll.as_ref())
}

#[cfg(not(windows))]
fn main() {
    eprintln!("unstall-load is for Windows");
    std::process::exit(125);
}
