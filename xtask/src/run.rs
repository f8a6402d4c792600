//! Steps, one after another or side by side, and the summary at their end.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The variable that tells a test where to say that it was left out: it appends lines `LEFT OUT: test: why`.
const LEFT_OUT_VARIABLE: &str = "UNSTALL_LEFT_OUT";

/// Counts of tests, as the test harness reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    passed: u32,
    failed: u32,
    ignored: u32,
}

/// What one step came to.
struct Step {
    name: String,
    took: Duration,
    failure: Option<String>,
}

/// Runs steps, keeps what they came to.
pub(crate) struct Run {
    steps: Vec<Step>,
    totals: Totals,
    left_out: Vec<String>,
    left_out_file: PathBuf,
    started: Instant,
}

impl Run {
    /// A run that keeps its notes in the target folder.
    pub(crate) fn new(target: &Path) -> Result<Self, String> {
        let left_out_file = target.join(format!("left-out-{}", std::process::id()));
        fs::create_dir_all(target)
            .and_then(|()| fs::write(&left_out_file, ""))
            .map_err(|error| format!("cannot write {}: {error}", left_out_file.display()))?;
        Ok(Self {
            steps: Vec::new(),
            totals: Totals::default(),
            left_out: Vec::new(),
            left_out_file,
            started: Instant::now(),
        })
    }

    /// Runs a command, shows its output as it comes and counts the tests in it.
    pub(crate) fn command(&mut self, name: &str, command: &mut Command) {
        command.env(LEFT_OUT_VARIABLE, &self.left_out_file).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut totals = Totals::default();
        self.step(name, || {
            let mut child = command.spawn().map_err(|error| format!("cannot start {command:?}: {error}"))?;
            if let Some(stdout) = child.stdout.take() {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    totals.add(&line);
                    // A closed stdout does not end the tests.
                    let _ = writeln!(std::io::stdout(), "{line}");
                }
            }
            let status = child.wait().map_err(|error| format!("cannot wait for {command:?}: {error}"))?;
            if status.success() { Ok(()) } else { Err(format!("{status}")) }
        });
        self.totals.passed += totals.passed;
        self.totals.failed += totals.failed;
        self.totals.ignored += totals.ignored;
    }

    /// Runs `main` as [`command`](Self::command) does, and the others one after another meanwhile; what those print is shown
    /// when `main` is over, each whole.
    pub(crate) fn side_by_side(&mut self, main: Option<(String, Command)>, others: Vec<(String, Command)>) {
        let (send, receive) = mpsc::channel();
        let file = self.left_out_file.with_extension("output");
        let left_out_file = self.left_out_file.clone();
        thread::scope(|scope| {
            let output = &file;
            scope.spawn(move || {
                for (name, mut command) in others {
                    command.env(LEFT_OUT_VARIABLE, &left_out_file);
                    let started = Instant::now();
                    let (text, failure) = run_quietly(&mut command, output);
                    let step = Step { name, took: started.elapsed(), failure };
                    if send.send((step, text)).is_err() {
                        return;
                    }
                }
            });
            if let Some((name, mut command)) = main {
                self.command(&name, &mut command);
            }
            for (step, text) in receive {
                self.show(step, &text);
            }
        });
        let _ = fs::remove_file(file);
    }

    /// Prints and counts a step that ran unseen.
    fn show(&mut self, step: Step, text: &str) {
        text.lines().for_each(|line| self.totals.add(line));
        let failure = step.failure.as_deref().unwrap_or_default();
        // A closed stdout does not end the tests.
        let _ = writeln!(std::io::stdout(), "\n--- {}\n{text}{failure}", step.name);
        self.steps.push(step);
    }

    /// Runs a check of our own.
    pub(crate) fn step(&mut self, name: &str, check: impl FnOnce() -> Result<(), String>) {
        println!("\n--- {name}");
        let started = Instant::now();
        let failure = check().err();
        if let Some(failure) = &failure {
            println!("{failure}");
        }
        self.steps.push(Step { name: name.to_owned(), took: started.elapsed(), failure });
    }

    /// Notes that something was not run.
    pub(crate) fn leave_out(&mut self, what: &str, why: &str) {
        self.left_out.push(format!("{what}: {why}"));
    }

    /// Prints the summary; fails if any step did. The last line has the form `N passed, N failed, N skipped`, where a
    /// step without counted tests counts as one.
    pub(crate) fn finish(mut self) -> ExitCode {
        self.collect_left_out();
        println!("\n=== summary, {:.0} s", self.started.elapsed().as_secs_f64());
        for step in &self.steps {
            let verdict = if step.failure.is_some() { "FAILED" } else { "ok" };
            println!("{verdict:<7} {:>6.1} s  {}", step.took.as_secs_f64(), step.name);
        }
        for line in &self.left_out {
            println!("LEFT OUT  {line}");
        }
        let failed_steps = self.steps.iter().filter(|step| step.failure.is_some()).count() as u32;
        // A failed test fails its step as well, and counts once.
        let failed = self.totals.failed.max(failed_steps);
        let passed = self.totals.passed + self.steps.len() as u32 - failed_steps;
        let skipped = self.totals.ignored + self.left_out.len() as u32;
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Takes what the tests themselves left out, each line once however often it was said.
    fn collect_left_out(&mut self) {
        let said = fs::read_to_string(&self.left_out_file).unwrap_or_default();
        for line in said.lines().filter(|line| !line.is_empty()) {
            let line = line.strip_prefix("LEFT OUT: ").unwrap_or(line).to_owned();
            if !self.left_out.contains(&line) {
                self.left_out.push(line);
            }
        }
    }
}

/// Runs a command, both of its outputs in `file`; returns them and the failure.
fn run_quietly(command: &mut Command, file: &Path) -> (String, Option<String>) {
    let mut run = || {
        let both = File::create(file)?;
        command.stdin(Stdio::null()).stderr(both.try_clone()?).stdout(both);
        command.status()
    };
    let failure = match run() {
        Ok(status) if status.success() => None,
        Ok(status) => Some(status.to_string()),
        Err(error) => Some(format!("cannot run {command:?}: {error}")),
    };
    (fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default(), failure)
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.left_out_file);
    }
}

impl Totals {
    /// Counts a line of the form `test result: ok. 3 passed; 0 failed; 1 ignored; ...`; leaves any other alone.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for count in counts.split("; ") {
            let Some((number, what)) = count.split_once(' ') else { continue };
            let Ok(number) = number.parse::<u32>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Totals;

    #[test]
    fn counts_result_lines_and_nothing_else() {
        let mut totals = Totals::default();
        totals.add(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s",
        );
        totals.add(
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s",
        );
        totals.add("running 5 tests");
        totals.add("test result: nonsense");
        assert_eq!(totals, Totals { passed: 16, failed: 2, ignored: 1 });
    }
}
