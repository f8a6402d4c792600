//! Real runs on this machine: every check runs, streams, and gives what its schema says.

use crate::schema::validate;
use unstall_doctor::report::Status;
use unstall_doctor::{Doctor, Event, Options, Selection, list_checks};

#[test]
fn every_check_of_this_machine_runs_and_tells_what_it_measured() {
    let mut events = Vec::new();
    let report = Doctor::new(Options { samples: 10, ..Options::default() }).run(|event| match event {
        Event::Started { done, total, id, .. } => events.push(format!("{done}/{total} {id}")),
        Event::Finished { result, .. } => events.push(result.id.clone()),
        _ => {}
    });
    validate(&report);
    let ours = |check: &unstall_doctor::CheckInfo| check.by_default && !check.of_target;
    let checks: Vec<_> = list_checks().into_iter().filter(ours).collect();
    let total = checks.len();
    let expected: Vec<_> = checks
        .iter()
        .enumerate()
        .flat_map(|(done, check)| [format!("{done}/{total} {}", check.id), check.id.to_owned()])
        .collect();
    assert_eq!(events, expected);
    for result in &report.results {
        let told = match result.status {
            Status::Ran => result.why.is_none() && !result.data.is_null() && !result.lines.is_empty(),
            Status::CouldNotRun | Status::NotApplicable => result.why.is_some() && result.data.is_null(),
        };
        assert!(told, "{result:?}");
    }
    assert_eq!(report.header.host.os, std::env::consts::OS);
    let started: jiff::Timestamp = report.header.started_at.parse().expect("RFC 3339");
    assert!(started <= jiff::Timestamp::now());
}

#[cfg(not(windows))]
#[test]
fn a_check_of_windows_that_is_asked_for_says_that_there_is_nothing_to_measure() {
    let others: Vec<_> =
        list_checks().into_iter().filter(|check| !check.by_default && !check.of_target).collect();
    let ids: Vec<_> = others.iter().map(|check| check.id).collect();
    let checks = Selection::only(&ids).expect("known checks");
    let report = Doctor::new(Options { checks, ..Options::default() }).run(|_| ());
    assert_eq!(report.results.len(), ids.len());
    for result in &report.results {
        assert_eq!(result.status, Status::NotApplicable, "{result:?}");
        assert!(result.why.as_deref().is_some_and(|why| why.contains("Windows")), "{result:?}");
    }
    assert_eq!(report.findings.len(), 0);
}

#[test]
fn a_selection_runs_what_was_selected_in_the_tables_order() {
    let checks = Selection::only(&["proxy", "clock"]).expect("known checks");
    let mut totals = Vec::new();
    let report = Doctor::new(Options { checks, ..Options::default() }).run(|event| {
        if let Event::Started { done, total, .. } = event {
            totals.push((done, total));
        }
    });
    let ran: Vec<_> = report.results.iter().map(|result| result.id.as_str()).collect();
    assert_eq!(ran, ["clock", "proxy"]);
    assert_eq!(totals, [(0, 2), (1, 2)]);
}

#[test]
fn an_unknown_check_gets_a_suggestion() {
    let unknown = Selection::only(&["clock", "refusals"]).expect_err("no such check");
    assert_eq!(unknown.to_string(), "there is no check `refusals`: did you mean `refusal`?");
    assert_eq!(Selection::only::<&str>(&[]), Ok(Selection::All));
}

#[test]
fn what_the_lab_emulates_is_labelled_so() {
    let checks = Selection::only(&["small-writes", "ports"]).expect("known checks");
    let report =
        Doctor::new(Options { checks, samples: 5, emulated: true, ..Options::default() }).run(|_| ());
    let json = serde_json::to_string(&report.findings).expect("JSON");
    assert!(!json.contains("\"measured\""), "{json}");
}

#[test]
fn more_samples_are_taken_when_asked_for() {
    let taken = |samples| {
        let checks = Selection::only(&["loopback"]).expect("a known check");
        let report = Doctor::new(Options { checks, samples, ..Options::default() }).run(|_| ());
        report.results[0].data["families"][0]["connect"]["n"].as_u64()
    };
    assert_eq!((taken(7), taken(70)), (Some(7), Some(70)));
}
