//! What people type, what it means, and what they are told when it means nothing.

use proptest::prelude::*;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::num::NonZeroU16;
use unstall_core::target::{Host, Name, ParseTargetErrorKind as Kind, Target, Zone, ZoneName, scheme_port};

/// What was typed, and how it is displayed.
const GOOD: &[(&str, &str)] = &[
    ("localhost:4200", "localhost:4200"),
    ("LocalHost:4200", "localhost:4200"),
    ("localhost.:80", "localhost.:80"),
    ("app.localhost:80", "app.localhost:80"),
    ("my_service-1.internal:8080", "my_service-1.internal:8080"),
    ("4200", "localhost:4200"),
    (":4200", "localhost:4200"),
    ("1", "localhost:1"),
    ("65535", "localhost:65535"),
    ("localhost:0080", "localhost:80"),
    ("127.0.0.1:9", "127.0.0.1:9"),
    ("0.0.0.0:9", "0.0.0.0:9"),
    ("[::1]:80", "[::1]:80"),
    ("[::]:80", "[::]:80"),
    ("[2001:DB8:0:0::1]:80", "[2001:db8::1]:80"),
    ("[::ffff:127.0.0.1]:80", "[::ffff:127.0.0.1]:80"),
    ("[fe80::1]:80", "[fe80::1]:80"),
    ("[fe80::1%eth0]:80", "[fe80::1%eth0]:80"),
    ("[fe80::1%Ethernet~2]:80", "[fe80::1%Ethernet~2]:80"),
    ("[fe80::1%3]:80", "[fe80::1%3]:80"),
    ("[fe80::1%0]:80", "[fe80::1%0]:80"),
    ("[fe80::1%007]:80", "[fe80::1%7]:80"),
    ("[fe80::1%25]:80", "[fe80::1%25]:80"),
    ("[fe80::1%251]:80", "[fe80::1%251]:80"),
    ("[fe80::1%25eth0]:80", "[fe80::1%eth0]:80"),
    ("http://[fe80::1%25eth0]:80/", "[fe80::1%eth0]:80"),
    ("http://[fe80::1%eth0]/", "[fe80::1%eth0]:80"),
    ("http://[fe80::1%251]/", "[fe80::1%1]:80"),
    ("http://[fe80::1%25]/", "[fe80::1%25]:80"),
    ("http://localhost:4200/x", "localhost:4200"),
    ("http://localhost:4200/x?y=[::1]:5#z@w:1", "localhost:4200"),
    ("http://localhost:4200?y", "localhost:4200"),
    ("http://localhost:4200#z", "localhost:4200"),
    ("http://localhost", "localhost:80"),
    ("http://localhost:", "localhost:80"),
    ("http://[::1]", "[::1]:80"),
    ("http://[::1]:/", "[::1]:80"),
    ("HTTPS://Example.ORG/", "example.org:443"),
    ("https://user:pass:w@rd@example.org:8443/", "example.org:8443"),
    ("postgres://app:secret@db/app?sslmode=off", "db:5432"),
    ("redis://127.0.0.1/0", "127.0.0.1:6379"),
    ("unknown+x-1.y://host:7/", "host:7"),
    ("localhost:4200/x", "localhost:4200"),
    ("user@localhost:4200", "localhost:4200"),
    ("localhost:80/?to=http://other:81/", "localhost:80"),
    ("4200/", "localhost:4200"),
    ("bücher.example:80", "xn--bcher-kva.example:80"),
    ("BÜCHER.example:80", "xn--bcher-kva.example:80"),
    ("XN--bcher-kva.example:80", "xn--bcher-kva.example:80"),
    ("日本語。jp:80", "xn--wgv71a119e.jp:80"),
    ("１２７.0.0.1:80", "127.0.0.1:80"),
    ("faß.de:80", "xn--fa-hia.de:80"),
    ("a.b.c.d.e.1x:80", "a.b.c.d.e.1x:80"),
    ("0xg:80", "0xg:80"),
    ("trailing-.example:80", "trailing-.example:80"),
];

/// What was typed, the kind of mistake, the byte where it is, and the message.
const BAD: &[(&str, Kind, usize, &str)] = &[
    ("", Kind::Empty, 0, "the target is empty: write HOST:PORT, for example localhost:4200"),
    (
        "localhost",
        Kind::MissingPort,
        9,
        "no port after \"localhost\" at character 10: add a colon and the port, for example localhost:4200",
    ),
    (
        "127.0.0.1",
        Kind::MissingPort,
        9,
        "no port after \"127.0.0.1\" at character 10: add a colon and the port, for example localhost:4200",
    ),
    (
        "[::1]",
        Kind::MissingPort,
        5,
        "no port after \"[::1]\" at character 6: add a colon and the port, for example localhost:4200",
    ),
    (
        "foo://bar/",
        Kind::MissingPort,
        9,
        "no port after \"bar\", and \"foo\" has no known one, at character 10: add a colon and the port, for example \
         localhost:4200",
    ),
    ("localhost:", Kind::Port, 10, "the port is missing at character 11: ports are numbers from 1 to 65535"),
    ("[::1]:", Kind::Port, 6, "the port is missing at character 7: ports are numbers from 1 to 65535"),
    (":", Kind::Port, 1, "the port is missing at character 2: ports are numbers from 1 to 65535"),
    (
        "localhost:0",
        Kind::Port,
        10,
        "port 0 cannot be connected to at character 11: ports are numbers from 1 to 65535",
    ),
    ("0", Kind::Port, 0, "port 0 cannot be connected to at character 1: ports are numbers from 1 to 65535"),
    (
        "localhost:65536",
        Kind::Port,
        10,
        "port \"65536\" is out of range at character 11: ports are numbers from 1 to 65535",
    ),
    (
        "65536",
        Kind::Port,
        0,
        "port \"65536\" is out of range at character 1: ports are numbers from 1 to 65535",
    ),
    (
        "http://u@[::1]:999999/",
        Kind::Port,
        15,
        "port \"999999\" is out of range at character 16: ports are numbers from 1 to 65535",
    ),
    (
        "localhost:http",
        Kind::Port,
        10,
        "port \"http\" is not a number at character 11: ports are numbers from 1 to 65535",
    ),
    (
        "localhost:+80",
        Kind::Port,
        10,
        "port \"+80\" is not a number at character 11: ports are numbers from 1 to 65535",
    ),
    (
        "localhost: 80",
        Kind::Port,
        10,
        "port \" 80\" is not a number at character 11: ports are numbers from 1 to 65535",
    ),
    (
        "bü:８０",
        Kind::Port,
        4,
        "port \"８０\" is not a number at character 4: ports are numbers from 1 to 65535",
    ),
    (
        "/x",
        Kind::MissingHost,
        0,
        "the host is missing at character 1: write HOST:PORT, for example localhost:4200",
    ),
    (
        "user@:80",
        Kind::MissingHost,
        5,
        "the host is missing at character 6: write HOST:PORT, for example localhost:4200",
    ),
    (
        "user@4200",
        Kind::Address,
        5,
        "\"4200\" is neither a name nor a full IPv4 address at character 6: write four numbers from 0 to 255, for example \
         127.0.0.1:4200",
    ),
    (
        "foo://bar:/",
        Kind::MissingPort,
        9,
        "no port after \"bar\", and \"foo\" has no known one, at character 10: add a colon and the port, for example \
         localhost:4200",
    ),
    (
        "http://:80/",
        Kind::MissingHost,
        7,
        "the host is missing at character 8: a URL needs one, for example http://localhost:4200",
    ),
    (
        "http:///x",
        Kind::MissingHost,
        7,
        "the host is missing at character 8: a URL needs one, for example http://localhost:4200",
    ),
    (
        "local host:80",
        Kind::Name,
        5,
        "' ' cannot be in a host name at character 6: letters, digits, '-', '_' and '.' can, for example localhost:4200",
    ),
    (
        "a\nb:80",
        Kind::Name,
        1,
        "'\\n' cannot be in a host name at character 2: letters, digits, '-', '_' and '.' can, for example localhost:4200",
    ),
    (
        "ü\u{a0}b:80",
        Kind::Name,
        2,
        "'\\u{a0}' cannot be in a host name at character 2: letters, digits, '-', '_' and '.' can, for example localhost:4200",
    ),
    (
        "ü\u{85}b:80",
        Kind::Name,
        2,
        "'\\u{85}' cannot be in a host name at character 2: letters, digits, '-', '_' and '.' can, for example localhost:4200",
    ),
    (
        "ü\u{86}b:80",
        Kind::Name,
        2,
        "'\\u{86}' cannot be in a host name at character 2: letters, digits, '-', '_' and '.' can, for example localhost:4200",
    ),
    (
        "a,b:80",
        Kind::Name,
        1,
        "',' cannot be in a host name at character 2: give every target as an argument of its own, for example \
         localhost:4200",
    ),
    (
        "mongodb://h1:27017,h2:27017/",
        Kind::Ambiguous,
        21,
        "there is a second ':' at character 22: write HOST:PORT, or [ADDRESS]:PORT for IPv6, for example [::1]:4200",
    ),
    (
        "-x:80",
        Kind::Name,
        0,
        "a host name cannot begin with '-' at character 1: write HOST:PORT, for example localhost:4200",
    ),
    (
        "http://a..b/",
        Kind::Name,
        9,
        "\"a..b\" has an empty part between its dots at character 10: check the host's spelling",
    ),
    (
        "..:80",
        Kind::Name,
        0,
        "\"..\" has an empty part between its dots at character 1: check the host's spelling",
    ),
    (
        ".:80",
        Kind::Name,
        0,
        "\".\" has an empty part between its dots at character 1: check the host's spelling",
    ),
    (
        "xn--a:80",
        Kind::Name,
        0,
        "\"xn--a\" is not a valid international name at character 1: check the host's spelling",
    ),
    (
        "127.1:80",
        Kind::Address,
        0,
        "\"127.1\" is neither a name nor a full IPv4 address at character 1: write four numbers from 0 to 255, for \
         example 127.0.0.1:4200",
    ),
    (
        "http://256.0.0.1/",
        Kind::Address,
        7,
        "\"256.0.0.1\" is neither a name nor a full IPv4 address at character 8: write four numbers from 0 to 255, for \
         example 127.0.0.1:4200",
    ),
    (
        "0x7f.0X1:80",
        Kind::Address,
        0,
        "\"0x7f.0X1\" is neither a name nor a full IPv4 address at character 1: write four numbers from 0 to 255, for \
         example 127.0.0.1:4200",
    ),
    (
        "http://4200",
        Kind::Address,
        7,
        "\"4200\" is neither a name nor a full IPv4 address at character 8: write four numbers from 0 to 255, for example \
         127.0.0.1:4200",
    ),
    (
        "::1:80",
        Kind::Ambiguous,
        0,
        "\"::1:80\" can be read in two ways at character 1: write [::1]:80 for port 80 of ::1, or [::1:80]:PORT for a port \
         of ::1:80",
    ),
    (
        "::1",
        Kind::Ambiguous,
        0,
        "\"::1\" is an IPv6 address without a port at character 1: write it in brackets with a port, for example \
         [::1]:4200",
    ),
    (
        "http://1:2:3:4:5:6:7:8:80/",
        Kind::Ambiguous,
        7,
        "\"1:2:3:4:5:6:7:8:80\" lacks the brackets around its address at character 8: write [1:2:3:4:5:6:7:8]:80",
    ),
    (
        "fe80::1%eth0:80",
        Kind::Ambiguous,
        0,
        "\"fe80::1%eth0:80\" lacks the brackets around its address at character 1: write [fe80::1%eth0]:80",
    ),
    (
        "::1%a\u{a0}\n:80",
        Kind::Ambiguous,
        1,
        "there is a second ':' at character 2: write HOST:PORT, or [ADDRESS]:PORT for IPv6, for example [::1]:4200",
    ),
    (
        "a:b:80",
        Kind::Ambiguous,
        3,
        "there is a second ':' at character 4: write HOST:PORT, or [ADDRESS]:PORT for IPv6, for example [::1]:4200",
    ),
    (
        "[::1:80",
        Kind::Brackets,
        0,
        "\"[\" is not closed at character 1: close it behind the IPv6 address, for example [::1]:4200",
    ),
    (
        "[::1]80",
        Kind::Brackets,
        5,
        "\"80\" follows the closing bracket at character 6: write a colon and the port there, for example [::1]:4200",
    ),
    (
        "::1]:80",
        Kind::Ambiguous,
        1,
        "there is a second ':' at character 2: write HOST:PORT, or [ADDRESS]:PORT for IPv6, for example [::1]:4200",
    ),
    (
        "host]:80",
        Kind::Brackets,
        4,
        "\"]\" stands without its other bracket at character 5: an IPv6 address stands in brackets, for example \
         [::1]:4200",
    ),
    (
        "[127.0.0.1]:80",
        Kind::Brackets,
        1,
        "\"127.0.0.1\" is not an IPv6 address at character 2: write an IPv4 address without brackets, for example \
         127.0.0.1:4200",
    ),
    (
        "[localhost]:80",
        Kind::Brackets,
        1,
        "\"localhost\" is not an IPv6 address at character 2: only IPv6 addresses stand in brackets, for example \
         [::1]:4200",
    ),
    (
        "[::g]:80",
        Kind::Brackets,
        1,
        "\"::g\" is not an IPv6 address at character 2: check its spelling, for example [::1]:4200",
    ),
    (
        "[fe80::1%]:80",
        Kind::Zone,
        9,
        "the zone is empty at character 10: write the interface's name or index after %, as in %eth0",
    ),
    (
        "[fe80::1%a b]:80",
        Kind::Zone,
        10,
        "' ' cannot be in a zone at character 11: write the interface's index instead, as in %2",
    ),
    (
        "[fe80::1%4294967296]:80",
        Kind::Zone,
        9,
        "zone \"4294967296\" is out of range at character 10: an interface's index is at most 4294967295",
    ),
    (
        "http://[fe80::1%2525eth0]:80",
        Kind::Zone,
        18,
        "\"25eth0\" is not an interface's name at character 19: write its index, as in %2",
    ),
    (
        "1http://x",
        Kind::Scheme,
        0,
        "a URL's scheme cannot begin with '1' at character 1: write HOST:PORT or a URL, for example \
         http://localhost:4200",
    ),
    (
        "ht tp://x",
        Kind::Scheme,
        2,
        "' ' cannot be in a URL's scheme at character 3: write HOST:PORT or a URL, for example http://localhost:4200",
    ),
    (
        "://x",
        Kind::Scheme,
        0,
        "there is no scheme before \"://\" at character 1: write HOST:PORT or a URL, for example http://localhost:4200",
    ),
];

#[test]
fn every_form_is_understood_and_displays_to_what_parses_to_the_same() {
    for (typed, displayed) in GOOD {
        let target: Target = typed.parse().unwrap_or_else(|error| panic!("{typed}: {error}"));
        assert_eq!(target.to_string(), *displayed, "{typed}");
        assert_eq!(displayed.parse::<Target>().as_ref(), Ok(&target), "{typed}");
    }
}

#[test]
fn every_mistake_is_one_line_that_says_what_where_and_what_to_do() {
    for (typed, kind, position, message) in BAD {
        let error = typed.parse::<Target>().expect_err(typed);
        assert_eq!((error.kind(), error.position()), (*kind, *position), "{typed:?}: {error}");
        assert_eq!(error.to_string(), *message, "{typed:?}");
    }
}

#[test]
fn a_long_offending_part_is_cut_and_what_cannot_be_seen_is_escaped() {
    let error = format!("localhost:{}\u{202e}", "9".repeat(100)).parse::<Target>().unwrap_err().to_string();
    assert!(error.len() < 140 && error.contains("9999\"..."), "{error}");
    let error = "localhost:1\u{202e}\t".parse::<Target>().unwrap_err().to_string();
    assert!(error.contains("\"1\\u{202e}\\t\""), "{error}");
}

#[test]
fn names_end_at_63_and_253_characters() {
    let label = |n: usize| "a".repeat(n);
    assert!(format!("{}:80", label(63)).parse::<Target>().is_ok());
    let error = format!("x.{}:80", label(64)).parse::<Target>().unwrap_err();
    assert_eq!((error.kind(), error.position()), (Kind::Name, 2));
    let name = format!("{0}.{0}.{0}.{1}", label(63), label(61));
    assert_eq!(name.len(), 253);
    assert!(format!("{name}:80").parse::<Target>().is_ok());
    assert!(format!("{name}.:80").parse::<Target>().is_ok());
    let error = format!("{name}a:80").parse::<Target>().unwrap_err();
    assert!(error.to_string().contains("is too long for a host name"), "{error}");
}

#[test]
fn a_zone_name_has_at_most_256_characters() {
    assert!("e".repeat(256).parse::<ZoneName>().is_ok());
    assert!("e".repeat(257).parse::<ZoneName>().is_err());
    for wrong in [
        "", "12", "25", "25x", "a/b", "a:b", "a]b", "a[b", "a%b", "a?b", "a#b", "a@b", "a\\b", "ü", "a\u{7f}",
    ] {
        assert!(wrong.parse::<ZoneName>().is_err(), "{wrong:?}");
    }
    assert_eq!(&*"wlp3s0.100-x_y".parse::<ZoneName>().unwrap(), "wlp3s0.100-x_y");
}

#[test]
fn hosts_parse_alone_with_and_without_brackets() {
    let zone = Zone::Name("eth0".parse().unwrap());
    for (typed, host) in [
        ("::1", Host::Ip(IpAddr::V6(Ipv6Addr::LOCALHOST))),
        ("[::1]", Host::Ip(IpAddr::V6(Ipv6Addr::LOCALHOST))),
        ("127.0.0.1", Host::Ip([127, 0, 0, 1].into())),
        ("fe80::1%eth0", Host::Zoned("fe80::1".parse().unwrap(), zone.clone())),
        ("[fe80::1%eth0]", Host::Zoned("fe80::1".parse().unwrap(), zone)),
        ("Localhost", Host::Name(Name::localhost())),
    ] {
        assert_eq!(typed.parse::<Host>().unwrap(), host, "{typed}");
    }
    for (typed, kind) in [
        ("", Kind::Empty),
        ("[::1", Kind::Brackets),
        ("::1]", Kind::Brackets),
        ("a:1", Kind::Brackets),
        ("[x]", Kind::Brackets),
        ("1", Kind::Address),
        ("a b", Kind::Name),
    ] {
        assert_eq!(typed.parse::<Host>().unwrap_err().kind(), kind, "{typed}");
    }
    assert_eq!("".parse::<Name>().unwrap_err().kind(), Kind::Empty);
    assert_eq!("a b".parse::<Name>().unwrap_err().to_string().find("character 2"), Some(32));
    assert_eq!("127.0.0.1".parse::<Name>().unwrap_err().kind(), Kind::Address);
}

#[test]
fn targets_are_made_from_parts() {
    let localhost = Target::localhost(NonZeroU16::new(80).unwrap());
    assert_eq!(Target::try_from(("localhost", 80)), Ok(localhost.clone()));
    assert_eq!(Target::try_from("localhost:80"), Ok(localhost.clone()));
    assert_eq!(Target::try_from(String::from("localhost:80")), Ok(localhost.clone()));
    assert_eq!(Target::try_from(&String::from("localhost:80")), Ok(localhost.clone()));
    assert_eq!(Target::try_from(("::1", 80)).unwrap().to_string(), "[::1]:80");
    let loopback = IpAddr::V6(Ipv6Addr::LOCALHOST);
    assert_eq!(Target::try_from((loopback, 80)).unwrap().host(), &Host::Ip(loopback));
    assert_eq!(Target::try_from(("localhost", 0)).unwrap_err().kind(), Kind::Port);
    assert_eq!(Target::try_from((loopback, 0)).unwrap_err().kind(), Kind::Port);
    assert_eq!((localhost.port(), localhost.is_name(), localhost.address()), (80, true, None));
}

#[test]
fn a_socket_address_becomes_a_target_and_back() {
    for text in ["127.0.0.1:9", "[::1]:80", "[fe80::1%3]:80"] {
        let address: SocketAddr = text.parse().unwrap();
        let target = Target::try_from(address).unwrap();
        assert_eq!(target.to_string(), text);
        assert_eq!(target.address(), Some(address));
        assert!(!target.is_name());
    }
    let scoped = SocketAddrV6::new("fe80::1".parse().unwrap(), 80, 7, 3);
    assert_eq!(Target::try_from(SocketAddr::V6(scoped)).unwrap().to_string(), "[fe80::1%3]:80");
    let error = Target::try_from("127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.position()), (Kind::Port, 0));
    assert_eq!("[fe80::1%eth0]:80".parse::<Target>().unwrap().address(), None);
}

#[test]
fn the_host_alone_has_no_brackets() {
    for (typed, host) in [
        ("localhost.:80", "localhost."),
        ("[::1]:80", "::1"),
        ("[fe80::1%3]:80", "fe80::1%3"),
        ("10.0.0.1:1", "10.0.0.1"),
    ] {
        assert_eq!(typed.parse::<Target>().unwrap().host_str(), host);
    }
}

#[test]
fn names_are_strings() {
    let zone: ZoneName = "eth0".parse().unwrap();
    assert_eq!((Name::localhost().as_ref(), zone.as_ref()), ("localhost", "eth0"));
    assert_eq!((Name::localhost().len(), zone.len()), (9, 4));
    assert_eq!(format!("{:>10}{zone:>5}", Name::localhost()), " localhost eth0");
}

#[test]
fn schemes_have_their_ports() {
    for (scheme, port) in [
        ("http", 80),
        ("ws", 80),
        ("https", 443),
        ("wss", 443),
        ("ftp", 21),
        ("postgres", 5432),
        ("postgresql", 5432),
        ("mysql", 3306),
        ("redis", 6379),
        ("rediss", 6379),
        ("mongodb", 27017),
        ("amqp", 5672),
    ] {
        assert_eq!(scheme_port(scheme), Some(port), "{scheme}");
    }
    assert_eq!(scheme_port("file"), None);
}

// The counting allocator cannot run where thread-local variables themselves allocate.
#[cfg(not(all(windows, target_env = "gnu")))]
#[test]
fn an_address_is_parsed_without_an_allocation() {
    for text in ["127.0.0.1:4200", "[::1]:4200", "http://user@[fe80::1%3]/x?y#z"] {
        let allocations = allocation_counter::measure(|| assert!(text.parse::<Target>().is_ok()));
        assert_eq!(allocations.count_total, 0, "{text}");
    }
    // One for the name itself: the counter counts.
    let allocations = allocation_counter::measure(|| assert!("localhost:4200".parse::<Target>().is_ok()));
    assert_eq!(allocations.count_total, 1);
}

fn name() -> impl Strategy<Value = Name> {
    prop_oneof![
        "[a-z0-9_][a-z0-9_-]{0,20}(\\.[a-z0-9_-]{1,9}){0,4}\\.?",
        "\\PC{1,20}",
        "(xn--)?[a-z0-9-]{1,12}\\.[A-Zü]{2}"
    ]
    .prop_filter_map("not a name", |text| text.parse().ok())
}

fn zone() -> impl Strategy<Value = Zone> {
    prop_oneof![
        any::<u32>().prop_map(Zone::Index),
        "[!-~]{1,16}".prop_filter_map("not a zone", |text| text.parse().ok().map(Zone::Name)),
    ]
}

fn host() -> impl Strategy<Value = Host> {
    prop_oneof![
        any::<IpAddr>().prop_map(Host::Ip),
        (any::<Ipv6Addr>(), zone()).prop_map(|(ip, zone)| Host::Zoned(ip, zone)),
        name().prop_map(Host::Name),
    ]
}

proptest! {
    #[test]
    fn every_target_displays_to_what_parses_to_it(host in host(), port in 1..=u16::MAX) {
        let target = Target::new(host, NonZeroU16::new(port).unwrap());
        let text = target.to_string();
        prop_assert_eq!(text.parse::<Target>(), Ok(target.clone()));
        let url = format!("http://{}/", text.replace('%', "%25"));
        prop_assert_eq!(url.parse::<Target>(), Ok(target.clone()));
        prop_assert_eq!(target.host_str().parse::<Host>(), Ok(target.host().clone()));
    }

    #[test]
    fn no_text_makes_it_panic(text in "(http://|[a-z]{0,3}://)?[\\PC\\n]{0,8}[\\[\\]:%@.0-9a-f/]{0,20}\\PC{0,4}") {
        match text.parse::<Target>() {
            Ok(target) => prop_assert_eq!(target.to_string().parse::<Target>(), Ok(target)),
            Err(error) => {
                let message = error.to_string();
                prop_assert!(!message.contains(char::is_control), "{}", message);
                prop_assert!(text.is_char_boundary(error.position()), "{} in {:?}", error.position(), text);
            }
        }
    }
}

#[cfg(feature = "serde")]
#[test]
fn in_json_a_target_is_its_text() {
    let target: Target = "[::1]:80".parse().unwrap();
    let json = serde_json::to_string(&target).unwrap();
    assert_eq!(json, "\"[::1]:80\"");
    assert_eq!(serde_json::from_str::<Target>(&json).unwrap(), target);
    assert_eq!(serde_json::from_str::<Target>("\"\\u003a80\"").unwrap().to_string(), "localhost:80");
    let error = serde_json::from_str::<Target>("\"x\"").unwrap_err().to_string();
    assert!(error.starts_with("no port after \"x\" at character 2"), "{error}");
}
