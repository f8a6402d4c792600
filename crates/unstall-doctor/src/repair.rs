//! What `unstall doctor --fix` changes: the lines of `localhost` in the hosts file, and nothing else.
//!
//! It adds lines between two comments and takes away what stands between them; no line of anybody else's is touched. Adding ::1 where the
//! file names 127.0.0.1 already is left to people, since programs would then try it first.

use crate::hosts::{self, Hosts};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

const BEGIN: &str = "# unstall added the next lines; `unstall doctor --undo-fix` takes them out";
const END: &str = "# end of what unstall added";

/// Where the system keeps the hosts file.
pub fn hosts_path() -> PathBuf {
    hosts::path()
}

/// The text of a hosts file with `localhost` for both families, and the lines that were added. `None`: the file names it already, or
/// has lines of ours.
pub fn with_localhost(text: &str) -> Option<(String, Vec<String>)> {
    let hosts = Hosts::parse(text);
    if !hosts.addresses("localhost").is_empty() || text.contains(BEGIN) {
        return None;
    }
    let lines: Vec<String> = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
        .iter()
        .map(|address| format!("{address} localhost"))
        .collect();
    // As the file ends its lines.
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let before = if text.is_empty() || text.ends_with('\n') { "" } else { end };
    let block = [&[BEGIN.to_owned()][..], &lines, &[END.to_owned()]].concat();
    let added: String = block.join(end) + end;
    Some((format!("{text}{before}{added}"), lines))
}

/// The text without what [`with_localhost`] added. `None`: there is nothing of it.
pub fn without_ours(text: &str) -> Option<String> {
    let start = text.find(BEGIN)?;
    let last = start + text[start..].find(END)? + END.len();
    let line_end = text[last..].find('\n').map_or(text.len(), |end| last + end + 1);
    Some(format!("{}{}", &text[..start], &text[line_end..]))
}

#[cfg(test)]
mod tests {
    use super::{with_localhost, without_ours};
    use crate::hosts::Hosts;

    #[test]
    fn what_is_added_names_both_families_and_is_taken_out_without_a_trace() {
        for text in ["", "10.0.0.1 a\n", "10.0.0.1 a", "# only a comment\r\n10.0.0.1 a\r\n"] {
            let (fixed, lines) = with_localhost(text).expect("something is missing");
            assert_eq!(lines, ["127.0.0.1 localhost", "::1 localhost"]);
            assert_eq!(Hosts::parse(&fixed).addresses("localhost").len(), 2, "{fixed:?}");
            assert!(fixed.starts_with(text));
            let undone = without_ours(&fixed).expect("it is there");
            // A line end that was missing at the end of the file stays.
            assert_eq!(undone.trim_end(), text.trim_end(), "{fixed:?}");
            assert_eq!(with_localhost(&fixed), None, "once is enough");
        }
    }

    #[test]
    fn lines_that_came_later_stay() {
        let (fixed, _) = with_localhost("1.2.3.4 a\n").expect("something is missing");
        assert_eq!(without_ours(&format!("{fixed}5.6.7.8 b\n")).as_deref(), Some("1.2.3.4 a\n5.6.7.8 b\n"));
    }

    #[test]
    fn a_file_that_names_localhost_is_left_alone() {
        assert_eq!(with_localhost("127.0.0.1 localhost\n"), None);
        assert_eq!(without_ours("127.0.0.1 localhost\n"), None);
    }
}
