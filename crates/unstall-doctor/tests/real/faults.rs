//! Faults that Linux can show, each in a private namespace: the doctor names the right one, with its figure, and nothing
//! is found where nothing is wrong.

use crate::support::{faults, found, in_namespace, left_out, report};
use std::net::{TcpListener, TcpStream};
use unstall_doctor::report::Status;
use unstall_doctor::{ExitStatus, Report, Severity};

/// Sets the hosts file; the text's lines are separated by `\n`.
fn hosts(text: &str) -> String {
    format!("mount -t tmpfs none /mnt\nprintf \"{text}\" > /mnt/hosts\nmount --bind /mnt/hosts /etc/hosts\n")
}

/// Both families in the hosts file, as most systems have it.
fn usual_hosts() -> String {
    hosts("127.0.0.1 localhost\\n::1 localhost\\n")
}

/// A table with a chain in each direction.
const TABLE: &str = "nft -f - <<END
table inet t {
  chain i { type filter hook input priority 0; }
  chain o { type filter hook output priority 0; }
}
END
";

/// The times of a finding's evidence in ms.
fn ms(report: &Report, id: &str) -> Vec<u64> {
    let finding = report.findings.iter().find(|finding| finding.id == id).expect("the finding");
    finding.evidence.iter().filter_map(|fact| Some(fact.value_ns? / 1_000_000)).collect()
}

#[test]
fn twenty_runs_find_nothing_where_nothing_is_wrong() {
    in_namespace("faults::twenty_runs_find_nothing_where_nothing_is_wrong", &usual_hosts(), &[], || {
        for run in 0..20 {
            let report = report(&[]);
            assert_eq!(faults(&report), [""; 0], "run {run}: {}", report.to_json());
            assert_eq!(ExitStatus::of(&report, Severity::Warn), ExitStatus::Clean);
            assert!(report.results.iter().all(|result| result.status == Status::Ran), "{}", report.to_json());
        }
    });
}

/// Windows' refusal, emulated: the first two SYNs of each flow are dropped, Linux sends them again after 1 and 2 s, and the
/// third is answered.
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

#[test]
fn a_slow_refusal_is_named_with_its_time() {
    in_namespace("faults::a_slow_refusal_is_named_with_its_time", SLOW_REFUSAL, &[], || {
        let report = report(&["refusal"]);
        assert_eq!(found(&report), ["warn slow-refusal"]);
        let finding = &report.findings[0];
        assert!(finding.title.contains("127.0.0.1, 127.0.0.2, ::1"), "{}", finding.title);
        // Two retransmissions, 1 s each; the timers of Linux are up to 5 % late.
        for time in ms(&report, "slow-refusal") {
            assert!((1990..2200).contains(&time), "{time} ms");
        }
        assert!(
            finding.evidence.iter().any(|fact| fact.text.contains("n x 505 ms")),
            "{:?}",
            finding.evidence
        );
        assert_eq!(ExitStatus::of(&report, Severity::Warn), ExitStatus::Found);
    });
}

#[test]
fn a_refusal_that_never_comes_is_told_from_one_that_is_lost_at_one_address() {
    let test = "faults::a_refusal_that_never_comes_is_told_from_one_that_is_lost_at_one_address";
    let setup = format!("{TABLE}nft add rule inet t i \"ip saddr 127.0.0.1 tcp flags & rst == rst drop\"");
    in_namespace(test, &setup, &[], || {
        let report = report(&["refusal"]);
        assert_eq!(found(&report), ["error refusal-lost-on-one-address"]);
        assert_eq!(ms(&report, "refusal-lost-on-one-address")[0], 3000, "the time limit");
        assert!(report.findings[0].title.contains("at 127.0.0.2 it is refused at once"));
    });
}

#[test]
fn silence_everywhere_is_a_missing_refusal() {
    let setup = format!("{TABLE}nft add rule inet t i \"tcp flags & rst == rst drop\"");
    in_namespace("faults::silence_everywhere_is_a_missing_refusal", &setup, &[], || {
        assert_eq!(found(&report(&["refusal"])), ["error refusal-missing"]);
    });
}

/// A routing rule that forbids TCP to 127.0.0.0/8, before the table of local addresses is looked at.
const FORBIDDEN: &str = "ip rule add pref 100 lookup local
ip rule del pref 0
ip rule add pref 10 to 127.0.0.0/8 ipproto tcp prohibit
";

#[test]
fn a_forbidden_connect_is_named() {
    in_namespace("faults::a_forbidden_connect_is_named", FORBIDDEN, &[], || {
        let report = report(&["refusal", "loopback"]);
        assert_eq!(found(&report), ["error loopback-broken", "error loopback-not-permitted"]);
        assert!(report.findings[0].evidence[0].text.contains("not permitted, OS error 13"), "{report:?}");
    });
}

#[test]
fn a_port_that_answers_although_it_is_closed_is_named() {
    let setup = "nft -f - <<END
table ip n {
  chain o { type nat hook output priority -100; ip daddr 127.0.0.2 tcp dport != 9999 redirect to :9999; }
}
END
";
    in_namespace("faults::a_port_that_answers_although_it_is_closed_is_named", setup, &[], || {
        let _proxy = TcpListener::bind("0.0.0.0:9999").expect("a listener");
        assert_eq!(found(&report(&["refusal"])), ["warn closed-port-answers"]);
    });
}

#[test]
fn a_loopback_that_drops_packets_is_broken() {
    let setup = format!("{TABLE}nft add rule inet t i ip daddr 127.0.0.1 drop");
    in_namespace("faults::a_loopback_that_drops_packets_is_broken", &setup, &[], || {
        assert_eq!(found(&report(&["loopback"])), ["error loopback-broken"]);
    });
}

#[test]
fn a_silent_ipv6_loopback_is_an_error() {
    let setup = format!("{}{TABLE}nft add rule inet t i ip6 daddr ::1 drop", usual_hosts());
    in_namespace("faults::a_silent_ipv6_loopback_is_an_error", &setup, &[], || {
        let report = report(&["ipv6", "loopback"]);
        assert_eq!(found(&report), ["error ipv6-loopback-silent"]);
        // The time limit, and what a busy machine adds.
        assert!((3000..3300).contains(&ms(&report, "ipv6-loopback-silent")[0]), "{report:?}");
    });
}

const IPV6_OFF: &str = "echo 1 > /proc/sys/net/ipv6/conf/lo/disable_ipv6\n";

#[test]
fn ipv6_that_is_off_is_information() {
    let setup = usual_hosts() + IPV6_OFF;
    in_namespace("faults::ipv6_that_is_off_is_information", &setup, &[], || {
        let report = report(&["ipv6", "loopback", "refusal", "small-writes"]);
        assert_eq!(faults(&report), [""; 0]);
        assert!(found(&report).contains(&"info ipv6-loopback-off".to_owned()));
    });
}

#[test]
fn ipv6_that_is_off_and_comes_first_is_a_warning() {
    let setup = hosts("::1 localhost\\n") + IPV6_OFF;
    in_namespace("faults::ipv6_that_is_off_and_comes_first_is_a_warning", &setup, &[], || {
        assert_eq!(found(&report(&["ipv6"])), ["warn ipv6-loopback-unusable"]);
    });
}

/// A name server at 127.0.0.53; whether anybody is there is the test's business.
fn name_server() -> String {
    hosts("127.0.0.1 box\\n")
        + "echo nameserver 127.0.0.53 > /mnt/resolv.conf\nmount --bind /mnt/resolv.conf /etc/resolv.conf\n"
}

#[test]
fn a_mute_resolver_without_a_line_for_localhost_is_named() {
    in_namespace(
        "faults::a_mute_resolver_without_a_line_for_localhost_is_named",
        &name_server(),
        &[],
        || {
            let _mute = std::net::UdpSocket::bind("127.0.0.53:53").expect("port 53");
            let report = report(&["names", "hosts-file"]);
            let expected = ["error localhost-slow", "warn resolver-silent", "info hosts-without-localhost"];
            assert_eq!(found(&report), expected);
            assert_eq!(ms(&report, "localhost-slow"), [3000], "the time limit");
            assert!(report.findings[0].title.contains("more than 3000 ms"), "{}", report.findings[0].title);
        },
    );
}

#[test]
fn a_localhost_that_nobody_knows_is_an_error() {
    in_namespace("faults::a_localhost_that_nobody_knows_is_an_error", &name_server(), &[], || {
        let report = report(&["names"]);
        assert_eq!(found(&report), ["error localhost-no-name", "info localhost-names-ask-dns"]);
    });
}

#[test]
fn a_localhost_that_leaves_the_machine_is_an_error() {
    let setup = hosts("127.0.0.1 localhost\\n192.0.2.1 localhost\\n");
    in_namespace("faults::a_localhost_that_leaves_the_machine_is_an_error", &setup, &[], || {
        let report = report(&["names", "hosts-file"]);
        assert_eq!(faults(&report), ["error localhost-not-loopback", "warn hosts-localhost-elsewhere"]);
        assert!(found(&report).contains(&"info hosts-duplicates".to_owned()));
    });
}

#[test]
fn a_huge_hosts_file_is_told() {
    let setup = usual_hosts() + "seq 1 20000 | sed \"s/.*/0.0.0.0 ad&.example/\" >> /mnt/hosts\n";
    in_namespace("faults::a_huge_hosts_file_is_told", &setup, &[], || {
        let report = report(&["hosts-file"]);
        assert_eq!(found(&report), ["info hosts-huge"]);
        assert!(report.findings[0].title.starts_with("the hosts file has 20002 entries"));
    });
}

fn sysctl(name: &str, value: &str) -> String {
    format!("echo {value} > /proc/sys/net/{name}\n")
}

#[test]
fn ports_that_are_used_up_by_time_wait_are_named_with_their_destination() {
    let test = "faults::ports_that_are_used_up_by_time_wait_are_named_with_their_destination";
    let setup = sysctl("ipv4/ip_local_port_range", "50000 50019") + &sysctl("ipv4/tcp_tw_reuse", "0");
    in_namespace(test, &setup, &[], || {
        let listener = TcpListener::bind("127.0.0.1:4000").expect("a listener");
        let mut connects = 0;
        while let Ok(client) = TcpStream::connect("127.0.0.1:4000") {
            let (server, _) = listener.accept().expect("it waits");
            // Who closes first keeps the port.
            drop(client);
            drop(server);
            connects += 1;
        }
        assert_eq!(connects, 20);
        let report = report(&["ports"]);
        assert_eq!(found(&report), ["warn ports-used-up", "warn few-ports"]);
        assert_eq!(report.findings[0].title, "20 of 20 local ports are taken for 127.0.0.1:4000");
    });
}

#[test]
fn a_range_that_reaches_down_to_common_ports_is_a_warning() {
    let setup = sysctl("ipv4/ip_local_port_range", "3000 32000");
    in_namespace("faults::a_range_that_reaches_down_to_common_ports_is_a_warning", &setup, &[], || {
        assert_eq!(found(&report(&["ports"])), ["warn self-connect-common"]);
    });
}

#[test]
fn accept_queues_that_reset_or_are_full_are_named() {
    let setup = sysctl("ipv4/tcp_abort_on_overflow", "1") + &sysctl("core/somaxconn", "16");
    in_namespace("faults::accept_queues_that_reset_or_are_full_are_named", &setup, &[], || {
        let full = match unstall::testing::full_backlog() {
            Ok(full) => full,
            Err(error) => {
                return left_out("accept_queues_that_reset_or_are_full_are_named", &error.to_string());
            }
        };
        let report = report(&["accept-queue"]);
        // One for each family that the server listens on.
        let mut found = found(&report);
        found.dedup();
        assert_eq!(found, ["warn abort-on-overflow", "warn backlog-full", "info somaxconn-low"]);
        let own = format!("({})", std::process::id());
        assert!(report.findings[1].title.contains(&own), "{}", report.findings[1].title);
        drop(full);
    });
}

/// What the first SYNs of a network meet: three fill the queue of 2 and are dropped by it, whatever comes after them meets `verdict`.
fn later_syns(verdict: &str) -> String {
    let limit = "tcp flags & (syn | ack) == syn limit rate over 1/minute burst 3 packets";
    format!("{TABLE}nft add rule inet t i \"{limit} {verdict}\"\n")
}

#[test]
fn a_full_queue_is_got_through_after_a_second() {
    in_namespace("faults::a_full_queue_is_got_through_after_a_second", "", &[], || {
        let report = report(&["backlog-burst"]);
        assert_eq!(
            (report.results[0].status, found(&report)),
            (Status::Ran, Vec::new()),
            "{}",
            report.to_json()
        );
        let line = &report.results[0].lines[0];
        assert!(
            line.starts_with("a backlog of 1 held 2; the next SYN was dropped, and sent again"),
            "{line}"
        );
    });
}

#[test]
fn a_full_queue_that_is_not_got_through_is_named() {
    let test = "faults::a_full_queue_that_is_not_got_through_is_named";
    in_namespace(test, &later_syns("drop"), &[], || {
        assert_eq!(found(&report(&["backlog-burst"])), ["warn full-queue-never-served"]);
    });
}

#[test]
fn a_full_queue_that_refuses_in_the_end_is_named() {
    let test = "faults::a_full_queue_that_refuses_in_the_end_is_named";
    in_namespace(test, &later_syns("reject with tcp reset"), &[], || {
        assert_eq!(found(&report(&["backlog-burst"])), ["warn full-queue-refuses"]);
    });
}

#[test]
fn proxy_variables_that_catch_loopback_are_named_without_their_password() {
    let test = "faults::proxy_variables_that_catch_loopback_are_named_without_their_password";
    let variables = [
        ("http_proxy", "http://me:secret@192.0.2.1:3128"),
        ("NO_PROXY", "localhost"),
        ("NODE_USE_ENV_PROXY", "1"),
    ];
    in_namespace(test, "", &variables, || {
        let report = report(&["proxy"]);
        assert_eq!(found(&report), ["warn proxy-catches-loopback"]);
        let finding = &report.findings[0];
        for words in ["127.0.0.1", "curl", "wget", "urllib", "requests", "Node"] {
            assert!(finding.title.contains(words), "{}", finding.title);
        }
        assert!(!finding.title.contains("Go"), "{}", finding.title);
        assert!(!report.to_json().contains("secret"));
    });
}

#[test]
fn nothing_that_can_be_measured_is_neither_sound_nor_found() {
    // An empty /etc has no hosts file.
    let setup = "mount -t tmpfs none /etc\n";
    in_namespace("faults::nothing_that_can_be_measured_is_neither_sound_nor_found", setup, &[], || {
        let report = report(&["hosts-file"]);
        assert_eq!(report.results[0].status, Status::CouldNotRun);
        assert!(
            report.results[0].why.as_deref().is_some_and(|why| why.contains("/etc/hosts cannot be read"))
        );
        assert_eq!(ExitStatus::of(&report, Severity::Warn), ExitStatus::NotMeasured);
    });
}
