//! `unstall connect`.

use crate::args::Connect;
use crate::document::{self, ConnectReport};
use crate::exit::Exit;
use crate::output;
use crate::terminal::Terminal;
use unstall::{ConnectError, Connector, Outcome, Timeline};
use unstall_doctor::report::Header;

pub(crate) fn run(arguments: &Connect, terminal: Terminal, line: &[String]) -> Exit {
    let header = Header::now(line.to_vec());
    let connector = Connector::new().connect_timeout(arguments.timeout).family(arguments.family.choice());
    let (connected, timeline) = connector.connect_timeline(&arguments.target);
    let error = connected.err();
    let exit = match &error {
        None => Exit::Ok,
        Some(_) if timeline.outcome == Outcome::TimedOut && timeline.elapsed >= arguments.timeout => {
            Exit::TimedOut
        }
        Some(_) => Exit::Found,
    };
    let text = if arguments.json.json {
        let error = error.as_ref().map(ToString::to_string);
        document::to_json(&ConnectReport::new(header, &timeline, error))
    } else {
        for_people(&timeline, error.as_ref(), terminal)
    };
    output::result(&text, exit)
}

fn for_people(timeline: &Timeline, error: Option<&ConnectError>, _terminal: Terminal) -> String {
    format!("{timeline:#?}\n{}\n", error.map_or_else(String::new, ToString::to_string))
}
