//! What the figures come to: findings, each for all programs that it is about.

use crate::judge::Gets;
use crate::situation::{CLOSED, SITUATIONS, SOUND};
use crate::{Cell, Survey, Surveyed};
use std::time::Duration;
use unstall_core::text;
use unstall_doctor::Finding;
use unstall_doctor::findings::{self, Evidence, Label};

/// What comes on top of an answer's time and is less than this is no stall: programs start faster or slower than that.
const LATE: Duration = Duration::from_millis(150);

/// A program in a situation, with what is on top of its own time.
struct Case<'a> {
    client: &'a Surveyed,
    about: &'static str,
    cell: &'a Cell,
    extra: Duration,
}

pub(crate) fn findings(survey: &Survey, emulated: bool) -> Vec<Finding> {
    let late = |case: &Case<'_>| case.extra >= LATE;
    let gets = |case: &Case<'_>, what: &[Gets]| case.cell.result.is_some_and(|result| what.contains(&result));
    let any_failure =
        [Gets::Refused, Gets::TimedOut, Gets::Unreachable, Gets::NoName, Gets::Dropped, Gets::Failed];
    let of = |ids: &[&str]| cases(survey, ids);
    let family = ["v4-only", "v6-only"];
    let groups: [(&str, Vec<Case<'_>>); 5] = [
        (
            "client-refused-late",
            of(&[CLOSED, "closed-localhost"])
                .into_iter()
                .filter(|case| late(case) && !gets(case, &[Gets::Answered]))
                .collect(),
        ),
        (
            "client-hides-refusal",
            of(&[CLOSED, "closed-localhost", "own-limit"])
                .into_iter()
                .filter(|case| gets(case, &[Gets::TimedOut]))
                .collect(),
        ),
        (
            "client-localhost-late",
            of(&family).into_iter().filter(|case| late(case) && gets(case, &[Gets::Answered])).collect(),
        ),
        ("client-localhost-fails", of(&family).into_iter().filter(|case| gets(case, &any_failure)).collect()),
        (
            "client-waits-for-silent",
            of(&["silent-first"]).into_iter().filter(|case| gets(case, &[Gets::StillWaiting])).collect(),
        ),
    ];
    groups.iter().filter_map(|(id, cases)| finding(survey, id, cases, emulated)).collect()
}

/// Every program that got an answer where nothing was wrong, in these situations.
fn cases<'a>(survey: &'a Survey, ids: &[&str]) -> Vec<Case<'a>> {
    let mut cases = Vec::new();
    for client in &survey.clients {
        let sound = survey.cell(client, SOUND).filter(|cell| cell.result == Some(Gets::Answered));
        let Some(own) = sound.and_then(Cell::fastest) else { continue };
        for put in survey.situations.iter().filter(|put| ids.contains(&put.id)) {
            let Some(cell) = survey.cell(client, put.id) else { continue };
            let Some(fastest) = cell.fastest() else { continue };
            cases.push(Case { client, about: put.about, cell, extra: fastest.saturating_sub(own) });
        }
    }
    cases
}

fn finding(survey: &Survey, id: &str, cases: &[Case<'_>], emulated: bool) -> Option<Finding> {
    let least = cases.iter().map(|case| case.extra).min()?;
    let most = cases.iter().map(|case| case.extra).max()?;
    let mut names: Vec<String> = cases.iter().map(|case| name(case.client)).collect();
    names.dedup();
    let limit = Duration::from_nanos(survey.limit_ns);
    let time = match id {
        "client-waits-for-silent" => text::duration(limit),
        _ if most.saturating_sub(least) < LATE => text::duration(most),
        _ => format!("{} to {}", text::duration(least), text::duration(most)),
    };
    let clients = names.join(", ");
    let finding = findings::get(id)?.found(&[("clients", &clients), ("time", &time)]);
    let label = if emulated { Label::Emulated } else { Label::Measured };
    let mut finding = finding.with_all(evidence(cases, label));
    "clients".clone_into(&mut finding.check);
    Some(finding)
}

fn name(client: &Surveyed) -> String {
    match &client.version {
        Some(version) => format!("{} {version}", client.client),
        None => client.client.clone(),
    }
}

/// A fact for each situation: every program, what it got, and how much longer that took than an answer.
fn evidence(cases: &[Case<'_>], label: Label) -> Vec<Evidence> {
    let mut facts: Vec<Evidence> = Vec::new();
    for about in SITUATIONS.iter().map(|situation| situation.about) {
        let these: Vec<&Case<'_>> = cases.iter().filter(|case| case.about == about).collect();
        let Some(most) = these.iter().map(|case| case.extra).max() else { continue };
        let each = these.iter().map(|case| {
            let got = case.cell.result.map_or("unknown", Gets::words);
            let later = if case.extra < LATE {
                String::new()
            } else {
                format!(" {} late", text::duration(case.extra))
            };
            format!("{} {got}{later}", case.client.client)
        });
        let text = format!("{about}: {}", each.collect::<Vec<_>>().join(", "));
        let samples = these.iter().map(|case| case.cell.samples_ns.len()).sum();
        facts.push(Evidence { label, ..Evidence::measured(text, most, samples) });
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Put;

    /// A survey of one program with these results and milliseconds, in the order of the situations.
    fn survey(cells: &[(Gets, u64)]) -> Survey {
        let cell = |&(gets, ms): &(Gets, u64)| Cell {
            result: Some(gets),
            median_ns: Some(ms * 1_000_000),
            samples_ns: vec![ms * 1_000_000],
            ..Cell::default()
        };
        let put = |situation: &crate::situation::Situation| Put {
            id: situation.id,
            about: situation.about,
            why_not: None,
            head: situation.head,
        };
        let client = Surveyed {
            client: "curl".to_owned(),
            version: Some("8.19.0".to_owned()),
            cure: None,
            asks_for_no_retry: false,
            why_not: None,
            cells: cells.iter().map(cell).collect(),
        };
        let situations = SITUATIONS.iter().map(put).collect();
        Survey { situations, limit_ns: 6_000_000_000, clients: vec![client] }
    }

    fn ids(cells: &[(Gets, u64)]) -> Vec<String> {
        findings(&survey(cells), true).into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn curl_on_windows_as_published_is_found() {
        use Gets::{Answered, Refused, StillWaiting, TimedOut};
        let published = [
            (Answered, 9),
            (Refused, 2030),
            (Refused, 2240),
            (Answered, 220),
            (Answered, 10),
            (StillWaiting, 6000),
            (TimedOut, 1010),
        ];
        let all = [
            "client-refused-late",
            "client-hides-refusal",
            "client-localhost-late",
            "client-waits-for-silent",
        ];
        assert_eq!(ids(&published), all);
        let found = &findings(&survey(&published), true)[0];
        assert_eq!(found.title, "curl 8.19.0 hear only after 2021 ms to 2231 ms that a port is closed");
        assert_eq!((found.evidence.len(), found.evidence[0].label), (2, Label::Emulated));
    }

    #[test]
    fn a_program_without_stalls_or_without_a_base_finds_nothing() {
        use Gets::{Answered, Refused};
        let sound = [
            (Answered, 9),
            (Refused, 9),
            (Refused, 99),
            (Answered, 9),
            (Answered, 9),
            (Answered, 9),
            (Refused, 9),
        ];
        assert!(ids(&sound).is_empty());
        let broken = [(Gets::Failed, 9), (Refused, 2030), (Refused, 2030), (Gets::Failed, 9)];
        assert!(ids(&broken).is_empty(), "nothing is known about one that fails anyway");
    }

    #[test]
    fn one_that_does_not_come_to_the_other_family_is_found() {
        use Gets::{Answered, Refused};
        assert_eq!(
            ids(&[(Answered, 9), (Refused, 9), (Refused, 9), (Answered, 9), (Refused, 9)]),
            ["client-localhost-fails"]
        );
    }
}
