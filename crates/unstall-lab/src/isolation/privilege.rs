//! What this process may do, and a user namespace for those who may not enough.

use crate::error::{Error, Step};
use rustix::thread::{CapabilitySet, capabilities};
use std::fs;
use std::io;
use unstall_sys::lab::namespace;

/// What the process may do about namespaces and BPF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// Everything: root on the host, or a privileged container.
    Full,
    /// Namespaces of its own, but no BPF: a user namespace.
    Namespaces,
    /// Neither.
    None,
}

impl Privilege {
    /// What it may do now.
    ///
    /// # Errors
    ///
    /// [`Error::System`] if the kernel does not tell.
    pub fn now() -> Result<Self, Error> {
        let effective = capabilities(None).step("read the capabilities of this process")?.effective;
        if !effective.contains(CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN) {
            return Ok(Self::None);
        }
        // The initial user namespace maps every id to itself.
        let map = fs::read_to_string("/proc/self/uid_map").step("read /proc/self/uid_map")?;
        let initial = map.split_whitespace().eq(["0", "0", "4294967295"]);
        Ok(if initial { Self::Full } else { Self::Namespaces })
    }

    /// What it may do, after entering a user namespace if that gives more.
    ///
    /// To be called at the start of `main`: with more than one thread the kernel refuses. The process keeps its user id;
    /// programs in the lab keep it as well.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`]: this system gives this user no user namespace.
    pub fn acquire() -> Result<Self, Error> {
        match Self::now()? {
            Self::None => {
                namespace::enter_user_namespace().map_err(|e| refused(&e)).and_then(|()| Self::now())
            }
            enough => Ok(enough),
        }
    }
}

/// Why there is no user namespace, from what the system says about itself.
fn refused(error: &io::Error) -> Error {
    let setting =
        |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let remedy = if setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
        "run it as root, or set kernel.apparmor_restrict_unprivileged_userns=0"
    } else if setting("/proc/sys/kernel/unprivileged_userns_clone") == "0" {
        "run it as root, or set kernel.unprivileged_userns_clone=1"
    } else if setting("/proc/sys/user/max_user_namespaces") == "0" {
        "run it as root, or set user.max_user_namespaces above 0"
    } else {
        "run it as root; in a container, allow user namespaces (seccomp) or give it CAP_SYS_ADMIN"
    };
    Error::Missing {
        what: format!("this user may not have a user namespace ({error}), which a lab without root needs"),
        remedy: remedy.to_owned(),
    }
}

/// The error for a lab that is started without any privilege.
pub(crate) fn none() -> Error {
    Error::Missing {
        what: "a lab needs CAP_SYS_ADMIN and CAP_NET_ADMIN".to_owned(),
        remedy: "run it as root, or call Privilege::acquire before the first thread starts".to_owned(),
    }
}
