//! `unstall doctor`.

use crate::args::Doctor as Arguments;
use crate::document::{self, CheckList};
use crate::exit::Exit;
use crate::output;
use crate::progress::Progress;
use unstall_doctor::report::{Header, Style};
use unstall_doctor::{CheckInfo, Doctor, Event, ExitStatus, Options, Selection};

pub(crate) fn run(arguments: Arguments, style: Style, line: &[String]) -> Exit {
    let options = Options {
        samples: arguments.samples,
        timeout: arguments.timeout,
        family: arguments.family.choice(),
        checks: if arguments.checks.is_empty() { Selection::All } else { Selection::Only(arguments.checks) },
        command: line.to_vec(),
        ..Options::default()
    };
    let progress = Progress::new(arguments.progress);
    let on_event = |event: Event<'_>| {
        if let Event::Started { done, total, title, target, .. } = event {
            let of = target.map_or_else(String::new, |target| format!("{target}: "));
            progress.step(done, total, &format!("{of}{title}"));
        }
    };
    let doctor = Doctor::new(options);
    let targets: Vec<_> = arguments.targets.into_iter().map(|typed| (typed.text, typed.target)).collect();
    let report =
        if targets.is_empty() { doctor.run(on_event) } else { doctor.run_targets(&targets, on_event) };
    drop(progress);
    let exit = match ExitStatus::of(&report, arguments.fail_on.into()) {
        ExitStatus::Clean => Exit::Ok,
        ExitStatus::Found => Exit::Found,
        ExitStatus::NotMeasured => Exit::CouldNot,
    };
    let text = if arguments.json.json { report.to_json() } else { report.text(style) };
    output::result(&text, exit)
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
    let lines = checks.iter().map(|check| format!("  {}\n{}", check.id, textwrap::fill(check.about, &about)));
    lines.collect::<Vec<_>>().join("\n")
}
