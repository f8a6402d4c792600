//! `unstall clients`.

use crate::args::Clients;
use crate::document::{self, ClientsReport};
use crate::emulated::is_emulated;
use crate::exit::Exit;
use crate::output;
use crate::progress::Progress;
use unstall_clients::{Error, Options, Survey};
use unstall_doctor::report::{Header, Style, Writer};
use unstall_doctor::{Finding, Severity};

pub(crate) fn run(arguments: Clients, style: Style, line: &[String]) -> Exit {
    // On Windows the whole program has this handler.
    #[cfg(not(windows))]
    let _ = ctrlc::set_handler(|| unstall_clients::abandon(130));
    let header = Header::now(line.to_vec());
    let emulated = is_emulated();
    let options = Options {
        clients: arguments.client,
        runs: arguments.runs as usize,
        limit: arguments.timeout,
        emulated,
        ..Options::default()
    };
    let progress = Progress::new(arguments.progress);
    let surveyed = unstall_clients::survey(&options, |done, total, what| progress.step(done, total, what));
    drop(progress);
    let (survey, findings) = match surveyed {
        Ok(surveyed) => surveyed,
        Err(error) => {
            output::note(&error.to_string());
            return if matches!(error, Error::Client(_)) { Exit::Usage } else { Exit::CouldNot };
        }
    };
    let exit = verdict(&survey, &findings, arguments.fail_on.into());
    if arguments.json.json {
        return output::result(&document::to_json(&ClientsReport::new(header, survey, findings)), exit);
    }
    output::styled(&text(&header, &survey, &findings, style, emulated), exit)
}

fn verdict(survey: &Survey, findings: &[Finding], fail_on: Severity) -> Exit {
    if !survey.has_figures() {
        Exit::CouldNot
    } else if findings.iter().any(|finding| finding.severity >= fail_on) {
        Exit::Found
    } else {
        Exit::Ok
    }
}

fn text(header: &Header, survey: &Survey, findings: &[Finding], style: Style, emulated: bool) -> String {
    let writer = Writer::new(style);
    let mut text = writer.head(header);
    text +=
        if emulated { "Every figure is emulated.\n" } else { "Every figure is measured on this machine.\n" };
    text += &survey.to_text(style.width);
    text.push('\n');
    text.extend(findings.iter().map(|finding| writer.finding(finding)));
    if findings.is_empty() {
        text += "Nothing stalls here.\n";
    }
    if cfg!(target_os = "linux") && !emulated {
        text += &textwrap::fill(OFFER, style.width);
        text.push('\n');
    }
    text
}

/// What Linux cannot show by itself.
const OFFER: &str = "This is what Linux shows, which refuses at once. Under Windows' refusals (emulated): unstall lab -- unstall clients";
