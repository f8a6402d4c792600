//! Every scenario, set up on plain Linux TCP and played to curl: it gets what the table says is to be had, and what a
//! scenario does to the clock is seen on the clock.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;
use unstall_lab::matrix::{Client, Plan, Row, run};
use unstall_lab::scenario::{self, Result as Gets};
use unstall_lab::{Lab, Profile};

/// Where curl gets something else than the best that there is, and why.
const OTHERWISE: &[(&str, Gets)] = &[
    // Which family's forwarder it meets depends on which of the two it tries first.
    ("v6-resets", Gets::Answered),
    // The name's time-out is longer than the run's limit.
    ("mute-resolver", Gets::TimedOut),
];

/// What curl says when the kernel has given it the destination port as its own, now and then: its request comes back as the answer.
const TALKS_TO_ITSELF: &str = "Received HTTP/0.9";

/// What a run takes at the least, in ms: the timers that the scenario or curl's happy eyeballs (200 ms) put in its way.
const AT_LEAST: &[(&str, u64)] = &[
    ("dead-v6", 200),
    ("backlog-drained", 1000),
    ("slow-answer", 2000),
    ("slow-resolver", 1000),
    ("proxy-catches-loopback", 2000),
    ("delay", 600),
];

fn left_out(why: &str) {
    let line = format!("LEFT OUT: every scenario with curl: {why}");
    let _ = writeln!(std::io::stderr(), "{line}");
    if let Some(path) = std::env::var_os("UNSTALL_LEFT_OUT") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }
}

fn matrix(client: &str, scenarios: &[&str]) -> Option<BTreeMap<&'static str, Row>> {
    let profile = Profile::find("linux").expect("a profile");
    if let Err(error) = Lab::builder(profile.clone()).start() {
        left_out(&error.to_string());
        return None;
    }
    let mut plan = Plan::new(profile, vec![Client::parse(client).expect("a client")]);
    if !scenarios.is_empty() {
        plan.scenarios = scenarios.iter().map(|id| scenario::find(id).expect("a scenario")).collect();
    }
    (plan.runs, plan.jobs, plan.limit) = (1, 8, Duration::from_secs(4));
    let matrix = run(plan, |_, _| ()).expect("a matrix");
    Some(matrix.rows.into_iter().map(|row| (row.scenario, row)).collect())
}

#[test]
fn curl_gets_what_is_to_be_had_in_every_scenario() {
    let Some(rows) = matrix("curl=curl -sSv -o /dev/null {url}", &[]) else { return };
    if rows["both"].cells[0].words.contains("command not found") {
        return left_out("curl is not installed");
    }
    assert_eq!(rows.len(), scenario::all().len());
    for (id, row) in &rows {
        let cell = &row.cells[0];
        let expected = OTHERWISE.iter().find(|(other, _)| other == id).map_or(row.best, |(_, gets)| *gets);
        if *id == "self-connect" && cell.words.contains(TALKS_TO_ITSELF) {
            continue;
        }
        assert_eq!(cell.result, Some(expected), "{id}: {}", cell.words);
    }
    for (id, least) in AT_LEAST {
        let median = rows[id].cells[0].median_ns.expect("a figure");
        // curl's own clock counts from a moment after ours.
        assert!(median >= (least - 5) * 1_000_000, "{id}: {median} ns, at least {least} ms");
    }
}

#[test]
fn a_client_gets_the_scenario_by_its_environment_too() {
    let client = "sh=sh -c 'test \"$UNSTALL_LAB_URL\" = {url} && test \"$UNSTALL_LAB_HOST\" = {host} \
                  && test \"$UNSTALL_LAB_PORT\" = {port} && test {target} = \"[$UNSTALL_LAB_HOST]:{port}\"'";
    let Some(rows) = matrix(client, &["closed-v6"]) else { return };
    let cell = &rows["closed-v6"].cells[0];
    assert_eq!(cell.exit_code, Some(0), "{}", cell.words);
    assert_eq!(rows.len(), 2, "the sound scenario is run as well");
}
