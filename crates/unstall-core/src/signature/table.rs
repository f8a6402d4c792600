//! The table. Ranges are in microseconds; each is the timer and what the measurements around it were.

use super::{Phase, Shape, Signature};
use crate::outcome::{Outcome, Platform};

const MS: u64 = 1_000;
const S: u64 = 1_000_000;

const WINDOWS: &[Platform] = &[Platform::Windows];

/// n x 505 ms for n = 1 to 8 (Set-NetTCPSetting allows 2 to 8 retransmissions, the ioctl 1). Measured were
/// 2002 to 2110 ms for n = 4, programs' own time included, and 506 ms for n = 1: so from n x 500 to n x 525 +
/// 15 ms.
const SYN_STEPS: &[(u64, u64)] = &{
    let mut steps = [(0, 0); 8];
    let mut i = 0;
    while i < 8 {
        let n = i as u64 + 1;
        steps[i] = (n * 500 * MS, n * 525 * MS + 15 * MS);
        i += 1;
    }
    steps
};

/// When Linux (and, from its initial time-out of 1 s, Windows) sends an unanswered SYN again: after 1, 3, 7,
/// 15, 31, 63 s with a doubled time-out, after 1, 2, 3, 4, 5, 7, 11, 19, 35, 67 s with
/// tcp_syn_linear_timeouts = 4 (Linux 6.5 and later). Up to 90 ms and 1 % later: in bursts 1060 to 1090 ms
/// were measured.
const SYN_SCHEDULE: &[(u64, u64)] = &{
    const SECONDS: [u64; 14] = [1, 2, 3, 4, 5, 7, 11, 15, 19, 31, 35, 63, 67, 0];
    let mut steps = [(0, 0); SECONDS.len() - 1];
    let mut i = 0;
    while i < steps.len() {
        steps[i] = (SECONDS[i] * S - 5 * MS, SECONDS[i] * S * 101 / 100 + 90 * MS);
        i += 1;
    }
    steps
};

/// What every row has unless it says otherwise.
const ROW: Signature = Signature {
    id: "",
    phase: Phase::Connect,
    outcomes: &[],
    truth: None,
    platforms: &[],
    shape: Shape::AnyOf(&[]),
    figure: "",
    cause: "",
    source: "",
};

/// Every signature, the most telling first.
pub const SIGNATURES: &[Signature] = &[
    Signature {
        id: "syn-resent-after-rst",
        outcomes: &[Outcome::Refused],
        platforms: WINDOWS,
        shape: Shape::AnyOf(SYN_STEPS),
        figure: "n x 505 ms (2.0 s by default), then refused",
        cause: "Windows sends the SYN again after each reset before it reports the refusal",
        source: "Microsoft KB175523; curl-library mail of 2026-08-04 (506 ms for one, 2015 to 2026 ms for four)",
        ..ROW
    },
    Signature {
        id: "accept-queue-full-windows",
        outcomes: &[Outcome::Connected],
        platforms: WINDOWS,
        shape: Shape::AnyOf(SYN_STEPS),
        figure: "n x 505 ms, then connected",
        cause: "the accept queue was full, Windows answered with a reset, and a later SYN found room",
        source: "Microsoft KB113576; nodejs/node#38736",
        ..ROW
    },
    Signature {
        id: "syn-lost",
        outcomes: &[Outcome::Connected],
        shape: Shape::AnyOf(SYN_SCHEDULE),
        figure: "1 s (3, 7 ...), then connected",
        cause: "a SYN was lost or dropped, by a full accept queue (Linux) or a filter, and a later one was answered",
        source: "measured on Linux 6.18: 1002 to 1023 ms, 1060 to 1090 ms in bursts; tcp_syn_retries in the kernel's ip-sysctl",
        ..ROW
    },
    Signature {
        id: "no-syn-retransmission-misread",
        outcomes: &[Outcome::Refused],
        platforms: WINDOWS,
        shape: Shape::Between(126 * S, 132 * S),
        figure: "128 s, then refused",
        cause: "Windows before build 16299 took the value for \"no SYN retransmission\" (0xFE) for a count",
        source: "review of JDK-8250521: 255 SYNs, 500 ms apart",
        ..ROW
    },
    Signature {
        id: "no-answer-windows",
        outcomes: &[Outcome::TimedOut],
        platforms: WINDOWS,
        shape: Shape::AnyOf(&[(6_800 * MS, 7_300 * MS), (20_500 * MS, 22 * S), (122 * S, 125 * S)]),
        figure: "21 s (7, 123 s), then timed out",
        cause: "nobody answers: a filter swallows the SYN, or the reset is lost",
        source: "SciQLop/speasy PR#344: 21 s with 4 SYN retransmissions, 7 s with 2, 123 s with 6",
        ..ROW
    },
    Signature {
        id: "no-answer-linux",
        outcomes: &[Outcome::TimedOut],
        platforms: &[Platform::Linux],
        shape: Shape::Between(126 * S, 137 * S),
        figure: "127 to 135 s, then timed out",
        cause: "nobody answers: a filter swallows the SYN, or the reset is lost",
        source: "measured on Linux 6.18: 134.9 s; tcp_syn_retries in the kernel's ip-sysctl: 127 s without, 131 s with linear time-outs",
        ..ROW
    },
    Signature {
        id: "failure-not-seen",
        outcomes: &[Outcome::TimedOut],
        truth: Some(Outcome::Refused),
        shape: Shape::WholeLimit,
        figure: "the caller's whole time limit, although refused",
        cause: "the program does not see that the connect failed: select without its exception set, or WSAPoll before build 19041",
        source: "emulated under Wine 8; zeromq/libzmq#3107; MicrosoftDocs/sdk-api PR#764",
        ..ROW
    },
    Signature {
        id: "limit-below-refusal",
        outcomes: &[Outcome::TimedOut],
        truth: Some(Outcome::Refused),
        platforms: WINDOWS,
        shape: Shape::WholeLimitBelow(2_030 * MS),
        figure: "a time limit below 2.03 s, although refused",
        cause: "the time limit is shorter than Windows takes to report a refusal",
        source: "Abstract Objective of 2026-10-08: curl -m 2 ends at 2.01 s with exit code 28, never 7",
        ..ROW
    },
    Signature {
        id: "so-error-race",
        platforms: WINDOWS,
        shape: Shape::Modes((20, 2 * MS), (9_500, 26 * MS)),
        figure: "two modes, 0.2 ms and 10 to 25 ms",
        cause: "getsockopt(SO_ERROR) right after the completion waits for mswsock's own thread",
        source: "php-src issue on stream_socket_client, Windows 10, 11 and Server 2019: 0.199 ms against 14.6 ms",
        ..ROW
    },
    Signature {
        id: "happy-eyeballs-200",
        phase: Phase::SecondFamily,
        shape: Shape::Between(199 * MS, 235 * MS),
        figure: "200 ms before the second family",
        cause: "the happy-eyeballs timer of curl: the first family neither connected nor failed in that time",
        source: "curl: CURL_HET_DEFAULT; measured 201 ms, published 212 to 225 ms",
        ..ROW
    },
    Signature {
        id: "happy-eyeballs-250",
        phase: Phase::SecondFamily,
        shape: Shape::Between(249 * MS, 285 * MS),
        figure: "250 ms before the second family",
        cause: "the happy-eyeballs timer of RFC 8305 or Node: the first family neither connected nor failed in that time",
        source: "RFC 8305 section 8; Node autoSelectFamilyAttemptTimeout; measured 251 to 273 ms",
        ..ROW
    },
    Signature {
        id: "happy-eyeballs-300",
        phase: Phase::SecondFamily,
        shape: Shape::Between(299 * MS, 335 * MS),
        figure: "300 ms before the second family",
        cause: "the happy-eyeballs timer of Go, hyper or Chromium: the first family neither connected nor failed in that time",
        source: "RFC 6555 section 5.5; Go net.Dialer; hyper-util HttpConnector; Chromium kIPv6FallbackTime; measured 301 to 303 ms",
        ..ROW
    },
    Signature {
        id: "nagle-delayed-ack",
        phase: Phase::Exchange,
        shape: Shape::AnyOf(&[(39 * MS, 55 * MS), (195 * MS, 220 * MS)]),
        figure: "40 to 50 ms or 200 ms on each exchange",
        cause: "Nagle's algorithm holds the second small write until the delayed acknowledgement of the first",
        source: "measured on Linux 6.18: 44 ms; published: 40 to 50 ms on Windows 10, 200 ms on Windows 7",
        ..ROW
    },
    Signature {
        id: "resolver-timeout",
        phase: Phase::Resolve,
        shape: Shape::AnyOf(&[
            (4_950 * MS, 5_500 * MS),
            (9_900 * MS, 10_800 * MS),
            (14_850 * MS, 16_100 * MS),
            (19_800 * MS, 21_400 * MS),
        ]),
        figure: "5 s (10, 15, 20), before any packet of the connect",
        cause: "a name server or a multicast query (.local) does not answer, and the resolver waits for it",
        source: "resolv.conf(5): timeout 5 s, 2 attempts; measured 10.0 s; frappe PR#29199, edavis/fieldnotes#27",
        ..ROW
    },
];
