//! Connects.

use crate::guard::guard;
use crate::options::UnstallOptions;
use crate::status::UnstallStatus;
use crate::{NO_SOCKET, UnstallSocket, last};
use std::ffi::{CStr, c_char};
use std::net::TcpStream;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use unstall::{Connector, Target};

/// When the clock of `unstall_now_ns` stood at 1, so that 0 can mean "none".
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

fn now_ns() -> u64 {
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
}

/// Now, in nanoseconds of a clock that never goes back, for deadlines: `unstall_now_ns() + 2000000000` is in 2 s. It
/// counts from its first use in this process; other clocks have other beginnings. Never 0.
#[unsafe(no_mangle)]
pub extern "C" fn unstall_now_ns() -> u64 {
    guard(1, now_ns)
}

/// Connects to a port of a host and waits until that is done: every address is tried, staggered (RFC 8305), and the first
/// that connects is taken.
///
/// `host` is a name or an address: `localhost`, `192.0.2.1`, `::1`, `fe80::1%eth0`. `options` may be `NULL` for every
/// default. `*connected` becomes the socket: blocking, `TCP_NODELAY` set, not inherited by programs that this one starts.
/// It belongs to the caller, who closes it. After a failure it is `UNSTALL_INVALID_SOCKET`, and `unstall_last_error`,
/// `unstall_last_os_error` and `unstall_last_timeline` say more.
///
/// A signal handler that runs meanwhile does not end the connect.
///
/// # Safety
/// `host` is null or a text that ends with NUL; `options` is null or points to as many bytes as its first field says;
/// `connected` is null or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unstall_connect(
    host: *const c_char,
    port: u16,
    options: *const UnstallOptions,
    connected: *mut UnstallSocket,
) -> UnstallStatus {
    // SAFETY: what the caller promises is what is asked for.
    guarded(|| unsafe { connect(host, port, options, 0, connected) })
}

/// The same, until a point in time of `unstall_now_ns`: one deadline for several connects, or for a connect and what
/// follows. 0: no deadline. One that has passed already is `UNSTALL_STATUS_TIMED_OUT`, unless the connect can be done
/// without waiting. The limit of `options`, if any, holds as well.
///
/// # Safety
/// As for `unstall_connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unstall_connect_until(
    host: *const c_char,
    port: u16,
    options: *const UnstallOptions,
    deadline_ns: u64,
    connected: *mut UnstallSocket,
) -> UnstallStatus {
    // SAFETY: what the caller promises is what is asked for.
    guarded(|| unsafe { connect(host, port, options, deadline_ns, connected) })
}

/// A connect whose panic is told as such.
fn guarded(connect: impl FnOnce() -> UnstallStatus) -> UnstallStatus {
    let status = guard(UnstallStatus::Internal, connect);
    if status == UnstallStatus::Internal {
        last::panicked();
    }
    status
}

/// # Safety
/// As for `unstall_connect`.
unsafe fn connect(
    host: *const c_char,
    port: u16,
    options: *const UnstallOptions,
    deadline_ns: u64,
    connected: *mut UnstallSocket,
) -> UnstallStatus {
    if connected.is_null() {
        return last::invalid("cannot connect: there is no place for the socket");
    }
    // SAFETY: the caller promises that it may be written to; nothing is promised about its alignment.
    unsafe { connected.write_unaligned(NO_SOCKET) };
    if host.is_null() {
        return last::invalid("cannot connect: there is no host");
    }
    // SAFETY: the caller promises a text that ends with NUL.
    let host = unsafe { CStr::from_ptr(host) };
    // SAFETY: the caller promises the bytes that the first field tells of.
    let options = unsafe { UnstallOptions::read(options) };
    let Some((options, connector)) = options.and_then(|options| Some((options, options.connector()?))) else {
        return last::invalid("cannot connect: the options make no sense; begin with UNSTALL_OPTIONS_INIT");
    };
    let Ok(host) = host.to_str() else {
        return last::invalid("cannot connect: the host is not UTF-8; write an international name in that");
    };
    let target = match Target::try_from((host, port)) {
        Ok(target) => target,
        Err(error) => return last::no_target(error.into()),
    };
    let (result, timeline) = limited(connector, options.limit(), deadline_ns).connect_timeline(&target);
    match result {
        Ok(stream) => {
            // SAFETY: as above.
            unsafe { connected.write_unaligned(give_away(stream)) };
            last::connected(None, timeline)
        }
        Err(error) => last::connected(Some(error), timeline),
    }
}

/// The connector with the shorter of both limits.
fn limited(connector: Connector, limit: Option<Duration>, deadline_ns: u64) -> Connector {
    let left = (deadline_ns != 0).then(|| Duration::from_nanos(deadline_ns.saturating_sub(now_ns())));
    match limit.into_iter().chain(left).min() {
        Some(limit) => connector.connect_timeout(limit),
        None => connector,
    }
}

/// The socket, no longer closed by this library.
#[cfg(not(windows))]
fn give_away(stream: TcpStream) -> UnstallSocket {
    std::os::fd::IntoRawFd::into_raw_fd(stream)
}

/// The socket, no longer closed by this library.
#[cfg(windows)]
fn give_away(stream: TcpStream) -> UnstallSocket {
    std::os::windows::io::IntoRawSocket::into_raw_socket(stream) as UnstallSocket
}
