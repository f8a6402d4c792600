//! Private files: a `/etc/hosts` and the like that only the lab's programs see, held in memory.
//!
//! They live on a tmpfs that is mounted over a directory of the lab's own mount namespace for as long as it takes to bind
//! them to their places. No file is written to disk, so none is left behind.

use crate::error::{Error, Step};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};
use std::fmt::{self, Write as _};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Where the tmpfs is mounted meanwhile. It exists on every system.
const STAGING: &str = "/tmp";

/// Directories of a caching daemon that would answer for the host's files.
const CACHES: [&str; 2] = ["/run/nscd", "/var/run/nscd"];

/// A file that replaces another within the lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrivateFile {
    pub(crate) path: PathBuf,
    pub(crate) content: String,
}

impl PrivateFile {
    /// What replaces the host's file: its text as a function of the host's.
    pub(crate) fn instead_of(path: &str, content: impl FnOnce(&str) -> String) -> Result<Self, Error> {
        let host = match fs::read_to_string(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(Error::Missing {
                    what: format!(
                        "there is no {path} on this system, which the lab replaces by one of its own"
                    ),
                    remedy: "create it (it may be empty)".to_owned(),
                });
            }
            host => host.step(&format!("read {path}"))?,
        };
        Ok(Self { path: path.into(), content: content(&host) })
    }
}

/// Keeps the mounts that follow within the calling thread's mount namespace.
pub(crate) fn make_private() -> Result<(), Error> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags).step("make the lab's mounts private")
}

/// Puts these files into their places.
pub(crate) fn replace(files: &[PrivateFile]) -> Result<(), Error> {
    if files.is_empty() {
        return Ok(());
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", STAGING, "tmpfs", flags, Some(c"size=16m,mode=0755")).step("mount a private tmpfs")?;
    let bound = files.iter().enumerate().try_for_each(|(index, file)| bind(index, file));
    unmount(STAGING, UnmountFlags::DETACH).step("unmount the private tmpfs")?;
    bound
}

fn bind(index: usize, file: &PrivateFile) -> Result<(), Error> {
    let operation = || format!("mount a private {}", file.path.display());
    let source = Path::new(STAGING).join(index.to_string());
    fs::write(&source, &file.content).step(&operation())?;
    mount_bind(&source, &file.path).step(&operation())
}

/// Hides the sockets of a name cache.
pub(crate) fn hide_caches() -> Result<(), Error> {
    CACHES.into_iter().map(Path::new).filter(|cache| cache.is_dir()).try_for_each(hide)
}

/// Covers a directory with an empty one of its owner's; makes it first if need be.
pub(crate) fn hide(directory: &Path) -> Result<(), Error> {
    let operation = format!("hide {}", directory.display());
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e).step(&operation),
        _ => {}
    }
    mount("tmpfs", directory, "tmpfs", MountFlags::empty(), Some(c"mode=0700")).step(&operation)
}

/// `/etc/hosts` with these lines, without the host's own lines for any of their names; `localhost` replaced if given.
pub(crate) fn hosts(host: &str, localhost: Option<&[IpAddr]>, lines: &[(IpAddr, String)]) -> String {
    let replaced = |name: &str| {
        localhost.is_some() && name.eq_ignore_ascii_case("localhost")
            || lines.iter().any(|(_, own)| own.eq_ignore_ascii_case(name))
    };
    let mut text = String::new();
    let mut line = |address: &dyn fmt::Display, names: &str| {
        let _ = writeln!(text, "{address} {names}");
    };
    for address in localhost.unwrap_or_default() {
        line(address, "localhost");
    }
    for (address, name) in lines {
        line(address, name);
    }
    for host_line in host.lines() {
        let mut words = host_line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(address) = words.next() else { continue };
        let names: Vec<&str> = words.filter(|name| !replaced(name)).collect();
        if !names.is_empty() {
            line(&address, &names.join(" "));
        }
    }
    text
}

/// `/etc/nsswitch.conf` that looks up hosts in the private files alone: `files`, then the private `resolv.conf`.
pub(crate) fn nsswitch(host: &str) -> String {
    let mut text: String = host
        .lines()
        .filter(|line| !line.trim_start().starts_with("hosts:"))
        .flat_map(|line| [line, "\n"])
        .collect();
    text += "hosts: files dns\n";
    text
}

/// `/etc/resolv.conf` that asks these.
pub(crate) fn resolv_conf(servers: &[IpAddr]) -> String {
    servers.iter().fold(String::new(), |text, server| text + "nameserver " + &server.to_string() + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "# comment\n127.0.0.1 localhost localhost.localdomain box\n::1 ip6-localhost localhost # six\n10.0.0.5 db\n\n";

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().expect("an address")).collect()
    }

    #[test]
    fn localhost_is_replaced_or_removed_and_the_rest_is_kept() {
        let both = hosts(HOST, Some(&addresses(&["::1", "127.0.0.1"])), &[]);
        assert_eq!(
            both,
            "::1 localhost\n127.0.0.1 localhost\n127.0.0.1 localhost.localdomain box\n::1 ip6-localhost\n10.0.0.5 db\n"
        );
        let none = hosts(HOST, Some(&[]), &[]);
        assert_eq!(none, "127.0.0.1 localhost.localdomain box\n::1 ip6-localhost\n10.0.0.5 db\n");
    }

    #[test]
    fn a_line_of_ours_replaces_the_host_s() {
        let lines = [("198.18.0.254".parse().expect("an address"), "DB".to_owned())];
        let text = hosts(HOST, None, &lines);
        assert_eq!(
            text,
            "198.18.0.254 DB\n127.0.0.1 localhost localhost.localdomain box\n::1 ip6-localhost localhost\n"
        );
    }

    #[test]
    fn hosts_are_looked_up_in_files_alone() {
        assert_eq!(
            nsswitch("passwd: files\nhosts: mymachines resolve\n"),
            "passwd: files\nhosts: files dns\n"
        );
        assert_eq!(resolv_conf(&addresses(&["127.0.0.53"])), "nameserver 127.0.0.53\n");
    }
}
