//! `unstall doctor`.

use crate::args::{Doctor as Arguments, Reports, Typed, reports};
use crate::document::{self, CheckList};
use crate::emulated::{Label, is_emulated};
use crate::exit::Exit;
use crate::fix;
use crate::output;
use crate::progress::Progress;
use crate::report_file::ReportFile;
use crate::usage;
use crate::watch;
use jiff::Timestamp;
use unstall::{Connector, Target};
use unstall_doctor::report::{CheckResult, Format, Header, Lines, Redactor, Report, Style, Writer};
use unstall_doctor::{CheckInfo, Doctor, Event, ExitStatus, Finding, Options, Selection};

pub(crate) fn run(arguments: Arguments, style: Style, line: &[String]) -> Exit {
    if arguments.fixing.undo_fix {
        return fix::undo(&arguments.fixing);
    }
    if let Some(sentence) = fix::contradiction(&arguments.fixing) {
        return usage::refuse(sentence, arguments.json.json, line);
    }
    if arguments.watching.watch {
        return watched(&arguments, style, line);
    }
    let form = match Form::of(&arguments, style) {
        Ok(form) => form,
        Err(sentence) => return usage::refuse(&sentence, arguments.json.json, line),
    };
    // Before anything is measured, so that a bad path costs nothing.
    let files = match files(&arguments.reports) {
        Ok(files) => files,
        Err(sentence) => return usage::refuse(&sentence, arguments.json.json, line),
    };
    let options = Options {
        samples: arguments.samples,
        timeout: arguments.timeout,
        family: arguments.family.choice(),
        checks: if arguments.checks.is_empty() { Selection::All } else { Selection::Only(arguments.checks) },
        command: line.to_vec(),
        emulated: is_emulated(),
    };
    let progress = Progress::new(arguments.progress);
    let redactor = arguments.redact.then(Redactor::new);
    let mut stdout = Stdout { form, redactor, so_far: Exit::Ok };
    let on_event = |event: Event<'_>| {
        if let Event::Started { done, total, title, target, .. } = &event {
            let of = target.map_or_else(String::new, |target| format!("{target}: "));
            progress.step(*done, *total, &format!("{of}{title}"));
        }
        stdout.event(&event, &progress);
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
    // What was shown check by check and what is written now have the same placeholders.
    let report = stdout.redactor.as_mut().map_or(report.clone(), |redactor| redactor.report(&report));
    let exit = stdout.rest(&report, exit);
    let exit =
        files.into_iter().fold(exit, |exit, (format, file)| match file.write(&format.render(&report)) {
            Ok(()) => exit,
            Err(sentence) => {
                output::note(&sentence);
                Exit::CouldNot
            }
        });
    if arguments.fixing.fix { fix::offer(&arguments.fixing, &report, exit) } else { exit }
}

/// `--watch`.
fn watched(arguments: &Arguments, style: Style, line: &[String]) -> Exit {
    let [Typed { target, .. }] = arguments.targets.as_slice() else {
        return usage::refuse("--watch shows one target; give one", arguments.json.json, line);
    };
    let connector = Connector::new().connect_timeout(arguments.timeout).family(arguments.family.choice());
    watch::run(target, &connector, &arguments.watching, style)
}

/// The files that were asked for.
fn files(reports: &Reports) -> Result<Vec<(&'static Format, ReportFile)>, String> {
    let to_files = reports.iter().filter(|(_, path)| !reports::is_stdout(path));
    to_files.map(|(format, path)| Ok((format, ReportFile::create(path)?))).collect()
}

/// What stdout shows.
enum Form {
    /// Text for people, each check as it finishes.
    Text(Writer),
    /// One document at the end.
    Json,
    /// A line for each event.
    Lines(Option<Lines>),
    /// One of the formats, at the end.
    Other(&'static Format),
}

impl Form {
    /// What was asked for; only one thing can be.
    fn of(arguments: &Arguments, style: Style) -> Result<Self, String> {
        let mut forms: Vec<(String, Self)> = arguments
            .reports
            .on_stdout()
            .map(|format| (format!("--{} {}", format.name, reports::STDOUT), Self::Other(format)))
            .collect();
        if arguments.json.json {
            forms.push(("--json".to_owned(), Self::Json));
        }
        if arguments.json_lines {
            forms.push(("--json-lines".to_owned(), Self::Lines(None)));
        }
        if let [(one, _), (other, _), ..] = forms.as_slice() {
            return Err(format!("{one} and {other} both write to stdout; give one of them a file"));
        }
        Ok(forms.pop().map_or_else(|| Self::Text(Writer::new(style)), |(_, form)| form))
    }
}

/// What is printed on stdout, as it comes.
struct Stdout {
    form: Form,
    /// `None`: everything is shown.
    redactor: Option<Redactor>,
    /// What the output has come to: a failure stays one.
    so_far: Exit,
}

impl Stdout {
    fn event(&mut self, event: &Event<'_>, progress: &Progress) {
        match (event, &mut self.redactor) {
            (Event::Begun { header }, None) => self.begun(header),
            (Event::Begun { header }, Some(redactor)) => {
                let header = redactor.header(header);
                self.begun(&header);
            }
            (Event::Finished { result, findings }, None) => self.finished(result, findings, progress),
            (Event::Finished { result, findings }, Some(redactor)) => {
                let result = redactor.result(result);
                let findings: Vec<Finding> = findings.iter().map(|it| redactor.finding(it)).collect();
                self.finished(&result, &findings, progress);
            }
            _ => {}
        }
    }

    fn begun(&mut self, header: &Header) {
        let text = match &mut self.form {
            Form::Text(writer) => writer.head(header),
            Form::Lines(lines) => {
                let lines = lines.insert(Lines::new(header, Label::here().into()));
                lines.start(Timestamp::now(), header).to_line()
            }
            Form::Json | Form::Other(_) => return,
        };
        self.print(&text);
    }

    fn finished(&mut self, result: &CheckResult, findings: &[Finding], progress: &Progress) {
        let now = Timestamp::now();
        let text = match &mut self.form {
            Form::Text(writer) => {
                progress.clear();
                writer.check(result, findings)
            }
            Form::Lines(Some(lines)) => {
                let found = findings.iter().map(|finding| lines.finding(now, finding).to_line());
                std::iter::once(lines.check(now, result).to_line()).chain(found).collect()
            }
            _ => return,
        };
        self.print(&text);
    }

    fn rest(mut self, report: &Report, exit: Exit) -> Exit {
        let text = match &self.form {
            Form::Text(writer) => writer.rest(report),
            Form::Json => report.to_json(),
            Form::Lines(Some(lines)) => lines.summary(Timestamp::now(), &report.summary).to_line(),
            Form::Lines(None) => String::new(),
            Form::Other(format) => format.render(report),
        };
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
