//! Published figures of refused connects on Windows, and how each is run in a lab.

use std::time::Duration;

/// A published figure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// What was measured.
    pub(super) what: &'static str,
    /// Where it was published.
    pub(super) source: &'static str,
    /// From, to; the same twice for a single figure.
    pub(super) published: (Duration, Duration),
    /// The program's exit code, where that was published.
    pub(super) exit_code: Option<u8>,
    /// In which lab.
    pub(super) place: Place,
    /// What is run there.
    pub(super) client: Client,
}

/// A lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// With this profile.
    Profile(&'static str),
    /// With this profile, but no RST ever arrives: nobody answers.
    Silent(&'static str),
    /// With this profile, in the scenario of this name.
    Scenario(&'static str, &'static str),
}

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// Ours: one connect to this address, asking for so many retries.
    Own(&'static str, Option<u8>),
    /// This program; how long it ran.
    Lasts(&'static [&'static str]),
    /// This program; the number of seconds that it writes.
    Writes(&'static [&'static str]),
}

const MAIL: &str = "curl-library mail 2026-08-04";
const OBJECTIVE: &str = "Abstract Objective 2026-10-08";
const NETSCLI: &str = "netscli-core 0.3.4";
const SPEASY: &str = "SciQLop/speasy PR#344";

const CLOSED: &str = "127.0.0.1:9";
/// Neither loopback nor anybody's (RFC 5737); the lab has it.
pub(super) const ELSEWHERE: &str = "198.51.100.1:9";
/// A name of ::1 and 127.0.0.1 in this order. For `localhost` itself some builds of curl take 127.0.0.1 first.
pub(super) const BOTH: &str = "both.test";

const PYTHON: &str = "\
import socket, time
t = time.perf_counter()
try: socket.create_connection(('127.0.0.1', 9))
except ConnectionRefusedError: print(time.perf_counter() - t)";
/// The second connect: the first one loads and compiles.
const NODE: &str = "\
const once = then => { const t = process.hrtime.bigint(); \
require('net').connect({ port: 9, host: process.argv[1] }).on('error', () => \
then(Number(process.hrtime.bigint() - t) / 1e9)); }; \
once(() => once(console.log));";

macro_rules! curl {
    ($($word:literal),+) => { &["curl", "-s", "-o", "/dev/null", "-w", "%{time_total}", $($word),+] };
}

const fn us(least: u64, most: u64) -> (Duration, Duration) {
    (Duration::from_micros(least), Duration::from_micros(most))
}

const fn ms(least: u64, most: u64) -> (Duration, Duration) {
    (Duration::from_millis(least), Duration::from_millis(most))
}

const fn row(
    source: &'static str,
    what: &'static str,
    published: (Duration, Duration),
    place: Place,
    client: Client,
) -> Row {
    Row { what, source, published, exit_code: None, place, client }
}

const fn exits(row: Row, code: u8) -> Row {
    Row { exit_code: Some(code), ..row }
}

const WINDOWS: Place = Place::Profile("windows-11");

/// In the order in which they are shown. "MaxSyn" is the ioctl's MaxSynRetransmissions.
pub(super) const ROWS: &[Row] = &[
    row(MAIL, "closed port, no ioctl", ms(2026, 2026), WINDOWS, Client::Own(CLOSED, None)),
    row(MAIL, "closed port, MaxSyn 0 (default)", ms(2015, 2015), WINDOWS, Client::Own(CLOSED, None)),
    row(MAIL, "closed port, MaxSyn 255 (unspecified)", ms(2023, 2023), WINDOWS, Client::Own(CLOSED, None)),
    row(MAIL, "closed port, MaxSyn 1", ms(506, 506), WINDOWS, Client::Own(CLOSED, Some(1))),
    row(MAIL, "closed port, MaxSyn 2", ms(1010, 1010), WINDOWS, Client::Own(CLOSED, Some(2))),
    row(
        MAIL,
        "closed port, Set-NetTCPSetting at its least, 2",
        ms(1010, 1010),
        Place::Profile("windows-tuned"),
        Client::Own(CLOSED, None),
    ),
    row(MAIL, "closed port, MaxSyn 254 (none)", us(300, 300), WINDOWS, Client::Own(CLOSED, Some(0))),
    row(OBJECTIVE, "plain socket, no ioctl", ms(2033, 2066), WINDOWS, Client::Own(CLOSED, None)),
    row(OBJECTIVE, "plain socket, MaxSyn 254", us(500, 1000), WINDOWS, Client::Own(CLOSED, Some(0))),
    row(
        OBJECTIVE,
        "Linux itself (there in WSL 2)",
        us(180, 210),
        Place::Profile("linux"),
        Client::Own(CLOSED, None),
    ),
    exits(
        row(
            OBJECTIVE,
            "curl 127.0.0.1:9",
            ms(2020, 2100),
            WINDOWS,
            Client::Writes(curl!("http://127.0.0.1:9/")),
        ),
        7,
    ),
    exits(
        row(OBJECTIVE, "curl [::1]:9", ms(2020, 2100), WINDOWS, Client::Writes(curl!("http://[::1]:9/"))),
        7,
    ),
    exits(
        row(
            OBJECTIVE,
            "curl localhost:9",
            ms(2240, 2250),
            WINDOWS,
            Client::Writes(curl!("http://localhost:9/")),
        ),
        7,
    ),
    exits(
        row(
            OBJECTIVE,
            "curl -m 2",
            ms(2010, 2010),
            WINDOWS,
            Client::Writes(curl!("-m", "2", "http://127.0.0.1:9/")),
        ),
        28,
    ),
    exits(
        row(
            OBJECTIVE,
            "curl --connect-timeout 0.5",
            ms(510, 510),
            WINDOWS,
            Client::Writes(curl!("--connect-timeout", "0.5", "http://127.0.0.1:9/")),
        ),
        28,
    ),
    row(OBJECTIVE, "Python", ms(2020, 2100), WINDOWS, Client::Writes(&["python3", "-c", PYTHON])),
    row(
        OBJECTIVE,
        "Node 127.0.0.1 (asks for no retry there)",
        ms(1, 5),
        Place::Profile("windows-no-retry"),
        Client::Writes(&["node", "-e", NODE, "127.0.0.1"]),
    ),
    row(
        OBJECTIVE,
        "Node ::1 (asks for no retry there)",
        ms(1, 13),
        Place::Profile("windows-no-retry"),
        Client::Writes(&["node", "-e", NODE, "::1"]),
    ),
    row(
        MAIL,
        "curl name of ::1 and 127.0.0.1, server on the latter",
        ms(212, 225),
        Place::Scenario("windows-11", "v4-only"),
        Client::Writes(curl!("http://both.test:{port}/")),
    ),
    row(
        MAIL,
        "curl 127.0.0.1, server there",
        ms(3, 9),
        Place::Scenario("windows-11", "v4-only"),
        Client::Writes(curl!("http://127.0.0.1:{port}/")),
    ),
    row(NETSCLI, "closed port of another address", ms(2025, 2047), WINDOWS, Client::Own(ELSEWHERE, None)),
    row(
        NETSCLI,
        "closed port of another address, MaxSyn 254",
        ms(0, 5),
        WINDOWS,
        Client::Own(ELSEWHERE, Some(0)),
    ),
    row(
        SPEASY,
        "nobody answers, MaxSyn 2",
        ms(7000, 7000),
        Place::Silent("windows-tuned"),
        Client::Own(CLOSED, None),
    ),
    row(
        SPEASY,
        "nobody answers, MaxSyn 4",
        ms(21_000, 21_000),
        Place::Silent("windows-11"),
        Client::Own(CLOSED, None),
    ),
    row(
        "JDK-8250521's review",
        "MaxSyn 254 before build 16299",
        ms(128_000, 128_000),
        Place::Profile("windows-server-2016"),
        Client::Own(CLOSED, Some(0)),
    ),
    row(
        "microsoft/WSL#10844",
        "curl, RST lost (WSL's mirrored mode)",
        ms(131_210, 131_210),
        Place::Profile("rst-lost"),
        Client::Lasts(curl!("http://127.0.0.1:9/")),
    ),
];
