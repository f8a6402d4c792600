//! `unstall connect`.

pub(crate) mod many;

use crate::args::{Connect, MOST_CONNECTS};
use crate::document::{self, ConnectReport, ErrorReport};
use crate::emulated::Label;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output;
use anstyle::AnsiColor;
use many::{Tally, pause};
use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::Path;
use std::time::{Duration, Instant};
use unstall::{Connector, Outcome, Timeline};
use unstall_core::text;
use unstall_doctor::report::{Header, Style};

pub(crate) fn run(arguments: &Connect, style: Style, line: &[String]) -> Exit {
    let header = Header::now(line.to_vec());
    let connector = Connector::new().connect_timeout(arguments.timeout).family(arguments.family.choice());
    let endless = arguments.every.map(|_| MOST_CONNECTS);
    if let Some(count) = arguments.count.map(NonZeroU32::get).or(endless) {
        return many(arguments, &connector, count as usize, (header, style));
    }
    let qlog = match arguments.qlog.as_deref().map(File::create).transpose() {
        Ok(file) => file,
        Err(error) => return no_qlog(arguments, &error, line),
    };
    let (connected, timeline) = connector.connect_timeline(&arguments.target);
    let error = connected.err();
    let exit = exit(&timeline, arguments.timeout);
    let written = qlog.map(|mut file| file.write_all(connector.qlog(&timeline).as_bytes()));
    if let Some(Err(error)) = written {
        return no_qlog(arguments, &error, line);
    }
    let sentence = error.as_ref().map(ToString::to_string);
    if arguments.json.json {
        let mut tally = Tally::default();
        tally.add(&timeline);
        let report = ConnectReport::new(header, vec![(timeline, sentence)], tally.statistics());
        return output::result(&document::to_json(&report), exit);
    }
    Label::here().note();
    let heading = sentence.map_or_else(|| connected_to(&timeline), |sentence| in_style(BAD, &sentence));
    output::styled(&format!("{heading}\n{}", in_colour(&timeline, style)), exit)
}

fn exit(timeline: &Timeline, limit: Duration) -> Exit {
    match timeline.outcome {
        Outcome::Connected => Exit::Ok,
        Outcome::TimedOut if timeline.elapsed >= limit => Exit::TimedOut,
        _ => Exit::Found,
    }
}

/// Connects one after the other, until all are made or Ctrl-C.
fn many(arguments: &Connect, connector: &Connector, count: usize, (header, style): (Header, Style)) -> Exit {
    let interrupt = Interrupt::watch();
    let start = Instant::now();
    let mut tally = Tally::default();
    let mut results = Vec::new();
    let mut worst = Exit::Ok;
    while tally.n() < count {
        let pause = pause(tally.n(), arguments.every.unwrap_or_default(), start.elapsed());
        if interrupt.within(pause.unwrap_or_default()) {
            worst = Exit::Program(130);
            break;
        }
        let (connected, timeline) = connector.connect_timeline(&arguments.target);
        let error = connected.err().map(|error| error.to_string());
        tally.add(&timeline);
        // A refusal says more than a limit that struck.
        if worst != Exit::Found && timeline.outcome != Outcome::Connected {
            worst = exit(&timeline, arguments.timeout);
        }
        if arguments.json.json {
            results.push((timeline, error));
        }
    }
    if arguments.json.json {
        let report = ConnectReport::new(header, results, tally.statistics());
        return output::result(&document::to_json(&report), worst);
    }
    Label::here().note();
    output::styled(&tally.text(&arguments.target.to_string(), start.elapsed(), style), worst)
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

/// The timeline's lines, each bar in the colour of what it came to; the word for it stands beside it.
fn in_colour(timeline: &Timeline, style: Style) -> String {
    let resolution = timeline
        .resolution
        .iter()
        .map(|it| if it.failure.is_some() { BAD } else { AnsiColor::Cyan.on_default() });
    let attempts = timeline.attempts.iter().map(|attempt| match attempt.outcome {
        Outcome::Connected => GOOD,
        Outcome::Cancelled => anstyle::Style::new().dimmed(),
        Outcome::TimedOut => AnsiColor::Yellow.on_default(),
        _ => BAD,
    });
    let text = timeline.text(style.width, style.charset);
    let lines = text.lines().zip(resolution.chain(attempts)).map(|(line, colour)| {
        let bar = line.find(EDGES).unwrap_or(line.len());
        format!("{}{}\n", &line[..bar], in_style(colour, &line[bar..]))
    });
    lines.collect()
}

/// What a bar begins with.
const EDGES: [char; 2] = ['\u{2502}', '|'];

fn in_style(style: anstyle::Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

fn connected_to(timeline: &Timeline) -> String {
    let address = timeline.winner().map_or_else(String::new, |attempt| format!(" to {}", attempt.address));
    let took = text::duration(timeline.elapsed);
    format!("{}: {}{address} after {took}", timeline.target, in_style(GOOD, "connected"))
}
