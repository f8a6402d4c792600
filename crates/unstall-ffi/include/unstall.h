// unstall: TCP connects that never stall where the operating system need not.
//
// Made from crates/unstall-ffi by `cargo xtask docs`. MIT OR Apache-2.0.
//
// What holds for every function
// * Threads. Any function may be called from any thread at any time. What the last connect came to is kept for each
//   thread apart.
// * Ownership. A socket that is handed out belongs to the caller, who closes it. A `char *` that is handed out
//   belongs to the caller, who gives it back with `unstall_string_free`; a `const char *` is static. What is handed in is
//   read before the function returns and never kept.
// * Panics. None crosses into C: each function runs in a guard, and reports one as
//   `UNSTALL_STATUS_INTERNAL`.
// * Bad arguments (`NULL`, a host that is none, a struct of an impossible size) are `UNSTALL_STATUS_INVALID_ARGUMENT`;
//   nothing has been done then.

#ifndef UNSTALL_H
#define UNSTALL_H

#include <stddef.h>
#include <stdint.h>

/// The version of this header; unstall_version() is the library's.
#define UNSTALL_VERSION "0.1.0"

/// What stands in place of a socket where there is none.
#define UNSTALL_INVALID_SOCKET ((unstall_socket)-1)

/// Options with every default.
#define UNSTALL_OPTIONS_INIT {sizeof(unstall_options), 0, 0, 0, 0, 0, 0, 0}

/// `unstall_options.syn_retransmissions`: none to addresses of this host, the OS's default elsewhere. The default.
#define UNSTALL_SYN_NONE_IF_LOCAL 0

/// `unstall_options.syn_retransmissions`: none to any address.
#define UNSTALL_SYN_NONE_ANYWHERE (-1)

/// `unstall_options.syn_retransmissions`: what the OS does by default.
#define UNSTALL_SYN_OS_DEFAULT (-2)

/// `unstall_options.family`: IPv4 and IPv6. The default.
#define UNSTALL_FAMILY_ANY 0

/// `unstall_options.family`: IPv4 alone.
#define UNSTALL_FAMILY_V4 4

/// `unstall_options.family`: IPv6 alone.
#define UNSTALL_FAMILY_V6 6

/// What a connect came to. The numbers are fixed; later versions may add some, so treat one that you do not know like
/// `UNSTALL_STATUS_UNKNOWN`.
enum unstall_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// Connected.
    UNSTALL_STATUS_OK = 0,
    /// An argument makes no sense; nothing was tried.
    UNSTALL_STATUS_INVALID_ARGUMENT = 1,
    /// The host is there and nobody serves on the port.
    UNSTALL_STATUS_REFUSED = 2,
    /// The time limit struck, or the OS gave up, before anything answered.
    UNSTALL_STATUS_TIMED_OUT = 3,
    /// There is no way to the host or its network.
    UNSTALL_STATUS_UNREACHABLE = 4,
    /// The address or its family cannot be used on this host, or may not by the options.
    UNSTALL_STATUS_NOT_AVAILABLE = 5,
    /// A firewall, sandbox or policy of this host forbids it.
    UNSTALL_STATUS_NOT_PERMITTED = 6,
    /// The name does not resolve.
    UNSTALL_STATUS_NO_NAME = 7,
    /// Local ports, buffers or descriptors are used up.
    UNSTALL_STATUS_EXHAUSTED = 8,
    /// It failed with an OS code that no class stands for; see `unstall_last_os_error`.
    UNSTALL_STATUS_UNKNOWN = 9,
    /// A bug of this library; nothing is known about the connect, and no socket was handed out.
    UNSTALL_STATUS_INTERNAL = 10,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum unstall_status unstall_status;
#else
typedef int32_t unstall_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// What was done about a socket. Whatever it is, the socket can be connected as before.
enum unstall_prepared
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// Nothing, because this OS reports a refusal at once by itself (every Unix).
    UNSTALL_PREPARED_NOT_NEEDED = 0,
    /// The first reset is final (Windows 10 build 16299 and later).
    UNSTALL_PREPARED_NO_RETRANSMISSION = 1,
    /// One retransmission is left, about 510 ms: the least that Windows before build 16299 can do.
    UNSTALL_PREPARED_ONE_RETRANSMISSION = 2,
    /// Nothing, because the address is not one of this host.
    UNSTALL_PREPARED_NOT_LOCAL = 3,
    /// The OS did not take the option; `unstall_last_os_error` says why.
    UNSTALL_PREPARED_NOT_SUPPORTED = 4,
    /// An argument makes no sense; nothing was done.
    UNSTALL_PREPARED_INVALID_ARGUMENT = 5,
    /// It is not known what was done.
    UNSTALL_PREPARED_UNKNOWN = 6,
    /// Nothing, because somebody listens at the address: when the accept queue is full for a moment, the OS's own retransmission gets
    /// the connect through.
    UNSTALL_PREPARED_LISTENING = 7,
    /// Nothing, because it is not known whether somebody listens at the address.
    UNSTALL_PREPARED_LISTENERS_UNKNOWN = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum unstall_prepared unstall_prepared;
#else
typedef int32_t unstall_prepared;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// How to connect. Begin with `UNSTALL_OPTIONS_INIT`, then set what is to be other than the default. 0 is the default of
/// every field.
///
/// The struct grows at its end in later versions. `size` says how much of it the caller knows, so a program that was
/// compiled with an older header works with a newer library. With an older library than its header a program may set
/// what both know; anything else than 0 in what the library does not know is an invalid argument, never ignored.
typedef struct {
    /// `sizeof(unstall_options)`, as `UNSTALL_OPTIONS_INIT` sets it.
    size_t size;
    /// How long the connect may take as a whole, the resolution of the name included, in ms. 0: no limit, as `connect`
    /// itself; the OS gives up by itself, on Linux after about 2 min of silence.
    uint64_t connect_timeout_ms;
    /// How long the newest attempt may be pending before the next address is tried too, in ms. 0: 250 (RFC 8305).
    /// Clamped to 10 .. 2000.
    uint32_t attempt_delay_ms;
    /// The same while all pending attempts are to addresses of this host, in ms. 0: 10. Clamped to 10 .. 2000.
    uint32_t local_attempt_delay_ms;
    /// How often a SYN may be sent again, which on Windows is also how often a refused connect is repeated:
    /// `UNSTALL_SYN_NONE_IF_LOCAL`, `UNSTALL_SYN_NONE_ANYWHERE`, `UNSTALL_SYN_OS_DEFAULT`, or 1 to 8. Without effect on
    /// systems that refuse at once.
    int32_t syn_retransmissions;
    /// Which addresses may be tried: `UNSTALL_FAMILY_ANY`, `UNSTALL_FAMILY_V4`, `UNSTALL_FAMILY_V6`.
    int32_t family;
    /// 0: small writes are sent at once (`TCP_NODELAY`). 1: they may wait for the peer's delayed ACK, 40 ms or more, as on
    /// a socket that nobody told otherwise.
    int32_t delay_small_writes;
    /// Must be 0.
    uint32_t reserved;
} unstall_options;

#if !defined(_WIN32)
/// A socket, as the system's own functions take it: a file descriptor.
typedef int unstall_socket;
#endif

#if defined(_WIN32)
/// A socket, as the system's own functions take it: a `SOCKET`.
typedef size_t unstall_socket;
#endif

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// Now, in nanoseconds of a clock that never goes back, for deadlines: `unstall_now_ns() + 2000000000` is in 2 s. It
/// counts from its first use in this process; other clocks have other beginnings. Never 0.
uint64_t unstall_now_ns(void);

/// Connects to a port of a host and waits until that is done: every address is tried, staggered (RFC 8305), and the first
/// that connects is taken.
///
/// `host` is a name or an address: `localhost`, `192.0.2.1`, `::1`, `fe80::1%eth0`. `options` may be `NULL` for every
/// default. `*connected` becomes the socket: blocking, `TCP_NODELAY` set, not inherited by programs that this one starts.
/// It belongs to the caller, who closes it. After a failure it is `UNSTALL_INVALID_SOCKET`, and `unstall_last_error`,
/// `unstall_last_os_error` and `unstall_last_timeline` say more.
///
/// A signal handler that runs meanwhile does not end the connect.
unstall_status unstall_connect(const char *host,
                               uint16_t port,
                               const unstall_options *options,
                               unstall_socket *connected);

/// The same, until a point in time of `unstall_now_ns`: one deadline for several connects, or for a connect and what
/// follows. 0: no deadline. One that has passed already is `UNSTALL_STATUS_TIMED_OUT`, unless the connect can be done
/// without waiting. The limit of `options`, if any, holds as well.
unstall_status unstall_connect_until(const char *host,
                                     uint16_t port,
                                     const unstall_options *options,
                                     uint64_t deadline_ns,
                                     unstall_socket *connected);

/// Why the last connect of this thread failed, as one sentence with every address that was tried and what to do. Null:
/// it did not fail, or there was none.
///
/// The caller gives the text back with `unstall_string_free`.
char *unstall_last_error(void);

/// The OS's code for why the last connect of this thread failed, or the last `unstall_prepare`: errno, on Windows a WSA
/// code, and after `UNSTALL_STATUS_NO_NAME` a code of getaddrinfo. 0: there was none, because it did not fail, or not by
/// a call of the OS (a time limit, an invalid argument).
int32_t unstall_last_os_error(void);

/// What happened during the last connect of this thread, whether or not it connected, as JSON: `target`, `outcome`,
/// `elapsed_ns`, `resolution`, `attempts[]` with `address`, `reason`, `start_ns`, `end_ns`, `outcome`, `os_error`,
/// `prepared`. Times are whole nanoseconds since the start of the connect. Null: there was no connect on this thread, or
/// its arguments were invalid.
///
/// The caller gives the text back with `unstall_string_free`.
char *unstall_last_timeline(void);

/// Takes back a text that one of the functions above handed out; `NULL` is ignored. Each text once.
void unstall_string_free(char *text);

/// Prepares a socket that is not connected yet, so that its connect to `address` is refused at once where the OS would
/// otherwise wait (Windows: 2 s). Call it right before the connect; the result can be ignored. It looks first: where somebody
/// listens, nothing is done.
///
/// `address` is a `struct sockaddr_in` or `struct sockaddr_in6` of `length` bytes, as for `connect`. The socket remains
/// the caller's.
unstall_prepared unstall_prepare(unstall_socket socket,
                                 const void *address,
                                 size_t length);

/// The name of a status, `refused` for example; `unknown` for a number that is none.
///
/// The text is static: never free it.
const char *unstall_status_name(int32_t status);

/// The version of the library that the program runs with, `0.1.0` for example. `UNSTALL_VERSION` is the version of the
/// header that it was compiled with.
///
/// The text is static: never free it.
const char *unstall_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* UNSTALL_H */
