//! A cgroup of the lab's own, below the one that this process is in, so that whoever ends that one ends ours too.
//!
//! The hierarchy is reached through a mount that is attached nowhere: it does not matter where, how and whether the host
//! has cgroup v2 mounted, and there is nothing to unmount.
//!
//! The directory is removed by the namespace's init (see [`unstall_sys::lab::init`]). Should that be killed together with
//! the lab, the next lab sweeps: a directory of ours that nobody has locked is a leftover.

use crate::error::{Error, Step};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Dir, FlockOperation, Mode, OFlags, flock, mkdirat, openat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::ffi::CString;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use unstall_sys::lab::init;

/// Every directory of ours begins so.
const PREFIX: &str = "unstall-lab-";

/// How deep leftovers are removed.
const DEPTH: u32 = 8;

/// The cgroup that this process is in.
#[derive(Debug)]
pub(crate) struct Parent {
    directory: OwnedFd,
}

impl Parent {
    pub(crate) fn open() -> Result<Self, Error> {
        let own = fs::read_to_string("/proc/self/cgroup").step("read /proc/self/cgroup")?;
        let directory = mount()
            .and_then(|mount| openat(&mount, path_of(&own), OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()))
            .map_err(|errno| Error::Missing {
                what: format!("cannot open this process's cgroup v2 ({errno}), which the SYN timer is attached to"),
                remedy: "use a kernel of 5.2 or newer with CONFIG_CGROUPS and CONFIG_CGROUP_BPF, or --engine coarse"
                    .to_owned(),
            })?;
        Ok(Self { directory })
    }

    /// A name that no lab has had, here or in another PID namespace that shares the hierarchy.
    pub(crate) fn new_name() -> CString {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let name =
            format!("{PREFIX}{}-{since:x}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        CString::new(name).expect("no zero byte in numbers and letters")
    }

    pub(crate) fn leftover(&self, name: &CString) -> Result<init::Leftover, Error> {
        let parent = self.directory.try_clone().step("duplicate a file descriptor")?;
        Ok(init::Leftover { parent, name: name.clone() })
    }

    /// Makes the directory. Its removal is the business of whoever was given the [`Self::leftover`].
    pub(crate) fn create(&self, name: &CString) -> Result<Cgroup, Error> {
        // Another lab may sweep the directory away before it is locked; not three times in a row.
        self.try_create(name)
            .or_else(|_| self.try_create(name))
            .or_else(|_| self.try_create(name))
            .step("create a cgroup")
    }

    fn try_create(&self, name: &CString) -> Result<Cgroup, Errno> {
        match mkdirat(&self.directory, name.as_c_str(), Mode::from_raw_mode(0o755)) {
            Err(Errno::EXIST) | Ok(()) => {}
            Err(errno) => return Err(errno),
        }
        let directory =
            openat(&self.directory, name.as_c_str(), OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
        // This fails in a directory that was removed before it was locked.
        let procs = openat(&directory, c"cgroup.procs", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Cgroup { directory, procs })
    }

    /// Removes what labs have left behind that were killed together with their init. How many there were.
    pub(crate) fn sweep(&self) -> Result<usize, Errno> {
        let mut swept = 0;
        for entry in Dir::read_from(&self.directory)? {
            let entry = entry?;
            if entry.file_name().to_bytes().starts_with(PREFIX.as_bytes()) && self.is_leftover(&entry) {
                let removed = init::remove_tree(self.directory.as_fd(), entry.file_name(), DEPTH);
                swept += usize::from(removed.is_ok());
            }
        }
        Ok(swept)
    }

    /// A lab that lives holds a lock on its directory.
    fn is_leftover(&self, entry: &rustix::fs::DirEntry) -> bool {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&self.directory, entry.file_name(), flags, Mode::empty())
            .and_then(|directory| flock(&directory, FlockOperation::NonBlockingLockExclusive))
            .is_ok()
    }
}

/// The lab's cgroup.
#[derive(Debug)]
pub(crate) struct Cgroup {
    directory: OwnedFd,
    procs: OwnedFd,
}

impl Cgroup {
    /// The directory, for attaching programs.
    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// `cgroup.procs`, for joining.
    pub(crate) fn procs(&self) -> &OwnedFd {
        &self.procs
    }
}

fn mount() -> Result<OwnedFd, Errno> {
    let context = fsopen(c"cgroup2", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}

/// The path within the hierarchy's mount, from `/proc/self/cgroup`. A process outside its cgroup namespace's root
/// (`/../..`) uses that root.
fn path_of(own: &str) -> &str {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or("");
    if path.is_empty() || path.starts_with("..") { "." } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_own_cgroup() {
        assert_eq!(path_of("4:memory:/x\n0::/user.slice/session-3.scope\n"), "user.slice/session-3.scope");
        for root in ["0::/\n", "0::/../other\n", "4:memory:/x\n", ""] {
            assert_eq!(path_of(root), ".", "{root:?}");
        }
    }
}
