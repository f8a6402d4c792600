//! Two ways to be told that a connect has ended, without a thread that waits for it, side by side: the thread-pool I/O object that
//! this crate uses, and a wait for an event that the thread pool does (RegisterWaitForSingleObject). And what it costs to learn
//! whether an address is the host's own. The medians are printed: `cargo xtask windows test -p unstall-sys --test windows_waits --
//! --nocapture`.
#![cfg(all(windows, not(unstall_no_connect_ex)))]
#![allow(unsafe_code, reason = "the way that is not taken has no safe function")]

mod common;

use common::{LOCAL, PATIENCE, V4, listener};
use socket2::{Domain, SockAddr, Socket, Type};
use std::ffi::c_void;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::windows::io::{AsRawSocket, FromRawHandle, OwnedHandle};
use std::pin::Pin;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use unstall_sys::connect::{begin, connect_blocking};
use unstall_sys::{addresses, handles};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::NetworkManagement::IpHelper::{
    GetAdaptersAddresses, GetBestInterfaceEx, IP_ADAPTER_ADDRESSES_LH,
};
use windows_sys::Win32::Networking::WinSock::{
    AF_UNSPEC, LPFN_CONNECTEX, SIO_GET_EXTENSION_FUNCTION_POINTER, SO_UPDATE_CONNECT_CONTEXT, SOCKET,
    SOL_SOCKET, WSAGetOverlappedResult, WSAID_CONNECTEX, WSAIoctl, setsockopt,
};
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::Win32::System::Threading::{
    CreateEventW, INFINITE, RegisterWaitForSingleObject, UnregisterWaitEx, WT_EXECUTEONLYONCE,
};
use windows_sys::core::GUID;

const ROUNDS: usize = 500;
/// What the thread pool may hold beside sockets.
const BESIDE: u32 = 16;

/// Ends the sleep of a thread.
struct Signal {
    thread: Thread,
    given: AtomicBool,
}

impl Signal {
    fn new() -> Arc<Self> {
        Arc::new(Self { thread: thread::current(), given: AtomicBool::new(false) })
    }

    fn await_it(&self) {
        let start = Instant::now();
        while !self.given.swap(false, Ordering::Acquire) {
            assert!(start.elapsed() < PATIENCE, "no end came");
            thread::park_timeout(PATIENCE);
        }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.given.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

fn by_thread_pool_io(address: SocketAddr) {
    let signal = Signal::new();
    let waker = Arc::clone(&signal).into();
    let mut connecting = begin(address, &LOCAL).1.unwrap().expect("a ConnectEx");
    loop {
        if let Poll::Ready(result) = Pin::new(&mut connecting).poll(&mut Context::from_waker(&waker)) {
            return drop(result.unwrap());
        }
        signal.await_it();
    }
}

fn connect_ex(socket: SOCKET) -> LPFN_CONNECTEX {
    let guid = WSAID_CONNECTEX;
    let mut function: LPFN_CONNECTEX = None;
    let mut length = 0;
    // SAFETY: both buffers have the sizes that are passed with them; the answer is a pointer to such a function or null.
    let code = unsafe {
        WSAIoctl(
            socket,
            SIO_GET_EXTENSION_FUNCTION_POINTER,
            (&raw const guid).cast(),
            size_of::<GUID>() as u32,
            (&raw mut function).cast(),
            size_of::<LPFN_CONNECTEX>() as u32,
            &raw mut length,
            null_mut(),
            None,
        )
    };
    assert_eq!(code, 0);
    function
}

unsafe extern "system" fn signalled(context: *mut c_void, _timed_out: bool) {
    // SAFETY: the reference that `by_registered_wait` made for this one call.
    unsafe { Arc::from_raw(context.cast::<Signal>().cast_const()) }.wake();
}

fn by_registered_wait(connect_ex: LPFN_CONNECTEX, address: SocketAddr) {
    let connect_ex = connect_ex.expect("a ConnectEx");
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(V4, 0).into()).unwrap();
    let raw = socket.as_raw_socket() as SOCKET;
    // SAFETY: null asks for default rights and for no name.
    let event = unsafe { CreateEventW(null(), 0, 0, null()) };
    assert!(!event.is_null());
    // SAFETY: it was made just now; it is closed at the end.
    let _event = unsafe { OwnedHandle::from_raw_handle(event) };
    let mut overlapped = OVERLAPPED { hEvent: event, ..OVERLAPPED::default() };
    let to = SockAddr::from(address);
    // SAFETY: the address has its length, and the OVERLAPPED outlives the connect, whose end is awaited below.
    unsafe {
        connect_ex(raw, to.as_ptr().cast(), to.len(), null(), 0, null_mut(), &raw mut overlapped);
    }
    let signal = Signal::new();
    let context = Arc::into_raw(Arc::clone(&signal)).cast::<c_void>();
    let mut wait: HANDLE = null_mut();
    // SAFETY: the event is open, and the callback takes this context once.
    let registered = unsafe {
        RegisterWaitForSingleObject(
            &raw mut wait,
            event,
            Some(signalled),
            context,
            INFINITE,
            WT_EXECUTEONLYONCE,
        )
    };
    assert_ne!(registered, 0);
    signal.await_it();
    // SAFETY: the wait was registered above; the call returns when its callback has.
    unsafe { UnregisterWaitEx(wait, INVALID_HANDLE_VALUE) };
    let (mut bytes, mut flags) = (0, 0);
    // SAFETY: it is the OVERLAPPED that this socket's ConnectEx got, and the kernel is done with it.
    let connected =
        unsafe { WSAGetOverlappedResult(raw, &raw const overlapped, &raw mut bytes, 0, &raw mut flags) };
    assert_ne!(connected, 0);
    // SAFETY: the option takes no value.
    assert_eq!(unsafe { setsockopt(raw, SOL_SOCKET, SO_UPDATE_CONNECT_CONTEXT, null(), 0) }, 0);
    TcpStream::from(socket).set_nodelay(true).unwrap();
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

#[test]
fn thread_pool_io_is_no_slower_than_a_registered_wait() {
    let (server, address) = listener(V4);
    thread::spawn(move || server.incoming().for_each(drop));
    let probe = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let function = connect_ex(probe.as_raw_socket() as SOCKET);
    let mut times: [Vec<Duration>; 3] = Default::default();
    let mut before = 0;
    for round in 0..ROUNDS {
        times[0].push(timed(|| by_thread_pool_io(address)));
        times[1].push(timed(|| by_registered_wait(function, address)));
        times[2].push(timed(|| drop(connect_blocking(address, &LOCAL, Some(PATIENCE)).1.unwrap())));
        if round == ROUNDS / 5 {
            before = handles::open().unwrap();
        }
    }
    let [pool, registered, same_thread] = times.each_mut().map(|times| median(times));
    println!(
        "thread-pool I/O {pool:?}, registered wait {registered:?}, wait on the same thread {same_thread:?}"
    );
    // Alike, but for what the machine does beside.
    assert!(pool < registered * 3 / 2, "{pool:?} and {registered:?}");
    let start = Instant::now();
    while handles::open().unwrap() > before + BESIDE && start.elapsed() < PATIENCE {
        thread::yield_now();
    }
    assert!(
        handles::open().unwrap() <= before + BESIDE,
        "{before} handles, then {}",
        handles::open().unwrap()
    );
}

fn adapters_addresses() {
    let mut buffer = vec![0_u64; 8192];
    let mut bytes = size_of_val(&buffer[..]) as u32;
    let table = buffer.as_mut_ptr().cast::<IP_ADAPTER_ADDRESSES_LH>();
    // SAFETY: the buffer has the length that is passed with it.
    let code = unsafe { GetAdaptersAddresses(AF_UNSPEC.into(), 0, null(), table, &raw mut bytes) };
    assert_eq!(code, 0);
}

fn best_interface(address: SocketAddr) {
    let to = SockAddr::from(address);
    let mut index = 0;
    // SAFETY: a socket address, and a number to write to.
    unsafe { GetBestInterfaceEx(to.as_ptr().cast(), &raw mut index) };
}

#[test]
fn a_cached_table_is_the_shortest_way_to_know_an_own_address() {
    let foreign = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..50 {
        times[0].push(timed(|| drop(addresses::own().unwrap())));
        times[1].push(timed(adapters_addresses));
        times[2].push(timed(|| best_interface((foreign, 9).into())));
        times[3].push(timed(|| assert!(!addresses::is_own(foreign))));
    }
    let [table, adapters, interface, cached] = times.each_mut().map(|times| median(times));
    println!(
        "GetUnicastIpAddressTable {table:?}, GetAdaptersAddresses {adapters:?}, GetBestInterfaceEx {interface:?}, cached {cached:?}"
    );
    assert!(cached < table.min(adapters).min(interface), "{cached:?}");
}
