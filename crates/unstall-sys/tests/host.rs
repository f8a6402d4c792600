//! Facts about the host and its clock.

mod common;

use std::time::Duration;
use unstall_sys::clock::{Timer, resolution};
use unstall_sys::host::facts;

#[test]
fn the_system_is_named() {
    let facts = facts();
    assert_eq!(facts.os, std::env::consts::OS);
    assert_eq!(facts.arch, std::env::consts::ARCH);
    assert!(!facts.kernel.unwrap().is_empty());
}

#[test]
fn the_clock_steps_and_only_forwards() {
    let step = resolution().unwrap();
    assert!(step > Duration::ZERO && step <= Duration::from_millis(20), "{step:?}");
    let timer = Timer::start();
    let first = timer.elapsed();
    assert!(first <= timer.elapsed());
}

#[cfg(all(target_os = "linux", not(unstall_portable)))]
#[test]
fn settings_are_those_of_the_namespace() {
    use common::namespace::{set, with_network};
    with_network("settings_are_those_of_the_namespace", || {
        let before = facts();
        assert_eq!(before.tcp_abort_on_overflow, Some(false));
        assert_eq!((before.ipv6_disabled.lo, before.ipv6_disabled.all), (Some(false), Some(false)));
        set("core/somaxconn", "17");
        set("ipv4/tcp_abort_on_overflow", "1");
        set("ipv4/tcp_syn_retries", "3");
        set("ipv4/tcp_tw_reuse", "1");
        set("ipv4/ip_nonlocal_bind", "1");
        set("ipv6/conf/lo/disable_ipv6", "1");
        let after = facts();
        assert_eq!(after.somaxconn, Some(17));
        assert_eq!(after.tcp_abort_on_overflow, Some(true));
        assert_eq!(after.tcp_syn_retries, Some(3));
        assert_eq!(after.tcp_tw_reuse, Some(1));
        assert_eq!(after.ip_nonlocal_bind, Some(true));
        assert_eq!((after.ipv6_disabled.lo, after.ipv6_disabled.all), (Some(true), Some(false)));
    });
}

#[cfg(unstall_portable)]
#[test]
fn what_is_not_portable_is_unknown() {
    let facts = facts();
    assert_eq!((facts.somaxconn, facts.container, facts.wsl), (None, None, None));
    assert_eq!(facts.ipv6_disabled.lo, None);
}
