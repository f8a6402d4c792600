//! What `netsh interface ipv4 show ...` prints. Windows has no documented call for it.
//!
//! The words are in the language of the system and in the console's code page; the numbers and their order are the same
//! everywhere, so only they are read.

use std::ops::RangeInclusive;

/// The answer to `show dynamicport tcp`: the first two numbers that follow a colon are the start and how many.
pub(super) fn dynamic_range(text: &str) -> Option<RangeInclusive<u16>> {
    // Some languages write a full-width colon.
    let numbers = text.lines().filter_map(|line| line.rsplit_once([':', '：'])?.1.trim().parse::<u32>().ok());
    let [start, count] = numbers.take(2).collect::<Vec<_>>().try_into().ok()?;
    let end = start.checked_add(count)?.checked_sub(1)?;
    let range = u16::try_from(start).ok()?..=u16::try_from(end).ok()?;
    (!range.is_empty()).then_some(range)
}

/// The answer to `show excludedportrange tcp`: lines of two numbers, those of the administrator with a star. `None`: there is no
/// such table in it.
pub(super) fn excluded_ranges(text: &str) -> Option<Vec<super::Excluded>> {
    // The line below the heads; without it this is an error message.
    text.lines().find(|line| line.contains("---") && line.split_whitespace().count() == 2)?;
    let ranges = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let first = words.next()?.parse().ok()?;
        let last = words.next()?.parse().ok()?;
        let rest = words.next();
        (first <= last && rest.is_none_or(|star| star == "*"))
            .then_some(super::Excluded { ports: first..=last, administered: rest.is_some() })
    });
    Some(ranges.collect())
}

#[cfg(test)]
mod tests {
    use super::{dynamic_range, excluded_ranges};
    use crate::ports::Excluded;

    /// Laid out as Windows prints it, with numbers of our own.
    const DYNAMIC: [&str; 4] = [
        "\r\nProtocol tcp Dynamic Port Range\r\n---------------------------------\r\n\
         Start Port      : 49152\r\nNumber of Ports : 16384\r\n\r\n",
        "\r\nProtokoll tcp Dynamischer Portbereich\r\n---------------------------------\r\n\
         Startport            : 49152\r\nAnzahl von Ports     : 16384\r\n\r\n",
        "\r\n协议 tcp 动态端口范围\r\n---------------------------------\r\n启动端口        : 49152\r\n端口数          : 16384\r\n",
        // In a code page that is not UTF-8 the words do not survive; the numbers do.
        "\r\nPlage de ports dynamique du protocole tcp\r\n---------------------------------\r\n\
         Port de d\u{fffd}marrage   : 49152\r\nNombre de ports     : 16384\r\n",
    ];

    #[test]
    fn reads_the_dynamic_range_in_every_language() {
        for text in DYNAMIC {
            assert_eq!(dynamic_range(text), Some(49152..=65535), "{text}");
        }
    }

    #[test]
    fn an_answer_without_a_range_is_none() {
        let none = "The following command was not found: interface ipv4 show dynamicport tcp.\r\n";
        assert_eq!(dynamic_range(none), None);
        assert_eq!(dynamic_range(""), None);
        assert_eq!(dynamic_range("Start Port : 60000\r\nNumber of Ports : 60000\r\n"), None);
        assert_eq!(dynamic_range("Start Port : 0\r\nNumber of Ports : 0\r\n"), None);
        assert_eq!(excluded_ranges(none), None);
    }

    /// The heads and the foot in English, German, Spanish and simplified Chinese.
    const EXCLUDED: [[&str; 3]; 4] = [
        ["Protocol tcp Port Exclusion Ranges", "Start Port    End Port", "* - Administered port exclusions."],
        ["Protokoll tcp Portausschlussbereiche", "Startport   Endport", "* - Verwaltete Portausschlüsse."],
        [
            "Intervalos de exclusión de puertos del protocolo tcp",
            "Puerto de inicio    Puerto final",
            "* - Administrados.",
        ],
        ["协议 tcp 端口排除范围", "开始端口    结束端口", "* - 管理的端口排除。"],
    ];

    #[test]
    fn reads_the_excluded_ranges_in_every_language() {
        for [title, heads, foot] in EXCLUDED {
            let text = format!(
                "\r\n{title}\r\n\r\n{heads}\r\n----------    --------\r\n      4185        4284      \r\n\
                       5357        5357      \r\n     50000       50059     *\r\n\r\n{foot}\r\n"
            );
            let expected = [
                Excluded { ports: 4185..=4284, administered: false },
                Excluded { ports: 5357..=5357, administered: false },
                Excluded { ports: 50000..=50059, administered: true },
            ];
            assert_eq!(excluded_ranges(&text).as_deref(), Some(&expected[..]), "{text}");
        }
        let none_excluded = "\r\nProtocol tcp Port Exclusion Ranges\r\n\r\nStart Port    End Port\r\n----------    --------\r\n";
        assert_eq!(excluded_ranges(none_excluded), Some(Vec::new()));
    }
}
