//! The four bytes, and when they are sent at all.

use proptest::prelude::*;
use std::time::Duration;
use unstall_core::outcome::Platform;
use unstall_core::syn::{
    FIRST_BUILD_WITHOUT_RETRANSMISSION, Prepared, SIO_TCP_INITIAL_RTO, SynRetransmissions, Wanted,
    initial_rto, prepared, wanted,
};

use SynRetransmissions::{Exactly, NoneAnywhere, NoneIfLocal, OsDefault};

const SERVER_2016: u32 = 14393;
const WINDOWS_11: u32 = 26200;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn the_bytes_are_pinned() {
    let rows = [
        (WINDOWS_11, NoneIfLocal, None, [0xFF, 0xFF, 0xFE, 0]),
        (16299, NoneIfLocal, None, [0xFF, 0xFF, 0xFE, 0]),
        (16298, NoneIfLocal, None, [0xFF, 0xFF, 1, 0]),
        (SERVER_2016, NoneIfLocal, None, [0xFF, 0xFF, 1, 0]),
        (0, NoneIfLocal, None, [0xFF, 0xFF, 1, 0]),
        // A limit moves Rtt only where nobody else sends a lost SYN again.
        (WINDOWS_11, NoneIfLocal, Some(ms(3000)), [0xFF, 0xFF, 0xFE, 0]),
        (WINDOWS_11, NoneAnywhere, None, [0xFF, 0xFF, 0xFE, 0]),
        (WINDOWS_11, NoneAnywhere, Some(ms(3000)), [0xE8, 0x03, 0xFE, 0]),
        (SERVER_2016, NoneAnywhere, Some(ms(3000)), [0xE8, 0x03, 1, 0]),
        (WINDOWS_11, NoneAnywhere, Some(ms(3001)), [0xE9, 0x03, 0xFE, 0]),
        (WINDOWS_11, NoneAnywhere, Some(ms(0)), [1, 0, 0xFE, 0]),
        (WINDOWS_11, NoneAnywhere, Some(Duration::from_nanos(1)), [1, 0, 0xFE, 0]),
        (WINDOWS_11, NoneAnywhere, Some(ms(3 * 65_534)), [0xFE, 0xFF, 0xFE, 0]),
        (WINDOWS_11, NoneAnywhere, Some(ms(3 * 65_535)), [0xFE, 0xFF, 0xFE, 0]),
        (WINDOWS_11, NoneAnywhere, Some(Duration::MAX), [0xFE, 0xFF, 0xFE, 0]),
        (WINDOWS_11, OsDefault, Some(ms(100)), [0xFF, 0xFF, 0xFF, 0]),
        (WINDOWS_11, Exactly(2), Some(ms(100)), [0xFF, 0xFF, 2, 0]),
        (WINDOWS_11, Exactly(0), None, [0xFF, 0xFF, 1, 0]),
        (WINDOWS_11, Exactly(8), None, [0xFF, 0xFF, 8, 0]),
        (WINDOWS_11, Exactly(9), None, [0xFF, 0xFF, 8, 0]),
        (WINDOWS_11, Exactly(254), None, [0xFF, 0xFF, 8, 0]),
    ];
    for (build, policy, limit, bytes) in rows {
        assert_eq!(initial_rto(build, policy, limit), bytes, "{build} {policy:?} {limit:?}");
    }
    // _WSAIOW(IOC_VENDOR, 17): IOC_IN | IOC_VENDOR | 17.
    assert_eq!(SIO_TCP_INITIAL_RTO, 0x8000_0000 + 0x1800_0000 + 17);
}

#[test]
fn only_windows_needs_it_and_only_where_the_policy_says_so() {
    for os in [Platform::Linux, Platform::Apple, Platform::Bsd] {
        for policy in [NoneIfLocal, NoneAnywhere, Exactly(2)] {
            assert_eq!(wanted(policy, true, os), Wanted::Leave(Prepared::NotNeeded));
        }
    }
    for os in Platform::ALL {
        assert_eq!(wanted(OsDefault, true, os), Wanted::Leave(Prepared::OsDefault));
    }
    let windows = |policy, local| wanted(policy, local, Platform::Windows);
    assert_eq!(windows(NoneIfLocal, true), Wanted::Set);
    assert_eq!(windows(NoneIfLocal, false), Wanted::Leave(Prepared::NotLocal));
    assert_eq!(windows(NoneAnywhere, false), Wanted::Set);
    assert_eq!(windows(Exactly(2), false), Wanted::Set);
}

#[test]
fn what_was_done_is_what_the_bytes_said() {
    let rows = [
        (WINDOWS_11, NoneIfLocal, Ok(()), Prepared::NoRetransmission),
        (SERVER_2016, NoneIfLocal, Ok(()), Prepared::OneRetransmission),
        (WINDOWS_11, NoneAnywhere, Ok(()), Prepared::NoRetransmission),
        (WINDOWS_11, Exactly(1), Ok(()), Prepared::OneRetransmission),
        (WINDOWS_11, Exactly(3), Ok(()), Prepared::Retransmissions(3)),
        (WINDOWS_11, Exactly(200), Ok(()), Prepared::Retransmissions(8)),
        (WINDOWS_11, OsDefault, Ok(()), Prepared::OsDefault),
        (WINDOWS_11, NoneIfLocal, Err(10045), Prepared::NotSupported(10045)),
    ];
    for (build, policy, result, done) in rows {
        assert_eq!(prepared(build, policy, result), done, "{build} {policy:?}");
    }
}

#[test]
fn what_was_done_is_said_in_one_line() {
    let all = [
        Prepared::NoRetransmission,
        Prepared::OneRetransmission,
        Prepared::Retransmissions(3),
        Prepared::NotLocal,
        Prepared::NotNeeded,
        Prepared::OsDefault,
        Prepared::NotSupported(10045),
        Prepared::Listening,
        Prepared::ListenersUnknown,
    ];
    let mut texts: Vec<_> = all.iter().map(ToString::to_string).collect();
    assert!(texts.iter().all(|text| !text.is_empty() && !text.contains('\n')));
    assert!(texts[2].contains('3') && texts[6].contains("10045"));
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), all.len());
}

proptest! {
    /// 0 would mean the default; 254 would mean 128 s on an old build; 0 and 0xFFFF have meanings of their own as Rtt.
    #[test]
    fn no_build_gets_a_count_that_means_something_else(
        build in any::<u32>(),
        policy in prop_oneof![Just(NoneIfLocal), Just(NoneAnywhere), any::<u8>().prop_map(Exactly)],
        limit in proptest::option::of(any::<Duration>()),
    ) {
        let [low, high, count, padding] = initial_rto(build, policy, limit);
        prop_assert!((1..=8).contains(&count) || (count == 0xFE && build >= FIRST_BUILD_WITHOUT_RETRANSMISSION));
        let rtt = u16::from_le_bytes([low, high]);
        prop_assert!(rtt >= 1);
        prop_assert_eq!(padding, 0);
        if let (NoneAnywhere, Some(limit)) = (policy, limit) {
            let time_out = Duration::from_millis(3 * u64::from(rtt));
            prop_assert!(rtt < 0xFFFF && (time_out >= limit || rtt == 0xFFFE));
        } else {
            prop_assert_eq!(rtt, 0xFFFF);
        }
    }
}
