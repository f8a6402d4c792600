//! Codes of every platform and what they mean.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::net::SocketAddr;
use unstall_core::outcome::{
    Known, Operation, OsError, Outcome, Platform, classify, io_error_kind, lookup, meaning, name, refine,
};

use Operation::{Bind, Connect, Listen, Resolve, SetOption, Socket, Wait};
use Outcome::{
    Cancelled, Exhausted, NoName, NotAvailable, NotPermitted, Refused, TimedOut, Unknown, Unreachable,
};
use Platform::{Apple, Bsd, Linux, Windows};

/// One row per meaning that somebody relies on: platform, operation, code, name, outcome.
const ROWS: &[(Platform, Operation, i32, &str, Outcome)] = &[
    (Linux, Connect, 111, "ECONNREFUSED", Refused),
    (Linux, Connect, 104, "ECONNRESET", Refused),
    (Linux, Connect, 110, "ETIMEDOUT", TimedOut),
    (Linux, Connect, 101, "ENETUNREACH", Unreachable),
    (Linux, Connect, 113, "EHOSTUNREACH", Unreachable),
    (Linux, Connect, 112, "EHOSTDOWN", Unreachable),
    (Linux, Connect, 92, "ENOPROTOOPT", Unreachable),
    (Linux, SetOption, 92, "ENOPROTOOPT", NotAvailable),
    (Linux, Connect, 95, "EOPNOTSUPP", Unreachable),
    (Linux, SetOption, 95, "EOPNOTSUPP", NotAvailable),
    (Linux, Connect, 22, "EINVAL", Unreachable),
    (Linux, SetOption, 22, "EINVAL", Unknown),
    (Linux, Connect, 99, "EADDRNOTAVAIL", NotAvailable),
    (Linux, Connect, 11, "EAGAIN", Exhausted),
    (Linux, Connect, 98, "EADDRINUSE", Exhausted),
    (Linux, Bind, 98, "EADDRINUSE", Exhausted),
    (Linux, Listen, 98, "EADDRINUSE", Exhausted),
    (Linux, Connect, 1, "EPERM", NotPermitted),
    (Linux, Connect, 13, "EACCES", NotPermitted),
    (Linux, Socket, 97, "EAFNOSUPPORT", NotAvailable),
    (Linux, Socket, 93, "EPROTONOSUPPORT", NotAvailable),
    (Linux, Socket, 24, "EMFILE", Exhausted),
    (Linux, Socket, 23, "ENFILE", Exhausted),
    (Linux, Socket, 105, "ENOBUFS", Exhausted),
    (Linux, Socket, 12, "ENOMEM", Exhausted),
    (Linux, Connect, 115, "EINPROGRESS", Unknown),
    (Linux, Connect, 4, "EINTR", Unknown),
    (Linux, Wait, 125, "ECANCELED", Cancelled),
    (Linux, Resolve, -2, "EAI_NONAME", NoName),
    (Linux, Resolve, -3, "EAI_AGAIN", NoName),
    (Linux, Resolve, -5, "EAI_NODATA", NoName),
    (Linux, Resolve, -6, "EAI_FAMILY", NotAvailable),
    (Linux, Resolve, -10, "EAI_MEMORY", Exhausted),
    (Linux, Resolve, -101, "EAI_CANCELED", Cancelled),
    (Linux, Resolve, -11, "EAI_SYSTEM", Unknown),
    // What EAI_SYSTEM left to errno.
    (Linux, Resolve, 24, "EMFILE", Exhausted),
    (Apple, Connect, 61, "ECONNREFUSED", Refused),
    (Apple, Connect, 60, "ETIMEDOUT", TimedOut),
    (Apple, Connect, 65, "EHOSTUNREACH", Unreachable),
    (Apple, Connect, 49, "EADDRNOTAVAIL", NotAvailable),
    (Apple, Connect, 22, "EINVAL", Unknown),
    (Apple, Connect, 42, "ENOPROTOOPT", Unreachable),
    (Apple, SetOption, 102, "EOPNOTSUPP", NotAvailable),
    (Apple, Connect, 102, "EOPNOTSUPP", NotAvailable),
    (Apple, Connect, 45, "ENOTSUP", NotAvailable),
    (Apple, Wait, 89, "ECANCELED", Cancelled),
    (Apple, Resolve, 8, "EAI_NONAME", NoName),
    (Apple, Resolve, 6, "EAI_MEMORY", Exhausted),
    (Apple, Resolve, 24, "EMFILE", Exhausted),
    (Bsd, Connect, 61, "ECONNREFUSED", Refused),
    (Bsd, Connect, 45, "EOPNOTSUPP", NotAvailable),
    (Bsd, Connect, 94, "ECAPMODE", NotPermitted),
    (Bsd, Resolve, 8, "EAI_NONAME", NoName),
    (Bsd, Resolve, -2, "EAI_NONAME", NoName),
    (Bsd, Resolve, -14, "EAI_OVERFLOW", Unknown),
    (Windows, Connect, 10061, "WSAECONNREFUSED", Refused),
    (Windows, Connect, 1225, "ERROR_CONNECTION_REFUSED", Refused),
    (Windows, Connect, 1234, "ERROR_PORT_UNREACHABLE", Refused),
    (Windows, Connect, 10054, "WSAECONNRESET", Refused),
    (Windows, Connect, 64, "ERROR_NETNAME_DELETED", Refused),
    (Windows, Connect, 10060, "WSAETIMEDOUT", TimedOut),
    (Windows, Connect, 121, "ERROR_SEM_TIMEOUT", TimedOut),
    (Windows, Connect, 10051, "WSAENETUNREACH", Unreachable),
    (Windows, Connect, 1231, "ERROR_NETWORK_UNREACHABLE", Unreachable),
    (Windows, Connect, 1232, "ERROR_HOST_UNREACHABLE", Unreachable),
    (Windows, Connect, 1233, "ERROR_PROTOCOL_UNREACHABLE", Unreachable),
    (Windows, Connect, 10049, "WSAEADDRNOTAVAIL", NotAvailable),
    (Windows, Connect, 10013, "WSAEACCES", NotPermitted),
    (Windows, Connect, 5, "ERROR_ACCESS_DENIED", NotPermitted),
    (Windows, Connect, 10048, "WSAEADDRINUSE", Exhausted),
    (Windows, Bind, 10048, "WSAEADDRINUSE", Exhausted),
    (Windows, Connect, 1227, "ERROR_ADDRESS_ALREADY_ASSOCIATED", Exhausted),
    (Windows, Connect, 10055, "WSAENOBUFS", Exhausted),
    (Windows, Socket, 10024, "WSAEMFILE", Exhausted),
    (Windows, Socket, 10047, "WSAEAFNOSUPPORT", NotAvailable),
    (Windows, SetOption, 10045, "WSAEOPNOTSUPP", NotAvailable),
    (Windows, Wait, 995, "WSA_OPERATION_ABORTED", Cancelled),
    (Windows, Connect, 10035, "WSAEWOULDBLOCK", Unknown),
    (Windows, Resolve, 11001, "WSAHOST_NOT_FOUND", NoName),
    (Windows, Resolve, 11002, "WSATRY_AGAIN", NoName),
    (Windows, Resolve, 11004, "WSANO_DATA", NoName),
    (Windows, Resolve, 8, "ERROR_NOT_ENOUGH_MEMORY", Exhausted),
];

#[test]
fn every_code_has_its_name_and_outcome() {
    for &(platform, operation, code, wanted, outcome) in ROWS {
        let row = format!("{platform:?} {operation:?} {code}");
        assert_eq!(name(platform, operation, code), Some(wanted), "{row}");
        assert_eq!(classify(platform, operation, code), outcome, "{row}");
        let words = meaning(platform, operation, code).unwrap();
        assert!(!words.is_empty() && !words.ends_with('.') && !words.contains('\n'), "{row}: {words}");
    }
}

#[test]
fn a_code_that_no_table_has_stays_unknown() {
    let unknown = [0, -1, 4242, i32::MAX, i32::MIN];
    for platform in Platform::ALL {
        for operation in Operation::ALL {
            for code in unknown {
                if (operation, code) == (Resolve, -1) && platform != Windows && platform != Apple {
                    continue; // EAI_BADFLAGS
                }
                assert_eq!(lookup(platform, operation, code), None, "{platform:?} {operation:?} {code}");
                assert_eq!(classify(platform, operation, code), Unknown);
                assert_eq!(name(platform, operation, code), None);
                assert_eq!(meaning(platform, operation, code), None);
            }
        }
    }
}

/// All codes that a platform's tables have for an operation.
fn known(platform: Platform, operation: Operation) -> Vec<(i32, Known)> {
    let ranges = [-200..300, 900..1_900, 9_000..9_600, 10_000..11_100];
    ranges.into_iter().flatten().filter_map(|code| Some((code, lookup(platform, operation, code)?))).collect()
}

#[test]
fn a_name_stands_for_one_code_of_a_platform() {
    for platform in Platform::ALL {
        for operation in [Connect, Resolve] {
            let all = known(platform, operation);
            let names: HashSet<_> = all.iter().map(|(_, known)| known.name).collect();
            // The BSDs have two numberings for getaddrinfo.
            if (platform, operation) != (Bsd, Resolve) {
                assert_eq!(names.len(), all.len(), "{platform:?} {operation:?}");
            }
        }
    }
    assert!(known(Linux, Connect).len() >= 50 && known(Windows, Connect).len() >= 80);
    assert_eq!(known(Linux, Resolve).iter().filter(|(code, _)| *code < 0).count(), 18);
    assert_eq!(known(Apple, Resolve).iter().filter(|(_, known)| known.name.starts_with("EAI_")).count(), 14);
    assert_eq!(known(Bsd, Resolve).iter().filter(|(_, known)| known.name.starts_with("EAI_")).count(), 28);
}

/// A failed call never means "connected", nor what only the connector itself can see.
#[test]
fn no_code_means_success() {
    for platform in Platform::ALL {
        for operation in Operation::ALL {
            for (code, known) in known(platform, operation) {
                let impossible = matches!(known.outcome, Outcome::Connected | Outcome::SelfConnected);
                assert!(!impossible, "{platform:?} {operation:?} {code}");
                assert!(known.outcome != NoName || operation == Resolve || platform == Windows, "{code}");
            }
        }
    }
}

/// The numbers of the platform that runs this test, against std's own table.
#[test]
fn the_numbers_agree_with_std() {
    let kinds = [
        (ErrorKind::ConnectionRefused, "ECONNREFUSED", "WSAECONNREFUSED"),
        (ErrorKind::ConnectionReset, "ECONNRESET", "WSAECONNRESET"),
        (ErrorKind::ConnectionAborted, "ECONNABORTED", "WSAECONNABORTED"),
        (ErrorKind::AddrInUse, "EADDRINUSE", "WSAEADDRINUSE"),
        (ErrorKind::AddrNotAvailable, "EADDRNOTAVAIL", "WSAEADDRNOTAVAIL"),
        (ErrorKind::NetworkUnreachable, "ENETUNREACH", "WSAENETUNREACH"),
        (ErrorKind::HostUnreachable, "EHOSTUNREACH", "WSAEHOSTUNREACH"),
        (ErrorKind::NetworkDown, "ENETDOWN", "WSAENETDOWN"),
        (ErrorKind::NotConnected, "ENOTCONN", "WSAENOTCONN"),
        // std leaves WSAEINTR without a kind.
        #[cfg(unix)]
        (ErrorKind::Interrupted, "EINTR", "WSAEINTR"),
        (ErrorKind::OutOfMemory, "ENOMEM", "ERROR_NOT_ENOUGH_MEMORY"),
    ];
    let all = known(Platform::CURRENT, Connect);
    for (kind, unix, windows) in kinds {
        let wanted = if cfg!(windows) { windows } else { unix };
        let (code, _) = all.iter().find(|(_, known)| known.name == wanted).expect(wanted);
        assert_eq!(std::io::Error::from_raw_os_error(*code).kind(), kind, "{wanted}");
    }
}

/// Every errno of the platform that runs this test, against libc's number.
#[cfg(unix)]
#[test]
fn the_numbers_agree_with_libc() {
    let all = known(Platform::CURRENT, Connect);
    macro_rules! check {
        ($($errno:ident)*) => {
            [$((stringify!($errno), libc::$errno)),*]
        };
    }
    let numbers = check!(
        EPERM ENOENT ESRCH EINTR EIO ENXIO EBADF EAGAIN ENOMEM EACCES EFAULT EBUSY ENODEV EINVAL ENFILE EMFILE EPIPE
        ENOSYS ENOTSOCK EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP
        EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET
        ENOBUFS EISCONN ENOTCONN ETOOMANYREFS ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS
        EDQUOT
    );
    for (name, number) in numbers {
        let found = all.iter().find(|(_, known)| known.name == name).map(|(code, _)| *code);
        assert_eq!(found, Some(number), "{name}");
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn not_available_is_exhausted_where_the_address_exists() {
    let rows = [
        // IPv4 loopback exists everywhere.
        ("127.0.0.1:80", None, Exhausted),
        ("127.9.9.9:80", Some(false), Exhausted),
        ("[::ffff:127.0.0.1]:80", None, Exhausted),
        ("[::1]:80", None, NotAvailable),
        ("[::1]:80", Some(false), NotAvailable),
        ("[::1]:80", Some(true), Exhausted),
        ("192.0.2.1:80", None, NotAvailable),
        ("192.0.2.1:80", Some(true), Exhausted),
        // Windows refuses these whatever works.
        ("0.0.0.0:80", Some(true), NotAvailable),
        ("[::]:80", Some(true), NotAvailable),
        ("[::ffff:0.0.0.0]:80", Some(true), NotAvailable),
        ("[fe80::1]:80", Some(true), NotAvailable),
        ("[fe80::1%2]:80", Some(true), Exhausted),
    ];
    for (destination, usable, outcome) in rows {
        assert_eq!(refine(NotAvailable, address(destination), usable), outcome, "{destination} {usable:?}");
    }
}

#[test]
fn a_link_local_address_without_a_zone_is_not_available() {
    for outcome in [Unknown, Unreachable, NotAvailable] {
        assert_eq!(refine(outcome, address("[fe80::1]:80"), None), NotAvailable);
    }
    assert_eq!(refine(Unreachable, address("[fe80::1%2]:80"), None), Unreachable);
    assert_eq!(refine(Unknown, address("[::1]:80"), None), Unknown);
}

#[test]
fn refining_leaves_every_other_outcome_alone() {
    for outcome in Outcome::ALL {
        for destination in ["127.0.0.1:80", "[::1]:80", "[fe80::1]:80", "192.0.2.1:80"] {
            let refined = refine(outcome, address(destination), Some(true));
            let may_change = matches!(outcome, NotAvailable | Unknown | Unreachable);
            assert!(may_change || refined == outcome, "{outcome} {destination}");
        }
    }
}

#[test]
fn only_a_connect_is_refined() {
    let code = if cfg!(windows) {
        10049
    } else if cfg!(target_os = "linux") {
        99
    } else {
        49
    };
    let loopback = address("127.0.0.1:80");
    for (operation, outcome) in
        [(Connect, Exhausted), (Wait, Exhausted), (Bind, NotAvailable), (Socket, NotAvailable)]
    {
        let error = OsError { operation, code };
        assert_eq!(Outcome::from_os(error), NotAvailable);
        assert_eq!(Outcome::from_os_for(error, loopback, None), outcome, "{operation}");
    }
}

#[test]
fn an_error_displays_as_name_and_number() {
    let (code, text) = if cfg!(windows) {
        (10061, "WSAECONNREFUSED (10061)")
    } else if cfg!(target_os = "linux") {
        (111, "ECONNREFUSED (111)")
    } else {
        (61, "ECONNREFUSED (61)")
    };
    let error = OsError { operation: Connect, code };
    assert_eq!(error.to_string(), text);
    let meaning = if cfg!(windows) { "a reset answered every SYN" } else { "the SYN was refused" };
    assert!(error.meaning().unwrap().starts_with(meaning));
    assert_eq!(OsError { operation: Connect, code: 4242 }.to_string(), "error 4242");
    assert_eq!(OsError { operation: Connect, code: 4242 }.meaning(), None);
}

#[test]
fn kinds_for_std_keep_the_class() {
    let rows = [
        (Refused, ErrorKind::ConnectionRefused),
        (Outcome::SelfConnected, ErrorKind::ConnectionRefused),
        (TimedOut, ErrorKind::TimedOut),
        (Unreachable, ErrorKind::HostUnreachable),
        (NotAvailable, ErrorKind::AddrNotAvailable),
        (NotPermitted, ErrorKind::PermissionDenied),
        (NoName, ErrorKind::NotFound),
        (Exhausted, ErrorKind::ResourceBusy),
        (Cancelled, ErrorKind::ConnectionAborted),
        (Unknown, ErrorKind::Other),
        (Outcome::Connected, ErrorKind::Other),
    ];
    assert_eq!(rows.len(), Outcome::ALL.len());
    for (outcome, kind) in rows {
        assert_eq!(io_error_kind(outcome), kind, "{outcome}");
    }
}

#[test]
fn outcomes_and_operations_have_words_of_their_own() {
    let ids: HashSet<_> = Outcome::ALL.iter().map(|outcome| outcome.id()).collect();
    let words: HashSet<_> = Outcome::ALL.iter().map(ToString::to_string).collect();
    let calls: HashSet<_> = Operation::ALL.iter().map(ToString::to_string).collect();
    assert_eq!((ids.len(), words.len(), calls.len()), (11, 11, 8));
    assert_eq!(format!("{TimedOut:>12}|"), "   timed out|");
    assert_eq!(SetOption.to_string(), "set a socket option");
}

#[cfg(feature = "serde")]
#[test]
fn the_ids_are_the_json_names() {
    for outcome in Outcome::ALL {
        assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.id());
        assert_eq!(serde_json::from_value::<Outcome>(outcome.id().into()).unwrap(), outcome);
    }
}
