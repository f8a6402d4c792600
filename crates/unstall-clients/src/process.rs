//! A program that runs for a bounded time, and ends with everything that it started.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How much of each stream is kept.
const KEPT: usize = 1 << 16;

/// How long a stream may stay open after its program has ended: something that it left behind may hold it.
const PATIENCE: Duration = Duration::from_millis(200);

/// The programs that run now, for [`end_all`].
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn running() -> std::sync::MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a run came to.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// `false`: it was still running at the end of the limit, and was ended.
    pub(crate) in_time: bool,
    /// Its exit code; `None`: a signal, or the limit, ended it.
    pub(crate) code: Option<i32>,
    pub(crate) elapsed: Duration,
    /// What it wrote: output, then errors.
    pub(crate) text: String,
}

/// Runs a program to its end, at most so long. Its streams are captured, and it is in a process group of its own.
pub(crate) fn run(mut command: Command, limit: Duration) -> io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut registered = running();
    let since = Instant::now();
    let mut child = command.spawn()?;
    registered.push(child.id());
    drop(registered);
    let stdout = child.stdout.take().map(keep);
    let stderr = child.stderr.take().map(keep);
    let in_time = ends_within(&mut child, since, limit);
    let elapsed = since.elapsed();
    // Not waited for yet, so nobody else has its number.
    running().retain(|id| *id != child.id());
    end(child.id());
    let _ = child.kill();
    let status = child.wait()?;
    let kept = [stdout, stderr].into_iter().flatten();
    let text: Vec<u8> = kept.flat_map(|stream| read(&stream)).collect();
    let code = if in_time? { status.code() } else { None };
    Ok(Ended { in_time: elapsed < limit, code, elapsed, text: String::from_utf8_lossy(&text).into_owned() })
}

/// Whether it ends within the limit. It is looked at ever more rarely, so that the error stays below 2 %.
fn ends_within(child: &mut Child, since: Instant, limit: Duration) -> io::Result<bool> {
    while !has_ended(child)? {
        let elapsed = since.elapsed();
        if elapsed >= limit {
            return Ok(false);
        }
        thread::sleep((elapsed / 50).clamp(Duration::from_micros(200), Duration::from_millis(5)));
    }
    Ok(true)
}

/// Whether it has ended. Its number stays taken until it is waited for.
#[cfg(unix)]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), options)?.is_some())
}

#[cfg(not(unix))]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    Ok(child.try_wait()?.is_some())
}

/// Ends the program with this number and what it started.
#[cfg(unix)]
fn end(id: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // That nothing is left is no error.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Windows has no process groups that could be ended; its own tool follows the parents.
#[cfg(not(unix))]
fn end(id: u32) {
    let mut tool = Command::new("taskkill");
    tool.args(["/T", "/F", "/PID", &id.to_string()]);
    let _ = tool.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Ends every program that runs now, with what it started, and lets no other start: for whoever is interrupted.
pub(crate) fn end_running() -> impl Drop {
    let running = running();
    running.iter().for_each(|id| end(*id));
    running
}

/// Reads a stream on a thread of its own, so that neither of two fills up.
fn keep(mut stream: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut kept = 0;
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            let length = length.min(KEPT - kept);
            kept += length;
            if sender.send(buffer[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// What a stream has given until its end, or until the patience is over.
fn read(stream: &mpsc::Receiver<Vec<u8>>) -> Vec<u8> {
    let deadline = Instant::now() + PATIENCE;
    let mut text = Vec::new();
    while let Ok(part) = stream.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        text.extend(part);
    }
    text
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(line: &str, limit: Duration) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        run(command, limit).expect("sh runs")
    }

    #[test]
    fn words_code_and_time_are_told() {
        let ended = shell("echo out; echo err >&2; exit 7", Duration::from_secs(60));
        assert_eq!((ended.in_time, ended.code, ended.text.as_str()), (true, Some(7), "out\nerr\n"));
    }

    #[test]
    fn what_does_not_end_is_ended_with_what_it_started() {
        let limit = Duration::from_millis(300);
        let ended = shell("sleep 86399 & echo $!; wait", limit);
        assert_eq!((ended.in_time, ended.code), (false, None));
        assert!(ended.elapsed >= limit);
        let child: i32 = ended.text.trim().parse().expect("the number of the sleeping child");
        let child = rustix::process::Pid::from_raw(child).expect("a number");
        // Killed, and gone as soon as the system has waited for it.
        let deadline = Instant::now() + Duration::from_secs(60);
        while rustix::process::test_kill_process(child).is_ok() && !is_dead(child) {
            assert!(Instant::now() < deadline, "it still runs");
            thread::yield_now();
        }
    }

    /// Whether nothing but its entry is left.
    fn is_dead(pid: rustix::process::Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| stat.contains(") Z "))
    }

    #[test]
    fn a_stream_that_is_held_open_does_not_hold_up() {
        let ended = shell("echo early; setsid sleep 2 & exit 0", Duration::from_secs(60));
        assert_eq!((ended.code, ended.text.as_str()), (Some(0), "early\n"));
    }
}
