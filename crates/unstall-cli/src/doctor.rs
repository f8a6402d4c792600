//! `unstall doctor`.

use crate::args::{Doctor as Arguments, Typed};
use crate::document::{self, CheckList};
use crate::emulated::is_emulated;
use crate::exit::Exit;
use crate::output;
use crate::progress::Progress;
use unstall::Target;
use unstall_doctor::report::{CheckResult, Header, Report, Style, Writer};
use unstall_doctor::{CheckInfo, Doctor, Event, ExitStatus, Finding, Options, Selection};

pub(crate) fn run(arguments: Arguments, style: Style, line: &[String]) -> Exit {
    let options = Options {
        samples: arguments.samples,
        timeout: arguments.timeout,
        family: arguments.family.choice(),
        checks: if arguments.checks.is_empty() { Selection::All } else { Selection::Only(arguments.checks) },
        command: line.to_vec(),
        emulated: is_emulated(),
    };
    let progress = Progress::new(arguments.progress);
    let mut text = (!arguments.json.json).then(|| Streamed::new(style));
    let on_event = |event: Event<'_>| match event {
        Event::Started { done, total, title, target, .. } => {
            let of = target.map_or_else(String::new, |target| format!("{target}: "));
            progress.step(done, total, &format!("{of}{title}"));
        }
        Event::Finished { result, findings } => {
            if let Some(text) = &mut text {
                progress.clear();
                text.check(result, findings);
            }
        }
        _ => {}
    };
    let doctor = Doctor::new(options);
    let targets = once_each(arguments.targets);
    let report =
        if targets.is_empty() { doctor.run(on_event) } else { doctor.run_targets(&targets, on_event) };
    drop(progress);
    let exit = match ExitStatus::of(&report, arguments.fail_on.into()) {
        ExitStatus::Clean => Exit::Ok,
        ExitStatus::Found => Exit::Found,
        ExitStatus::NotMeasured => Exit::CouldNot,
    };
    match text {
        Some(text) => text.rest(&report, exit),
        None => output::result(&report.to_json(), exit),
    }
}

/// The report as text, each check as it finishes.
struct Streamed {
    writer: Writer,
    /// What the output has come to: a failure stays one.
    so_far: Exit,
}

impl Streamed {
    fn new(style: Style) -> Self {
        let writer = Writer::new(style);
        let head = writer.head(&Header::now(Vec::new()));
        Self { writer, so_far: output::result(&head, Exit::Ok) }
    }

    fn check(&mut self, result: &CheckResult, findings: &[Finding]) {
        let text = self.writer.check(result, findings);
        self.print(&text);
    }

    fn rest(mut self, report: &Report, exit: Exit) -> Exit {
        let text = self.writer.rest(report);
        self.print(&text);
        if self.so_far == Exit::Ok { exit } else { self.so_far }
    }

    fn print(&mut self, text: &str) {
        if self.so_far == Exit::Ok {
            self.so_far = output::result(text, Exit::Ok);
        }
    }
}

/// The targets in the order given, each once however often it was.
fn once_each(typed: Vec<Typed>) -> Vec<(String, Target)> {
    let mut targets: Vec<(String, Target)> = Vec::new();
    for Typed { text, target } in typed {
        if !targets.iter().any(|(_, present)| *present == target) {
            targets.push((text, target));
        }
    }
    targets
}

/// `--list-checks`: each check with what it measures and can find.
pub(crate) fn list_checks(json: bool, style: Style, line: &[String]) -> Exit {
    let checks = unstall_doctor::list_checks();
    let text = if json {
        document::to_json(&CheckList::new(Header::now(line.to_vec()), &checks))
    } else {
        let (of_target, of_machine): (Vec<_>, Vec<_>) = checks.iter().partition(|check| check.of_target);
        format!(
            "Checks of this machine:\n{}\n\nChecks of a target:\n{}\n",
            described(&of_machine, style.width),
            described(&of_target, style.width)
        )
    };
    output::result(&text, Exit::Ok)
}

fn described(checks: &[&CheckInfo], width: usize) -> String {
    let about = textwrap::Options::new(width).initial_indent("      ").subsequent_indent("      ");
    let lines = checks.iter().map(|check| {
        let when = if check.by_default { "" } else { ", on this system only by --check" };
        format!("  {}{when}\n{}", check.id, textwrap::fill(check.about, &about))
    });
    lines.collect::<Vec<_>>().join("\n")
}
