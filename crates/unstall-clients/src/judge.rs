//! What a client got, from how it ended and what it said.

use schemars::JsonSchema;
use serde::Serialize;

/// What a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gets {
    /// It says that it succeeded.
    Answered,
    /// It says that the connect was refused.
    Refused,
    /// It says that time ran out.
    TimedOut,
    /// It was still waiting when its time here was over.
    StillWaiting,
    /// It says that there is no way to the address.
    Unreachable,
    /// It says that the name does not resolve.
    NoName,
    /// It says that the connection was closed or reset.
    Dropped,
    /// It failed without saying how.
    Failed,
}

impl Gets {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Answered => "ok",
            Self::Refused => "refused",
            Self::TimedOut => "timeout",
            Self::StillWaiting => "waits on",
            Self::Unreachable => "unreachable",
            Self::NoName => "no name",
            Self::Dropped => "dropped",
            Self::Failed => "failed",
        }
    }
}

/// What clients say, in lower case, and what it means. The first that is found decides.
const PHRASES: &[(&str, Gets)] = &[
    ("refused", Gets::Refused),
    ("10061", Gets::Refused),
    ("enotfound", Gets::NoName),
    ("eai_again", Gets::NoName),
    ("hostnotfound", Gets::NoName),
    ("could not resolve", Gets::NoName),
    ("unable to resolve", Gets::NoName),
    ("name resolution", Gets::NoName),
    ("not known", Gets::NoName),
    ("no name", Gets::NoName),
    ("no such host", Gets::NoName),
    ("timed out", Gets::TimedOut),
    ("timedout", Gets::TimedOut),
    ("timeout", Gets::TimedOut),
    ("10060", Gets::TimedOut),
    ("unreachable", Gets::Unreachable),
    ("enetunreach", Gets::Unreachable),
    ("no route", Gets::Unreachable),
    ("cannot assign", Gets::Unreachable),
    ("can't assign", Gets::Unreachable),
    ("eaddrnotavail", Gets::Unreachable),
    ("permission denied", Gets::Unreachable),
    ("eacces", Gets::Unreachable),
    ("not permitted", Gets::Unreachable),
    // Java's HttpClient gives a refusal no sentence of its own.
    ("connectexception", Gets::Refused),
    ("reset", Gets::Dropped),
    ("empty reply", Gets::Dropped),
    ("closed", Gets::Dropped),
    ("hang up", Gets::Dropped),
    ("no data received", Gets::Dropped),
    ("broken pipe", Gets::Dropped),
];

/// What an exit code means where the words are not read: they may be in any language.
const CODES: &[(&str, i32, Gets)] = &[
    ("curl", 6, Gets::NoName),
    ("curl", 7, Gets::Refused),
    ("curl", 28, Gets::TimedOut),
    ("curl", 52, Gets::Dropped),
    ("curl", 56, Gets::Dropped),
    ("unstall", 124, Gets::TimedOut),
];

/// What the client got. `text` is all that it wrote; its last line tells most.
pub(crate) fn judge(program: &str, code: Option<i32>, text: &str) -> Gets {
    if code == Some(0) {
        return Gets::Answered;
    }
    let text = text.to_lowercase();
    let find = |text: &str| PHRASES.iter().find(|(phrase, _)| text.contains(phrase)).map(|(_, gets)| *gets);
    let known = || CODES.iter().find(|row| row.0 == program && Some(row.1) == code).map(|row| row.2);
    find(last_line(&text)).or_else(|| find(&text)).or_else(known).unwrap_or(Gets::Failed)
}

/// The last line that is not empty.
pub(crate) fn last_line(text: &str) -> &str {
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_codes_are_read() {
        let cases = [
            ("curl", 7, "curl: (7) Failed to connect to 127.0.0.1 port 9: Connection refused", Gets::Refused),
            ("curl", 7, "", Gets::Refused),
            ("curl", 28, "curl: (28) Operation timed out after 1001 milliseconds", Gets::TimedOut),
            ("wget", 4, "Connecting to localhost|::1|:9... failed: Connection refused.", Gets::Refused),
            ("python3", 1, "TimeoutError: timed out", Gets::TimedOut),
            (
                "python3",
                1,
                "  for res in getaddrinfo(host, timeout)\nConnectionRefusedError: [Errno 111]",
                Gets::Refused,
            ),
            ("node", 1, "ECONNREFUSED", Gets::Refused),
            ("java", 1, "java.net.ConnectException", Gets::Refused),
            ("java", 1, "java.net.ConnectException: Connection timed out", Gets::TimedOut),
            ("java", 1, "java.net.http.HttpTimeoutException: request timed out", Gets::TimedOut),
            ("pwsh", 1, "ConnectionRefused\nNo connection could be made", Gets::Refused),
            ("something", 3, "", Gets::Failed),
            ("something", 0, "connection refused, but then it went well", Gets::Answered),
        ];
        for (program, code, text, gets) in cases {
            assert_eq!(judge(program, Some(code), text), gets, "{program} {code} {text}");
        }
        assert_eq!(judge("curl", None, ""), Gets::Failed, "a signal ended it");
    }
}
