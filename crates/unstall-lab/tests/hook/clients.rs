//! What programs gain, and that nothing but the time differs: our client with every API, Go, Rust, and programs built elsewhere.

use crate::table::{faster, rows};
use crate::{
    CLOSED, FAST_MS, How, STALL_MS, Wine, builder, number, output, printed, serve, serve_both, windows_11,
};
use unstall_lab::{Ended, Lab, Program};

/// Wine has the function by name alone, so there is nothing to wait for.
const MISSING_IN_WINE: &str = "WSAConnectByList";

fn every_api(test: &str, client: &str, library: &str) {
    let Some(wine) = Wine::new(test, &[client, library]) else { return };
    let lab = windows_11();
    let open = serve_both(&lab);
    let client = |how| wine.program(how, client).arguments(["apis", CLOSED, &open]);
    let plain = rows(&printed(&lab, &client(How::Plain).argument("parallel")));
    let hooked = || rows(&printed(&lab, &client(How::Hooked).argument("serial")));
    let hooked = faster(hooked(), &hooked());
    assert_eq!(plain.len(), 78, "{plain:?}");
    assert!(plain.keys().eq(hooked.keys()), "{plain:?}\n{hooked:?}");
    for (name, plain) in &plain {
        let hooked = &hooked[name];
        println!("{name}: {:.1} ms, hooked {:.2} ms: {}", plain.ms, hooked.ms, hooked.outcome);
        assert_eq!(plain.outcome, hooked.outcome, "{name}");
        assert!(hooked.ms < FAST_MS, "{name}: {hooked:?}");
        if name.ends_with(" closed") && !name.starts_with(MISSING_IN_WINE) {
            assert!(plain.ms > STALL_MS, "{name}: {plain:?}");
        }
    }
}

#[test]
fn every_api_of_a_64_bit_program() {
    every_api("every_api_of_a_64_bit_program", "client64.exe", "unstall_hook64.dll");
}

#[test]
fn every_api_of_a_32_bit_program() {
    every_api("every_api_of_a_32_bit_program", "client32.exe", "unstall_hook32.dll");
}

#[test]
fn localhost_costs_little_more_than_the_address() {
    let Some(wine) = Wine::new("localhost_costs_little_more_than_the_address", &["client64.exe"]) else {
        return;
    };
    let lab = windows_11();
    let port = serve(&lab, "127.0.0.1:0");
    let more = |how, rounds| {
        let text = printed(&lab, &wine.program(how, "client64.exe").arguments(["named", &port, rounds]));
        (number(&text, "localhost") - number(&text, "127.0.0.1")) / 1000.0
    };
    let (plain, hooked) = (more(How::Plain, "1"), more(How::Hooked, "9"));
    println!("localhost over 127.0.0.1: {plain:.1} ms, hooked {hooked:.2} ms");
    assert!(plain > STALL_MS - 50.0 && hooked < FAST_MS, "{plain} {hooked}");
}

/// Outcome and code, and the fastest of some tries in milliseconds.
fn go(lab: &Lab, program: &Program, tries: usize) -> (String, f64) {
    let addresses = vec![format!("127.0.0.1:{CLOSED}"); tries];
    let text = printed(lab, &program.clone().arguments(addresses));
    let lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let results: Vec<_> =
        lines.map(|words| (words[1..3].join(" "), words[3].parse::<f64>().expect("ms"))).collect();
    assert_eq!(results.len(), tries, "{text}");
    assert!(results.iter().all(|result| result.0 == results[0].0), "{text}");
    let fastest = results.iter().map(|result| result.1).fold(f64::INFINITY, f64::min);
    (results[0].0.clone(), fastest)
}

#[test]
fn an_old_and_a_new_go() {
    let Some(wine) = Wine::new("an_old_and_a_new_go", &["go-old.exe", "go-new.exe"]) else { return };
    let lab = windows_11();
    for name in ["go-old.exe", "go-new.exe"] {
        let (outcome, plain) = go(&lab, &wine.program(How::Plain, name), 1);
        let (hooked_outcome, hooked) = go(&lab, &wine.program(How::Hooked, name), 3);
        println!("{name}: {plain:.1} ms, hooked {hooked:.2} ms: {outcome}");
        assert_eq!(outcome, hooked_outcome, "{name}");
        // Without the shim even a Go that sets the option stalls: Wine refuses it.
        assert!(plain > STALL_MS && hooked < FAST_MS, "{name}: {plain} {hooked}");
    }
}

#[test]
fn rust_std_socket2_and_tokio() {
    let Some(wine) = Wine::new("rust_std_socket2_and_tokio", &["side-by-side.exe"]) else { return };
    let lab = windows_11();
    let open = serve_both(&lab);
    let clients = |how, rounds: u32| {
        let cases =
            [format!("closed:{rounds}:0=127.0.0.1:{CLOSED}"), format!("open:{rounds}:0=127.0.0.1:{open}")];
        printed(&lab, &wine.program(how, "side-by-side.exe").arguments(cases))
    };
    let (plain, hooked) = (clients(How::Plain, 1), clients(How::Hooked, 5));
    assert_eq!(plain.lines().count(), hooked.lines().count());
    for (plain, hooked) in plain.lines().zip(hooked.lines()) {
        println!("{plain}\n{hooked}");
        let words = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
        let (plain, hooked) = (words(plain), words(hooked));
        let us = |words: &[String]| words[4].parse::<f64>().expect("a number");
        // Case, client and outcome.
        assert_eq!((&plain[..2], &plain[3]), (&hooked[..2], &hooked[3]));
        assert!(us(&hooked) < FAST_MS * 1000.0, "{hooked:?}");
        if plain[0] == "closed" {
            assert!(us(&plain) > STALL_MS * 1000.0, "{plain:?}");
        }
    }
}

/// A program that was built elsewhere, with one connect that is refused.
struct Foreign {
    name: &'static str,
    /// `{script}`: a file with [`SCRIPT`].
    arguments: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
    /// What it says about a refusal, on stdout or stderr.
    says: &'static str,
}

/// For Node: what it came to and after how many ms, into a file, since Node under Wine cannot open a pipe for its output.
const SCRIPT: &str = "const t=process.hrtime.bigint();require('net').connect(9,'127.0.0.1').on('error',e=>require('fs').writeFileSync(process.argv[2],e.code+' '+Number(process.hrtime.bigint()-t)/1e6));";

const FOREIGN: [Foreign; 6] = [
    Foreign { name: "node64", arguments: &["{script}", "{script}.out"], variables: &[], says: NODE },
    Foreign { name: "node32", arguments: &["{script}", "{script}.out"], variables: &[], says: NODE },
    Foreign { name: "uv64", arguments: UV, variables: ONE_TRY, says: "Connect" },
    Foreign { name: "uv32", arguments: UV, variables: ONE_TRY, says: "Connect" },
    Foreign {
        name: "aria2",
        arguments: &["--no-conf", "-t5", "-m1", "--console-log-level=error", "http://127.0.0.1:9/x"],
        variables: &[],
        says: "Connection refused",
    },
    Foreign {
        name: "caddy",
        arguments: &["stop", "--address", "127.0.0.1:9"],
        variables: &[],
        says: "Connection refused",
    },
];
/// Its words for the code depend on the streams that Wine gives it: ECONNREFUSED, or EBADF with pipes. The number that follows is the time.
const NODE: &str = "E";
const UV: &[&str] = &["python", "install", "--no-cache", "--mirror", "http://127.0.0.1:9", "3.12"];
const ONE_TRY: &[(&str, &str)] = &[("UV_HTTP_RETRIES", "0")];

fn foreign(lab: &Lab, wine: &Wine, how: How, which: &Foreign, script: &str) -> (Ended, String, f64) {
    let words = which.arguments.iter().map(|word| word.replace("{script}", script));
    let program = wine.program(how, which.name).arguments(words);
    let program =
        which.variables.iter().fold(program, |program, (name, value)| program.variable(name, value));
    let finished = output(lab, &program);
    let file = format!("{script}.out");
    let written = std::fs::read(unix_path(&file)).unwrap_or_default();
    let _ = std::fs::remove_file(unix_path(&file));
    let said = [finished.stdout, finished.stderr, written].concat();
    (finished.ended, String::from_utf8_lossy(&said).into_owned(), finished.elapsed.as_secs_f64() * 1000.0)
}

/// A path of Wine's as this machine knows it.
fn unix_path(path: &str) -> String {
    path.trim_start_matches("Z:").replace('\\', "/")
}

#[test]
fn programs_that_were_built_elsewhere() {
    let test = "programs_that_were_built_elsewhere";
    let Some(wine) = Wine::new(test, &["unstall_hook64.dll"]) else { return };
    let lab = windows_11();
    let script = std::env::temp_dir().join(format!("unstall-hook-{}.js", std::process::id()));
    std::fs::write(&script, SCRIPT).expect("a temporary file");
    for which in &FOREIGN {
        if !wine.path(which.name).exists() {
            crate::left_out(test, &format!("{} cannot be had here", which.name));
            continue;
        }
        let run = |how| foreign(&lab, &wine, how, which, &crate::windows_path(&script));
        // What a program loads once is loaded before it is timed.
        run(How::Hooked);
        let ((plain_end, plain_said, plain), (hooked_end, hooked_said, hooked)) =
            (run(How::Plain), run(How::Hooked));
        println!("{}: {plain:.0} ms from start to end, hooked {hooked:.0} ms: {hooked_end:?}", which.name);
        assert!(
            plain_said.contains(which.says) && hooked_said.contains(which.says),
            "{plain_said}\n{hooked_said}"
        );
        assert_eq!(plain_end, hooked_end, "{}: {plain_said}\n{hooked_said}", which.name);
        // The whole program is timed, its start too; the stall is far more than two starts differ by.
        assert!(plain - hooked > STALL_MS / 2.0, "{}: {plain} {hooked}", which.name);
    }
    let _ = std::fs::remove_file(&script);
}

#[test]
fn a_server_that_is_live_is_left_alone() {
    let Some(wine) = Wine::new("a_server_that_is_live_is_left_alone", &["client64.exe"]) else { return };
    let lab = builder().start().expect("a lab");
    for way in ["connect", "select", "ConnectEx"] {
        let burst = |how| {
            let port = crowded(&lab);
            let text =
                printed(&lab, &wine.program(how, "client64.exe").arguments(["burst", way, &port, "300"]));
            (number(&text, "connected"), number(&text, "refused"), text)
        };
        let (plain, hooked) = (burst(How::Plain), burst(How::Hooked));
        println!("burst by {way}, plain:\n{}hooked:\n{}", plain.2, hooked.2);
        assert!(hooked.0 >= plain.0 && hooked.1 <= plain.1, "{way}: {plain:?} {hooked:?}");
        assert!((hooked.0 - 300.0).abs() < 0.5, "{way}: {hooked:?}");
    }
}

/// A server whose queue holds 100, and that pauses for 100 ms after the first connect.
fn crowded(lab: &Lab) -> String {
    let listener = lab.within(|| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        rustix::net::listen(&listener, 100)?;
        std::io::Result::Ok(listener)
    });
    let listener = listener.expect("a free port");
    let port = listener.local_addr().expect("a bound socket").port();
    std::thread::spawn(move || {
        // The crowd comes when its program has begun.
        let first = listener.accept();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let rest: Vec<_> = listener.incoming().map_while(Result::ok).collect();
        drop((first, rest));
    });
    port.to_string()
}
