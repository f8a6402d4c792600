//! Nothing outlives a lab, however it ends: by itself, by a signal, by `kill -9` at any moment.

mod common;

use common::{is_installed, is_root, lab, lab_program};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// The kernel lists BPF programs without saying whose they are, so one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A lab whose program leaves as much behind as it can: children, one of them in a session of its own. `marker` is part of
/// the command line of each of them.
fn untidy_lab(marker: &str) -> Child {
    let script = format!("sleep {marker} & setsid sleep {marker} & exec sleep {marker}");
    let mut command = lab(&["windows-11", "--", "sh", "-c", &script]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().expect("a process")
}

/// A time to sleep that no other test, and no other run of this one, uses.
fn marker(seconds: u32) -> String {
    format!("{seconds}.{}", std::process::id())
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Processes with this in their command line, zombies not counted.
fn processes(marker: &str) -> Vec<String> {
    let commands = fs::read_dir("/proc").expect("/proc").flatten().filter_map(|entry| {
        let command = fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&command).replace('\0', " "))
    });
    commands.filter(|command| command.contains(marker)).collect()
}

/// Directories of labs that one of these processes made, wherever cgroup v2 is mounted.
fn cgroups(pids: &[u32]) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("/proc/self/mounts");
    let own = fs::read_to_string("/proc/self/cgroup").expect("/proc/self/cgroup");
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let mounted = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let point = fields.next()?;
        (fields.next()? == "cgroup2").then(|| PathBuf::from(point).join(own))
    });
    let is_ours = |name: &str| pids.iter().any(|pid| name.starts_with(&format!("unstall-lab-{pid}-")));
    let entries = mounted.flat_map(|directory| fs::read_dir(directory).into_iter().flatten().flatten());
    entries.filter(|entry| is_ours(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect()
}

/// How many programs of labs the kernel has loaded.
fn programs() -> usize {
    let names = unstall_sys::lab::bpf::loaded_programs().expect("root may list them");
    names.iter().filter(|name| name.starts_with("unstall_")).count()
}

/// Waits until nothing is left; ending a namespace takes the kernel some milliseconds.
fn assert_nothing_left(marker: &str, pids: &[u32], programs_before: usize) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let left = (processes(marker), cgroups(pids), programs());
        if left.0.is_empty() && left.1.is_empty() && left.2 <= programs_before {
            return;
        }
        assert!(Instant::now() < deadline, "left behind: {left:?}, {programs_before} programs before");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A part of the time, different for each number.
fn scattered(number: u32, time: Duration) -> Duration {
    // The golden ratio's fraction spreads multiples evenly.
    time.mul_f64((f64::from(number) * 0.618_033_988_75).fract())
}

/// How long it takes until a lab's program runs, while others start as well.
fn start_up_time() -> Duration {
    let since = Instant::now();
    let labs: Vec<Child> =
        (0..4).map(|_| lab(&["windows-11", "--", "true"]).spawn().expect("a process")).collect();
    for mut lab in labs {
        assert!(lab.wait().expect("it ends").success());
    }
    since.elapsed()
}

#[test]
fn two_hundred_labs_killed_at_any_moment_leave_nothing() {
    const TEST: &str = "two_hundred_labs_killed_at_any_moment_leave_nothing";
    if !is_root(TEST) {
        return;
    }
    let _alone = ONE_AT_A_TIME.lock().expect("no test panics with it");
    let all = &marker(31_415_926);
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
    let before = programs();
    let window = start_up_time() * 2;
    // Its id, and whether its program ran.
    let kill = |number: u32| {
        let marker = format!("{all}{number:03}");
        let mut child = untidy_lab(&marker);
        thread::sleep(scattered(number, window));
        let ran = processes(&format!("sleep {marker}")).iter().any(|command| command.starts_with("sleep"));
        // Every other time the whole process group, as a shell or a CI runner does.
        if number % 2 == 0 {
            kill_process(pid(&child), Signal::KILL).expect("it runs");
        } else {
            kill_process_group(pid(&child), Signal::KILL).expect("it runs");
        }
        child.wait().expect("killed");
        (child.id(), ran)
    };
    let killed: Vec<(u32, bool)> = thread::scope(|scope| {
        let worker = |first: u32| move || (0..50).map(|n| kill(4 * n + first)).collect::<Vec<_>>();
        let workers: Vec<_> = (0..4).map(|first| scope.spawn(worker(first))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    let pids: Vec<u32> = killed.iter().map(|(pid, _)| *pid).collect();
    assert_nothing_left(all, &pids, before);
    assert_eq!(fs::read_to_string("/proc/self/mountinfo").expect("mountinfo"), mounts);
    let ran = killed.iter().filter(|(_, ran)| *ran).count();
    assert!((20..180).contains(&ran), "{ran} of {} were killed with a program running", killed.len());
}

/// The same in a user namespace, where there is no cgroup.
#[test]
fn labs_of_an_ordinary_user_leave_nothing_either() {
    const TEST: &str = "labs_of_an_ordinary_user_leave_nothing_either";
    if !is_root(TEST) || !is_installed(TEST, "setpriv") || !is_installed(TEST, "nft") {
        return;
    }
    let program = lab_program();
    let as_nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(words).stderr(Stdio::null());
        command
    };
    let words = [program.to_str().expect("a plain path"), "windows-11", "--", "true"];
    if !as_nobody(&words).status().expect("a process").success() {
        return common::left_out(
            TEST,
            "the ordinary user has no user namespace, or cannot reach the target directory",
        );
    }
    let all = &marker(11_235_813);
    for number in 0..10 {
        let marker = format!("{all}{number}");
        let script = format!("sleep {marker} & setsid sleep {marker} & exec sleep {marker}");
        let mut child =
            as_nobody(&[words[0], words[1], "--", "sh", "-c", &script]).spawn().expect("a process");
        let deadline = Instant::now() + Duration::from_secs(10);
        // Half of them early, half with the program running.
        while number % 2 == 1 && !processes(&marker).iter().any(|command| command.starts_with("sleep")) {
            assert!(Instant::now() < deadline, "the lab's program does not start");
        }
        kill_process(pid(&child), Signal::KILL).expect("it runs");
        child.wait().expect("killed");
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    while !processes(all).is_empty() {
        assert!(Instant::now() < deadline, "left behind: {:?}", processes(all));
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_a_program_leaves_running_ends_with_the_lab() {
    const TEST: &str = "what_a_program_leaves_running_ends_with_the_lab";
    if !is_root(TEST) {
        return;
    }
    let _alone = ONE_AT_A_TIME.lock().expect("no test panics with it");
    let before = programs();
    let marker = &marker(27_182_818);
    let script = format!("sleep {marker} & setsid sleep {marker} & exit 5");
    let mut child = lab(&["windows-11", "--", "sh", "-c", &script]).spawn().expect("a process");
    assert_eq!(child.wait().expect("it ends").code(), Some(5));
    // Nothing is left to wait for: the lab does not return before it is gone.
    assert_eq!((processes(marker), cgroups(&[child.id()])), (Vec::new(), Vec::new()));
    assert_nothing_left(marker, &[child.id()], before);
}

/// When init is killed together with the lab, the cgroup's directory stays; the next lab removes it.
#[test]
fn the_next_lab_sweeps_what_a_killed_init_could_not() {
    const TEST: &str = "the_next_lab_sweeps_what_a_killed_init_could_not";
    if !is_root(TEST) {
        return;
    }
    let _alone = ONE_AT_A_TIME.lock().expect("no test panics with it");
    let before = programs();
    let marker = &marker(16_180_339);
    let mut child = untidy_lab(marker);
    let deadline = Instant::now() + Duration::from_secs(10);
    while processes(marker).len() < 5 {
        assert!(Instant::now() < deadline, "the lab's program does not start");
        thread::sleep(Duration::from_millis(10));
    }
    let init = init_of(child.id());
    kill_process(pid(&child), Signal::STOP).expect("it runs");
    kill_process(init, Signal::KILL).expect("it runs");
    kill_process(pid(&child), Signal::KILL).expect("it runs");
    child.wait().expect("killed");
    assert_eq!(cgroups(&[child.id()]).len(), 1, "the test's own premise");
    // The last processes may still be ending when the first sweep comes by.
    let deadline = Instant::now() + Duration::from_secs(10);
    while !cgroups(&[child.id()]).is_empty() {
        assert!(Instant::now() < deadline, "left behind: {:?}", cgroups(&[child.id()]));
        assert!(lab(&["windows-11", "--", "true"]).status().expect("a process").success());
    }
    assert_nothing_left(marker, &[child.id()], before);
}

/// The lab's child whose name is that of an init.
fn init_of(lab: u32) -> Pid {
    let tasks = fs::read_dir(format!("/proc/{lab}/task")).expect("it runs").flatten();
    let children = tasks.flat_map(|task| {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    });
    let init = children.filter(|child| {
        fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|name| name.trim() == "unstall-lab")
    });
    let numbers: Vec<i32> = init.filter_map(|child| child.parse().ok()).collect();
    Pid::from_raw(numbers[0]).expect("a process id")
}
