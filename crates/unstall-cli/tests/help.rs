//! Snapshots of every help text and man page. A change that is meant is accepted with `cargo insta review`.

mod common;

use common::unstall;

/// Every command; "" is the program itself.
const COMMANDS: [&str; 11] =
    ["", "doctor", "connect", "wait", "clients", "run", "explain", "config", "completions", "man", "schema"];

fn arguments<'a>(command: &'a str, option: &'a str) -> Vec<&'a str> {
    if command.is_empty() { vec![option] } else { vec![command, option] }
}

fn name(command: &str) -> &str {
    if command.is_empty() { "unstall" } else { command }
}

#[test]
fn short_help_fits_a_screen_and_long_help_has_examples_before_the_options() {
    for command in COMMANDS {
        let short = unstall(&arguments(command, "-h"));
        assert_eq!((short.code, short.stderr.as_str()), (Some(0), ""), "{command}");
        assert!(short.stdout.lines().count() <= 30, "{command}");
        insta::assert_snapshot!(format!("{}_short", name(command)), short.stdout);

        let long = unstall(&arguments(command, "--help"));
        assert_eq!((long.code, long.stderr.as_str()), (Some(0), ""), "{command}");
        let at = |text: &str| long.stdout.find(text).unwrap_or_else(|| panic!("{command}: no {text}"));
        assert!(at("Examples:") < at("Options:") && at("Options:") < at("Exit codes:"), "{command}");
        insta::assert_snapshot!(format!("{}_long", name(command)), long.stdout);
    }
}

#[test]
fn every_command_is_in_this_file() {
    let listed = unstall(&["-h"]).stdout;
    let commands =
        listed.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What is indented further goes on with the line before.
    let commands = commands.filter(|line| !line.starts_with("   "));
    let names: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    // `lab` is Linux's alone, and has tests of its own.
    let ours: Vec<&str> = names.into_iter().filter(|name| !["help", "lab"].contains(name)).collect();
    assert_eq!(ours, COMMANDS[1..]);
}

#[test]
fn every_setting_says_its_default_and_its_variable() {
    // What is an action or stands for another option has neither.
    const NEITHER: [&str; 27] = [
        "--client",
        "--help",
        "--version",
        "--list-checks",
        "-4",
        "-6",
        "--list",
        "--markdown",
        "--out",
        "--all",
        "--any",
        "--free",
        "--http",
        "--first-byte",
        "--no-fix",
        "--report",
        "--verbose",
        "--qlog",
        "--compare",
        "--no-config",
        "--watch",
        "--fix",
        "--undo-fix",
        "--yes",
        "--dry-run",
        "--template",
        "--path",
    ];
    for command in COMMANDS {
        let help = unstall(&arguments(command, "--help")).stdout;
        let options = help.split("\nOptions:\n").nth(1).expect("there are options");
        let blocks = options.split("\n\n").collect::<Vec<_>>().join("\n");
        let mut current: Option<(String, String)> = None;
        let mut all = Vec::new();
        for line in blocks.lines() {
            if line.trim_start().starts_with('-') && line.len() - line.trim_start().len() < 8 {
                all.extend(current.take());
                let names = line.trim().split("  ").next().unwrap_or_default();
                current = Some((names.to_owned(), String::new()));
            } else if let Some((_, text)) = &mut current {
                text.push_str(line);
            }
        }
        all.extend(current);
        assert!(all.len() > 1, "{command}: {all:?}");
        for (names, text) in all {
            if NEITHER.iter().any(|name| names.split([' ', ',']).any(|part| part == *name)) {
                continue;
            }
            assert!(text.contains("[env: UNSTALL_"), "{command} {names}: no variable");
            let is_flag = !names.contains('<');
            // A file is written only where one is named.
            let has_none = names.contains("--check") || names.contains("<FILE>");
            assert!(is_flag || has_none || text.contains("[default: "), "{command} {names}: no default");
        }
    }
}

#[test]
fn man_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = unstall(&["man", "--out", &folder.path().to_string_lossy()]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    for command in COMMANDS {
        let file = if command.is_empty() { "unstall.1".to_owned() } else { format!("unstall-{command}.1") };
        let text = std::fs::read_to_string(folder.path().join(&file)).expect("a page of each command");
        // The version stands in the title and would change every snapshot.
        let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        insta::assert_snapshot!(format!("man_{}", name(command)), text);
    }
    let main = std::fs::read_to_string(folder.path().join("unstall.1")).expect("the main page");
    assert_eq!(unstall(&["man"]).stdout, main);
}

#[test]
fn completions_are_made_for_each_shell() {
    for (shell, word) in [
        ("bash", "complete -F _unstall"),
        ("elvish", "edit:completion"),
        ("fish", "complete -c unstall"),
        ("powershell", "Register-ArgumentCompleter"),
        ("zsh", "#compdef unstall"),
    ] {
        let run = unstall(&["completions", shell]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(run.stdout.contains(word) && run.stdout.contains("list-checks"), "{shell}");
    }
}

#[test]
fn examples_that_explain_something_explain_something_there_is() {
    for command in COMMANDS {
        let help = unstall(&arguments(command, "--help")).stdout;
        for line in help.lines().filter_map(|line| line.trim().strip_prefix("unstall explain ")) {
            let run = unstall(&["explain", line]);
            assert_eq!(run.code, Some(0), "unstall explain {line}: {}", run.stderr);
        }
    }
}
