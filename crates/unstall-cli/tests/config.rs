//! The config file, as the whole program reads it.

mod common;

use common::{document, unstall, unstall_with};
use serde_json::json;
use std::fs;
use tempfile::TempDir;

/// A folder with a config file, and the file's path.
fn config(text: &str) -> (TempDir, String) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("config.toml");
    fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    (folder, path)
}

#[test]
fn the_file_sets_defaults_and_flags_go_before_it() {
    let (_folder, path) =
        config("[doctor]\njson = true\ncheck = ['clock', 'platform']\nprogress = 'never'\n");
    let run = unstall(&["doctor", "--config", &path]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(document(&run, "report")["results"].as_array().map(Vec::len), Some(2));
    let one = unstall(&["--config", &path, "doctor", "--check", "clock"]);
    assert_eq!(document(&one, "report")["results"].as_array().map(Vec::len), Some(1));
    let none = unstall(&["doctor", "--config", &path, "--no-config", "--check", "clock"]);
    assert!(none.stdout.contains("\nsummary "), "{}", none.stdout);
}

// Windows asks the system where settings are, and no variable.
#[cfg(unix)]
#[test]
fn the_usual_place_and_the_variable_are_found() {
    let folder = TempDir::new().expect("a folder");
    let place = folder.path().join("unstall");
    fs::create_dir(&place).expect("a folder");
    fs::write(place.join("config.toml"), "[connect]\njson = true\n").expect("a file");
    let home = folder.path().display().to_string();
    let usual =
        [("XDG_CONFIG_HOME", home.as_str()), ("APPDATA", &home), ("HOME", &home), ("USERPROFILE", &home)];
    let run = unstall_with(&usual, &["connect", "127.0.0.1:9"]);
    assert!(run.stdout.starts_with('{'), "{}{}", run.stdout, run.stderr);
    let path = unstall_with(&usual, &["config", "--path"]);
    assert_eq!(path.stdout.trim_end(), place.join("config.toml").display().to_string());

    let (_other, named) = config("[connect]\ncount = 2\n");
    let run = unstall_with(&[usual[0], usual[1], ("UNSTALL_CONFIG", &named)], &["connect", "127.0.0.1:9"]);
    assert!(run.stdout.starts_with("127.0.0.1:9: 2 connects in "), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_mistake_is_2_with_file_and_line_and_nothing_is_done() {
    let (_folder, path) = config("timeout = '1s'\n[doctor]\nsampels = 5\n");
    let run = unstall(&["doctor", "--config", &path]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        run.stderr,
        format!("unstall: {path}, line 3: there is no setting `sampels`: did you mean `samples`?\n")
    );
    let run = unstall(&["doctor", "--json", "--config", &path]);
    assert!(document(&run, "error")["error"].as_str().is_some_and(|error| error.contains("line 3")));
    // Help works all the same.
    assert_eq!(unstall(&["doctor", "--config", &path, "--help"]).code, Some(0));
    let run = unstall(&["doctor", "--config", "/nowhere/config.toml"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("cannot read the config file /nowhere/config.toml"), "{}", run.stderr);
}

#[test]
fn a_value_that_makes_no_sense_is_2_and_says_where_it_came_from() {
    let (_folder, path) = config("[doctor]\nsamples = 0\n");
    let run = unstall(&["doctor", "--config", &path]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("--samples") && run.stderr.contains(&format!("settings were read from {path}")),
        "{}",
        run.stderr
    );
}

#[test]
fn every_setting_is_shown_with_where_it_comes_from() {
    let (_folder, path) = config("timeout = '1s'\n[doctor]\nsamples = 7\n");
    let run = unstall_with(&[("UNSTALL_FAIL_ON", "error")], &["config", "--config", &path]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let doctor = run.stdout.split("\n[").find(|table| table.starts_with("doctor]")).expect("the doctor's");
    for line in [
        "samples = \"7\" # file",
        "timeout = \"1s\" # file",
        "fail-on = \"error\" # environment: UNSTALL_FAIL_ON",
        "family = \"any\" # default",
    ] {
        assert!(doctor.lines().any(|present| present == line), "{line} is not in\n{doctor}");
    }
    let parsed: Result<toml::Table, _> = run.stdout.parse();
    assert!(parsed.is_ok(), "{parsed:?}");
}

#[test]
fn the_template_can_be_used_as_it_is() {
    let run = unstall(&["config", "--template"]);
    let (_folder, path) = config(&run.stdout);
    let run = unstall(&["connect", "--json", "--config", &path, "127.0.0.1:9"]);
    assert_eq!(document(&run, "connect")["results"][0]["outcome"], json!("refused"), "{}", run.stderr);
}
