//! Tests in a network and mount namespace of their own: addresses, routes, rules, hosts file and resolver are the test's,
//! and are gone when it ends.
//!
//! [`inside`] runs the test program again, for that one test, under `unshare`. As root that needs nothing; else a user
//! namespace, where the machine allows it. A machine that allows neither leaves the test out and says so.

use super::left_out;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// Set in the program that runs inside.
const INSIDE: &str = "UNSTALL_INSIDE_NAMESPACE";
/// The addresses of this host in the namespace that are not loopback.
pub(crate) const OWN_V4: &str = "198.18.0.1";
pub(crate) const OWN_V6: &str = "2001:2::1";
/// Addresses that nobody has, one or several hops away for all the host knows: what is sent there is lost.
pub(crate) const SILENT_V4: [&str; 3] = ["198.18.0.254", "198.18.0.253", "198.18.0.252"];
pub(crate) const SILENT_V6: [&str; 3] = ["2001:2::fe", "2001:2::fd", "2001:2::fc"];

/// How long the OS's resolver waits for [`Namespace::name_server`].
pub(crate) const NAME_SERVER_PATIENCE: Duration = Duration::from_secs(30);

/// The namespace this process runs in.
pub(crate) struct Namespace {
    /// What is mounted; the mounts end with the namespace.
    mounted: Vec<NamedTempFile>,
    test: String,
}

/// Runs `body` in namespaces of its own. `test` is the full name of the calling test.
pub(crate) fn inside(test: &str, body: fn(&mut Namespace)) {
    let _ = said_inside(test, body);
}

/// The same, and what was said inside; `None`: this is inside, or it was left out.
pub(crate) fn said_inside(test: &str, body: fn(&mut Namespace)) -> Option<String> {
    if std::env::var(INSIDE).is_ok_and(|name| name == test) {
        body(&mut Namespace::set_up(test));
        return None;
    }
    let Some(mut unshare) = unshare() else {
        left_out(test, "neither root nor a user namespace may make a network namespace here");
        return None;
    };
    let program = std::env::current_exe().expect("the path of this program");
    let output = unshare
        .arg(program)
        .args(["--exact", "--nocapture", "--test-threads=1", test])
        .env(INSIDE, test)
        .output()
        .expect("unshare starts");
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said);
    // What the inner run left out is said once more, past the capture of this one.
    for line in said.lines().filter(|line| line.starts_with("LEFT OUT: ")) {
        let _ = writeln!(io::stderr(), "{line}");
    }
    assert!(output.status.success() && said.contains("1 passed"), "in its namespace:\n{said}");
    Some(said.into_owned())
}

/// `unshare` with the options that this user may use; `None`: none.
fn unshare() -> Option<Command> {
    [&["-nm"][..], &["-rnm"]].into_iter().find_map(|options| {
        let mut probe = Command::new("unshare");
        probe.args(options).args(["ip", "link", "set", "lo", "up"]);
        let works = probe.output().is_ok_and(|output| output.status.success());
        works.then(|| {
            let mut unshare = Command::new("unshare");
            unshare.args(options);
            unshare
        })
    })
}

/// The kernel gives an IPv6 address its route a moment after it has the address. Until then a connect to it looks for a
/// neighbour, and fails after a second.
fn own_address_answers() {
    let closed = SocketAddr::new(OWN_V6.parse().unwrap(), 1);
    let refused = || {
        let result = TcpStream::connect_timeout(&closed, Duration::from_millis(20));
        result.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    assert!((0..100).any(|_| refused()), "{OWN_V6} does not answer");
}

impl Namespace {
    fn set_up(test: &str) -> Self {
        run("ip link set lo up");
        run(&format!("ip addr add {OWN_V4}/32 dev lo"));
        run(&format!("ip -6 addr add {OWN_V6}/128 dev lo nodad"));
        own_address_answers();
        // A packet for somebody else that comes in by lo is dropped, and no error is sent.
        for address in SILENT_V4 {
            run(&format!("ip route add {address}/32 dev lo src {OWN_V4}"));
        }
        for address in SILENT_V6 {
            run(&format!("ip -6 route add {address}/128 dev lo src {OWN_V6}"));
        }
        Self { mounted: Vec::new(), test: test.to_owned() }
    }

    /// The names that resolve, each with its addresses in the order in which the OS is to give them. An address that comes twice
    /// has the place of the first time.
    pub(crate) fn hosts(&mut self, names: &[(&str, &[&str])]) {
        let mut hosts = String::new();
        let mut places = HashMap::new();
        for (name, addresses) in names {
            for (n, address) in addresses.iter().enumerate() {
                let _ = writeln!(hosts, "{address} {name}");
                places.entry(*address).or_insert(n);
            }
        }
        let order: String = places.iter().map(|(address, n)| precedence(address, 1000 - n)).collect();
        self.mount("/etc/hosts", &hosts);
        // glibc sorts by RFC 6724, whose precedences are given here; and files come first.
        self.mount("/etc/gai.conf", &order);
        self.mount("/etc/nsswitch.conf", "hosts: files dns\n");
    }

    /// The name server that is asked, with one question that is never given up.
    pub(crate) fn name_server(&mut self, address: &str) {
        self.mount(
            "/etc/resolv.conf",
            &format!("nameserver {address}\noptions timeout:{} attempts:1\n", NAME_SERVER_PATIENCE.as_secs()),
        );
    }

    /// Drops every SYN to `address` as it comes in. False: said to be left out, for there is no nft here.
    pub(crate) fn silence(&self, address: IpAddr) -> bool {
        self.answer(address, "drop")
    }

    /// Resets every SYN to `address`, as Windows does while the accept queue is full. False: as above.
    pub(crate) fn refuse(&self, address: IpAddr) -> bool {
        self.answer(address, "reject with tcp reset")
    }

    /// Resets the first SYN to `address` and drops all that follow. False: as above.
    pub(crate) fn refuse_once(&self, address: IpAddr) -> bool {
        self.answer(address, "limit rate 1/hour burst 1 packets reject with tcp reset")
            && self.silence(address)
    }

    fn answer(&self, address: IpAddr, verdict: &str) -> bool {
        let family = if address.is_ipv4() { "ip" } else { "ip6" };
        let rules = format!(
            "add table inet unstall\n\
             add chain inet unstall in {{ type filter hook input priority 0; }}\n\
             add rule inet unstall in {family} daddr {address} tcp flags & (syn | ack) == syn {verdict}\n"
        );
        match nft(&rules) {
            Ok(()) => true,
            Err(why) => {
                left_out(&self.test, &format!("nft: {why}"));
                false
            }
        }
    }

    /// Puts a file of this content in the place of `path`, for this namespace alone.
    fn mount(&mut self, path: &str, content: &str) {
        let mut file = NamedTempFile::new().expect("a temporary file");
        file.write_all(content.as_bytes()).expect("a temporary file can be written");
        if std::fs::metadata(path).is_err() {
            // Nothing can be mounted over what does not exist, and nothing of the machine's is created here.
            return;
        }
        run(&format!("mount --bind {} {path}", file.path().display()));
        self.mounted.push(file);
    }
}

/// Takes back every [`Namespace::silence`] and [`Namespace::refuse`].
pub(crate) fn end_silence() {
    nft("delete table inet unstall\n").expect("nft deletes its table");
}

/// The line of gai.conf that gives an address its place.
fn precedence(address: &str, precedence: usize) -> String {
    match address.parse().expect("an address") {
        IpAddr::V4(v4) => format!("precedence ::ffff:{v4}/128 {precedence}\n"),
        IpAddr::V6(v6) => format!("precedence {v6}/128 {precedence}\n"),
    }
}

/// Has nft run these commands.
pub(crate) fn nft(rules: &str) -> Result<(), String> {
    use std::process::Stdio;
    let child = Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let written = child.stdin.take().expect("stdin is piped").write_all(rules.as_bytes());
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    written.map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(first_line(&output)) }
}

fn first_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("no message").to_owned()
}

/// Runs a command of words without spaces in them.
pub(crate) fn run(command: &str) {
    let mut words = command.split(' ');
    let output = Command::new(words.next().expect("a program")).args(words).output();
    let output = output.unwrap_or_else(|error| panic!("{command}: {error}"));
    assert!(output.status.success(), "{command}: {}", first_line(&output));
}

/// An address and a port.
pub(crate) fn at(address: &str, port: u16) -> SocketAddr {
    SocketAddr::new(address.parse().expect("an address"), port)
}

/// Waits until so many sockets of this namespace have sent a SYN and heard nothing.
pub(crate) fn wait_for_syn_sent(count: usize) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while syn_sent() < count {
        assert!(Instant::now() < deadline, "no {count} connects under way");
        std::thread::yield_now();
    }
}

/// How many IPv4 sockets of this namespace have sent a SYN and heard nothing.
pub(crate) fn syn_sent() -> usize {
    // The fourth field of /proc/net/tcp is the state, 02 for SYN_SENT.
    let syn_sent = |line: &&str| line.split_ascii_whitespace().nth(3) == Some("02");
    std::fs::read_to_string("/proc/net/tcp").expect("the table").lines().filter(syn_sent).count()
}
