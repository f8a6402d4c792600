//! The table of listening sockets against sockets that the test made.

mod common;

use common::{V4, listener};
use unstall_sys::listeners::{self, Source, Table};

/// What this build can say.
fn expected_source() -> Option<Source> {
    if cfg!(any(unstall_no_listener_table, unstall_portable)) || cfg!(not(any(target_os = "linux", windows)))
    {
        None
    } else if cfg!(windows) {
        Some(Source::ExtendedTcpTable)
    } else if cfg!(unstall_no_sock_diag) {
        Some(Source::ProcNet)
    } else {
        Some(Source::SockDiag)
    }
}

/// The table, if this build has one; if not, that it says so.
fn table(port: Option<u16>) -> Option<Table> {
    match (listeners::table(port), expected_source()) {
        (Ok(table), Some(source)) => {
            assert_eq!(table.source, source);
            Some(table)
        }
        (Err(error), None) => {
            assert_eq!(error.outcome(), unstall_core::outcome::Outcome::NotAvailable);
            assert!(error.to_string().starts_with("cannot read the OS's tables, "), "{error}");
            None
        }
        (result, _) => panic!("{result:?}"),
    }
}

#[test]
fn an_own_listener_is_found_with_its_owner() {
    let (_server, address) = listener(V4);
    let Some(table) = table(Some(address.port())) else { return };
    let row = table.listeners.iter().find(|row| row.address == address).unwrap();
    if unstall_sys::host::facts().wine.is_some() {
        // Its sockets belong to wineserver.
        return;
    }
    let owner = row.owner.as_ref().expect("this test's own process is visible to it");
    assert_eq!(owner.pid, std::process::id());
    let program = std::env::current_exe().unwrap();
    assert_eq!(owner.name, program.file_name().unwrap().to_string_lossy());
    let without = listeners::without_owners(Some(address.port())).unwrap();
    assert!(without.listeners.iter().any(|row| row.address == address && row.owner.is_none()));
}

#[test]
fn a_closed_listener_is_not_in_the_table() {
    let (server, address) = listener(V4);
    drop(server);
    if let Some(table) = table(None) {
        assert!(table.listeners.iter().all(|row| row.address != address));
    }
}

#[cfg(target_os = "linux")]
mod in_a_namespace {
    use super::common::namespace::{set, with_network};
    use super::common::{LOCAL, V6};
    use super::*;
    use rustix::fd::OwnedFd;
    use rustix::net::{AddressFamily, SocketType, bind, listen, socket, sockopt};
    use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
    use std::process::Command;
    use unstall_core::listener::Listener;
    use unstall_sys::connect::connect_blocking;

    fn v6_wildcard(port: u16, only: bool) -> OwnedFd {
        let server = socket(AddressFamily::INET6, SocketType::STREAM, None).unwrap();
        sockopt::set_ipv6_v6only(&server, only).unwrap();
        bind(&server, &SocketAddr::new("::".parse().unwrap(), port)).unwrap();
        listen(&server, 5).unwrap();
        server
    }

    /// Address, V6ONLY and backlog, of every row in order. `None` where this build's table does not tell.
    fn rows(table: &Table) -> Vec<(String, Option<bool>, Option<u32>)> {
        let row = |row: &Listener| (row.address.to_string(), row.v6_only, row.backlog);
        let mut rows: Vec<_> = table.listeners.iter().map(row).collect();
        rows.sort();
        rows
    }

    #[test]
    fn addresses_families_and_backlogs_are_told() {
        with_network("addresses_families_and_backlogs_are_told", || {
            let v4 = TcpListener::bind((V4, 80)).unwrap();
            listen(&v4, 7).unwrap();
            let _any = TcpListener::bind("0.0.0.0:81").unwrap();
            let _v6 = TcpListener::bind((V6, 80)).unwrap();
            let _dual = v6_wildcard(82, false);
            let _only = v6_wildcard(83, true);
            let Some(table) = table(None) else { return };
            let told = table.source == Source::SockDiag;
            let backlog = |count| told.then_some(count);
            // std listens with 128, or -1 for as many as somaxconn allows.
            let std = table.listeners.iter().find(|row| row.address.port() == 81).unwrap().backlog;
            assert_eq!(std.is_some_and(|std| std >= 128), told);
            let expected = [
                ("0.0.0.0:81".to_owned(), None, std),
                ("127.0.0.1:80".to_owned(), None, backlog(7)),
                // The kernel makes it so when the address is not the wildcard.
                ("[::1]:80".to_owned(), told.then_some(true), std),
                ("[::]:82".to_owned(), told.then_some(false), backlog(5)),
                ("[::]:83".to_owned(), told.then_some(true), backlog(5)),
            ];
            assert_eq!(rows(&table), expected);
            let of_80 = listeners::table(Some(80)).unwrap();
            assert_eq!(rows(&of_80), [expected[1].clone(), expected[2].clone()]);
            assert!(listeners::table(Some(84)).unwrap().listeners.is_empty());
        });
    }

    #[test]
    fn the_backlog_is_what_the_kernel_clamped_it_to() {
        with_network("the_backlog_is_what_the_kernel_clamped_it_to", || {
            set("core/somaxconn", "3");
            let server = TcpListener::bind((V4, 80)).unwrap();
            listen(&server, 100).unwrap();
            let Some(table) = table(Some(80)) else { return };
            let expected = (table.source == Source::SockDiag).then_some(3);
            assert_eq!(table.listeners[0].backlog, expected);
        });
    }

    #[test]
    fn waiting_connections_are_counted() {
        with_network("waiting_connections_are_counted", || {
            for ip in [V4, V6] {
                let server = TcpListener::bind((ip, 80)).unwrap();
                let address = server.local_addr().unwrap();
                let connect = || connect_blocking(address, &LOCAL, None).1.unwrap();
                let streams: [TcpStream; 3] = std::array::from_fn(|_| connect());
                let Some(table) = table(Some(80)) else { return };
                assert_eq!(table.listeners[0].waiting, Some(3));
                let accepted = server.accept().unwrap();
                let table = listeners::table(Some(80)).unwrap();
                assert_eq!(table.listeners[0].waiting, Some(2));
                let peers = listeners::peers(80).unwrap();
                assert_eq!((peers.established, peers.waiting), (3, Some(2)));
                drop((streams, accepted, server));
                assert_eq!(listeners::peers(80).unwrap().established, 0);
            }
        });
    }

    #[test]
    fn connections_to_themselves_are_counted() {
        with_network("connections_to_themselves_are_counted", || {
            let server = TcpListener::bind((V4, 80)).unwrap();
            let _stream = TcpStream::connect((V4, 80)).unwrap();
            let own = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
            let address = SocketAddr::new(V4, 81);
            bind(&own, &address).unwrap();
            rustix::net::connect(&own, &address).unwrap();
            if table(Some(80)).is_none() {
                return;
            }
            assert_eq!(listeners::peers(80).unwrap().to_themselves, Some(0));
            assert_eq!(listeners::peers(81).unwrap().to_themselves, Some(1));
            drop(server);
        });
    }

    #[test]
    fn a_listener_of_another_process_has_its_owner() {
        with_network("a_listener_of_another_process_has_its_owner", || {
            let server = TcpListener::bind((V4, 80)).unwrap();
            // The child holds the socket as its standard input; the test no longer does.
            let mut child = Command::new("sleep").arg("1000").stdin(OwnedFd::from(server)).spawn().unwrap();
            let table = table(Some(80));
            child.kill().unwrap();
            child.wait().unwrap();
            let Some(table) = table else { return };
            let owner = table.listeners[0].owner.as_ref().unwrap();
            assert_eq!(owner.pid, child.id());
            assert!(!owner.name.is_empty() && !owner.name.contains('/'), "{}", owner.name);
        });
    }

    #[test]
    fn thousands_of_rows_arrive_whole() {
        with_network("thousands_of_rows_arrive_whole", || {
            let servers: Vec<TcpListener> = (0..300)
                .flat_map(|n| [V4, V6].map(|ip: IpAddr| TcpListener::bind((ip, 10_000 + n)).unwrap()))
                .collect();
            let Some(table) = table(None) else { return };
            let mut found: Vec<SocketAddr> = table.listeners.iter().map(|row| row.address).collect();
            let mut made: Vec<SocketAddr> =
                servers.iter().map(|server| server.local_addr().unwrap()).collect();
            found.sort();
            made.sort();
            assert_eq!(found, made);
            assert!(table.listeners.iter().all(|row| row.owner.is_some()));
        });
    }
}

#[test]
fn a_listener_on_all_addresses_is_found_under_each_and_a_closed_port_is_not() {
    let known = expected_source().is_some();
    for wildcard in ["0.0.0.0:0", "[::]:0"] {
        let server = std::net::TcpListener::bind(wildcard).unwrap();
        let port = server.local_addr().unwrap().port();
        // [::] takes both families, unless the system says otherwise; 0.0.0.0 takes its own.
        let own = if wildcard.starts_with('[') { "::1" } else { "127.0.0.1" };
        let address = std::net::SocketAddr::new(own.parse().unwrap(), port);
        assert_eq!(listeners::anybody(address), known.then_some(true), "{address}");
        drop(server);
        // The table may be as old as the look-up that connects share.
        let gone = (0..1000).any(|_| {
            std::thread::yield_now();
            listeners::anybody(address) != Some(true)
        });
        assert!(gone || cfg!(windows), "{address}");
    }
    let ipv6_only = std::net::TcpListener::bind("[::1]:0").unwrap();
    let port = ipv6_only.local_addr().unwrap().port();
    let other = std::net::SocketAddr::new(std::net::Ipv4Addr::LOCALHOST.into(), port);
    assert_eq!(listeners::anybody(other), known.then_some(false));
}

/// A look at the queue: full, with room, gone; each is believed for 2 ms.
#[test]
#[cfg(target_os = "linux")]
fn a_queue_is_full_then_has_room_then_is_gone() {
    use unstall_core::backlog::Listening;
    use unstall_sys::listeners::{Queue, queue};

    let full = common::Full::new(V4);
    let expect = |listening, waiting, backlog| {
        let known = expected_source() == Some(Source::SockDiag);
        let expected = if known { Queue { listening, waiting, backlog } } else { Queue::UNKNOWN };
        assert_eq!(queue(full.address), expected);
        std::thread::sleep(2 * BELIEVED);
    };
    expect(Listening::Full, Some(1), Some(0));
    drop(full.listener.accept().unwrap());
    expect(Listening::Room, Some(0), Some(0));
    let (address, known) = (full.address, expected_source() == Some(Source::SockDiag));
    drop(full);
    let gone = if known { Listening::No } else { Listening::Unknown };
    assert_eq!(queue(address), Queue { listening: gone, ..Queue::UNKNOWN });
}

/// For how long a look is shared.
const BELIEVED: std::time::Duration = std::time::Duration::from_millis(2);

/// Where no table tells, the port itself does: one that can be bound is nobody's.
#[test]
fn after_a_refusal_a_closed_port_is_known_with_or_without_a_table() {
    use unstall_core::backlog::Listening;
    use unstall_sys::listeners::queue_after_refusal;

    for ip in [V4, common::V6] {
        let (server, address) = listener(ip);
        assert_ne!(queue_after_refusal(address).listening, Listening::No, "{address}");
        drop(server);
        std::thread::sleep(2 * BELIEVED);
        assert_eq!(queue_after_refusal(address).listening, Listening::No, "{address}");
    }
    // A wildcard has the port of every address.
    let (server, wildcard) = listener(std::net::Ipv4Addr::UNSPECIFIED.into());
    let address = std::net::SocketAddr::new(V4, wildcard.port());
    assert_ne!(queue_after_refusal(address).listening, Listening::No);
    drop(server);
}

#[test]
#[cfg(unix)]
fn the_server_s_side_of_a_connection_is_whole_or_missing() {
    use std::net::TcpStream;
    use std::os::fd::AsFd;
    use unstall_sys::connect::server_side;
    use unstall_sys::listeners::ServerSide;

    let (server, address) = listener(V4);
    let client = TcpStream::connect(address).unwrap();
    let known = expected_source() == Some(Source::SockDiag);
    assert_eq!(server_side(client.as_fd()), if known { ServerSide::Whole } else { ServerSide::Unknown });
    let accepted = server.accept().unwrap().0;
    unstall_sys::connect::reset_at_close(accepted.as_fd());
    drop(accepted);
    let nobody = std::net::SocketAddr::new(V4, 1);
    let side = listeners::server_side(nobody, address);
    assert_eq!(side, if known { ServerSide::Missing } else { ServerSide::Unknown });
}
