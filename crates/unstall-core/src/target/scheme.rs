//! The port that a URL's scheme stands for.

/// Scheme and port. IANA's service name registry has the number of each, but for those marked.
const PORTS: &[(&str, u16)] = &[
    ("amqp", 5672),
    ("amqps", 5671),
    ("clickhouse", 9000), // ClickHouse's native protocol
    ("coap+tcp", 5683),
    ("coaps+tcp", 5684),
    ("ftp", 21),
    ("ftps", 990),
    ("git", 9418),
    ("gopher", 70),
    ("http", 80),
    ("https", 443),
    ("imap", 143),
    ("imaps", 993),
    ("ipp", 631),
    ("ipps", 631),
    ("irc", 6667), // registered as ircu's range 6665-6669
    ("ircs", 6697),
    ("kafka", 9092), // Apache Kafka's default listener
    ("ldap", 389),
    ("ldaps", 636),
    ("memcached", 11211),
    ("mongodb", 27017),
    ("mqtt", 1883),
    ("mqtts", 8883),
    ("mssql", 1433),
    ("mysql", 3306),
    ("mysqlx", 33060),
    ("nats", 4222),
    ("nntp", 119),
    ("pop3", 110),
    ("pop3s", 995),
    ("postgres", 5432),
    ("postgresql", 5432),
    ("redis", 6379),
    ("rediss", 6379), // Redis has no port of its own for TLS
    ("rtmp", 1935),
    ("rtsp", 554),
    ("rtsps", 322),
    ("sftp", 22),
    ("sip", 5060),
    ("sips", 5061),
    ("smb", 445),
    ("smtp", 25),
    ("smtps", 465),
    ("socks", 1080),
    ("socks4", 1080),
    ("socks4a", 1080),
    ("socks5", 1080),
    ("socks5h", 1080),
    ("sqlserver", 1433),
    ("ssh", 22),
    ("telnet", 23),
    ("tds", 1433),
    ("vnc", 5900),
    ("ws", 80),
    ("wss", 443),
];

/// The port that a URL of this scheme means when it names none. The scheme may be in any case.
///
/// ```
/// # use unstall_core::target::scheme_port;
/// assert_eq!(scheme_port("HTTPS"), Some(443));
/// assert_eq!(scheme_port("gemini+unknown"), None);
/// ```
pub fn scheme_port(scheme: &str) -> Option<u16> {
    PORTS.iter().find(|(name, _)| name.eq_ignore_ascii_case(scheme)).map(|&(_, port)| port)
}

#[cfg(test)]
mod tests {
    use super::PORTS;

    #[test]
    fn every_scheme_stands_once_in_lower_case() {
        for pair in PORTS.windows(2) {
            assert!(pair[0].0 != pair[1].0, "{pair:?}");
        }
        let mut names: Vec<_> = PORTS.iter().map(|row| row.0).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PORTS.len());
        assert!(PORTS.iter().all(|(name, port)| *name == name.to_ascii_lowercase() && *port > 0));
    }
}
