//! bpf(2): load a program, attach it to a cgroup or a device, count in an array. No ELF, no clang.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::fmt;
use std::io;

/// What a program is and where it is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// `sock_ops` on a cgroup: asked at points of a TCP socket's life, the first SYN's timer among them. Linux 4.13.
    SockOps,
    /// `cgroup_skb` on a cgroup: may drop what its sockets are about to receive. Linux 4.10.
    CgroupIngress,
    /// `cgroup_skb` on a cgroup: sees what its sockets send. Linux 4.10.
    CgroupEgress,
    /// `sched_cls`, for clsact on a device: sees a packet before IP does. Attached by rtnetlink. Linux 4.5.
    Classifier,
}

impl Hook {
    /// `BPF_PROG_TYPE_*` and the attach type, `include/uapi/linux/bpf.h`.
    const fn numbers(self) -> (u32, u32) {
        match self {
            Self::SockOps => (13, 3),
            Self::CgroupIngress => (8, 0),
            Self::CgroupEgress => (8, 1),
            Self::Classifier => (3, 0),
        }
    }
}

/// A program that the kernel did not take.
#[derive(Debug)]
pub struct LoadError {
    /// What the kernel answered.
    pub errno: Errno,
    /// What its verifier wrote; empty when it did not come to that.
    pub log: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.errno)?;
        match self.log.trim().lines().rev().nth(1) {
            Some(line) => write!(f, " ({line})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for LoadError {}

// Commands, `enum bpf_cmd`.
const MAP_CREATE: u32 = 0;
const MAP_LOOKUP_ELEM: u32 = 1;
const PROG_LOAD: u32 = 5;
const PROG_GET_NEXT_ID: u32 = 11;
const PROG_GET_FD_BY_ID: u32 = 13;
const OBJ_GET_INFO_BY_FD: u32 = 15;
const LINK_CREATE: u32 = 28;

/// `union bpf_attr`: zero wherever nothing is written. Offsets are those of `include/uapi/linux/bpf.h`.
#[repr(C, align(8))]
struct Attributes([u8; 128]);

impl Attributes {
    const fn new() -> Self {
        Self([0; 128])
    }

    fn u32(mut self, offset: usize, value: u32) -> Self {
        self.0[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn u64(mut self, offset: usize, value: u64) -> Self {
        self.0[offset..offset + 8].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn bytes(mut self, offset: usize, value: &[u8]) -> Self {
        self.0[offset..offset + value.len()].copy_from_slice(value);
        self
    }

    fn fd(self, offset: usize, fd: BorrowedFd<'_>) -> Self {
        self.u32(offset, fd.as_raw_fd() as u32)
    }

    /// # Safety
    ///
    /// Every address in the attributes must be valid for what the command reads or writes there.
    unsafe fn call(&mut self, command: u32) -> Result<i32, Errno> {
        let attributes = &raw mut self.0;
        // SAFETY: the attributes live as long as the call; the addresses within are the caller's promise.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<Self>()) };
        if result < 0 { Err(last_errno()) } else { Ok(result as i32) }
    }

    /// # Safety
    ///
    /// As [`Self::call`]; the command must be one that returns a new descriptor.
    unsafe fn open(&mut self, command: u32) -> Result<OwnedFd, Errno> {
        // SAFETY: the caller's promise.
        let fd = unsafe { self.call(command) }?;
        // SAFETY: the kernel has just made it for us.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Loads a program of encoded instructions (`struct bpf_insn`, 8 bytes each). `name`: at most 15 of `[A-Za-z0-9_.]`.
///
/// # Errors
///
/// [`LoadError`], with the verifier's words: they cost time, so the program is verified a second time for them.
pub fn load(hook: Hook, name: &str, instructions: &[u64]) -> Result<OwnedFd, LoadError> {
    match load_with_log(hook, name, instructions, &mut []) {
        Ok(program) => Ok(program),
        Err(errno @ (Errno::PERM | Errno::NOSYS)) => Err(LoadError { errno, log: String::new() }),
        Err(_) => {
            let mut log = vec![0; 1 << 18];
            load_with_log(hook, name, instructions, &mut log).map_err(|errno| {
                let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
                LoadError { errno, log: String::from_utf8_lossy(&log[..end]).into_owned() }
            })
        }
    }
}

fn load_with_log(hook: Hook, name: &str, instructions: &[u64], log: &mut [u8]) -> Result<OwnedFd, Errno> {
    let (kind, attach) = hook.numbers();
    let mut attributes = Attributes::new()
        .u32(0, kind)
        .u32(4, instructions.len() as u32)
        .u64(8, instructions.as_ptr() as u64)
        // The helpers that read kernel structures are for programs under the GPL alone.
        .u64(16, c"GPL".as_ptr() as u64)
        .bytes(48, &name.as_bytes()[..name.len().min(15)])
        .u32(68, attach);
    if !log.is_empty() {
        attributes = attributes.u32(24, 1).u32(28, log.len() as u32).u64(32, log.as_mut_ptr() as u64);
    }
    // SAFETY: instructions and licence are read, the log is written within its length; all outlive the call.
    unsafe { attributes.open(PROG_LOAD) }
}

/// Attaches a program to a cgroup directory, beside whatever is attached there. Closing the result detaches it. Linux 5.7.
///
/// # Errors
///
/// EPERM where another program forbids company.
pub fn attach_to_cgroup(
    hook: Hook,
    program: BorrowedFd<'_>,
    cgroup: BorrowedFd<'_>,
) -> Result<OwnedFd, Errno> {
    let mut attributes = Attributes::new().fd(0, program).fd(4, cgroup).u32(8, hook.numbers().1);
    // SAFETY: the attributes hold descriptors, no addresses.
    unsafe { attributes.open(LINK_CREATE) }
}

/// Counters that programs add to and that are read from here.
#[derive(Debug)]
pub struct Counters {
    map: OwnedFd,
    length: u32,
}

impl Counters {
    /// `length` 64-bit counters, all zero.
    ///
    /// # Errors
    ///
    /// EPERM without CAP_BPF or CAP_SYS_ADMIN.
    pub fn new(length: u32) -> Result<Self, Errno> {
        const ARRAY: u32 = 2;
        // One element that holds them all: programs address within an element, not across elements.
        let mut attributes = Attributes::new()
            .u32(0, ARRAY)
            .u32(4, 4)
            .u32(8, 8 * length)
            .u32(12, 1)
            .bytes(28, b"unstall_count");
        // SAFETY: the attributes hold numbers and a name, no addresses.
        let map = unsafe { attributes.open(MAP_CREATE) }?;
        Ok(Self { map, length })
    }

    /// Their values, in order.
    ///
    /// # Errors
    ///
    /// None that is known while the map exists.
    pub fn read(&self) -> Result<Vec<u64>, Errno> {
        let key = 0_u32;
        let mut values = vec![0_u64; self.length as usize];
        let mut attributes = Attributes::new()
            .fd(0, self.map.as_fd())
            .u64(8, &raw const key as u64)
            .u64(16, values.as_mut_ptr() as u64);
        // SAFETY: the key is 4 bytes, the value 8 for each counter, as the map was made.
        unsafe { attributes.call(MAP_LOOKUP_ELEM) }?;
        Ok(values)
    }

    /// The number that a program's load-address instruction names the map by.
    pub fn number(&self) -> i32 {
        self.map.as_raw_fd()
    }
}

/// The names of all programs that the kernel has loaded.
///
/// # Errors
///
/// EPERM without CAP_SYS_ADMIN.
pub fn loaded_programs() -> Result<Vec<String>, Errno> {
    let (mut names, mut id) = (Vec::new(), 0);
    loop {
        let mut attributes = Attributes::new().u32(0, id);
        // SAFETY: the attributes hold a number; the kernel writes the next one into them.
        match unsafe { attributes.call(PROG_GET_NEXT_ID) } {
            Err(Errno::NOENT) => return Ok(names),
            Err(errno) => return Err(errno),
            Ok(_) => {}
        }
        id = u32::from_ne_bytes([attributes.0[4], attributes.0[5], attributes.0[6], attributes.0[7]]);
        // SAFETY: the attributes hold a number.
        match unsafe { Attributes::new().u32(0, id).open(PROG_GET_FD_BY_ID) } {
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
            Ok(program) => names.push(program_name(program.as_fd())?),
        }
    }
}

fn program_name(program: BorrowedFd<'_>) -> Result<String, Errno> {
    /// `struct bpf_prog_info` up to its `name`, which follows `created_by_uid`, `nr_map_ids` and `map_ids`.
    const NAME: usize = 64;
    let mut info = [0_u8; NAME + 16];
    let mut attributes =
        Attributes::new().fd(0, program).u32(4, info.len() as u32).u64(8, info.as_mut_ptr() as u64);
    // SAFETY: the kernel writes at most the length given.
    unsafe { attributes.call(OBJ_GET_INFO_BY_FD) }?;
    let name = &info[NAME..];
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}
