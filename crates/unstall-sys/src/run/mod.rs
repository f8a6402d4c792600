//! What `unstall run` needs from Windows: loading a DLL into a program that has not begun yet. Windows only.
//!
//! - [`prepare`] gives a suspended process its settings and the DLL of its bitness; [`resume`] lets it go;
//! - [`own_settings`] is what the DLL finds there;
//! - [`ignore_interrupts`] leaves Ctrl-C to the program.

mod memory;
mod process;
mod remote;

pub use process::{bits, ignore_interrupts, is_app_container, open, resume};
pub use remote::load;

use std::io;
use std::os::windows::io::BorrowedHandle;
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use unstall_core::hook::settings::Settings;
use windows_sys::Win32::System::Threading::{CREATE_NO_WINDOW, GetCurrentProcessId};

/// The bitness of this program.
pub const OWN_BITS: u32 = usize::BITS;

/// Why a process has not got the fixes. It is as it was.
#[derive(Debug)]
pub struct NotPrepared {
    /// What failed, with the process's bitness or the file in question.
    pub what: String,
    /// What Windows said.
    pub source: io::Error,
}

impl std::fmt::Display for NotPrepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.source)
    }
}

impl std::error::Error for NotPrepared {}

/// Gives a process that has not begun yet its settings and the DLL.
///
/// # Errors
///
/// A protected process, an AppContainer's, one of a bitness whose files are missing; the DLL did not find what it wants to change.
pub fn prepare(process: BorrowedHandle<'_>, id: u32, settings: &Settings) -> Result<(), NotPrepared> {
    let failed = |what: &str, source| NotPrepared { what: what.to_owned(), source };
    if is_app_container(process) {
        let source = io::ErrorKind::PermissionDenied.into();
        return Err(failed("it runs in an AppContainer, which must not load the DLL", source));
    }
    let bits = bits(process).map_err(|error| failed("cannot tell whether it is a 32-bit program", error))?;
    let shared = memory::Shared::new(id, settings)
        .map_err(|error| failed("cannot make the shared memory for its settings", error))?;
    let dll = library(Path::new(&settings.folder), bits);
    let mut libraries: Vec<PathBuf> = settings.before.iter().map(PathBuf::from).collect();
    libraries.push(dll);
    for library in &libraries {
        let what = || format!("cannot load {} into the {bits}-bit program", library.display());
        if !library.is_file() {
            return Err(NotPrepared { what: what(), source: io::ErrorKind::NotFound.into() });
        }
        if bits == OWN_BITS {
            load(process, library)
        } else {
            by_helper(Path::new(&settings.folder), bits, id, library)
        }
        .map_err(|source| NotPrepared { what: what(), source })?;
    }
    // The DLL has read it: it does so before the thread that loads it ends.
    drop(shared);
    Ok(())
}

/// The settings of this process, as whoever started it left them.
///
/// # Errors
///
/// There are none, or they are of another release.
pub fn own_settings() -> io::Result<Settings> {
    // SAFETY: it reads a number.
    memory::read(unsafe { GetCurrentProcessId() })
}

/// The true build number of Windows; below 10000 for Windows 8.1 and older.
pub fn build() -> u32 {
    crate::windows::version::version().build
}

/// The DLL for a bitness; cargo's own name for it if there is no other.
fn library(folder: &Path, bits: u32) -> PathBuf {
    let named = folder.join(format!("unstall_hook{bits}.dll"));
    let plain = folder.join("unstall_hook.dll");
    if !named.is_file() && bits == OWN_BITS && plain.is_file() { plain } else { named }
}

/// Has the DLL loaded by a program of the other bitness, for a thread's start address is one of that bitness.
fn by_helper(folder: &Path, bits: u32, id: u32, library: &Path) -> io::Result<()> {
    let helper = folder.join(format!("unstall-load{bits}.exe"));
    let status = Command::new(helper)
        .arg(id.to_string())
        .arg(library)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .creation_flags(CREATE_NO_WINDOW)
        .status()?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(code)),
        None => Err(io::ErrorKind::Other.into()),
    }
}
