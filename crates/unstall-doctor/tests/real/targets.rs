//! `doctor TARGET`: every kind of trouble that Linux can show, put on a port in a private namespace, is named rightly and
//! with its evidence; a sound server gives no finding.

use crate::support::{found, in_namespace, target_report};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use unstall::testing;
use unstall_doctor::Report;

const LIMIT: Duration = Duration::from_secs(3);

/// Both families in the hosts file.
const HOSTS: &str = "mount -t tmpfs none /mnt
printf \"127.0.0.1 localhost\\n::1 localhost\\n\" > /mnt/hosts
mount --bind /mnt/hosts /etc/hosts
";

/// A table with a chain in each direction.
const TABLE: &str = "nft -f - <<END
table inet t {
  chain i { type filter hook input priority 0; }
  chain o { type filter hook output priority 0; }
}
END
";

fn rule(rule: &str) -> String {
    format!("{HOSTS}{TABLE}nft add rule inet t {rule}\n")
}

/// Runs a test's body in its namespace.
macro_rules! in_its_namespace {
    ($test:ident, $setup:expr, $body:expr) => {
        #[test]
        fn $test() {
            in_namespace(concat!("targets::", stringify!($test)), &$setup, &[], $body);
        }
    };
}

/// Serves the address until the process ends: answers whatever is sent with the same.
fn echo(address: &str) {
    let listener = TcpListener::bind(address).expect("a listener");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut bytes = [0; 64];
            while let Ok(n @ 1..) = stream.read(&mut bytes) {
                let _ = stream.write_all(&bytes[..n]);
            }
        }
    });
}

fn expect(report: &Report, expected: &[&str]) {
    assert_eq!(found(report), expected, "{}", report.to_json());
}

/// Every line of a finding's evidence.
fn evidence<'a>(report: &'a Report, id: &str) -> Vec<&'a str> {
    let finding = report.findings.iter().find(|finding| finding.id == id).expect("the finding");
    finding.evidence.iter().map(|fact| fact.text.as_str()).collect()
}

fn title<'a>(report: &'a Report, id: &str) -> &'a str {
    &report.findings.iter().find(|finding| finding.id == id).expect("the finding").title
}

in_its_namespace!(twenty_looks_at_a_sound_server_find_nothing, HOSTS, || {
    echo("127.0.0.1:8001");
    echo("[::1]:8001");
    for _ in 0..20 {
        for target in ["localhost:8001", "127.0.0.1:8001", "[::1]:8001", "http://localhost:8001/x"] {
            expect(&target_report(target, LIMIT), &[]);
        }
    }
});

in_its_namespace!(a_server_on_the_other_family_is_named_with_its_process, HOSTS, || {
    echo("127.0.0.1:8001");
    let report = target_report("[::1]:8001", LIMIT);
    expect(&report, &["error listens-on-other-address"]);
    let title = title(&report, "listens-on-other-address");
    assert!(title.contains(&format!("(pid {})", std::process::id())), "{title}");
    assert!(title.contains("listens on 127.0.0.1:8001"), "{title}");
    echo("[::1]:8002");
    expect(&target_report("127.0.0.1:8002", LIMIT), &["error listens-on-other-address"]);
});

in_its_namespace!(localhost_with_a_server_on_one_family_is_a_warning, HOSTS, || {
    echo("127.0.0.1:8001");
    let report = target_report("localhost:8001", LIMIT);
    expect(&report, &["warn one-address-refused"]);
    assert!(title(&report, "one-address-refused").ends_with("nobody listens on [::1]:8001"));
    let lines =
        &report.results.iter().find(|result| result.id == "target-client-delays").expect("it ran").lines;
    let python = lines.iter().find(|line| line.starts_with("Python")).expect("a line");
    let on_windows: f64 = python.split_whitespace().nth_back(1).expect("a figure").parse().expect("a number");
    assert!(on_windows >= 2026.0, "the published refusal and the connect: {python}");
});

in_its_namespace!(a_port_where_nobody_listens_is_one_finding, HOSTS, || {
    let report = target_report("localhost:8001", LIMIT);
    expect(&report, &["error nobody-listens"]);
    let evidence = evidence(&report, "nobody-listens");
    assert!(evidence.contains(&"nobody on this host listens on the port"), "{evidence:?}");
});

/// Two SYNs of each flow are dropped; Linux sends them again after 1 s, and the third is answered.
const SLOW_REFUSAL: &str = "nft -f - <<END
table inet t {
  set s { typeof tcp sport . tcp dport; flags dynamic,timeout; timeout 20s; size 65535; }
  chain i {
    type filter hook input priority 0;
    tcp flags & (syn|ack) == syn update @s { tcp sport . tcp dport limit rate over 1/hour burst 2 packets } accept
    tcp flags & (syn|ack) == syn drop
  }
}
END
";

in_its_namespace!(a_slow_refusal_and_a_limit_below_it_are_told, SLOW_REFUSAL, || {
    let slow = ["error nobody-listens", "warn target-refusal-slow"];
    expect(&target_report("127.0.0.1:9", LIMIT), &slow);
    let hidden = ["error nobody-listens", "warn target-refusal-slow", "warn limit-below-refusal"];
    let report = target_report("127.0.0.1:9", Duration::from_secs(1));
    expect(&report, &hidden);
    let title = title(&report, "limit-below-refusal");
    assert!(
        title.starts_with("a time limit of 1") && title.contains(" hides that 127.0.0.1:9 is refused"),
        "{title}"
    );
});

in_its_namespace!(a_silent_first_address_is_named, rule("i ip6 daddr ::1 drop"), || {
    echo("127.0.0.1:8001");
    let report = target_report("localhost:8001", LIMIT);
    expect(&report, &["warn one-address-silent"]);
    let title = title(&report, "one-address-silent");
    assert_eq!(title, "`localhost` is [::1], which does not answer, and 127.0.0.1, which does");
});

in_its_namespace!(a_dropped_syn_is_no_refusal, rule("i tcp dport 8001 drop"), || {
    let report = target_report("127.0.0.1:8001", LIMIT);
    expect(&report, &["error no-answer"]);
    assert!(evidence(&report, "no-answer").contains(&"nobody on this host listens on the port"));
});

in_its_namespace!(a_full_accept_queue_is_counted, HOSTS, || {
    let server = testing::full_backlog().expect("a server");
    let report = target_report(&server.addr().to_string(), LIMIT);
    expect(&report, &["error backlog-full"]);
    let title = title(&report, "backlog-full");
    // Linux holds one more than the backlog.
    assert!(title.contains(" is full (2 of 2): a burst above 2 does not fit"), "{title}");
    assert!(title.contains(&format!("(pid {})", std::process::id())), "{title}");
});

in_its_namespace!(
    a_rule_that_rejects_is_told_from_nobody,
    rule("i tcp dport 8001 reject with tcp reset"),
    || {
        echo("127.0.0.1:8001");
        expect(&target_report("127.0.0.1:8001", LIMIT), &["error refused-though-listening"]);
    }
);

/// A routing rule that forbids TCP to 127.0.0.0/8, before the table of local addresses is looked at.
const FORBIDDEN: &str = "ip rule add pref 100 lookup local
ip rule del pref 0
ip rule add pref 10 to 127.0.0.0/8 ipproto tcp prohibit
";

in_its_namespace!(a_forbidden_connect_is_named, FORBIDDEN, || {
    expect(&target_report("127.0.0.1:8001", LIMIT), &["error connect-not-permitted"]);
});

in_its_namespace!(a_network_without_a_route_is_unreachable, HOSTS, || {
    expect(&target_report("198.51.100.1:80", LIMIT), &["error unreachable"]);
});

in_its_namespace!(
    without_ipv6_its_address_is_information,
    format!("{HOSTS}sysctl -qw net.ipv6.conf.lo.disable_ipv6=1\n"),
    || {
        echo("127.0.0.1:8001");
        expect(&target_report("localhost:8001", LIMIT), &["info address-not-available"]);
        expect(&target_report("[::1]:8001", LIMIT), &["error address-not-available"]);
    }
);

in_its_namespace!(what_a_server_does_after_the_connect_is_told, HOSTS, || {
    let of = |server: &testing::Server| target_report(&server.addr().to_string(), Duration::from_millis(500));
    expect(&of(&testing::closes().expect("a server")), &["warn closes-at-once"]);
    expect(&of(&testing::resets().expect("a server")), &["warn resets-at-once"]);
    let report = of(&testing::deaf().expect("a server"));
    expect(&report, &["warn connected-but-silent"]);
    let evidence = evidence(&report, "connected-but-silent");
    assert!(evidence[0].ends_with("no answer to `HEAD / HTTP/1.0`"), "{evidence:?}");
});

in_its_namespace!(a_server_that_does_not_accept_is_told, HOSTS, || {
    let _blocked = TcpListener::bind("127.0.0.1:8001").expect("a listener");
    let report = target_report("127.0.0.1:8001", LIMIT);
    expect(&report, &["warn not-accepted"]);
});

in_its_namespace!(an_unspecified_destination_is_told, HOSTS, || {
    echo("127.0.0.1:8001");
    expect(&target_report("0.0.0.0:8001", LIMIT), &["warn unspecified-destination"]);
    // With one fix, and not a second one that leads back to where nobody listens.
    expect(&target_report("[::]:8001", LIMIT), &["error listens-on-other-address"]);
});

in_its_namespace!(
    a_program_connected_to_itself_is_found,
    format!("{HOSTS}sysctl -qw net.ipv4.ip_local_port_range=\"50000 50010\"\n"),
    || {
        let address: SocketAddr = "127.0.0.1:50004".parse().expect("an address");
        let report = target_report("127.0.0.1:50004", LIMIT);
        expect(&report, &["error nobody-listens", "info self-connect-possible"]);
        // One of eleven source ports is the destination; 1,000 tries miss it with a chance below 1e-40.
        let to_itself = (0..1000).find_map(|_| TcpStream::connect(address).ok()).expect("a self-connect");
        assert_eq!(to_itself.local_addr().expect("an address"), address);
        let report = target_report("127.0.0.1:50004", LIMIT);
        let found = found(&report);
        assert!(found.contains(&"error self-connected".to_owned()), "{found:?}");
    }
);

in_its_namespace!(
    used_up_ports_are_told,
    format!("{HOSTS}sysctl -qw net.ipv4.ip_local_port_range=\"50000 50019\" net.ipv4.tcp_tw_reuse=0\n"),
    || {
        let server = TcpListener::bind("127.0.0.1:8001").expect("a listener");
        let mut held = Vec::new();
        while let Ok(stream) = TcpStream::connect("127.0.0.1:8001") {
            held.push((stream, server.accept().expect("a connection")));
        }
        let report = target_report("127.0.0.1:8001", LIMIT);
        expect(&report, &["error target-ports-exhausted"]);
    }
);

/// Tells the second process what to serve.
const SERVE: &str = "UNSTALL_TEST_SERVE";

/// No test of its own: the second process of the next one. Serves until its standard input ends.
#[test]
fn second_server() {
    if let Ok(address) = std::env::var(SERVE) {
        echo(&address);
        println!("listening");
        let _ = std::io::stdin().read(&mut [0]);
    }
}

fn second_process(address: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("the test's own path"))
        .args(["--exact", "targets::second_server", "--nocapture"])
        .env(SERVE, address)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a second process");
    let mut seen = String::new();
    let stdout = child.stdout.as_mut().expect("its output");
    while !seen.contains("listening") {
        let mut byte = [0];
        stdout.read_exact(&mut byte).expect("a line");
        seen.push(char::from(byte[0]));
    }
    child
}

in_its_namespace!(two_servers_on_one_port_are_told_apart, HOSTS, || {
    echo("[::1]:8001");
    let mut other = second_process("127.0.0.1:8001");
    let report = target_report("localhost:8001", LIMIT);
    drop(other.stdin.take());
    let _ = other.wait();
    expect(&report, &["warn two-servers-one-port"]);
    let title = title(&report, "two-servers-one-port");
    let [here, there] = [std::process::id(), other.id()].map(|pid| format!("(pid {pid})"));
    assert!(title.contains(&here) && title.contains(&there), "{title}");
});

in_its_namespace!(
    a_mute_resolver_is_told_before_any_connect,
    "mount -t tmpfs none /mnt
printf \"nameserver 127.0.0.53\\n\" > /mnt/resolv.conf
printf \"127.0.0.1 other\\n\" > /mnt/hosts
mount --bind /mnt/resolv.conf /etc/resolv.conf
mount --bind /mnt/hosts /etc/hosts
",
    || {
        let _mute = UdpSocket::bind("127.0.0.53:53").expect("a mute resolver");
        let limit = Duration::from_millis(700);
        let report = target_report("box.example:80", limit);
        expect(&report, &["error name-not-found", "warn name-slow"]);
        // localhost does not depend on it.
        echo("127.0.0.1:8001");
        echo("[::1]:8001");
        expect(&target_report("localhost:8001", limit), &["warn name-slow", "info name-not-found"]);
    }
);
