//! What a connect to the target costs well-known clients, predicted from what each address came to.

use super::Subject;
use super::survey::Probe;
use crate::checks::{Check, Measured, NotRun};
use crate::clients::{Answer, Cost, Gets, Predicted, Reply, costs};
use crate::context::Context;
use crate::findings::Finding;
use crate::stats::show;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;
use unstall_core::outcome::Outcome;

pub(crate) struct ClientDelays;

/// The predictions. Nothing was run for them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Delays {
    /// A row for each client.
    clients: Vec<Cost>,
}

impl Check for ClientDelays {
    type Subject = Subject;
    type Data = Delays;
    const ID: &'static str = "target-client-delays";
    const TITLE: &'static str = "what it costs clients";
    const ABOUT: &'static str = "How long a connect by the target's name takes well-known clients, predicted from what each \
                                 address came to and from their documented timers; and the same on Windows.";
    const BUDGET: Duration = Duration::from_secs(1);

    fn measure(context: &Context, subject: &Subject) -> Measured<Delays> {
        let probes = subject.probes(context).map_err(|error| NotRun::CouldNot(error.to_owned()))?;
        let replies: Vec<Reply> = probes.iter().filter(|probe| probe.from_resolver).map(reply).collect();
        match replies[..] {
            [] => Err(NotRun::NotApplicable("the resolver gives the name no address".to_owned())),
            [one] if !matches!(one.answer, Answer::Fails(_)) => {
                Err(NotRun::NotApplicable("there is one address, so every client does the same".to_owned()))
            }
            _ => Ok(Delays { clients: costs(&replies) }),
        }
    }

    fn judge(_: &Delays) -> Vec<Finding> {
        // What makes clients wait is found by the check of each address.
        Vec::new()
    }

    fn describe(data: &Delays) -> Vec<String> {
        let widest = data.clients.iter().map(|cost| cost.client.len()).max().unwrap_or_default();
        let row =
            |client: &str, here: &str, windows: &str| format!("{client:widest$}  {here:>17}  {windows:>17}");
        let head = row("client", "here", "on Windows");
        let rows =
            data.clients.iter().map(|cost| row(cost.client, &words(cost.here), &words(cost.on_windows)));
        // The first line follows the check's title.
        ["predicted from the answers above".to_owned(), head].into_iter().chain(rows).collect()
    }
}

fn words(predicted: Predicted) -> String {
    let after = predicted.after_ns.map(|after| show(Duration::from_nanos(after)));
    match (predicted.result, after) {
        (Gets::Connected, Some(after)) => after,
        (Gets::Failed, Some(after)) => format!("fails in {after}"),
        (Gets::Waits, _) => "its whole limit".to_owned(),
        _ => "not known".to_owned(),
    }
}

fn reply(probe: &Probe) -> Reply {
    let answer = match probe.outcome {
        Outcome::Connected => Answer::Connects(probe.elapsed()),
        Outcome::TimedOut => Answer::Silent,
        _ => Answer::Fails(probe.elapsed()),
    };
    Reply { v6: probe.address.is_ipv6(), local: probe.local, answer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::target::reach::tests::probe;

    #[test]
    fn a_table_with_a_line_for_each_client() {
        let replies = [
            reply(&probe("[::1]:3000", Outcome::TimedOut, 2600.0)),
            reply(&probe("127.0.0.1:3000", Outcome::Connected, 0.1)),
        ];
        let lines = ClientDelays::describe(&Delays { clients: costs(&replies) });
        assert_eq!(lines.len(), crate::clients::CLIENTS.len() + 2);
        let line = |name: &str| lines.iter().find(|line| line.starts_with(name)).expect("a line").clone();
        assert!(line("curl >=").contains("200 ms"), "{}", line("curl >="));
        assert!(line("Python").contains("its whole limit"), "{}", line("Python"));
        assert!(line("Chromium").contains("not known"), "{}", line("Chromium"));
    }
}
