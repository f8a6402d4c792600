//! A cgroup of the lab's own, below the one that this process is in, so that whoever ends that one ends ours too.
//!
//! It does not matter whether and where the host has cgroup v2 mounted, beside the first version or alone: if need be the
//! hierarchy is reached through a mount that is attached nowhere, so there is nothing to unmount.
//!
//! The directory is removed by the namespace's init (see [`unstall_sys::lab::init`]). Should that be killed together with
//! the lab, the next lab sweeps: a directory of ours that nobody has locked is a leftover.

use crate::error::{Error, Step};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    CWD, Dir, FlockOperation, Mode, OFlags, StatVfsMountFlags, flock, fstatvfs, mkdirat, openat,
};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::ffi::CString;
use std::fs;
use std::path::PathBuf;
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
        let mounts = fs::read_to_string("/proc/self/mountinfo").step("read /proc/self/mountinfo")?;
        let directory =
            through_host(&mounts, path_of(&own)).or_else(|| through_own_mount(path_of(&own)).ok());
        let directory = directory.ok_or_else(|| Error::Missing {
            what: "cannot open this process's cgroup v2, which the SYN timer is attached to".to_owned(),
            remedy: "mount it (mount -t cgroup2 none /sys/fs/cgroup), or use --engine coarse".to_owned(),
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

/// A cgroup's directory where the host has mounted the hierarchy, unless it may not be changed there.
fn through_host(mountinfo: &str, path: &str) -> Option<OwnedFd> {
    let directory =
        openat(CWD, mounted_at(mountinfo)?.join(path), OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    directory.ok().filter(|directory| {
        fstatvfs(directory).is_ok_and(|fs| !fs.f_flag.contains(StatVfsMountFlags::RDONLY))
    })
}

/// The same through a mount that is attached nowhere and ends with its descriptor. Slower: it waits for other processors.
fn through_own_mount(path: &str) -> Result<OwnedFd, Errno> {
    let context = fsopen(c"cgroup2", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    openat(&mount, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Where the whole hierarchy is mounted, from `/proc/self/mountinfo`: root, mount point and, after ` - `, the type.
fn mounted_at(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // A mount point with a space in it is written with a backslash; nobody has that.
        (kind.starts_with("cgroup2 ") && root == "/" && !point.contains('\\')).then(|| point.into())
    })
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

    /// As root the hierarchy can be reached without any mount of the host's, and it is the same one.
    #[test]
    fn both_ways_lead_to_the_same_directory() {
        let own = fs::read_to_string("/proc/self/cgroup").expect("the own cgroup");
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
        let (Some(host), Ok(own)) = (through_host(&mounts, path_of(&own)), through_own_mount(path_of(&own)))
        else {
            return; // Not root, or cgroup v2 is not mounted; the labs of the other tests go one of both ways.
        };
        let inode = |directory: &OwnedFd| rustix::fs::fstat(directory).expect("it is open").st_ino;
        assert_eq!(inode(&host), inode(&own));
    }

    #[test]
    fn finds_the_mount() {
        let hybrid = "24 1 0:22 / /sys rw shared:7 - sysfs sysfs rw\n\
                      40 31 0:38 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      41 31 0:39 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw\n";
        assert_eq!(mounted_at(hybrid), Some("/sys/fs/cgroup/unified".into()));
        let part = "41 31 0:39 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(mounted_at(part), None);
    }

    #[test]
    fn finds_the_own_cgroup() {
        assert_eq!(path_of("4:memory:/x\n0::/user.slice/session-3.scope\n"), "user.slice/session-3.scope");
        for root in ["0::/\n", "0::/../other\n", "4:memory:/x\n", ""] {
            assert_eq!(path_of(root), ".", "{root:?}");
        }
    }
}
