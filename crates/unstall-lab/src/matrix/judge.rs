//! What a client got, from how it ended and what it said.

use crate::program::Ended;
use crate::scenario::Result as Gets;

/// What clients say, in lower case, and what it means. The first that is found decides.
const PHRASES: &[(&str, Gets)] = &[
    ("refused", Gets::Refused),
    ("10061", Gets::Refused),
    ("enotfound", Gets::NoName),
    ("eai_again", Gets::NoName),
    ("could not resolve", Gets::NoName),
    ("unable to resolve", Gets::NoName),
    ("name resolution", Gets::NoName),
    ("not known", Gets::NoName),
    ("getaddrinfo", Gets::NoName),
    ("unable to look", Gets::NoName),
    ("no name", Gets::NoName),
    ("timed out", Gets::TimedOut),
    ("timeout", Gets::TimedOut),
    ("etimedout", Gets::TimedOut),
    ("10060", Gets::TimedOut),
    ("unreachable", Gets::Unreachable),
    ("ehostunreach", Gets::Unreachable),
    ("enetunreach", Gets::Unreachable),
    ("no route", Gets::Unreachable),
    ("cannot assign", Gets::Unreachable),
    ("can't assign", Gets::Unreachable),
    ("eaddrnotavail", Gets::Unreachable),
    ("permission denied", Gets::Unreachable),
    ("eacces", Gets::Unreachable),
    ("not permitted", Gets::Unreachable),
    ("exhausted", Gets::Unreachable),
    ("reset", Gets::Dropped),
    ("empty reply", Gets::Dropped),
    ("closed", Gets::Dropped),
    ("hang up", Gets::Dropped),
    ("end of file", Gets::Dropped),
    ("no data received", Gets::Dropped),
    ("broken pipe", Gets::Dropped),
];

/// What the exit code of a program that says nothing means.
const CODES: &[(&str, u8, Gets)] = &[
    ("curl", 6, Gets::NoName),
    ("curl", 7, Gets::Refused),
    ("curl", 28, Gets::TimedOut),
    ("curl", 52, Gets::Dropped),
    ("curl", 56, Gets::Dropped),
    ("unstall", 124, Gets::TimedOut),
];

/// What the client got. `text` is all that it wrote.
pub(super) fn judge(program: &str, ended: Ended, text: &str) -> Gets {
    let code = match ended {
        Ended::TimedOut => return Gets::TimedOut,
        ended => ended.code(),
    };
    if code == 0 {
        return Gets::Answered;
    }
    let text = text.to_lowercase();
    let said = PHRASES.iter().find(|(phrase, _)| text.contains(phrase)).map(|(_, gets)| *gets);
    let known = || CODES.iter().find(|row| (row.0, row.1) == (program, code)).map(|row| row.2);
    said.or_else(known).unwrap_or(Gets::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_words_and_codes_are_read() {
        let cases = [
            ("curl", 7, "curl: (7) Failed to connect to 127.0.0.1 port 9: Connection refused", Gets::Refused),
            ("curl", 7, "", Gets::Refused),
            ("curl", 28, "curl: (28) Connection timed out after 2001 milliseconds", Gets::TimedOut),
            ("curl", 52, "", Gets::Dropped),
            ("python3", 1, "ConnectionRefusedError: [Errno 111] Connection refused", Gets::Refused),
            ("python3", 1, "OSError: [Errno 99] Cannot assign requested address", Gets::Unreachable),
            ("python3", 1, "socket.gaierror: [Errno -3] Temporary failure in name resolution", Gets::NoName),
            ("node", 1, "ECONNRESET", Gets::Dropped),
            ("node", 1, "ETIMEDOUT", Gets::TimedOut),
            ("something", 3, "", Gets::Failed),
            ("something", 0, "connection refused, but then it went well", Gets::Answered),
        ];
        for (program, code, text, gets) in cases {
            assert_eq!(judge(program, Ended::Exited(code), text), gets, "{program} {code} {text}");
        }
        assert_eq!(judge("curl", Ended::TimedOut, ""), Gets::TimedOut);
    }
}
