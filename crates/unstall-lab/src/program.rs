//! A program in the lab: what to run, and how it ended.

use crate::Error;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much of each stream of a program is kept by [`crate::Lab::output`].
const KEPT: usize = 1 << 20;

/// A program and its arguments, environment and streams.
#[derive(Clone, Debug)]
pub struct Program {
    name: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl Program {
    /// A program by its path, or by its name in `PATH`.
    pub fn new(name: impl Into<OsString>) -> Self {
        Self { name: name.into(), arguments: Vec::new(), environment: Vec::new() }
    }

    /// The first word is the program, the others its arguments. `None`: there is no word.
    pub fn from_words<W: Into<OsString>>(words: impl IntoIterator<Item = W>) -> Option<Self> {
        let mut words = words.into_iter();
        Some(Self::new(words.next()?).arguments(words))
    }

    /// One more argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn arguments<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// One environment variable; the others are this process's.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Its name, for messages.
    pub(crate) fn name(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }

    /// The command, the program found in the program's own `PATH`.
    pub(crate) fn command(&self, streams: Streams) -> Result<Command, Error> {
        let mut command = Command::new(self.find()?);
        command.arg0(&self.name).args(&self.arguments).envs(self.environment.iter().map(|(n, v)| (n, v)));
        match streams {
            Streams::Inherited => {}
            Streams::Foreground => crate::foreground::let_through(&mut command),
            // A group of its own: everything that it started can be ended at once.
            Streams::Captured => {
                command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
            }
        }
        Ok(command)
    }

    fn find(&self) -> Result<PathBuf, Error> {
        let path = self
            .environment
            .iter()
            .rev()
            .find(|(name, _)| name == "PATH")
            .map(|(_, value)| value.clone())
            .or_else(|| std::env::var_os("PATH"));
        find(&self.name, path.as_deref())
    }
}

/// execvp(3)'s search: a name with a `/` is a path; else the first executable file in `PATH`.
fn find(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, Error> {
    let not_found = || Error::NotFound(name.to_string_lossy().into_owned());
    if name.is_empty() {
        return Err(not_found());
    }
    if name.as_bytes().contains(&b'/') {
        return executable(Path::new(name))
            .map_err(|why| why.map_or_else(not_found, |why| refused(name, why)));
    }
    let mut first = None;
    for directory in std::env::split_paths(path.unwrap_or(OsStr::new("/usr/bin:/bin"))) {
        match executable(&directory.join(name)) {
            Ok(path) => return Ok(path),
            Err(why) => first = first.or(why),
        }
    }
    Err(first.map_or_else(not_found, |why| refused(name, why)))
}

fn refused(name: &OsStr, why: &'static str) -> Error {
    Error::NotExecutable { program: name.to_string_lossy().into_owned(), why: why.to_owned() }
}

/// The path, if exec would take it; else why not, `None` if there is nothing.
fn executable(path: &Path) -> Result<PathBuf, Option<&'static str>> {
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(Some("it is a directory")),
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => Err(Some("it is not executable")),
        Ok(_) => Ok(path.to_owned()),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Err(Some("permission denied")),
        Err(_) => Err(None),
    }
}

/// What a failed start of a program that was found means.
pub(crate) fn start_failed(program: String, error: &io::Error) -> Error {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "the interpreter that its first line names does not exist".to_owned(),
        _ => error.to_string(),
    };
    Error::NotExecutable { program, why }
}

/// Where a program's streams go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// They are this process's.
    Inherited,
    /// The same, and so are the signals that this process holds back.
    Foreground,
    /// Nothing comes in, what goes out is kept.
    Captured,
}

/// A program that runs in the lab. Dropping it kills it.
#[derive(Debug)]
pub struct Running<'lab> {
    child: Child,
    pidfd: OwnedFd,
    since: Instant,
    grouped: bool,
    _lab: std::marker::PhantomData<&'lab crate::Lab>,
}

/// A started child with what watches it, on its way out of the lab's thread.
pub(crate) struct Started {
    child: Child,
    pidfd: OwnedFd,
    since: Instant,
}

/// Starts it. To be called on the lab's thread.
pub(crate) fn start(mut command: Command) -> io::Result<Started> {
    let since = Instant::now();
    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => Ok(Started { child, pidfd, since }),
        Err(errno) => {
            child.kill()?;
            child.wait()?;
            Err(errno.into())
        }
    }
}

impl Running<'_> {
    pub(crate) fn new(started: Started, streams: Streams) -> Self {
        let Started { child, pidfd, since } = started;
        Self { child, pidfd, since, grouped: streams == Streams::Captured, _lab: std::marker::PhantomData }
    }

    /// Its process id, as seen from outside of the lab.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// A descriptor that becomes readable when it ends.
    pub fn pidfd(&self) -> &OwnedFd {
        &self.pidfd
    }

    /// Sends it a signal by number. That it has ended is no error.
    ///
    /// # Errors
    ///
    /// EINVAL for a number that is no signal.
    pub fn signal(&self, number: i32) -> io::Result<()> {
        let signal = Signal::from_named_raw(number).ok_or(rustix::io::Errno::INVAL)?;
        match pidfd_send_signal(&self.pidfd, signal) {
            Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits for its end, at most so long. `None`: it still runs.
    ///
    /// # Errors
    ///
    /// None that is known.
    pub fn wait(&mut self, limit: Option<Duration>) -> io::Result<Option<Ended>> {
        if !self.has_ended(limit)? {
            return Ok(None);
        }
        if self.grouped {
            self.kill();
        }
        self.child.wait().map(|status| Some(Ended::of(status)))
    }

    fn has_ended(&self, limit: Option<Duration>) -> io::Result<bool> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.map(|left| left.try_into().expect("a time limit fits a timespec"));
            match poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], timeout.as_ref()) {
                Ok(ready) => return Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Ends what is left of it: the program, and what it started if its streams are captured.
    fn kill(&mut self) {
        if self.grouped {
            // Its leader has not been waited for, so nobody else has the number.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
        let _ = self.child.kill();
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.kill();
            // Killed, so this ends; without it, the namespace's init could not end either.
            let _ = self.child.wait();
        }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(u8),
    /// By this signal.
    Signalled(i32),
    /// The limit passed, and it was killed.
    TimedOut,
}

impl Ended {
    /// What the wait status says.
    pub(crate) fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code as u8),
            (None, signal) => Self::Signalled(signal.unwrap_or(0)),
        }
    }

    /// The exit code that stands for it: 128 + n for a signal, 124 for a limit.
    pub const fn code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128_u8.wrapping_add(signal as u8),
            Self::TimedOut => 124,
        }
    }
}

/// A program that has run, with what it wrote.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// From just before it was started until its end.
    pub elapsed: Duration,
    /// What it wrote, at most a mebibyte.
    pub stdout: Vec<u8>,
    /// What it complained about, at most a mebibyte.
    pub stderr: Vec<u8>,
}

/// Waits for a program whose streams are captured.
pub(crate) fn finish(mut running: Running<'_>, limit: Option<Duration>) -> io::Result<Finished> {
    let stdout = running.child.stdout.take().map(Keeper::start);
    let stderr = running.child.stderr.take().map(Keeper::start);
    let in_time = running.has_ended(limit)?;
    let elapsed = running.since.elapsed();
    running.kill();
    let ended = if in_time { Ended::of(running.child.wait()?) } else { Ended::TimedOut };
    let kept = |keeper: Option<Keeper>| keeper.map(Keeper::finish).unwrap_or_default();
    Ok(Finished { ended, elapsed, stdout: kept(stdout), stderr: kept(stderr) })
}

/// Reads a stream on a thread of its own, so that neither of two fills up, and keeps its beginning.
struct Keeper {
    kept: Arc<Mutex<Vec<u8>>>,
    at_end: Receiver<()>,
}

impl Keeper {
    /// How long a stream may stay open after the end of its program: a daemon may hold it for ever.
    const PATIENCE: Duration = Duration::from_millis(200);

    fn start(mut stream: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (end, at_end) = channel();
        let keep = Arc::clone(&kept);
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                let mut kept = keep.lock().unwrap_or_else(PoisonError::into_inner);
                let room = KEPT - kept.len();
                kept.extend(&buffer[..length.min(room)]);
            }
            // Nobody listens any more if the patience was shorter.
            let _ = end.send(());
        });
        Self { kept, at_end }
    }

    fn finish(self) -> Vec<u8> {
        // Either the end, or what there is by then.
        let _ = self.at_end.recv_timeout(Self::PATIENCE);
        std::mem::take(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_run_has_its_exit_code() {
        let code = |name: &str, path: Option<&str>| {
            find(OsStr::new(name), path.map(OsStr::new)).map_err(|e| (e.exit_code(), e.to_string()))
        };
        assert_eq!(code("sh", Some("/nowhere:/bin")), Ok("/bin/sh".into()));
        assert!(code("sh", None).is_ok());
        assert_eq!(code("/bin/sh", Some("/nowhere")), Ok("/bin/sh".into()));
        assert_eq!(code("sh", Some("/nowhere")), Err((127, "sh: command not found".into())));
        assert_eq!(code("", Some("/bin")), Err((127, ": command not found".into())));
        assert_eq!(code("/nowhere/x", None), Err((127, "/nowhere/x: command not found".into())));
        assert_eq!(
            code("/etc/passwd", None),
            Err((126, "cannot run /etc/passwd: it is not executable".into()))
        );
        assert_eq!(
            code("passwd", Some("/etc")),
            Err((126, "cannot run passwd: it is not executable".into()))
        );
        assert_eq!(code("/etc", None), Err((126, "cannot run /etc: it is a directory".into())));
    }

    #[test]
    fn codes_are_the_shell_s() {
        assert_eq!(Ended::of(ExitStatus::from_raw(3 << 8)).code(), 3);
        assert_eq!(Ended::of(ExitStatus::from_raw(9)), Ended::Signalled(9));
        assert_eq!(Ended::Signalled(15).code(), 143);
        assert_eq!(Ended::TimedOut.code(), 124);
    }
}
