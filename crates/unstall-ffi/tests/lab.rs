//! A program with libcurl in it, in the lab: what it costs there to connect as curl does, and with unstall in its callbacks.
#![cfg(target_os = "linux")]

mod common;

use common::{compile, folder, left_out};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use unstall_lab::{Builder, Lab, Privilege, Profile, Program};

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

/// What libcurl (7.59 and later) waits before it tries the other family too: CURL_HET_DEFAULT, 200 ms.
const CURLS_TIMER: Duration = Duration::from_millis(200);

/// A name with two addresses.
const NAME: &str = "here.test";

/// curl's code for "cannot connect".
const COULD_NOT_CONNECT: i32 = 7;

/// The example, and the folder that it is in. `None`: it cannot be made or run here, which is noted.
fn curl_program(test: &str) -> Option<(TempDir, PathBuf)> {
    if Privilege::now().expect("the kernel tells") != Privilege::Full {
        left_out(test, "needs root");
        return None;
    }
    let mut probe = Command::new("pkg-config");
    if !probe.args(["--exists", "libcurl"]).status().is_ok_and(|status| status.success()) {
        left_out(test, "no libcurl to compile with (libcurl4-openssl-dev)");
        return None;
    }
    let folder = folder();
    let program = compile(&folder, "cc", "examples/curl.c", &["-lcurl"]);
    Some((folder, program))
}

fn windows_11() -> Builder {
    Lab::builder(Profile::find("windows-11").expect("built in"))
}

/// curl's code, and how long it took by curl's own watch.
fn get(lab: &Lab, program: &Path, ttl: Option<&str>, mode: &str, url: &str) -> (i32, Duration) {
    let mut run = Program::new(program).argument(mode).argument(url);
    if let Some(ttl) = ttl {
        run = run.variable("UNSTALL_EXAMPLE_TTL", ttl);
    }
    let finished = lab.output(&run, Some(LIMIT)).expect("it runs");
    let text = String::from_utf8_lossy(&finished.stdout).into_owned();
    let (code, seconds) = text.trim().split_once(' ').unwrap_or_else(|| panic!("{mode} {url}: {text:?}"));
    (code.parse().expect("a code"), Duration::from_secs_f64(seconds.parse().expect("seconds")))
}

/// Windows' retries after a refusal: four, 505 ms apart. With the option that `unstall_prepare` sets on Windows, for which a
/// TTL stands in the lab, none.
#[test]
fn a_prepared_socket_of_curl_is_refused_at_once() {
    let Some((_folder, program)) = curl_program("a_prepared_socket_of_curl_is_refused_at_once") else {
        return;
    };
    let lab = windows_11().start().expect("a lab");
    for url in ["http://127.0.0.1:9/", "http://[::1]:9/"] {
        let (code, plain) = get(&lab, &program, None, "plain", url);
        assert_eq!(code, COULD_NOT_CONNECT, "{url}");
        assert!(plain >= Duration::from_millis(1980), "{url}: {plain:?}");
        let (code, prepared) = get(&lab, &program, Some("254"), "prepare", url);
        assert_eq!(code, COULD_NOT_CONNECT, "{url}");
        // Before the first retry.
        assert!(prepared < Duration::from_millis(500), "{url}: {prepared:?}");
        println!("{url}: refused after {plain:?}, prepared after {prepared:?}");
    }
}

/// A name is ::1 first, where a refusal takes 2 s, and the server is on 127.0.0.1: curl waits for its timer, unstall for
/// 10 ms. No option stands for Windows' here: it is the race that helps. (Not `localhost`, for which libcurl has an answer of
/// its own, 127.0.0.1 first.)
#[test]
fn the_race_of_all_addresses_saves_curls_timer() {
    let Some((_folder, program)) = curl_program("the_race_of_all_addresses_saves_curls_timer") else {
        return;
    };
    let both = [IpAddr::from(Ipv6Addr::LOCALHOST), IpAddr::from(Ipv4Addr::LOCALHOST)];
    let lab = windows_11().name(NAME, &both).start().expect("a lab");
    let listener = lab.within(|| std::net::TcpListener::bind("127.0.0.1:0")).expect("a free port");
    let url = format!("http://{NAME}:{}/", listener.local_addr().expect("a bound socket").port());
    std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
    let mut times = [Duration::MAX; 2];
    // The best of some, for a busy machine can be late with anything.
    for _ in 0..5 {
        for (mode, best) in ["plain", "connect"].iter().zip(&mut times) {
            let (code, took) = get(&lab, &program, None, mode, &url);
            assert_eq!(code, 0, "{mode}");
            *best = took.min(*best);
        }
    }
    let [plain, raced] = times;
    println!("plain {plain:?}, raced {raced:?}");
    assert!(plain >= CURLS_TIMER, "{plain:?}");
    assert!(raced < CURLS_TIMER / 2, "{raced:?}");
}

/// The least that is HTTP.
fn answer(mut stream: std::net::TcpStream) {
    use std::io::{Read, Write};
    let _ = stream.read(&mut [0; 1024]);
    let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
}

/// curl's callbacks connect outside of the lab as well, and curl's own code says what failed.
#[test]
fn a_port_where_nobody_listens_is_curls_own_error() {
    let test = "a_port_where_nobody_listens_is_curls_own_error";
    let Some((_folder, program)) = curl_program(test) else { return };
    let lab = Lab::builder(Profile::find("linux").expect("built in")).start().expect("a lab");
    for mode in ["plain", "prepare", "connect"] {
        assert_eq!(get(&lab, &program, None, mode, "http://localhost:9/").0, COULD_NOT_CONNECT, "{mode}");
    }
}
