use super::*;

#[test]
fn every_builtin_profile_reads_and_is_called_what_its_file_is() {
    let names: Vec<String> = Profile::all().into_iter().map(|profile| profile.name).collect();
    assert_eq!(names, Profile::names().collect::<Vec<_>>());
    assert!(Profile::all().iter().all(|profile| !profile.sources.is_empty()));
}

#[test]
fn a_base_is_inherited_key_by_key() {
    let tuned = Profile::find("windows-tuned").expect("built in");
    let windows = Profile::find("windows-11").expect("built in");
    assert_eq!(tuned.refused.as_ref().map(|r| r.retries), Some(Retries::Count(2)));
    assert_eq!(tuned.refused.as_ref().map(|r| r.interval_ms), Some(505));
    assert_eq!(tuned.full_queue, windows.full_queue);
    let old = Profile::find("windows-server-2016").expect("built in").refused.expect("refuses");
    assert_eq!((old.retries, old.none_means), (Retries::Count(4), 255));
}

#[test]
fn a_profile_written_out_reads_the_same() {
    for profile in Profile::all() {
        let json = serde_json::to_string(&profile).expect("plain data");
        assert_eq!(serde_json::from_str::<Profile>(&json).expect(&json), profile);
    }
}

#[test]
fn says_what_is_wrong_and_where() {
    let head = "name = \"x\"\nsummary = \"\"\nsources = []\n";
    for (text, why) in [
        ("name = ", "line 1: "),
        ("[refused]\nretries = 4\nspeed = 1", "line 6: unknown field `speed`"),
        (
            "[refused]\nretries = 256",
            "line 5: invalid value: integer `256`, expected a number of 0 to 255 or \"lost\"",
        ),
        ("[refused]\nretries = \"never\"", "line 5: invalid value: string \"never\""),
        ("[refused]\nretries = 1\ndestinations = [\"127.0.0.1/8\"]", "line 6: `127.0.0.1/8` has bits set"),
        ("[refused]\nretries = 1\ndestinations = []", "`refused.destinations` is empty"),
        ("[refused]\nretries = 1\ninterval_ms = 5", "`refused.interval_ms` is 5; it can be 100 to 10000"),
        ("[full_queue]\nanswer = \"reset\"\nlongest = 0", "`full_queue.longest` is 0"),
        ("[names]\nlocalhost = [\"here\"]", "line 5: invalid IP address syntax"),
        ("base = \"linus\"", "`base`: there is no built-in profile `linus`"),
        ("base = \"linux\"\n[refused]\nretries = true", "invalid type: boolean `true`"),
    ] {
        let text = if text.starts_with("name") {
            text.to_owned()
        } else if text.starts_with("base") {
            text.replacen('\n', &format!("\n{head}"), 1)
        } else {
            format!("{head}{text}")
        };
        let error = Profile::parse(&text).expect_err(&text);
        assert!(error.starts_with(why), "{error:?} instead of {why:?} for\n{text}");
    }
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let error = Profile::find("windows-12").expect_err("unknown");
    assert_eq!(error.exit_code(), 2);
    assert!(
        error.to_string().starts_with("there is no profile `windows-12`; there are windows-11, "),
        "{error}"
    );
    let error = Profile::find("./missing.toml").expect_err("no such file");
    assert!(error.to_string().starts_with("cannot read the profile ./missing.toml: No such file"), "{error}");
}

#[test]
fn overrides_make_what_is_missing() {
    let linux = Profile::find("linux").expect("built in");
    let once = linux.clone().with_retries(Retries::Count(1));
    assert_eq!(once.refused.map(|r| (r.retries, r.interval_ms)), Some((Retries::Count(1), 505)));
    assert_eq!(
        linux.with_longest_queue(232).full_queue,
        Some(FullQueue { answer: QueueAnswer::Silence, longest: 232 })
    );
}
