//! `unstall connect`.

use crate::args::Connect;
use crate::document::{self, ConnectReport, ErrorReport};
use crate::emulated::Label;
use crate::exit::Exit;
use crate::output;
use anstyle::AnsiColor;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use unstall::{Connector, Outcome, Timeline};
use unstall_core::text;
use unstall_doctor::report::{Header, Style};

pub(crate) fn run(arguments: &Connect, style: Style, line: &[String]) -> Exit {
    let header = Header::now(line.to_vec());
    let connector = Connector::new().connect_timeout(arguments.timeout).family(arguments.family.choice());
    let qlog = match arguments.qlog.as_deref().map(File::create).transpose() {
        Ok(file) => file,
        Err(error) => return no_qlog(arguments, &error, line),
    };
    let (connected, timeline) = connector.connect_timeline(&arguments.target);
    let error = connected.err();
    let exit = match &error {
        None => Exit::Ok,
        Some(_) if timeline.outcome == Outcome::TimedOut && timeline.elapsed >= arguments.timeout => {
            Exit::TimedOut
        }
        Some(_) => Exit::Found,
    };
    let written = qlog.map(|mut file| file.write_all(connector.qlog(&timeline).as_bytes()));
    if let Some(Err(error)) = written {
        return no_qlog(arguments, &error, line);
    }
    let sentence = error.as_ref().map(ToString::to_string);
    if arguments.json.json {
        return output::result(&document::to_json(&ConnectReport::new(header, timeline, sentence)), exit);
    }
    Label::here().note();
    let heading = sentence.map_or_else(|| connected_to(&timeline), |sentence| in_style(BAD, &sentence));
    output::styled(&format!("{heading}\n{}", timeline.text(style.width, style.charset)), exit)
}

/// The file for the qlog cannot be made or written.
fn no_qlog(arguments: &Connect, error: &io::Error, line: &[String]) -> Exit {
    let path = arguments.qlog.as_deref().unwrap_or(Path::new("")).display();
    let sentence = format!("cannot write the qlog to {path}: {error}; name a file that can be written");
    output::note(&sentence);
    if arguments.json.json {
        let report = ErrorReport::new(Header::now(line.to_vec()), sentence);
        return output::result(&document::to_json(&report), Exit::CouldNot);
    }
    Exit::CouldNot
}

const GOOD: anstyle::Style = AnsiColor::Green.on_default().bold();
const BAD: anstyle::Style = AnsiColor::Red.on_default().bold();

fn in_style(style: anstyle::Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

fn connected_to(timeline: &Timeline) -> String {
    let address = timeline.winner().map_or_else(String::new, |attempt| format!(" to {}", attempt.address));
    let took = text::duration(timeline.elapsed);
    format!("{}: {}{address} after {took}", timeline.target, in_style(GOOD, "connected"))
}
