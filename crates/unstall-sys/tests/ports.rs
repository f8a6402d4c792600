//! The ephemeral range and the ports that connections to one destination take.

#![cfg(target_os = "linux")]

mod common;

use common::namespace::{set, with_network};
use common::{V4, V6, close_at_once};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use unstall_core::outcome::Outcome;
use unstall_sys::ports::{self, Taken};

#[test]
fn the_range_is_the_kernels() {
    with_network("the_range_is_the_kernels", || {
        set("ipv4/ip_local_port_range", "1024 2047");
        if cfg!(unstall_portable) {
            let error = ports::ephemeral_range().unwrap_err();
            assert_eq!(error.outcome(), Outcome::NotAvailable);
            let expected = "cannot read the OS's tables, the ephemeral port range: unsupported; what it would tell stays unknown";
            assert_eq!(error.to_string(), expected);
            return;
        }
        assert_eq!(ports::ephemeral_range().unwrap(), 1024..=2047);
    });
}

#[test]
fn established_and_closed_connections_are_counted_by_destination() {
    with_network("established_and_closed_connections_are_counted_by_destination", || {
        if cfg!(unstall_portable) {
            assert_eq!(ports::per_destination().unwrap_err().outcome(), Outcome::NotAvailable);
            assert_eq!(ports::time_wait().unwrap_err().outcome(), Outcome::NotAvailable);
            return;
        }
        let servers = [V4, V6].map(|ip| TcpListener::bind((ip, 80)).unwrap());
        let [v4, v6] = [0, 1].map(|n| servers[n].local_addr().unwrap());
        // The side that closes first keeps the port.
        for _ in 0..5 {
            let first = TcpStream::connect(v4).unwrap();
            let (mut second, _) = servers[0].accept().unwrap();
            drop(first);
            assert_eq!(second.read(&mut [0]).unwrap(), 0);
        }
        let open = [TcpStream::connect(v6).unwrap(), TcpStream::connect(v6).unwrap()];
        let taken = ports::per_destination().unwrap();
        assert_eq!(taken[&v4], Taken { established: 0, time_wait: 5 });
        assert_eq!(taken[&v6], Taken { established: 2, time_wait: 0 });
        assert_eq!(ports::time_wait().unwrap(), BTreeMap::from([(v4, 5)]));
        open.iter().for_each(close_at_once);
    });
}
