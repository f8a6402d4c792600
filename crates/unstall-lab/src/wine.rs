//! Windows programs in the lab, by Wine.
//!
//! Their sockets are Linux sockets, so they are refused as the profile says. They belong to wineserver, which has to be in the
//! lab as well: Wine finds a running one by a socket in a directory of `/tmp`, and the lab hides that directory, so that a fresh
//! one is started within. It ends with the lab.
//!
//! Wine does not know SIO_TCP_INITIAL_RTO (it answers WSAEOPNOTSUPP), so a program that asks for no retry waits like any other.
//! With the test-only `unstall_rtoshim.dll` it works: the DLL turns the ioctl into the TTL that asks the lab for it.

use crate::error::Error;
use crate::lab::Builder;
use crate::program::Program;
use rustix::process::getuid;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What starts a program with the DLL in it.
const LAUNCHER: &str = "rtoshim-run.exe";

/// How Windows programs are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wine {
    launcher: Option<PathBuf>,
}

impl Wine {
    /// With the DLL, if there is a directory with it and its launcher.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`]: the launcher is not there.
    pub fn new(shim: Option<&Path>) -> Result<Self, Error> {
        let launcher = shim.map(|directory| directory.join(LAUNCHER));
        match launcher {
            Some(missing) if !missing.is_file() => Err(Error::Missing {
                what: format!("there is no {}", missing.display()),
                remedy: "name the directory that has it, with unstall_rtoshim.dll beside it".to_owned(),
            }),
            launcher => Ok(Self { launcher }),
        }
    }

    /// A lab in which a wineserver of its own is started.
    #[must_use]
    pub fn prepare(&self, lab: Builder) -> Builder {
        lab.hide(&format!("/tmp/.wine-{}", getuid().as_raw()))
    }

    /// The program that runs a Windows program: its path, then its arguments.
    #[must_use]
    pub fn program(&self, words: impl IntoIterator<Item = OsString>) -> Program {
        let launcher = self.launcher.iter().map(|path| path.as_os_str().to_owned());
        let program = Program::new("wine").arguments(launcher).arguments(words);
        // Its own messages are in the way; and a new prefix would ask for a browser and a runtime.
        let quiet = [("WINEDEBUG", "-all"), ("WINEDLLOVERRIDES", "winemenubuilder.exe,mscoree,mshtml=")];
        quiet
            .into_iter()
            .filter(|(name, _)| std::env::var_os(name).is_none())
            .fold(program, |program, (name, value)| program.variable(name, value))
    }
}
